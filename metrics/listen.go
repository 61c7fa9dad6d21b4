package metrics

import (
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"sluice/batch"
	"sluice/eventlog"
	"sluice/fault"
)

// statuses are all values of a flow's status.
var statuses = [...]eventlog.Status{eventlog.Queued, eventlog.Starting, eventlog.Running, eventlog.Completed, eventlog.Failed,
	eventlog.Skipped, eventlog.Stopped, eventlog.Idle, eventlog.Excluded}

// Listen takes one event. It is an eventlog.Listener.
func (m *Metrics) Listen(e eventlog.Event) {
	m.events.WithLabelValues(string(e.Level())).Inc()
	switch e := e.(type) {
	case *eventlog.BatchDone:
		m.batchDone(e)
	case *eventlog.FlowProgress:
		m.flowProgress(e)
	case *eventlog.FlowDefinition:
		m.define(e)
	case *eventlog.FlowWarning:
		if !e.Mild {
			m.flowWarnings.WithLabelValues(e.Flow, code(e.Err)).Inc()
		}
	case *eventlog.PlanningInformation:
		m.windowPlanned(e)
	case *eventlog.ScheduleProgress:
		for _, state := range eventlog.ScheduleStates { // all from the first turn on: an alert sees the first one that fails
			m.turns.WithLabelValues(e.Dataset, state)
		}
		m.turns.WithLabelValues(e.Dataset, e.State).Inc()
	case *eventlog.BrokerSilent:
		m.brokerSilent(e)
	case *eventlog.UpdateProgress:
		if e.Update == "" {
			m.updateProgress(e)
		}
	}
}

// define makes the series of a flow, so that they start at zero and not at their first event.
func (m *Metrics) define(e *eventlog.FlowDefinition) {
	m.mu.Lock()
	m.flows[e.Flow] = flow{kind: e.InputKind, once: e.Once}
	m.mu.Unlock()

	target := e.Target + e.SinkTarget // one of them is empty
	m.flowInfo.DeletePartialMatch(map[string]string{"flow": e.Flow})
	m.flowInfo.WithLabelValues(e.Flow, e.FlowType, target, e.InputKind, strconv.FormatBool(e.Once)).Set(1)
	m.addOutcome(e.Flow, eventlog.Outcome{})
	m.inputBytes.WithLabelValues(e.Flow)
	m.batches.WithLabelValues(e.Flow)
	m.flowBusy.WithLabelValues(e.Flow)
	for _, stage := range stages {
		m.batchDuration.WithLabelValues(e.Flow, stage)
	}
}

func (m *Metrics) flow(name string) flow {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.flows[name]
}

func (m *Metrics) flowProgress(e *eventlog.FlowProgress) {
	for _, s := range statuses {
		is := 0.0
		if s == e.Status {
			is = 1
		}
		m.flowState.WithLabelValues(e.Flow, string(s)).Set(is)
	}
	if e.Status == eventlog.Failed {
		m.flowFailures.WithLabelValues(e.Flow, code(e.Err)).Inc()
	}
	// A once flow that drained in an earlier run, or whose input was empty, has no batch that says so.
	if m.flow(e.Flow).once && (e.Status == eventlog.Completed || e.Status == eventlog.Idle) {
		m.backfill.WithLabelValues(e.Flow).Set(1)
	}
}

func (m *Metrics) updateProgress(e *eventlog.UpdateProgress) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.updateState != "" {
		m.update.WithLabelValues(m.updateState).Set(0)
	}
	m.updateState = e.State
	m.update.WithLabelValues(e.State).Set(1)
}

func (m *Metrics) batchDone(e *eventlog.BatchDone) {
	m.addOutcome(e.Flow, e.Outcome)
	m.inputBytes.WithLabelValues(e.Flow).Add(float64(e.Range.Bytes()))
	m.batches.WithLabelValues(e.Flow).Inc()
	m.batchNumber.WithLabelValues(e.Flow).Set(float64(e.ID.Number))
	m.flowBusy.WithLabelValues(e.Flow).Add(e.Stages.Total().Seconds())
	s := e.Stages
	for i, d := range [...]float64{s.Read.Seconds(), s.Eval.Seconds(), s.Rule.Seconds(), s.Plan.Seconds(), s.Write.Seconds(), s.Commit.Seconds()} {
		m.batchDuration.WithLabelValues(e.Flow, stages[i]).Observe(d)
	}
	for _, x := range e.Expectations {
		m.expectationRows.WithLabelValues(e.Flow, x.Dataset, x.Name, passed).Add(float64(x.Passed))
		m.expectationRows.WithLabelValues(e.Flow, x.Dataset, x.Name, failed).Add(float64(x.Failed))
		m.expectationErrors.WithLabelValues(e.Flow, x.Dataset, x.Name).Add(float64(x.Errors))
	}
	for _, c := range e.ColumnErrors {
		m.columnErrors.WithLabelValues(e.Flow, c.Column).Add(float64(c.Values))
	}
	if e.Total > 0 {
		m.backfill.WithLabelValues(e.Flow).Set(float64(e.Done) / float64(e.Total))
	}
	kind := m.flow(e.Flow).kind
	for _, split := range e.Range.Splits {
		m.backlog(e, kind, split)
	}
}

func (m *Metrics) windowPlanned(e *eventlog.PlanningInformation) {
	files := map[string]int{"removed": e.Table.Removed, "rewritten": e.Table.Rewritten, "untouched": e.Table.Files - e.Table.Removed - e.Table.Rewritten}
	for _, s := range e.Sources {
		files["read"] += s.Files - s.Skipped
		files["skipped"] += s.Skipped
	}
	for outcome, n := range files {
		m.windowFiles.WithLabelValues(e.Flow, outcome).Add(float64(n))
	}
}

func (m *Metrics) backlog(e *eventlog.BatchDone, kind string, split batch.SplitRange) {
	lag := eventlog.LagOf(split, e.Time)
	if lag.Records < 0 {
		return
	}
	switch kind {
	case eventlog.KafkaInput:
		m.backlogRecords.WithLabelValues(e.Flow, split.Split).Set(float64(lag.Records))
		m.lag.WithLabelValues(e.Flow, split.Split).Set(lag.Time.Seconds())
	case eventlog.TableInput, eventlog.FeedInput:
		m.backlogCommits.WithLabelValues(e.Flow, split.Split).Set(float64(lag.Records))
	} // the backlog of files is their progress
}

// Behind sets how many records of a Kafka partition a flow has not read, as found before its first batch. How old they are is
// not known then, unless there are none.
func (m *Metrics) Behind(flow, split string, records int64) {
	m.backlogRecords.WithLabelValues(flow, split).Set(float64(records))
	if records == 0 {
		m.lag.WithLabelValues(flow, split).Set(0)
	}
}

// Sending sets since when the sink of a flow has had a batch in hand. With the zero time it has none.
func (m *Metrics) Sending(flow string, since time.Time) {
	if since.IsZero() {
		m.sending.DeleteLabelValues(flow)
		return
	}
	m.sending.WithLabelValues(flow).Set(float64(since.UnixMilli()) / 1000)
}

// Held sets since when open transactions hold back records of a flow's partitions; those that are not named are not held.
func (m *Metrics) Held(flow string, since map[string]time.Time) {
	m.held.DeletePartialMatch(prometheus.Labels{"flow": flow})
	for split, t := range since {
		m.held.WithLabelValues(flow, split).Set(float64(t.UnixMilli()) / 1000)
	}
}

func (m *Metrics) brokerSilent(e *eventlog.BrokerSilent) {
	if e.Over > 0 {
		m.silent.DeleteLabelValues(e.Flow, e.Address)
		return
	}
	m.silent.WithLabelValues(e.Flow, e.Address).Set(float64(e.Since.UnixMilli()) / 1000)
	m.flowWarnings.WithLabelValues(e.Flow, fault.BrokerSilent.Name).Inc()
}

func (m *Metrics) addOutcome(flow string, o eventlog.Outcome) {
	m.inputRecords.WithLabelValues(flow).Add(float64(o.Read))
	m.badRecords.WithLabelValues(flow).Add(float64(o.Bad))
	m.quarantined.WithLabelValues(flow).Add(float64(o.Quarantined))
	m.replayed.WithLabelValues(flow, accepted).Add(float64(o.Replayed))
	m.replayed.WithLabelValues(flow, refused).Add(float64(o.Returned))
	m.nullRecords.WithLabelValues(flow).Add(float64(o.Null))
	m.lostRecords.WithLabelValues(flow).Add(float64(o.Lost))
	m.nulled.WithLabelValues(flow, "document").Add(float64(o.NulledDocuments))
	m.nulled.WithLabelValues(flow, "field").Add(float64(o.NulledFields))
	m.rows.WithLabelValues(flow, written).Add(float64(o.Written))
	m.rows.WithLabelValues(flow, dropped).Add(float64(o.Dropped))
	m.rows.WithLabelValues(flow, superseded).Add(float64(o.Superseded))
	m.rows.WithLabelValues(flow, late).Add(float64(o.Late))
	m.rows.WithLabelValues(flow, redelivered).Add(float64(o.Redelivered))
	m.outputBytes.WithLabelValues(flow).Add(float64(o.Bytes))
	m.tiedRows.WithLabelValues(flow).Add(float64(o.Tied))
	m.tieGroups.WithLabelValues(flow).Add(float64(o.TieGroups))
	m.replacedRows.WithLabelValues(flow).Add(float64(o.Replaced))
	m.changeRows.WithLabelValues(flow).Add(float64(o.Changes))
}

func code(err *fault.Error) string {
	if err == nil {
		return ""
	}
	return err.Code.Name
}
