package flow

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"sluice/batch"
	"sluice/fault"
	"sluice/source"
	"sluice/state"
)

// A replay takes records out of quarantine down the path once more, as they are or as they were edited, in batches of their own that move no
// position (D-31). They keep the positions that they have, so that a table that replaces keys knows them again, and its floors decide whether
// they are late. What is refused again stays in quarantine, whatever the flow's mode is. Rows and marks are one commit.

// A batch of a replay has no more than this: each record that an expectation refuses has the others judged once more.
const (
	replayRows  = 1024
	replayBytes = 16 << 20
)

// Replay carries out what was ordered, and does nothing else. A once flow that has drained is asked for no more than this.
func (f *Flow) Replay(take, do context.Context) error {
	if err := f.open(do, nil); err != nil {
		return err
	}
	if err := f.finishPlanned(do); err != nil {
		return err
	}
	return f.replay(take, do, true)
}

// replay carries out what was ordered of records that the flow does not come to any more in this generation, or, with all, of others too: those
// that will be read are mended then.
func (f *Flow) replay(take, do context.Context, all bool) error {
	keeper, ok := f.source.(source.Keeper)
	if !ok {
		return nil
	}
	rows, bytes := replayRows, f.limit.Bytes
	if f.limit.Rows > 0 {
		rows = min(rows, f.limit.Rows)
	}
	if bytes == 0 {
		bytes = replayBytes
	}
	ahead := places{}
	if !all && f.state.Quarantined().Ordered > 0 {
		var err error
		if ahead, err = f.ahead(take); err != nil {
			return err
		}
	}
	var at []byte
	for take.Err() == nil && f.state.Quarantined().Ordered > 0 {
		some, next, err := f.state.Ordered(at, rows, bytes)
		if err != nil {
			return err
		}
		if at = next; !all {
			some = slices.DeleteFunc(some, func(q state.Quarantined) bool { return ahead.have(&q) })
		}
		for _, part := range apart(some) {
			if err := f.replaySome(do, keeper, part); err != nil {
				return err
			}
		}
		if at == nil {
			return nil
		}
	}
	return nil
}

// places are what a flow has yet to read in this generation.
type places struct {
	start, now batch.Position
	end        batch.Position // where the source ends; of a flow that runs to an end, which replays everything there, nil
}

// ahead are the places that the flow has yet to read. One that runs for ever may wait in vain for a place that its source has lost: a file that
// was removed or replaced, a partition that is gone.
func (f *Flow) ahead(ctx context.Context) (p places, err error) {
	p.start, _ = f.state.Start()
	p.now = f.state.Position()
	if f.end == nil {
		p.end, err = f.source.End(ctx)
	}
	return p, err
}

// have reports whether the place of a record is among them.
func (p *places) have(q *state.Quarantined) bool {
	m, begun := p.now.Find(q.Split)
	if !begun {
		m, begun = p.start.Find(q.Split)
		begun = begun && m.ID == q.ID // a file may have been replaced since
	}
	if begun && (m.ID != q.ID || q.At.Less(m.Next)) {
		return false
	}
	last, there := p.end.Find(q.Split)
	return p.end == nil || there && last.ID == q.ID
}

// apart divides records, which come in the order of splits' numbers, so that a split has one ID in each part, and sorts each.
func apart(records []state.Quarantined) (parts [][]state.Quarantined) {
	ids := map[string]string{}
	from := 0
	for i := range records {
		r := &records[i]
		if id, known := ids[r.Split]; known && id != r.ID {
			parts, from = append(parts, records[from:i]), i
			clear(ids)
		}
		ids[r.Split] = r.ID
	}
	if from < len(records) {
		parts = append(parts, records[from:])
	}
	for _, part := range parts {
		slices.SortFunc(part, compareQuarantined)
	}
	return parts
}

func compareQuarantined(a, b state.Quarantined) int {
	return cmp.Or(strings.Compare(a.Split, b.Split), cmp.Compare(a.At.At, b.At.At), cmp.Compare(a.At.Index, b.At.Index))
}

// asKept are records as they are to be read.
func asKept(records []state.Quarantined) []source.Kept {
	out := make([]source.Kept, len(records))
	for i := range records {
		q := &records[i]
		key, value := q.Mended()
		out[i] = source.Kept{Split: q.Split, ID: q.ID, Bad: batch.Bad{Split: q.Split, At: q.At, Time: q.Time, LogAppend: q.LogAppend, Key: key, Value: value, Headers: q.Headers}}
	}
	return out
}

func (f *Flow) replaySome(ctx context.Context, keeper source.Keeper, records []state.Quarantined) error {
	whole := slices.DeleteFunc(slices.Clone(records), func(q state.Quarantined) bool { return q.Code == fault.RecordTooLarge.Name && q.EditedValue == nil })
	r := read{replayed: records}
	var err error
	if r.rows, r.rng, r.bad, err = keeper.Remake(asKept(whole)); err != nil {
		return err
	}
	if len(whole) == 0 {
		r.rng, _ = source.Splits(asKept(records)) // there is nothing to read, and that is to be noted
	}
	if f.large(&r.rows) {
		r.carried = make(chan struct{})
		defer forget(f.source)
	}
	return f.carry(ctx, r)
}

// replayedBack is what a replay does to the quarantine. refused go back.
func (w *work) replayedBack(refused []state.Quarantined) (q state.Quarantine) {
	again := map[place]*state.Quarantined{}
	for i := range refused {
		again[place{refused[i].Split, refused[i].At}] = &refused[i]
	}
	for i := range w.replayed {
		r := w.replayed[i]
		if why := again[place{r.Split, r.At}]; why != nil {
			r.Code, r.Message, r.Column = why.Code, why.Message, why.Column
			q.Put = append(q.Put, r)
		} else if r.Code == fault.RecordTooLarge.Name && r.EditedValue == nil {
			q.Put = append(q.Put, r) // there is nothing of it to read
		} else {
			q.Drop = append(q.Drop, state.Place{Split: r.Split, ID: r.ID, At: r.At})
		}
	}
	return q
}

// moved is the range that the batch covers: a replay covers nothing.
func (w *work) moved() batch.Range {
	if w.replayed != nil {
		return batch.Range{}
	}
	return w.rng
}

// placeOf is where the record of an input row stands.
func (w *work) placeOf(row int32) place {
	p := w.rows.Pos
	return place{w.rng.Splits[p.Split[row]].Split, batch.Offset{At: p.Offset[row], Index: p.Index[row]}}
}

func (w *work) countBad(bad []batch.Bad) {
	w.told.add(bad)
	if w.replayed == nil { // which were counted when they were read
		w.outcome.Bad = w.told.bad
	}
}

// mend puts edits that are in force into what was read, for the records that they are of (D-31).
func (f *Flow) mend(r *read) error {
	edits, err := f.state.InForceIn(&r.rng)
	if err != nil || len(edits) == 0 {
		return err
	}
	keeper, ok := f.source.(source.Keeper)
	if !ok {
		return fault.New(fault.InternalError, "flow %s: the source takes no edits", f.plan.Name)
	}
	rows, covered, bad, err := keeper.Remake(asKept(edits))
	if err != nil {
		return err
	}
	edited := map[place]bool{}
	for i := range edits {
		edited[place{edits[i].Split, edits[i].At}] = true
	}
	r.bad = slices.DeleteFunc(r.bad, func(b batch.Bad) bool { return edited[place{b.Split, b.At}] })
	r.bad = append(r.bad, bad...)
	for i, split := range rows.Pos.Split {
		name := covered.Splits[split].Split
		rows.Pos.Split[i] = int32(slices.IndexFunc(r.rng.Splits, func(s batch.SplitRange) bool { return s.Split == name }))
	}
	mendErrors(&r.rng, &covered, edited)
	r.rows = merged(&r.rows, &rows, r.rng.Splits, edited)
	return nil
}

// merged are the rows of old that are not edited, and those of edits in their places.
func merged(old, edits *batch.Columns, splits []batch.SplitRange, edited map[place]bool) batch.Columns {
	type from struct {
		of  *batch.Columns
		row int
	}
	var rows []from
	rank := map[int32]int{} // of a split, in the order in which they were read
	ranked := func(split int32) int {
		if _, known := rank[split]; !known {
			rank[split] = len(rank)
		}
		return rank[split]
	}
	for i := range old.Len {
		ranked(old.Pos.Split[i])
		if !edited[place{splits[old.Pos.Split[i]].Split, batch.Offset{At: old.Pos.Offset[i], Index: old.Pos.Index[i]}}] {
			rows = append(rows, from{old, i})
		}
	}
	for i := range edits.Len {
		rows = append(rows, from{edits, i})
	}
	slices.SortStableFunc(rows, func(a, b from) int {
		p, q := &a.of.Pos, &b.of.Pos
		return cmp.Or(cmp.Compare(ranked(p.Split[a.row]), ranked(q.Split[b.row])), cmp.Compare(p.Offset[a.row], q.Offset[b.row]), cmp.Compare(p.Index[a.row], q.Index[b.row]))
	})
	out := batch.Columns{Fields: old.Fields, Len: len(rows)}
	for _, field := range old.Fields {
		b := batch.NewBuilder(field.Type, len(rows))
		for _, r := range rows {
			b.AppendFrom(r.of.Col(field.Name), r.row)
		}
		out.Cols = append(out.Cols, b.Column())
	}
	for _, r := range rows {
		p := &r.of.Pos
		out.Pos.Split, out.Pos.Offset, out.Pos.Index = append(out.Pos.Split, p.Split[r.row]), append(out.Pos.Offset, p.Offset[r.row]), append(out.Pos.Index, p.Index[r.row])
	}
	return out
}
