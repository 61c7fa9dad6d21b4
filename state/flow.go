package state

import (
	"context"
	"time"

	"sluice/batch"
)

// Flow is the durable state of one flow. It is used by one goroutine; Info may be called by any.
type Flow struct{}

// FlowInfo shows a flow to status pages.
type FlowInfo struct {
	Name        string
	Generation  uint64
	NextBatch   uint64
	LastTime    time.Time // time of the last batch; zero before the first
	Position    batch.Position
	Start       batch.Position
	End         batch.Position
	OnceTime    time.Time
	Completed   time.Time // zero until the flow finished (DO-18)
	Planned     bool
	Fingerprint string
	Counters    map[string]int64
}

// Flow returns the state of a flow, making it at its first mention.
func (s *Store) Flow(name string) (*Flow, error) { panic("") }

// Info shows the flow as of its last commit.
func (f *Flow) Info() FlowInfo { panic("") }

// Generation is the number of times the flow has been reset (FR-08).
func (f *Flow) Generation() uint64 { panic("") }

// NextBatch is the number of the next batch; 0 is the first of a generation (FB-04).
func (f *Flow) NextBatch() uint64 { panic("") }

// LastTime is the time of the last batch, zero before the first.
func (f *Flow) LastTime() time.Time { panic("") }

// Position is how far the flow has read, as committed; at first its start. The caller owns it.
func (f *Flow) Position() batch.Position { panic("") }

// Start is where the flow began to read in this generation; ok is false until SetStart (D-40).
func (f *Flow) Start() (start batch.Position, ok bool) { panic("") }

// SetStart fixes where the flow begins to read. It is called once per generation, before the first read, and fails when a
// start is there already.
func (f *Flow) SetStart(start batch.Position) error { panic("") }

// End is where a once flow ends and the batch time of its whole drain (ON-O1, D-48); ok is false until SetEnd.
func (f *Flow) End() (end batch.Position, once time.Time, ok bool) { panic("") }

// SetEnd fixes the end of a once flow. It is called once per generation.
func (f *Flow) SetEnd(end batch.Position, once time.Time) error { panic("") }

// Completed is when the flow finished; ok is false while it has not (DO-18).
func (f *Flow) Completed() (at time.Time, ok bool) { panic("") }

// Fingerprint is what SetFingerprint stored last: the query as it was planned (D-62). It survives resets.
func (f *Flow) Fingerprint() string { panic("") }

// SetFingerprint stores the fingerprint of the flow's query.
func (f *Flow) SetFingerprint(fingerprint string) error { panic("") }

// Counters are the sums of every batch's counters in this generation. The caller owns the map.
func (f *Flow) Counters() map[string]int64 { panic("") }

// Advance is what a batch does to its flow. It is committed together with the batch's rows.
type Advance struct {
	Range    batch.Range      // what was read; must begin where the flow stands
	Time     time.Time        // the batch's time (D-48)
	Counters map[string]int64 // added to the flow's
	Events   []Event          // added to the log
	Complete bool             // the once flow is finished with this (DO-18)
}

// Skip commits a batch without rows and without a number: only the positions move, or the flow completes (ON-O3). Table
// flows may use it for a batch in which no row was left, sink flows for one that is not delivered.
func (f *Flow) Skip(a Advance) error { panic("") }

// PlannedBatch is a batch of a sink flow that has a number: the evaluated rows and what comes with them (D-42).
type PlannedBatch struct {
	Number uint64
	Advance
	Rows     batch.Columns
	Change   []batch.Change // one per row, or nil: every row is an insert
	Keys     batch.Keys     // one per row, or empty (D-43)
	Sequence batch.Keys     // one per row, or empty
}

// Plan stores the next batch of a sink flow under the next number and returns when it is durable; only then may the sink
// see it. b.Number is set. A flow has one planned batch at a time.
func (f *Flow) Plan(ctx context.Context, b *PlannedBatch) error { panic("") }

// Planned returns the batch that was planned and not committed, with the same rows, or nil. Advance.Events is empty.
func (f *Flow) Planned() (*PlannedBatch, error) { panic("") }

// CommitPlanned records that the sink accepted the planned batch: positions, number, time and counters move as its
// Advance says, counters and events of the delivery are added, the plan is dropped. It returns when that is durable.
func (f *Flow) CommitPlanned(ctx context.Context, counters map[string]int64, events ...Event) error {
	panic("")
}
