package schedule

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"sluice/eventlog"
	"sluice/fault"
	"sluice/plan"
)

// Job is one flow as the schedule sees it.
type Job struct {
	Flow *plan.Flow
	// Drained reports whether a once flow has completed in this generation, in this run or an earlier one (DO-18).
	Drained func() bool
	// Ordered reports whether a once flow has something to do although it has drained: records to replay (D-31). It may be nil.
	Ordered func() bool
	// Batches is the number of batches committed since the job was made: a retry that got further starts to count anew.
	Batches func() uint64
	// Endless reports whether the flow goes on until it is stopped; nil means that the run says it.
	Endless func() bool
	// Rests says that the flow runs only when an order names it: its table has a schedule.
	Rests bool
	// Run works until the flow's end, or until take ends, and then returns nil; do ends when even the current batch must be
	// given up. Say reports what the flow is doing, in a few words.
	Run func(take, do context.Context, say func(reason string)) error
}

// Order has flows run once more that have ended, or rest. One that runs is run again after it.
type Order struct {
	Flows []string
	Ended func([]State) // told what they came to, or that the run is being stopped; must not block
}

// through reports whether a once flow has nothing to do.
func (j *Job) through() bool { return j.Drained() && (j.Ordered == nil || !j.Ordered()) }

// Config is a run of a pipeline.
type Config struct {
	Continuous   bool
	Jobs         []Job
	Excluded     map[string]bool // flows outside the refresh selection (DO-29)
	RetryTimeout time.Duration   // triggered mode: how long external faults are tried again (D-51)
	Concurrent   int             // triggered mode: flows that run at the same time (DO-28); 0 means 16
	Board        *Board
	// Again names flows that are to be tried once more although they failed for good: what they failed of was mended.
	Again  <-chan string
	Stay   bool // a run that is not continuous also goes on until take ends: it serves schedules
	Orders <-chan Order
	// Turns is what is due now, and how long nothing more is; it is asked at the start, then, and at each Wake. May be nil.
	Turns func() (due []Update, wait time.Duration)
	Wake  <-chan struct{}
	// Updates are to be carried out beside the flows, each on a goroutine of its own. May be nil.
	Updates <-chan Update
}

// Update is something that is carried out beside the flows. Run returns early when do ends. Ended is told what came of it.
type Update struct {
	Run   func(do context.Context) error
	Ended func(error)
}

// ErrBefore is what a job returns, for whose sake a flow it waits for begins anew: it is queued behind that.
var ErrBefore = errors.New("a flow before this one begins anew")

// Result says how a run ended.
type Result struct {
	Failed  []string // flows that are FAILED or SKIPPED
	Stopped bool     // take ended before every flow had
}

// Run runs every job to its end, or until take ends. A continuous run always goes on until take ends (PM-02), whatever its
// flows have come to: one that failed for good may be wanted again. It returns when every goroutine it started has returned.
func Run(take, do context.Context, c Config) Result {
	if c.Concurrent == 0 {
		c.Concurrent = 16
	}
	r := &run{Config: c, jobs: map[string]Job{}, resting: map[string]bool{}, again: map[string]bool{}, ended: make(chan string), updated: make(chan struct{}), live: map[string]bool{}}
	for _, j := range c.Jobs {
		r.jobs[j.Flow.Name] = j
		c.Board.add(j.Flow.Name, j.Flow.Target())
		switch {
		case c.Excluded[j.Flow.Name]:
			c.Board.set(j.Flow.Name, eventlog.Excluded, "not selected", nil, 0)
		case j.Rests:
			r.resting[j.Flow.Name] = true
			c.Board.set(j.Flow.Name, eventlog.Queued, "until its table's turn", nil, 0)
		default:
			c.Board.set(j.Flow.Name, eventlog.Queued, "", nil, 0)
		}
	}
	return r.loop(take, do)
}

// run is owned by the goroutine that called Run; jobs report to it through ended.
type run struct {
	Config
	jobs    map[string]Job
	resting map[string]bool // flows that no order has named yet
	orders  []*ordered
	again   map[string]bool // flows to try once more that had not failed yet when that was said
	ended   chan string
	updated chan struct{}   // an update has ended
	updates int             // at work
	live    map[string]bool // flows whose goroutine has not reported its end: what it says last may not have been heard yet
}

func (r *run) loop(take, do context.Context) Result {
	stop := take.Done()
	turns := r.turns()
	defer turns.Stop()
	for {
		if take.Err() == nil {
			r.start(take, do)
		}
		r.answer(take.Err() != nil)
		if len(r.live) == 0 && r.updates == 0 && (!r.Continuous && !r.Stay || take.Err() != nil) {
			break
		}
		select {
		case <-turns.C:
			r.takeTurns(do, turns, take.Err() != nil)
		case <-r.Wake:
			turns.Reset(0)
		case order := <-r.Orders:
			r.take(order)
		case name := <-r.ended:
			delete(r.live, name)
			r.queueOrdered(name)
			r.queueAgain(name, r.again[name])
		case name := <-r.Again:
			r.queueAgain(name, true)
		case update := <-r.Updates:
			r.begin(do, update)
		case <-r.updated:
			r.updates--
		case <-stop:
			stop = nil
		}
	}
	var result Result
	for _, s := range r.Board.States() {
		switch s.Status {
		case eventlog.Queued:
			why := "the run was stopped before it started"
			if r.resting[s.Flow] {
				why = "its table had no turn"
			}
			r.Board.set(s.Flow, eventlog.Stopped, why, nil, 0)
			result.Stopped = true
		case eventlog.Stopped:
			result.Stopped = true
		case eventlog.Failed, eventlog.Skipped:
			result.Failed = append(result.Failed, s.Flow)
		}
	}
	return result
}

// queueAgain queues a flow that failed for good or that is a once flow whose completion was taken back, and those that were
// skipped, whose predecessors then are looked at anew.
func (r *run) queueAgain(name string, wanted bool) {
	if !wanted || !r.over(name) {
		r.again[name] = wanted
		return
	}
	for _, s := range r.Board.States() {
		if s.Flow == name || s.Status == eventlog.Skipped {
			r.Board.set(s.Flow, eventlog.Queued, "", nil, 0)
		}
	}
}

// over reports whether a flow has ended and has something to do when it is run once more.
func (r *run) over(name string) bool {
	if r.live[name] {
		return false
	}
	switch state := r.Board.State(name); state.Status {
	case eventlog.Failed:
		return state.Retry == 0
	case eventlog.Completed, eventlog.Idle:
		j := r.jobs[name]
		return j.Flow.Once && !j.through()
	}
	return false
}

// start starts or ends every queued flow whose predecessors have decided about it, until nothing changes any more.
func (r *run) start(take, do context.Context) {
	for again := true; again; {
		again = false
		for _, j := range r.Jobs {
			name := j.Flow.Name
			if r.resting[name] || r.Board.State(name).Status != eventlog.Queued || !r.Continuous && len(r.live) >= r.Concurrent {
				continue
			}
			if j.Flow.Once && j.through() {
				r.Board.set(name, eventlog.Idle, "drained in an earlier run", nil, 0)
				again = true
				continue
			}
			switch waits, skip := r.predecessors(&j); {
			case skip != "":
				r.Board.set(name, eventlog.Skipped, skip, nil, 0)
				again = true
			case len(waits) > 0:
				r.Board.set(name, eventlog.Queued, "after "+strings.Join(waits, ", "), nil, 0)
			default:
				r.Board.set(name, eventlog.Starting, "", nil, 0)
				delete(r.again, name)
				r.live[name] = true
				go func() {
					r.runJob(take, do, j)
					r.ended <- name
				}()
			}
		}
	}
}

// predecessors returns the flows that f still waits for, or the reason why it cannot run at all. DEPENDS ON holds in both
// modes; the writers of what it reads hold it only in a triggered run (D-52), which is also what a table with a schedule has (PM-02b).
func (r *run) predecessors(of *Job) (waits []string, skip string) {
	f := of.Flow
	names := slices.Clone(f.DependsOn)
	if !r.endless(of) {
		for _, name := range f.Upstream {
			if j, known := r.jobs[name]; known && !r.endless(&j) && !r.settledApart(name, f.Name) {
				names = append(names, name)
			}
		}
	}
	seen := map[string]bool{}
	for _, name := range names {
		j, known := r.jobs[name]
		if seen[name] || !known {
			continue
		}
		seen[name] = true
		switch state := r.Board.State(name); {
		case r.live[name]:
			waits = append(waits, name)
		case r.resting[name] && (!j.Flow.Once || j.Drained()): // it has its own times
		case state.Status == eventlog.Completed, state.Status == eventlog.Idle:
			if j.Flow.Once && !j.Drained() {
				waits = append(waits, name) // it is about to begin anew
			}
		case f.Input.Flow != nil && state.Status.Final() && state.Retry == 0: // its dead letters are sent whatever has become of it
		case state.Status == eventlog.Excluded:
			if j.Flow.Once && !j.Drained() { // DO-O4
				return nil, fmt.Sprintf("flow %s is not selected and has never drained", name)
			}
		case state.Status.Final() && state.Retry == 0:
			return nil, fmt.Sprintf("flow %s is %s", name, state.Status)
		default:
			waits = append(waits, name)
		}
	}
	return waits, ""
}

// runJob runs one job with its retries.
func (r *run) runJob(take, do context.Context, j Job) {
	name := j.Flow.Name
	say := func(reason string) {
		r.Board.set(name, eventlog.Running, reason, nil, 0)
	}
	var attempts tries
	for {
		before := j.Batches()
		err := protect(func() error { return j.Run(take, do, say) })
		if err == nil || take.Err() != nil && isCancel(err) {
			if take.Err() != nil && !(j.Flow.Once && j.Drained()) {
				r.Board.set(name, eventlog.Stopped, "", nil, 0)
			} else {
				r.Board.set(name, eventlog.Completed, "", nil, 0)
			}
			return
		}
		if errors.Is(err, ErrBefore) {
			r.Board.set(name, eventlog.Queued, "", nil, 0)
			return
		}
		failure := fault.From(err)
		if j.Batches() > before {
			attempts = tries{}
		}
		// The topic of dead letters is mended outside, and nobody restarts a pipeline for it.
		endless := r.endless(&j)
		outside := endless && j.Flow.Input.Flow != nil && failure.Code.Class == fault.External
		wait, again := time.Duration(0), false
		if outside || failure.Code.Retry == fault.Backoff {
			wait, again = attempts.next(failure.Code, endless, r.RetryTimeout)
		}
		if !again || take.Err() != nil {
			r.Board.set(name, eventlog.Failed, "", failure, 0)
			return
		}
		r.Board.set(name, eventlog.Failed, fmt.Sprintf("trying again in %v", wait), failure, wait)
		timer := time.NewTimer(wait)
		select {
		case <-timer.C:
			r.Board.set(name, eventlog.Starting, "", nil, 0)
		case <-take.Done():
			timer.Stop()
			r.Board.set(name, eventlog.Failed, "the run was stopped before it could be tried again", failure, 0)
			return
		}
	}
}

// protect turns a panic of a flow into an internal fault with its stack: one flow's failure never touches another.
func protect(f func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fault.New(fault.InternalError, "a flow panicked: %v", p).WithDetail("%s", debug.Stack())
		}
	}()
	return f()
}

// isCancel reports whether err only says that the run is being stopped.
func isCancel(err error) bool {
	return errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}
