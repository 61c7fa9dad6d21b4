package flow

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"sluice/batch"
)

// The two halves of a read are the read: every row, null value and bad record is in one of them, at its place, and the ranges meet.
func TestHalvesAreTheWhole(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := read{end: true}
		value := batch.NewBuilder(batch.Of(batch.BigInt), 0)
		for split := range rapid.IntRange(1, 4).Draw(t, "splits") {
			s := batch.SplitRange{Split: fmt.Sprint("t/", split), From: batch.Offset{At: 10}, Lost: 3, Bytes: 1000}
			at := int64(10)
			for range rapid.IntRange(0, 8).Draw(t, "records") {
				switch rapid.IntRange(0, 4).Draw(t, "kind") {
				case 0:
					r.rng.Null.Split, r.rng.Null.Offset, r.rng.Null.Index = append(r.rng.Null.Split, int32(split)), append(r.rng.Null.Offset, at), append(r.rng.Null.Index, 0)
					s.Nulls++
				case 1:
					r.bad = append(r.bad, batch.Bad{Split: s.Split, At: batch.Offset{At: at}})
				default:
					p := &r.rows.Pos
					p.Split, p.Offset, p.Index = append(p.Split, int32(split)), append(p.Offset, at), append(p.Index, 0)
					value.AppendInt(at)
					r.rng.Errors.Add(int32(split), batch.Offset{At: at}, "c")
				}
				s.Records++
				at += int64(rapid.IntRange(1, 3).Draw(t, "hole"))
			}
			s.To = batch.Offset{At: at}
			r.rng.Splits = append(r.rng.Splits, s)
		}
		r.rows.Fields, r.rows.Cols, r.rows.Len = []batch.Field{{Name: "v", Type: batch.Of(batch.BigInt)}}, []batch.Column{value.Column()}, value.Len()
		if r.rows.Len < 2 {
			return
		}
		whole := contents(t, &r)
		first, second := r.divide()
		if first.rows.Len != r.rows.Len/2 || first.end || !second.end {
			t.Fatalf("%d of %d rows are in the first half", first.rows.Len, r.rows.Len)
		}
		halves := append(contents(t, &first), contents(t, &second)...)
		slices.Sort(whole)
		slices.Sort(halves)
		if !slices.Equal(whole, halves) {
			t.Errorf("the halves have\n%v\nthe whole has\n%v", halves, whole)
		}
		for _, s := range r.rng.Splits {
			at, records, nulls, lost := s.From, int64(0), int64(0), int64(0)
			for _, half := range []read{first, second} {
				for _, p := range half.rng.Splits {
					if p.Split == s.Split {
						if p.From != at {
							t.Errorf("%s goes on at %v, not at %v", s.Split, p.From, at)
						}
						at, records, nulls, lost = p.To, records+p.Records, nulls+p.Nulls, lost+p.Lost
					}
				}
			}
			if at != s.To || records != s.Records || nulls != s.Nulls || lost != s.Lost {
				t.Errorf("%s is read up to %v with %d records, %d nulls, %d lost; it has %+v", s.Split, at, records, nulls, lost, s)
			}
		}
	})
}

// contents are the rows, nulls, mended values and bad records of a read; each must lie in the range of its split.
func contents(t *rapid.T, r *read) (out []string) {
	say := func(kind, split string, at batch.Offset) {
		i := slices.IndexFunc(r.rng.Splits, func(s batch.SplitRange) bool { return s.Split == split })
		if i < 0 || at.Less(r.rng.Splits[i].From) || !at.Less(r.rng.Splits[i].To) {
			t.Errorf("%s at %v of %s is outside of its range", kind, at, split)
		}
		out = append(out, fmt.Sprint(kind, " ", split, " ", at))
	}
	for kind, p := range map[string]*batch.Positions{"row": &r.rows.Pos, "null": &r.rng.Null, "mended": &r.rng.Errors.Pos} {
		for i := range p.Len() {
			if kind == "row" && r.rows.Cols[0].Int(i) != p.Offset[i] {
				t.Errorf("the row at %d holds %d", p.Offset[i], r.rows.Cols[0].Int(i))
			}
			say(kind, r.rng.Splits[p.Split[i]].Split, batch.Offset{At: p.Offset[i], Index: p.Index[i]})
		}
	}
	for _, b := range r.bad {
		say("bad", b.Split, b.At)
	}
	return out
}
