package flow

import (
	"slices"
	"sort"

	"sluice/batch"
	"sluice/eventlog"
	"sluice/fault"
)

// cut is the first place of each split that must not be applied. Splits without one are applied whole.
type cut map[string]batch.Offset

// firstBad returns where a FAILFAST batch has to stop, and the earliest of those records (by split, then offset).
func firstBad(bad []batch.Bad) (cut, batch.Bad) {
	stops := cut{}
	for _, b := range bad {
		if at, ok := stops[b.Split]; !ok || b.At.Less(at) {
			stops[b.Split] = b.At
		}
	}
	sorted := append([]batch.Bad(nil), bad...)
	sort.SliceStable(sorted, func(i, j int) bool {
		if sorted[i].Split != sorted[j].Split {
			return sorted[i].Split < sorted[j].Split
		}
		return sorted[i].At.Less(sorted[j].At)
	})
	return stops, sorted[0]
}

// located is the error of a record with the place where the record stands.
func located(b batch.Bad) *fault.Error {
	return b.Err.Within("at %s of %s", b.At, b.Split)
}

// shorten ends the batch at its cut: what is not covered is read again and counted then. The records of a shortened split are those
// that became rows, and the null values; its bytes are no longer known exactly and are scaled down, since they only feed metrics.
func (w *work) shorten() {
	kept := make([]batch.SplitRange, 0, len(w.rng.Splits))
	number := make([]int32, len(w.rng.Splits)) // of a split among those kept, which the rows' positions index; -1 of one that is not
	for i, s := range w.rng.Splits {
		if at, ok := w.stop[s.Split]; ok && at.Less(s.To) {
			if !s.From.Less(at) {
				number[i] = -1
				continue // nothing of this split is left, and no row
			}
			if whole := s.To.At - s.From.At; whole > 0 {
				s.Bytes = s.Bytes * (at.At - s.From.At) / whole
			}
			s.Nulls = before(&w.rng.Null, int32(i), at)
			s.Records = before(&w.rows.Pos, int32(i), at) + s.Nulls
			s.To = at
		}
		number[i] = int32(len(kept))
		kept = append(kept, s)
	}
	for i, split := range w.rows.Pos.Split {
		w.rows.Pos.Split[i] = number[split]
	}
	w.rng, w.end = batch.Range{Splits: kept}, false
	w.outcome.Read, w.outcome.Bad = w.rng.Records(), 0
}

// before counts the positions in a split that stand before a place.
func before(p *batch.Positions, split int32, at batch.Offset) (n int64) {
	for i, s := range p.Split {
		if s == split && (batch.Offset{At: p.Offset[i], Index: p.Index[i]}).Less(at) {
			n++
		}
	}
	return n
}

// keep returns the rows before the cut. splits are those that the rows' positions index.
func (c cut) keep(pos batch.Positions, splits []batch.SplitRange) []int32 {
	index := make([]int32, 0, pos.Len())
	for i := range pos.Len() {
		at, ok := c[splits[pos.Split[i]].Split]
		if ok && !(batch.Offset{At: pos.Offset[i], Index: pos.Index[i]}).Less(at) {
			continue
		}
		index = append(index, int32(i))
	}
	return index
}

// report tells the event log about records that were left out or kept in part: of each group one sample, and how many more.
func (f *Flow) report(w *work) {
	for _, bad := range w.told.groups {
		bad = slices.DeleteFunc(bad, func(b batch.Bad) bool { return b.Err == nil }) // they are in a later group
		if len(bad) > 0 {
			f.emit(&eventlog.RecordRefused{Flow: f.plan.Name, Split: bad[0].Split, At: bad[0].At, Kept: bad[0].Kept,
				Quarantined: f.mode(w) == batch.Quarantine, Err: bad[0].Err, More: int64(len(bad) - 1)})
		}
	}
}
