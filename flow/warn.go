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
// source may leave out (D-6), and, once in a run, a row that looks like one another flow brought (D-10).
func (f *Flow) warn(w *work) {
	for _, s := range w.rng.Splits {
		if s.Lost > 0 {
			f.tell(fault.New(fault.DataLoss, "offsets %d to %d of %s were gone before they were read and are left out", s.From.At, s.From.At+s.Lost-1, s.Split))
		}
	}
	if w.tie != nil && !f.tied {
		f.tied = true
		f.tell(fault.New(fault.EqualSequence, "the record at %s of %s has the sequence of rows that %s holds for its key; all are kept", w.tie.at, w.tie.split, f.plan.Target()).
			WithHint("a record that comes through two flows is two rows; let the flows share none, or let the sequence grow with every version"))
	}
}

func (f *Flow) tell(e *fault.Error) { f.emit(&eventlog.FlowWarning{Flow: f.plan.Name, Err: e}) }

// firstTie finds the first row that was stored beside older ones of its key, in a table that several flows write.
func (f *Flow) firstTie(w *work, rows *batch.Columns) *place {
	if !f.shared || f.tied || f.decision.Counts.Tied == 0 {
		return nil
	}
	row := slices.Index(f.decision.Verdicts, replaceusing.Tied)
	pos := rows.Pos
	return &place{w.rng.Splits[pos.Split[row]].Split, batch.Offset{At: pos.Offset[row], Index: pos.Index[row] & (1<<fanBits - 1)}}
}
