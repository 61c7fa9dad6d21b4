package schedule

import (
	"fmt"
	"slices"
	"sync"
	"time"

	"sluice/eventlog"
	"sluice/fault"
)

// transitions is every legal change of a flow's status. A status that may follow itself only changes its reason.
var transitions = map[eventlog.Status][]eventlog.Status{
	"":                 {eventlog.Queued, eventlog.Excluded},
	eventlog.Queued:    {eventlog.Queued, eventlog.Starting, eventlog.Idle, eventlog.Skipped, eventlog.Stopped},
	eventlog.Starting:  {eventlog.Running, eventlog.Failed, eventlog.Stopped, eventlog.Completed, eventlog.Queued},
	eventlog.Running:   {eventlog.Running, eventlog.Completed, eventlog.Failed, eventlog.Stopped, eventlog.Queued}, // Queued: behind a flow that begins anew
	eventlog.Failed:    {eventlog.Starting, eventlog.Stopped, eventlog.Failed, eventlog.Queued},                    // Starting: it is tried again
	eventlog.Stopped:   {eventlog.Queued},                                                                          // an order stopped it and lets it go on
	eventlog.Completed: {eventlog.Queued},
	eventlog.Idle:      {eventlog.Queued},
	eventlog.Skipped:   {eventlog.Queued},
	eventlog.Excluded:  {},
}

// State is what a flow is doing.
type State struct {
	Flow   string
	Target string
	Status eventlog.Status
	Reason string
	Err    *fault.Error
	Retry  time.Duration // Failed: it is tried again this long after Since; 0 when it is not
	Since  time.Time
}

// Board holds the state of every flow of a run. It is safe for use by several goroutines.
type Board struct {
	emit eventlog.Listener

	mu    sync.Mutex
	order []string
	flows map[string]*State
}

// NewBoard returns a board for the named flows and their targets that tells emit of every change.
func NewBoard(emit eventlog.Listener) *Board {
	return &Board{emit: emit, flows: map[string]*State{}}
}

// States returns a copy of every flow's state, in the order in which they were put up.
func (b *Board) States() []State {
	b.mu.Lock()
	defer b.mu.Unlock()
	out := make([]State, len(b.order))
	for i, name := range b.order {
		out[i] = *b.flows[name]
	}
	return out
}

// State returns the state of one flow; its Status is "" when the flow is not on the board.
func (b *Board) State(flow string) State {
	b.mu.Lock()
	defer b.mu.Unlock()
	if s := b.flows[flow]; s != nil {
		return *s
	}
	return State{Flow: flow}
}

func (b *Board) add(flow, target string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.order = append(b.order, flow)
	b.flows[flow] = &State{Flow: flow, Target: target}
}

// set changes a flow's status and tells the listener, outside the lock. A repeated status with the same reason is silent.
func (b *Board) set(flow string, status eventlog.Status, reason string, err *fault.Error, retry time.Duration) {
	b.mu.Lock()
	s := b.flows[flow]
	if s.Status == status && s.Reason == reason && err == nil {
		b.mu.Unlock()
		return
	}
	if !slices.Contains(transitions[s.Status], status) {
		b.mu.Unlock()
		panic(fmt.Sprintf("schedule: flow %s cannot go from %q to %q", flow, s.Status, status))
	}
	s.Status, s.Reason, s.Err, s.Retry, s.Since = status, reason, err, retry, time.Now()
	target := s.Target
	b.mu.Unlock()
	b.emit(&eventlog.FlowProgress{Flow: flow, Target: target, Status: status, Reason: reason, Err: err, Retry: retry})
}
