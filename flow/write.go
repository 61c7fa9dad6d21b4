package flow

import (
	"context"
	"fmt"
	"time"

	"sluice/batch"
	"sluice/eventlog"
	"sluice/fault"
	"sluice/replaceusing"
	"sluice/sink"
	"sluice/state"
)

// write commits what is left of a batch: into the table by the flow's rule, or to the sink.
func (f *Flow) write(ctx context.Context, w *work) error {
	if w.len() == 0 {
		began := time.Now()
		a, err := f.advance(w)
		if err == nil {
			err = f.state.Skip(a)
		}
		if err != nil {
			return err
		}
		w.stages.Commit = time.Since(began)
		f.done(w, f.state.NextBatch())
		return nil
	}
	rows, sequence := w.in()
	switch {
	case f.sink != nil:
		return f.deliver(ctx, w, rows)
	case len(f.plan.Table.Keys) > 0:
		return f.replace(ctx, w, rows, sequence)
	}
	return f.append(ctx, w, rows)
}

// append adds rows to an append table.
func (f *Flow) append(ctx context.Context, w *work, rows batch.Columns) error {
	began := time.Now()
	writer, err := f.table.Begin(ctx)
	if err != nil {
		return err
	}
	defer writer.Abort()
	if err := writer.Append(&rows); err != nil {
		return err
	}
	w.outcome.Written = int64(rows.Len)
	w.stages.Rule = time.Since(began)
	return f.commit(w, writer)
}

// replace applies the rule of REPLACE USING (RU-01 to RU-09).
func (f *Flow) replace(ctx context.Context, w *work, rows batch.Columns, sequence batch.Column) error {
	began := time.Now()
	writer, err := f.table.Begin(ctx)
	if err != nil {
		return err
	}
	defer writer.Abort()
	if err := writer.EncodeKeys(&f.keys, &rows); err != nil {
		return err
	}
	batch.EncodeKeys(&f.sequences, &sequence)
	pos, err := f.places(w, &rows)
	if err != nil {
		return err
	}
	f.grouper.Group(&f.groups, &f.keys.Keys)
	if err := writer.Floors(&f.floors, &f.keys, &f.groups); err != nil {
		return err
	}
	replaceusing.Apply(&f.decision, &f.groups, &f.sequences, &f.floors, pos)
	again, err := writer.Redelivered(&f.keys, &f.groups, pos, &f.decision.Edits)
	if err != nil {
		return err
	}
	f.decision.DropRedelivered(again)
	if err := writer.Apply(state.Edit{Rows: &rows, Positions: pos, Keys: &f.keys, Sequences: &f.sequences, Groups: &f.groups, Edits: &f.decision.Edits}); err != nil {
		return err
	}
	w.tie = f.firstTie(w, &rows)
	c := f.decision.Counts
	w.outcome.Written, w.outcome.Tied, w.outcome.Superseded = c.Written, c.Tied, c.Superseded
	w.outcome.Late, w.outcome.Redelivered, w.outcome.TieGroups = c.Late, c.Redelivered, c.TieGroups
	w.stages.Rule = time.Since(began)
	return f.commit(w, writer)
}

// commit makes a table's batch durable with its positions, in one atomic write.
func (f *Flow) commit(w *work, writer *state.Writer) error {
	began := time.Now()
	a, err := f.advance(w)
	if err != nil {
		return err
	}
	c, err := writer.Commit(f.state, a)
	if err != nil {
		return err
	}
	w.outcome.Replaced, w.outcome.Changes = c.Replaced, c.Changes
	w.stages.Commit = time.Since(began)
	f.done(w, c.Number)
	return nil
}

// deliver gives a batch its number, stores it under that number, and only then shows it to the sink (D-42).
func (f *Flow) deliver(ctx context.Context, w *work, rows batch.Columns) error {
	began := time.Now()
	w.outcome.Written = int64(rows.Len)
	a, err := f.advance(w)
	if err != nil {
		return err
	}
	planned := &state.PlannedBatch{Advance: a, Rows: rows}
	planned.Change, planned.Keys, planned.Sequence = feedOf(w)
	if err := f.state.Plan(ctx, planned); err != nil {
		return err
	}
	w.stages.Plan = time.Since(began)
	return f.send(ctx, w, planned, false)
}

// send delivers a planned batch and commits it.
func (f *Flow) send(ctx context.Context, w *work, b *state.PlannedBatch, replay bool) error {
	w.sending()
	began := time.Now()
	id := f.id(b.Number, replay)
	id.Time, id.Tried = b.Time, b.Tried
	if f.sending != nil {
		f.sending(began)
		defer f.sending(time.Time{})
	}
	if err := f.sink.Write(ctx, id, sink.Rows{Columns: b.Rows, Change: b.Change, Keys: b.Keys, Sequence: b.Sequence, Splits: w.rng.Splits}); err != nil {
		return refused(err, b)
	}
	w.stages.Write = time.Since(began)
	began = time.Now()
	if err := f.state.CommitPlanned(ctx, nil); err != nil {
		return err
	}
	w.stages.Commit = time.Since(began)
	f.done(w, b.Number)
	return nil
}

// refused adds to what a sink says of a batch which one it is, and what it was made of.
func refused(err error, b *state.PlannedBatch) error {
	e, ok := err.(*fault.Error) // others have a cause that counts, such as the end of a context
	if !ok || len(b.Range.Splits) == 0 {
		return err
	}
	first := b.Range.Splits[0]
	text := fmt.Sprintf("batch %d, of %s from %v up to %v", b.Number, first.Split, first.From, first.To)
	if more := len(b.Range.Splits) - 1; more > 0 {
		text += fmt.Sprintf(" and of %d more", more)
	}
	return e.Within("%s", text)
}

// finishPlanned sends the batch that an earlier run planned and did not commit. It evaluates nothing: the stored rows are
// the batch (D-42).
func (f *Flow) finishPlanned(ctx context.Context) error {
	b, err := f.state.Planned()
	if err != nil || b == nil {
		return err
	}
	w := &work{read: read{rng: b.Range}, at: b.Time}
	w.outcome.Read, w.outcome.Written = b.Range.Records(), int64(b.Rows.Len)
	if err := f.state.Retry(ctx, b); err != nil {
		return err
	}
	if err := f.send(ctx, w, b, true); err != nil {
		return err
	}
	f.position = f.state.Position()
	return nil
}

// greet delivers batch 0 of a generation that follows a reset: it is empty, comes before anything is read, and is how a
// sink learns that it has to clean up (FB-04, FB-O2).
func (f *Flow) greet(ctx context.Context) error {
	if f.sink == nil || f.state.Generation() == 0 || f.state.NextBatch() > 0 {
		return nil
	}
	w := &work{at: f.batchTime()}
	empty := batch.Columns{Fields: f.plan.Query.Columns, Cols: make([]batch.Column, len(f.plan.Query.Columns))}
	for i, field := range empty.Fields {
		empty.Cols[i] = batch.NewBuilder(field.Type, 0).Column()
	}
	b := &state.PlannedBatch{Advance: state.Advance{Time: w.at}, Rows: empty}
	if err := f.state.Plan(ctx, b); err != nil {
		return err
	}
	return f.send(ctx, w, b, false)
}

// done tells everybody that a batch is committed.
func (f *Flow) done(w *work, number uint64) {
	f.batches.Add(1)
	e := &eventlog.BatchDone{Flow: f.plan.Name, Target: f.plan.Target(), Sink: f.sink != nil, ID: f.id(number, false), Range: w.moved(),
		Outcome: w.outcome, Stages: w.stages, Time: w.at}
	for i, c := range w.counts {
		e.Expectations = append(e.Expectations, eventlog.Expectation{Name: f.checks[i].Name, Dataset: f.plan.Target(), Passed: c.Passed, Failed: c.Failed, Errors: c.Raised})
	}
	e.ColumnErrors = w.errors
	e.Done, e.Total = f.progress()
	f.emit(e)
}

// kept are the counts that the store keeps with a flow, by name.
var kept = []struct {
	name  string
	count func(*eventlog.Outcome) *int64
}{
	{"records", func(o *eventlog.Outcome) *int64 { return &o.Read }},
	{"null", func(o *eventlog.Outcome) *int64 { return &o.Null }},
	{"lost", func(o *eventlog.Outcome) *int64 { return &o.Lost }},
	{"bad", func(o *eventlog.Outcome) *int64 { return &o.Bad }},
	{"quarantined", func(o *eventlog.Outcome) *int64 { return &o.Quarantined }},
	{"replayed", func(o *eventlog.Outcome) *int64 { return &o.Replayed }},
	{"returned", func(o *eventlog.Outcome) *int64 { return &o.Returned }},
	{"nulled_documents", func(o *eventlog.Outcome) *int64 { return &o.NulledDocuments }},
	{"nulled_fields", func(o *eventlog.Outcome) *int64 { return &o.NulledFields }},
	{"dropped", func(o *eventlog.Outcome) *int64 { return &o.Dropped }},
	{"written", func(o *eventlog.Outcome) *int64 { return &o.Written }},
	{"superseded", func(o *eventlog.Outcome) *int64 { return &o.Superseded }},
	{"late", func(o *eventlog.Outcome) *int64 { return &o.Late }},
	{"tied", func(o *eventlog.Outcome) *int64 { return &o.Tied }},
	{"deleted", func(o *eventlog.Outcome) *int64 { return &o.Deleted }},
	{"outside", func(o *eventlog.Outcome) *int64 { return &o.Outside }},
	{"redelivered", func(o *eventlog.Outcome) *int64 { return &o.Redelivered }},
}

// Counts are the counts of a flow's generation among the counters that the store has of it.
func Counts(counters map[string]int64) (o eventlog.Outcome) {
	for _, k := range kept {
		*k.count(&o) = counters[k.name]
	}
	return o
}

// counters are the sums the store keeps with the flow, committed with the batch. What is 0 is left out.
func (f *Flow) counters(w *work) map[string]int64 {
	sums := map[string]int64{}
	add := func(name string, n int64) {
		if n != 0 {
			sums[name] = n
		}
	}
	for _, k := range kept {
		add(k.name, *k.count(&w.outcome))
	}
	for _, e := range w.errors {
		add(columnErrors+e.Column, e.Values)
	}
	for i, c := range w.counts {
		name := f.checks[i].Name
		add("passed "+name, c.Passed)
		add("failed "+name, c.Failed)
		add("errors "+name, c.Raised)
	}
	return sums
}

// progress is how much of a bounded run is behind, in records (files: bytes); 0 of 0 without an end.
func (f *Flow) progress() (done, total int64) {
	if f.end == nil {
		return 0, 0
	}
	start, _ := f.state.Start()
	now := f.state.Position()
	for _, m := range f.end.Until {
		first, _ := start.Find(m.Split)
		at, ok := now.Find(m.Split)
		if !ok {
			at = first
		}
		done += at.Next.At - first.Next.At
		total += m.Next.At - first.Next.At
	}
	return done, total
}
