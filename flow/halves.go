package flow

import (
	"context"
	"slices"

	"sluice/batch"
)

// A query may make many rows of a record. What a batch becomes is bounded by the size that a batch may have, and one that passes this
// goes down the path in two halves, each with a commit of its own, and these in halves if need be, down to a single record.

// resultBatches is how many times a batch's limit its result may take.
const resultBatches = 4

// resultMost is how large a batch's result may be, 0 without a bound. A replay is small, and is one commit.
func (f *Flow) resultMost(w *work) int64 {
	if w.replayed != nil {
		return 0
	}
	return resultBatches * f.limit.Bytes
}

func (f *Flow) inHalves(ctx context.Context, r read) error {
	first, second := r.divide()
	if err := f.step(ctx, first, nil); err != nil {
		return err
	}
	return f.step(ctx, second, nil)
}

// divide cuts a read in the middle of its rows. Of a split whose rows are all in the first half, all is there.
func (r *read) divide() (first, second read) {
	middle := r.rows.Len / 2
	stop := cut{}
	p := &r.rows.Pos
	for i := middle; i < r.rows.Len; i++ {
		split := r.rng.Splits[p.Split[i]].Split
		if _, known := stop[split]; !known { // the first: the rows of a split are in its order
			stop[split] = batch.Offset{At: p.Offset[i], Index: p.Index[i]}
		}
	}
	first, second = r.part(stop, true), r.part(stop, false)
	first.took, first.end, second.end = r.took, false, r.end
	return first, second
}

// part is what stands before a cut, or what does not.
func (r *read) part(stop cut, before bool) read {
	inside := func(split string, at batch.Offset) bool {
		stop, ok := stop[split]
		return before == (!ok || at.Less(stop))
	}
	chosen := func(p *batch.Positions) (index []int32) {
		for i := range p.Len() {
			if inside(r.rng.Splits[p.Split[i]].Split, batch.Offset{At: p.Offset[i], Index: p.Index[i]}) {
				index = append(index, int32(i))
			}
		}
		return index
	}
	out := read{rows: r.rows.Take(chosen(&r.rows.Pos))}
	out.rng.Null = r.rng.Null.Take(chosen(&r.rng.Null))
	for _, i := range chosen(&r.rng.Errors.Pos) {
		p := &r.rng.Errors.Pos
		out.rng.Errors.Add(p.Split[i], batch.Offset{At: p.Offset[i], Index: p.Index[i]}, r.rng.Errors.Column[i])
	}
	for _, b := range r.bad {
		if inside(b.Split, b.At) {
			out.bad = append(out.bad, b)
		}
	}
	number := make([]int32, len(r.rng.Splits)) // of a split among those of the part
	for i, s := range r.rng.Splits {
		at, cut := stop[s.Split]
		switch {
		case !cut && !before, cut && before && !s.From.Less(at):
			number[i] = -1 // nothing of it is in this part
			continue
		case cut:
			s = out.share(s, int32(i), at, before, &r.rows)
		}
		number[i] = int32(len(out.rng.Splits))
		out.rng.Splits = append(out.rng.Splits, s)
	}
	for _, p := range []*batch.Positions{&out.rows.Pos, &out.rng.Null, &out.rng.Errors.Pos} {
		for i, split := range p.Split {
			p.Split[i] = number[split]
		}
	}
	return out
}

// share is the part of a split that is cut. Its bytes, which only feed metrics, are divided as its rows are. The numbers of splits in r
// are still those of the whole.
func (r *read) share(s batch.SplitRange, split int32, at batch.Offset, before bool, rows *batch.Columns) batch.SplitRange {
	count := func(p *batch.Positions) (n int64) {
		for _, other := range p.Split {
			if other == split {
				n++
			}
		}
		return n
	}
	bad := int64(len(slices.DeleteFunc(slices.Clone(r.bad), func(b batch.Bad) bool { return b.Split != s.Split || b.Kept })))
	mine, all := count(&r.rows.Pos), count(&rows.Pos)
	s.Bytes = s.Bytes * mine / all
	s.Nulls = count(&r.rng.Null)
	s.Records = mine + s.Nulls + bad
	switch {
	case before:
		s.To = at
	case s.From.Less(at): // else all of it is in this part
		s.From, s.Lost = at, 0
	}
	return s
}
