package eventlog

import (
	"fmt"
	"time"

	"sluice/fault"
)

// ScheduleProgress is a turn of a table's schedule, and what became of it.
type ScheduleProgress struct {
	Dataset  string
	Schedule string    // its clause
	State    string    // one of ScheduleStates
	Turn     time.Time // when it was due
	Update   string    // id of the update that it started, "" without one
	Err      *fault.Error
}

// States of a turn.
const (
	TurnStarted   = "STARTED"
	TurnCompleted = "COMPLETED"
	TurnFailed    = "FAILED"
	TurnCanceled  = "CANCELED" // the pipeline was stopped: the next start takes the turn again
	TurnSkipped   = "SKIPPED"  // a refresh of the table was at work (SC-O2)
	TurnMissed    = "MISSED"   // nobody served the schedule; with others it is caught up by one turn (SC-O4)
)

// ScheduleStates are all states.
var ScheduleStates = [...]string{TurnStarted, TurnCompleted, TurnFailed, TurnCanceled, TurnSkipped, TurnMissed}

func (e *ScheduleProgress) Type() string { return "schedule_progress" }

func (e *ScheduleProgress) Level() Level {
	switch e.State {
	case TurnFailed:
		return Error
	case TurnSkipped, TurnMissed:
		return Warn
	}
	return Info
}

func (e *ScheduleProgress) Origin() Origin { return Origin{Dataset: e.Dataset} }

func (e *ScheduleProgress) String() string {
	s := fmt.Sprintf("table %s: the turn of %s is %s", e.Dataset, e.Turn.UTC().Format(time.RFC3339), e.State)
	switch e.State {
	case TurnSkipped:
		s += ": a refresh is at work"
	case TurnMissed:
		s += ": the schedule was not served; one turn catches up"
	}
	if e.Err != nil {
		s += ": " + e.Err.Error()
	}
	return s + " (" + e.Schedule + ")"
}
