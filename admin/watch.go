package admin

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"sluice/batch"
	"sluice/eventlog"
)

// Watch keeps what the events have said, for Status. It is safe for use by several goroutines.
type Watch struct {
	mu        sync.Mutex
	status    Status // all but what Status() fills in
	readStore func() (Store, []Table)
	order     []string
	flows     map[string]*watched
}

// watched is one flow.
type watched struct {
	Flow
	kind  string // of its input
	meter meter
	done  int64 // of the last batch's progress
}

// NewWatch returns a Watch of a run of a pipeline.
func NewWatch(pipeline, version, update string, continuous bool) *Watch {
	now := time.Now().UTC()
	return &Watch{
		status: Status{Pipeline: pipeline, Version: version, Started: now, Continuous: continuous, Update: Update{ID: update, State: "CREATED", Since: now}},
		flows:  map[string]*watched{},
	}
}

// ReadStore sets where Status reads the store and the tables; nil takes them out. read must be quick and safe for use
// beside everything else.
func (w *Watch) ReadStore(read func() (Store, []Table)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.readStore = read
}

// Resume says where a flow stands in the store, so that Status is right before the first batch of this process. It is
// called after the flow's definition. last is the number of the last committed batch of the generation, nil when there
// is none.
func (w *Watch) Resume(flow string, generation uint64, last *uint64, position batch.Position) {
	w.mu.Lock()
	defer w.mu.Unlock()
	f := w.flow(flow)
	f.Generation, f.LastBatch, f.Positions = generation, last, nil
	if f.kind == eventlog.FileInput {
		return
	}
	for _, m := range position {
		f.Positions = append(f.Positions, Position{Split: m.Split, Next: m.Next.String()})
	}
}

// Listen takes one event. It is an eventlog.Listener.
func (w *Watch) Listen(e eventlog.Event) {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch e := e.(type) {
	case *eventlog.UpdateProgress:
		if e.Update != "" {
			return // beside the run
		}
		u := &w.status.Update
		u.State, u.Cause, u.Error, u.Since = e.State, e.Cause, ErrorOf(e.Err), time.Now().UTC()
	case *eventlog.FlowDefinition:
		f := w.flow(e.Flow)
		f.Type, f.Target, f.Sink = e.FlowType, e.Target+e.SinkTarget, e.SinkTarget != ""
		f.Once, f.DependsOn, f.kind = e.Once, e.DependsOn, e.InputKind
	case *eventlog.FlowProgress:
		w.flow(e.Flow).progress(e)
	case *eventlog.BatchDone:
		w.flow(e.Flow).batchDone(e)
	case *eventlog.BrokerSilent:
		w.flow(e.Flow).silent(e)
	}
}

func (w *Watch) flow(name string) *watched {
	f := w.flows[name]
	if f == nil {
		f = &watched{Flow: Flow{Name: name}}
		w.flows[name] = f
		w.order = append(w.order, name)
	}
	return f
}

func (f *watched) progress(e *eventlog.FlowProgress) {
	now := time.Now().UTC()
	if f.Status != e.Status {
		f.Since = now
	}
	f.Status, f.Reason, f.Error, f.RetryAt = e.Status, e.Reason, ErrorOf(e.Err), nil
	if e.Retry > 0 {
		at := now.Add(e.Retry)
		f.RetryAt = &at
	}
	if e.Status == eventlog.Starting {
		f.meter = meter{began: now}
	}
}

// silent takes in that a broker does not answer, or that this is over.
func (f *watched) silent(e *eventlog.BrokerSilent) {
	others := slices.DeleteFunc(slices.Clone(f.Silent), func(s SilentBroker) bool { return s.Address == e.Address })
	if e.Over == 0 {
		s := SilentBroker{Address: e.Address, Since: e.Since, Request: e.Request, Text: e.Text}
		if e.Node >= 0 {
			s.Broker = &e.Node
		}
		others = append(others, s)
	}
	slices.SortStableFunc(others, func(a, b SilentBroker) int { return a.Since.Compare(b.Since) })
	f.Silent = others
}

func (f *watched) batchDone(e *eventlog.BatchDone) {
	now := time.Now().UTC()
	number := e.ID.Number
	f.Generation, f.LastBatch, f.LastBatchAt = e.ID.Generation, &number, &now
	f.Batches++
	f.Counts.Add(e.Outcome)
	for _, x := range e.Expectations {
		f.expectation(x)
	}
	f.ColumnErrors = eventlog.AddColumnErrors(f.ColumnErrors, e.ColumnErrors)
	f.position(e)
	if e.Total > 0 {
		f.Progress = &Progress{Done: e.Done, Total: e.Total, Unit: "records"}
		if f.kind == eventlog.FileInput {
			f.Progress.Unit = "bytes"
		}
	}
	f.meter.add(now, sample{records: e.Range.Records(), done: max(0, e.Done-f.done), busy: e.Stages.Total()})
	f.done = e.Done
}

func (f *watched) expectation(x eventlog.Expectation) {
	i := slices.IndexFunc(f.Expectations, func(have eventlog.Expectation) bool { return have.Name == x.Name })
	if i < 0 {
		f.Expectations = append(f.Expectations, x)
		return
	}
	have := &f.Expectations[i]
	have.Passed, have.Failed, have.Errors = have.Passed+x.Passed, have.Failed+x.Failed, have.Errors+x.Errors
}

// Behind says how far a flow is behind in a Kafka partition, as found before its first batch. How old the records are is not
// known then, unless there are none.
func (w *Watch) Behind(flow, split string, next batch.Offset, records int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	p := Position{Split: split, Next: next.String(), LagRecords: &records}
	if records == 0 {
		p.LagSeconds = new(float64) // 0
	}
	w.flow(flow).put(p)
}

// Sending says since when the sink of a flow has had a batch in hand. With the zero time it has none.
func (w *Watch) Sending(flow string, since time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	f := w.flow(flow)
	if f.SendingSince = nil; !since.IsZero() {
		since = since.UTC()
		f.SendingSince = &since
	}
}

// Held says in which splits of a flow records are there that must not be read yet, and why. It stands until it is called again.
func (w *Watch) Held(flow string, held []Position) {
	w.mu.Lock()
	defer w.mu.Unlock()
	f := w.flow(flow)
	for i := range f.Positions {
		f.Positions[i].Waiting = ""
	}
	for _, h := range held {
		if i, found := f.find(h.Split); found {
			f.Positions[i].Waiting = h.Waiting
		} else {
			f.Positions = slices.Insert(f.Positions, i, h)
		}
	}
}

func (f *watched) find(split string) (int, bool) {
	return slices.BinarySearchFunc(f.Positions, split, func(p Position, split string) int { return strings.Compare(p.Split, split) })
}

// put shows a position in place of the one that the split had.
func (f *watched) put(p Position) {
	i, found := f.find(p.Split)
	if found {
		f.Positions[i] = p
	} else {
		f.Positions = slices.Insert(f.Positions, i, p)
	}
}

// position moves the splits that the batch read. A flow over files shows the files of its last batch only: a folder can
// hold any number of them.
func (f *watched) position(e *eventlog.BatchDone) {
	if f.kind == eventlog.FileInput && len(e.Range.Splits) > 0 {
		f.Positions = nil
	}
	for _, s := range e.Range.Splits {
		p := Position{Split: s.Split, Next: s.To.String()}
		if lag := eventlog.LagOf(s, e.Time); f.kind == eventlog.KafkaInput && lag.Records >= 0 {
			seconds := lag.Time.Seconds()
			p.LagRecords, p.LagSeconds = &lag.Records, &seconds
		}
		f.put(p)
	}
}

// Status returns what is happening now. Nothing of it changes afterwards.
func (w *Watch) Status() Status {
	w.mu.Lock()
	defer w.mu.Unlock()
	now := time.Now().UTC()
	s := w.status
	s.Now = now
	s.Flows, s.Tables = []Flow{}, []Table{}
	for _, name := range w.order {
		s.Flows = append(s.Flows, w.flows[name].show(now))
	}
	if w.readStore != nil {
		var tables []Table
		s.Store, tables = w.readStore()
		s.Tables = append(s.Tables, tables...)
	}
	s.Reasons = reasons(&s)
	s.Ready = len(s.Reasons) == 0
	return s
}

// show returns a copy of the flow with what depends on the time.
func (f *watched) show(now time.Time) Flow {
	out := f.Flow
	out.Expectations, out.ColumnErrors = slices.Clone(f.Expectations), slices.Clone(f.ColumnErrors)
	out.Positions = append([]Position{}, f.Positions...)
	sum, span := f.meter.sum(now)
	out.Rate = float64(sum.records) / span.Seconds()
	out.Saturation = min(1, sum.busy.Seconds()/span.Seconds())
	if f.Progress != nil {
		p := *f.Progress
		if sum.done > 0 {
			left := float64(p.Total-p.Done) / float64(sum.done) * span.Seconds()
			p.SecondsLeft = &left
		}
		out.Progress = &p
	}
	return out
}

// patience is how long a sink may have a batch in hand before the daemon is not ready. The batch is waited for all the same.
const patience = 5 * time.Minute

// reasons says why the daemon is not ready: the run has not begun or is ending, or a flow does not do its job.
func reasons(s *Status) (why []string) {
	if u := &s.Update; u.State != "RUNNING" && u.State != "COMPLETED" {
		why = append(why, "the update is "+u.State+because(u.Error, u.Cause))
	}
	for i := range s.Flows {
		f := &s.Flows[i]
		if f.Status == eventlog.Failed || f.Status == eventlog.Skipped {
			why = append(why, fmt.Sprintf("flow %s is %s%s", f.Name, f.Status, because(f.Error, f.Reason)))
		}
		if since := f.SendingSince; since != nil && s.Now.Sub(*since) > patience {
			why = append(why, fmt.Sprintf("flow %s waits: its sink has had a batch in hand since %s", f.Name, since.Format(time.RFC3339)))
		}
		for _, s := range f.Silent {
			why = append(why, fmt.Sprintf("flow %s waits: %s", f.Name, s.Text))
		}
	}
	return why
}

func because(err *Error, reason string) (text string) {
	if reason != "" {
		text += ": " + reason
	}
	if err != nil {
		text += ": " + err.Code + ": " + err.Message
	}
	return text
}
