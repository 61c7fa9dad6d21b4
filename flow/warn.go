package flow

import (
	"slices"

	"sluice/batch"
	"sluice/eventlog"
	"sluice/fault"
	"sluice/replaceusing"
)

// place is where a record stands.
type place struct {
	split string
	at    batch.Offset
}

// warn tells what of a committed batch somebody should know: records that were gone before they were read and that the
// source may leave out (D-6), and, once in a run, a row that its key holds beside another (A-08, D-10).
func (f *Flow) warn(w *work) {
	for _, s := range w.rng.Splits {
		if s.Lost > 0 {
			f.tell(fault.New(fault.DataLoss, "offsets %d to %d of %s were gone before they were read and are left out", s.From.At, s.From.At+s.Lost-1, s.Split))
		}
	}
	if w.tie != nil && !f.tied {
		f.tied = true
		f.emit(&eventlog.FlowWarning{Flow: f.plan.Name, Err: f.tie(w.tie), Mild: !f.shared})
	}
}

func (f *Flow) tell(e *fault.Error) { f.emit(&eventlog.FlowWarning{Flow: f.plan.Name, Err: e}) }

// tie is what is told of a row that its key holds beside others. Where several flows write a table that may be one record twice;
// elsewhere it is what a snapshot of several rows looks like, and what a clock too coarse for a sequence does (RU-19).
func (f *Flow) tie(at *place) *fault.Error {
	if f.shared {
		return fault.New(fault.EqualSequence, "the record at %s of %s has the sequence of rows that %s holds for its key; all are kept", at.at, at.split, f.plan.Target()).
			WithHint("a record that comes through two flows is two rows; let the flows share none, or let the sequence grow with every version")
	}
	return fault.New(fault.EqualSequence, "the record at %s of %s has the key and the sequence of another; %s keeps both", at.at, at.split, f.plan.Target()).
		WithHint("where a key is to have one row, take a sequence that grows with every change, and no coarse time")
}

// firstTie finds the first row that was stored beside another of its key: in a table that several flows write an older one.
func (f *Flow) firstTie(w *work, rows *batch.Columns) *place {
	d := &f.decision
	if f.tied || d.Counts.TieGroups == 0 || f.shared && d.Counts.Tied == 0 {
		return nil
	}
	row := slices.Index(d.Verdicts, replaceusing.Tied)
	if row < 0 {
		row = int(d.FirstTwin())
	}
	pos := rows.Pos
	return &place{w.rng.Splits[pos.Split[row]].Split, batch.Offset{At: pos.Offset[row], Index: recordIndex(pos.Index[row])}}
}
