package schedule

import (
	"time"

	"sluice/fault"
	"sluice/timetable"
)

// Record is what a store keeps of a table's schedule.
type Record struct {
	File    string            `json:"file,omitempty"`    // the clause of the definition, in its one form (SC-08)
	Altered *string           `json:"altered,omitempty"` // what ALTER put in its place, in the one form; "" is none (D-32)
	Last    time.Time         `json:"last,omitzero"`     // the turn from which the next one is counted
	Begun   time.Time         `json:"begun,omitzero"`    // the turn that was begun and has not ended
	Seen    map[string]string `json:"seen,omitempty"`    // of TRIGGER ON UPDATE: versions of the tables that are read, as of the last turn
}

// clause is the one in force.
func (r *Record) clause() string {
	if r.Altered != nil {
		return *r.Altered
	}
	return r.File
}

// Settle holds a record against the clause of the definition, which may be nil, and returns the schedule in force. What ALTER said holds until
// the clause of the definition is another one; dropped is what held until now (D-32).
func (r *Record) Settle(file *timetable.Timetable, now time.Time) (inForce *timetable.Timetable, dropped string, err error) {
	text := ""
	if file != nil {
		text = file.String()
	}
	if r.File == text {
		if r.Altered == nil {
			return file, "", nil
		}
		if *r.Altered == "" {
			return nil, "", nil
		}
		inForce, err = timetable.Parse(*r.Altered)
		return inForce, "", err
	}
	if r.Altered != nil {
		dropped = r.clause()
		if dropped == "" {
			dropped = "DROP SCHEDULE"
		}
	}
	r.File, r.Altered = text, nil
	r.comesIntoForce(file, now)
	return file, dropped, nil
}

// comesIntoForce counts turns by another schedule. Those that CRON would have had before are no turns.
func (r *Record) comesIntoForce(t *timetable.Timetable, now time.Time) {
	switch {
	case t == nil:
		r.Begun = time.Time{}
	case t.ByClock() && !r.Last.IsZero():
		r.Last = now
	}
}

// Alter is the record after ALTER ... ADD, ALTER or DROP (SC-06). It refreshes nothing: a schedule that has had no turn counts from now on.
func (r Record) Alter(action string, to *timetable.Timetable, now time.Time) (Record, error) {
	before := r.clause()
	switch {
	case action == "ADD" && before != "":
		return r, fault.New(fault.ScheduleExists, "the table already has %s", before).WithHint("change it by ALTER STREAMING TABLE ... ALTER SCHEDULE, or drop it first")
	case action == "ALTER" && before == "":
		return r, fault.New(fault.AlterScheduleNotFound, "the table has no schedule to be altered").WithHint("ALTER STREAMING TABLE ... ADD SCHEDULE gives it one")
	case action == "DROP" && before == "":
		return r, fault.New(fault.DropScheduleNotFound, "the table has no schedule to be dropped")
	}
	after := ""
	if to != nil {
		after = to.String()
		if r.Last.IsZero() {
			r.Last = now
		}
	}
	if r.Altered = &after; after == r.File {
		r.Altered = nil
	}
	if after != before {
		r.comesIntoForce(to, now)
	}
	return r, nil
}

// Standing tells how a schedule stands.
func (r *Record) Standing(inForce *timetable.Timetable, now time.Time) Standing {
	s := Standing{Altered: r.Altered != nil, Last: r.Last}
	if inForce == nil {
		return s
	}
	s.Schedule = inForce.String()
	switch {
	case inForce.OnUpdate():
	case r.Last.IsZero():
		s.Next = now
	default:
		s.Next, _ = inForce.Next(r.Last)
	}
	return s
}
