package flow

import (
	"maps"
	"slices"
	"strings"

	"sluice/batch"
	"sluice/eventlog"
)

// columnErrors counts, by column, the values before the cut that the source's columnErrors replaced (D-15).
func (w *work) columnErrors() (out []eventlog.ColumnErrors) {
	e := &w.rng.Errors
	if len(e.Column) == 0 {
		return nil
	}
	counts := map[string]int64{}
	for i, column := range e.Column {
		if at, cut := w.stop[w.rng.Splits[e.Pos.Split[i]].Split]; !cut || (batch.Offset{At: e.Pos.Offset[i], Index: e.Pos.Index[i]}).Less(at) {
			counts[column]++
		}
	}
	for _, column := range slices.Sorted(maps.Keys(counts)) {
		out = append(out, eventlog.ColumnErrors{Column: column, Values: counts[column]})
	}
	return out
}

// columnErrors is in front of a column among the counters that the store has of a flow.
const columnErrors = "column_errors "

// ColumnErrors are those counts among them.
func ColumnErrors(counters map[string]int64) (out []eventlog.ColumnErrors) {
	for name, n := range counters {
		if column, ok := strings.CutPrefix(name, columnErrors); ok {
			out = eventlog.AddColumnErrors(out, []eventlog.ColumnErrors{{Column: column, Values: n}})
		}
	}
	return out
}

// mendErrors takes the replaced values of records that were edited out of r, and adds those of the edits.
func mendErrors(r, edits *batch.Range, edited map[place]bool) {
	old := r.Errors
	r.Errors = batch.ColumnErrors{}
	for i, column := range old.Column {
		at := batch.Offset{At: old.Pos.Offset[i], Index: old.Pos.Index[i]}
		if split := old.Pos.Split[i]; !edited[place{r.Splits[split].Split, at}] {
			r.Errors.Add(split, at, column)
		}
	}
	for i, column := range edits.Errors.Column {
		name := edits.Splits[edits.Errors.Pos.Split[i]].Split
		split := slices.IndexFunc(r.Splits, func(s batch.SplitRange) bool { return s.Split == name })
		r.Errors.Add(int32(split), batch.Offset{At: edits.Errors.Pos.Offset[i], Index: edits.Errors.Pos.Index[i]}, column)
	}
}
