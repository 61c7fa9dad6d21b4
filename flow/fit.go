package flow

import (
	"sluice/batch"
	"sluice/fault"
	"sluice/replaceusing"
)

// fit refuses rows that cannot be held: those whose sequence is null or NaN (D-2), those without a value that is declared
// NOT NULL, and all rows of a record that became too many. It reports false when that moved the cut.
func (f *Flow) fit(w *work) bool {
	if w.len() == 0 {
		return true
	}
	unfit := map[int32]*fault.Error{}
	if f.table != nil {
		f.unknownSequences(w, unfit)
		f.missingValues(w, unfit)
	}
	f.tooMany(w, unfit)
	if len(unfit) == 0 {
		return true
	}
	f.whole(w, unfit)
	var bad []batch.Bad
	var last *fault.Error
	kept := make([]int32, 0, w.len())
	for i := range w.len() {
		row := w.row(i)
		err := unfit[row]
		switch {
		case err == nil:
			kept = append(kept, row)
		case err != last: // rows that are refused as one record share theirs
			bad = append(bad, f.badRow(w, w.result.Row[row], err))
		}
		last = err
	}
	w.index = kept
	f.refuse(w, bad)
	return len(bad) == 0 || f.mode(w) != batch.FailFast
}

// dropMalformed is how the flow's source is told to leave such rows out.
func (f *Flow) dropMalformed() string {
	if f.plan.Input.Table != nil {
		return "WITH (mode = 'DROPMALFORMED')"
	}
	return "mode => 'DROPMALFORMED'"
}

func (f *Flow) unknownSequences(w *work, unfit map[int32]*fault.Error) {
	if len(f.plan.Table.Keys) == 0 {
		return
	}
	for _, row := range replaceusing.BadSequences(nil, &w.result.Sequence) {
		unfit[row] = fault.New(fault.NullSequence, "flow %s: the sequence of a row is null or NaN", f.plan.Name).OfColumn(f.plan.SequenceBy).
			WithHint("add an expectation that drops such rows, or %s", f.dropMalformed())
	}
}

func (f *Flow) missingValues(w *work, unfit map[int32]*fault.Error) {
	for row, path := range batch.AllMissing(f.plan.Table.Fields, &w.result.Rows) {
		unfit[int32(row)] = fault.New(fault.NullInNotNull, "flow %s: %s is NOT NULL in table %s and has no value", f.plan.Name, path, f.plan.Table.Display).OfColumn(path).
			WithHint("add an expectation that drops such rows, or %s", f.dropMalformed())
	}
}
