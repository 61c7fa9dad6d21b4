package schedule

import (
	"slices"
	"sync"
	"time"

	"sluice/eventlog"
	"sluice/fault"
	"sluice/timetable"
)

// Timed is a table with a schedule, or one that may get one.
type Timed struct {
	Table    string // identity
	Display  string
	Schedule *timetable.Timetable // in force; nil for none
	Record   Record
	Versions func() map[string]string // of the tables that its flows read
	Off      bool                     // this run does not refresh it
}

// Turn is a turn to be taken.
type Turn struct {
	Table    string
	Display  string
	Schedule string
	At       time.Time // when it was due
}

// Clockwork is what turns are made with.
type Clockwork struct {
	Now  func() time.Time
	Keep func(table string, r Record) error // durable when it returns
	Emit eventlog.Listener
	Poll time.Duration // how often the tables that TRIGGER ON UPDATE reads are looked at
}

// Turns says which tables have their turn, and keeps what is needed to say the same after a crash: a turn is taken once (D-32), one that was
// cut short is taken again, one that comes while the table is being refreshed is skipped (SC-O2), and of those that passed while nobody
// served one is taken for all (SC-O4). A schedule that has never had a turn has it at once (SA-02). It is safe for use by several goroutines.
type Turns struct {
	Clockwork
	mu     sync.Mutex
	tables []*timed
	began  bool // somebody has asked what is due: what passed before that was missed
}

type timed struct {
	Timed
	running bool
	update  string // that the turn at work has started
}

// look is how often the clock is looked at although nothing is due: it may be set, and the machine may have slept.
const look = 30 * time.Second

// NewTurns returns the turns of tables.
func NewTurns(c Clockwork, tables []Timed) *Turns {
	out := &Turns{Clockwork: c}
	for _, x := range tables {
		out.tables = append(out.tables, &timed{Timed: x})
	}
	return out
}

// Due are the turns to be taken now, and how long nothing else is due. Each that is returned must be begun or left, and ended.
func (t *Turns) Due() (due []Turn, wait time.Duration, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	now, wait := t.Now(), look
	for _, x := range t.tables {
		if x.Schedule == nil || x.Off {
			continue
		}
		turn, ok, failure := t.due(x, now)
		if failure != nil {
			return nil, look, failure
		}
		if ok {
			due = append(due, turn)
		}
		wait = min(wait, t.until(x, now))
	}
	t.began = true
	return due, wait, nil
}

// due looks at one table.
func (t *Turns) due(x *timed, now time.Time) (turn Turn, ok bool, err error) {
	turn = Turn{Table: x.Table, Display: x.Display, Schedule: x.Schedule.String(), At: now}
	if x.Record.Last.IsZero() && !x.running {
		return x.taken(turn, now), true, nil
	}
	if x.Schedule.OnUpdate() && (x.running || x.Record.Begun.IsZero() && !x.changed()) {
		return turn, false, nil
	}
	at, missed, passed := x.Schedule.Due(x.Record.Last, now)
	cutShort := !x.running && !x.Record.Begun.IsZero()
	switch {
	case !passed && !cutShort:
		return turn, false, nil
	case !passed:
		x.running, turn.At = true, x.Record.Begun
		return turn, true, nil
	}
	if turn.At = at; x.running {
		return turn, false, t.skip(x, turn, now)
	}
	if !x.Schedule.OnUpdate() && (missed || !t.began && at.Before(now.Add(-look))) {
		t.tell(turn, eventlog.TurnMissed, "", nil)
	}
	return x.taken(turn, now), true, nil
}

// taken counts the turns after this one from now on.
func (x *timed) taken(turn Turn, now time.Time) Turn {
	x.running, x.Record.Last = true, x.after(turn, now)
	return turn
}

// skip takes a turn off that comes while the table is being refreshed.
func (t *Turns) skip(x *timed, turn Turn, now time.Time) error {
	x.Record.Last = x.after(turn, now)
	t.tell(turn, eventlog.TurnSkipped, "", nil)
	return t.Keep(x.Table, x.Record)
}

// after is from when on the turn after one is counted.
func (x *timed) after(turn Turn, now time.Time) time.Time {
	if x.Schedule.ByClock() {
		return now // the turns between are taken with this one
	}
	return turn.At
}

// until is how long nothing is due for a table, as far as a clock can tell.
func (t *Turns) until(x *timed, now time.Time) time.Duration {
	next, ok := x.Schedule.Next(x.Record.Last)
	switch {
	case !ok, x.running && x.Schedule.OnUpdate():
		return look
	case x.Schedule.OnUpdate():
		return max(next.Sub(now), t.Poll)
	}
	return max(next.Sub(now), 0)
}

// changed reports whether a table that is read is another one than at the last turn.
func (x *timed) changed() bool {
	now := x.Versions()
	for name, version := range now {
		if seen, ok := x.Record.Seen[name]; !ok || seen != version {
			return true
		}
	}
	return false
}

// Begin says that a turn is being taken by an update, before that does anything.
func (t *Turns) Begin(turn Turn, update string) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	x := t.find(turn.Table)
	x.update, x.Record.Begun = update, turn.At
	if x.Schedule != nil && x.Schedule.OnUpdate() {
		x.Record.Seen = x.Versions()
	}
	if err := t.Keep(x.Table, x.Record); err != nil {
		return err
	}
	t.tell(turn, eventlog.TurnStarted, update, nil)
	return nil
}

// Leave says that a turn is not taken, since an update is at work on the table.
func (t *Turns) Leave(turn Turn) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	x := t.find(turn.Table)
	x.running, x.Record.Begun = false, time.Time{}
	t.tell(turn, eventlog.TurnSkipped, "", nil)
	return t.Keep(x.Table, x.Record)
}

// End says what became of a turn. One that was stopped is taken again by the next start; one that failed waits for the next turn (SC-07).
func (t *Turns) End(turn Turn, stopped bool, failure *fault.Error) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	x := t.find(turn.Table)
	update := x.update
	x.running, x.update = false, ""
	if stopped {
		t.tell(turn, eventlog.TurnCanceled, update, nil)
		return nil
	}
	x.Record.Begun = time.Time{}
	if err := t.Keep(x.Table, x.Record); err != nil {
		return err
	}
	state := eventlog.TurnCompleted
	if failure != nil {
		state = eventlog.TurnFailed
	}
	t.tell(turn, state, update, failure)
	return nil
}

func (t *Turns) tell(turn Turn, state, update string, failure *fault.Error) {
	t.Emit(&eventlog.ScheduleProgress{Dataset: turn.Display, Schedule: turn.Schedule, State: state, Turn: turn.At, Update: update, Err: failure})
}

// Alter changes the schedule of a table as ALTER says, durably.
func (t *Turns) Alter(table, action string, to *timetable.Timetable) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	x := t.find(table)
	r, err := x.Record.Alter(action, to, t.Now())
	if err == nil {
		err = t.Keep(table, r)
	}
	if err != nil {
		return err
	}
	x.Record, x.Schedule = r, to
	return nil
}

// Standing is a schedule and how it stands.
type Standing struct {
	Schedule string    // its clause; "" without one
	Altered  bool      // by ALTER: the definition says something else
	Last     time.Time // the last turn; zero before the first one
	Next     time.Time // zero when there is none any more, and of TRIGGER ON UPDATE
	Running  bool
}

// Standing tells of a table.
func (t *Turns) Standing(table string) Standing {
	t.mu.Lock()
	defer t.mu.Unlock()
	x := t.find(table)
	s := x.Record.Standing(x.Schedule, t.Now())
	s.Running = x.running
	return s
}

// Scheduled reports whether a table has a schedule.
func (t *Turns) Scheduled(table string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.find(table).Schedule != nil
}

func (t *Turns) find(table string) *timed {
	return t.tables[slices.IndexFunc(t.tables, func(x *timed) bool { return x.Table == table })]
}
