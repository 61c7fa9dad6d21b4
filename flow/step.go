package flow

import (
	"context"
	"errors"
	"time"

	"sluice/batch"
	"sluice/eval"
	"sluice/eventlog"
	"sluice/expect"
	"sluice/fault"
	"sluice/state"
)

// work is a batch on its way down the path.
type work struct {
	read
	planned func() // of a large batch: gives the turn on, once the store has it
	at      time.Time
	result  eval.Result
	index   []int32      // rows of result that are still in; nil is all of them
	stop    cut          // FAILFAST: where the batch ends early
	failure *fault.Error // why; returned once what stands before it is committed
	outcome eventlog.Outcome
	counts  []expect.Count
	errors  []eventlog.ColumnErrors
	tie     *place // of a row that its key holds beside another, not told yet
	stages  eventlog.Stages

	told        told           // what the event log has to hear of records that cannot be used
	refused     map[place]bool // records of which no row was made, or one that cannot be used
	quarantined []batch.Bad    // those of them that are kept (D-15)
}

// step takes one read down the path: evaluate, judge, apply the rule, commit.
func (f *Flow) step(ctx context.Context, r read, planned func()) error {
	w := &work{read: r, planned: planned, at: f.batchTime()}
	w.stages.Read = r.took
	w.outcome.Read = r.rng.Records()
	if r.unseen != nil { // before anything can fail for it
		f.tell(r.unseen)
	}
	if err := f.admit(w); err != nil {
		return err
	}
	began := time.Now()
	if err := f.evaluate(ctx, w); errors.Is(err, eval.ErrTooLarge) {
		return f.inHalves(ctx, r)
	} else if err != nil {
		return err
	}
	if err := f.judge(w); err != nil {
		return err
	}
	if err := f.recount(ctx, w); err != nil {
		return err
	}
	w.stages.Eval = time.Since(began)
	w.errors = w.columnErrors()
	if w.failure != nil {
		w.shorten()
	}
	w.outcome.NulledDocuments, w.outcome.NulledFields = int64(w.result.Nulled.Documents), int64(w.result.Nulled.Fields)
	for _, s := range w.rng.Splits {
		w.outcome.Null += s.Nulls
		w.outcome.Lost += s.Lost
	}
	if len(w.rng.Splits) > 0 || w.end && f.end.Complete {
		if err := f.write(ctx, w); err != nil {
			return err
		}
		f.report(w)
		f.warn(w)
	}
	if w.failure != nil {
		return w.failure
	}
	return nil
}

// admit deals with the records the source could not read.
func (f *Flow) admit(w *work) error {
	if len(w.bad) == 0 {
		return nil
	}
	if f.mode(w) == batch.FailFast {
		f.cutAt(w, w.bad)
		return nil
	}
	w.countBad(w.bad)
	f.quarantine(w, w.bad)
	return nil
}

// cutAt ends the batch before the first of the given records, and takes out rows that stand behind.
func (f *Flow) cutAt(w *work, bad []batch.Bad) {
	stops, first := firstBad(append(bad, w.cutSoFar()...))
	w.stop = stops
	if first.Err != w.failure {
		w.failure = located(first)
	}
}

// cutSoFar is the present cut as records, so that the earlier of two cuts of a split wins.
func (w *work) cutSoFar() []batch.Bad {
	out := make([]batch.Bad, 0, len(w.stop))
	for split, at := range w.stop {
		out = append(out, batch.Bad{Split: split, At: at, Err: w.failure})
	}
	return out
}

// evaluate runs the query. Rows that SQL refuses fall under the flow's mode (D-15).
func (f *Flow) evaluate(ctx context.Context, w *work) error {
	if w.rows.Len == 0 {
		return nil
	}
	inputs, done := f.inputs(w)
	defer done()
	defer func() { inOrder(&w.result) }()
	f.statement.Bound(f.resultMost(w))
	var err error
	if w.result, err = f.statement.Run(ctx, inputs, w.at); err == nil {
		return nil
	}
	if code := fault.From(err).Code; ctx.Err() != nil || code.Class != fault.Data && code != fault.OutOfMemory {
		return err
	}
	var refused []eval.Refused
	if w.result, refused, err = f.statement.RunIsolated(ctx, inputs, w.at, f.mode(w) == batch.Permissive); err != nil {
		return err
	}
	bad := make([]batch.Bad, len(refused))
	for i, r := range refused {
		if mode := f.mode(w); r.Err.Code == fault.OutOfMemory && mode != batch.FailFast && mode != batch.Quarantine {
			return located(f.badRow(w, int32(r.Row), r.Err)) // there may be enough another time, so it is not left out
		}
		bad[i] = f.badRow(w, int32(r.Row), r.Err)
		bad[i].Kept = r.Kept
	}
	f.refuse(w, bad)
	return nil
}

// refuse applies the flow's mode to rows that were read well and cannot be used.
func (f *Flow) refuse(w *work, bad []batch.Bad) {
	if len(bad) == 0 {
		return
	}
	if f.mode(w) == batch.FailFast {
		f.cutAt(w, bad)
		return
	}
	w.countBad(bad)
	f.quarantine(w, bad)
}

// badRow makes a bad record of an input row, with the record itself if it is to be kept.
func (f *Flow) badRow(w *work, row int32, err *fault.Error) (b batch.Bad) {
	if f.mode(w) == batch.Quarantine {
		b = f.original(w, row)
	}
	p := w.rows.Pos
	b.Split, b.At, b.Err = w.rng.Splits[p.Split[row]].Split, batch.Offset{At: p.Offset[row], Index: p.Index[row]}, err
	return b
}

// inputs are the micro-batch and, as of now, the tables it is joined with.
func (f *Flow) inputs(w *work) ([]eval.Input, func()) {
	inputs := make([]eval.Input, len(f.plan.Query.Reads))
	inputs[0] = eval.Input{Batch: &w.rows, Documents: w.documents}
	if len(f.plan.Lookups) == 0 {
		return inputs, func() {}
	}
	snapshot := f.store.Snapshot()
	for _, l := range f.plan.Lookups {
		inputs[l.Read] = lookUp(snapshot, l, f.plan.Query.Reads[l.Read].Columns, nil)
	}
	return inputs, func() { snapshot.Close() }
}

// judge takes out rows behind the cut, then those that expectations drop, then those that cannot be held. Such a row
// may move the cut, and then the expectations are judged again on what is left, so that their counts are of committed rows
// only.
func (f *Flow) judge(w *work) error {
	for {
		f.trim(w)
		if err := f.expectations(w); err != nil {
			return err
		}
		if f.fit(w) {
			return nil
		}
	}
}

// recount evaluates what is before the cut once more when functions have counted what they made NULL: behind it they have counted
// records that come again.
func (f *Flow) recount(ctx context.Context, w *work) error {
	if w.failure == nil || w.result.Nulled.Documents+w.result.Nulled.Fields == 0 {
		return nil
	}
	rows := w.rows.Take(w.stop.keep(w.rows.Pos, w.rng.Splits))
	inputs, done := f.inputs(w)
	defer done()
	inputs[0] = eval.Input{Batch: &rows}
	before, _, err := f.statement.RunIsolated(ctx, inputs, w.at, f.plan.Input.Mode == batch.Permissive)
	w.result.Nulled = before.Nulled
	return err
}

// trim keeps the rows made of records before the cut, and of a replay those of records that have not been refused yet.
func (f *Flow) trim(w *work) {
	w.index = nil
	if w.stop == nil && (w.replayed == nil || w.refused == nil) {
		return
	}
	inside := make([]bool, w.rows.Len)
	for _, i := range w.stop.keep(w.rows.Pos, w.rng.Splits) {
		inside[i] = w.replayed == nil || !w.refused[w.placeOf(i)]
	}
	w.index = make([]int32, 0, w.result.Rows.Len)
	for i, from := range w.result.Row {
		if inside[from] {
			w.index = append(w.index, int32(i))
		}
	}
}

// expectations judges the rows that are in (D-4): a refused batch is an error, dropped rows leave.
func (f *Flow) expectations(w *work) error {
	n := w.len()
	if len(f.checks) == 0 || n == 0 {
		return nil
	}
	verdicts := make([]expect.Verdict, len(f.checks))
	for i := range f.checks {
		said := w.taken(w.result.Checks[i])
		verdicts[i] = expect.Verdict{Column: &said}
		if len(w.result.Ran) > 0 {
			verdicts[i].Ran = w.taken(w.result.Ran[i]).Valid
		}
	}
	f.judged.Judge(f.checks, verdicts, n)
	if f.judged.Refused >= 0 {
		return f.violated(w, w.row(f.judged.Refused))
	}
	w.counts = append(w.counts[:0], f.judged.Counts...)
	w.outcome.Dropped = f.judged.Dropped
	if f.judged.All() {
		return nil
	}
	kept := f.judged.Kept(make([]int32, 0, n)) // never nil, which would be all of them
	for i, k := range kept {
		kept[i] = w.row(int(k))
	}
	w.index = kept
	return nil
}

// violated ends the batch, unless the row was made of a record that is replayed: that goes back into quarantine, and the others are judged
// anew.
func (f *Flow) violated(w *work, row int32) error {
	if w.replayed == nil {
		return f.violation(w, row)
	}
	f.refuse(w, []batch.Bad{f.badRow(w, w.result.Row[row], fault.From(f.violation(w, row)))})
	f.trim(w)
	return f.expectations(w)
}

// violation is the error of a batch in which a row must not be: it says which batch it would have been, where the record
// stands, and what the row was (EX-O8).
func (f *Flow) violation(w *work, row int32) error {
	e := f.judged.Violation(f.plan.Name, f.checks, f.show(w.result.Rows, int(row)))
	bad := f.badRow(w, w.result.Row[row], e)
	return e.Within("batch %d, at %s of %s", f.state.NextBatch(), bad.At, bad.Split)
}

// len is the number of rows that are in.
func (w *work) len() int {
	if w.index != nil {
		return len(w.index)
	}
	return w.result.Rows.Len
}

// taken returns the rows of a column of the result that are in.
func (w *work) taken(c batch.Column) batch.Column {
	if w.index != nil {
		return c.Take(w.index)
	}
	return c
}

// row is the row of the result that is the i-th one in.
func (w *work) row(i int) int32 {
	if w.index != nil {
		return w.index[i]
	}
	return int32(i)
}

// in returns the rows that are in, with their positions, and their sequences.
func (w *work) in() (batch.Columns, batch.Column) {
	rows, sequence, from := w.result.Rows, w.result.Sequence, w.result.Row
	if w.index != nil {
		rows = rows.Take(w.index)
		if sequence.Type.Kind != batch.Void {
			sequence = sequence.Take(w.index)
		}
		taken := make([]int32, len(w.index))
		for i, r := range w.index {
			taken[i] = from[r]
		}
		from = taken
	}
	rows.Pos = w.rows.Pos.Take(from)
	fanOut(rows.Pos, from)
	return rows, sequence
}

// advance is what the batch does to the flow's own state.
func (f *Flow) advance(w *work) (state.Advance, error) {
	quarantine, err := f.setAside(w)
	if w.replayed != nil {
		w.outcome.Replayed, w.outcome.Returned = int64(len(quarantine.Drop)), int64(len(quarantine.Put))
	} else {
		w.outcome.Quarantined = int64(len(quarantine.Put))
	}
	return state.Advance{Range: w.moved(), Time: w.at, Counters: f.counters(w), Complete: w.end && f.end.Complete, Quarantine: quarantine}, err
}
