package scenario

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"sluice/batch"
	"sluice/daemon"
	"sluice/eventlog"
	"sluice/fault"
	"sluice/internal/disk"
	"sluice/plan"
)

// run is a daemon at work in a world.
type run struct {
	world  *world
	daemon *daemon.Daemon
	halt   func(*run, *eventlog.BatchDone) bool // whether the daemon ends after this batch; may be nil
	soft   context.CancelFunc
	hard   context.CancelFunc
	whole  bool          // no flow is left out
	ended  chan struct{} // every flow has returned
	disk   *disk.Disk    // after a crash: what the next daemon finds

	power sync.RWMutex // held by sinks while they write
	dark  bool         // nothing reaches a sink any more

	mu     sync.Mutex
	ending bool
	status map[string]*eventlog.FlowProgress
	early  error // a flow wrote before its turn
}

// start starts a daemon.
func (w *world) start(s daemon.Selection, halt func(*run, *eventlog.BatchDone) bool) (*run, error) {
	r := &run{world: w, halt: halt, whole: s.Refresh == nil && s.FullRefresh == nil, ended: make(chan struct{}), status: map[string]*eventlog.FlowProgress{}}
	o := w.options()
	o.Select, o.Listen, o.OpenSink = s, r.hear, r.openSink
	take, soft := context.WithCancel(context.Background())
	do, hard := context.WithCancel(context.Background())
	r.soft, r.hard = soft, hard
	w.looked()
	w.arm(r.cut)
	var err error
	if r.daemon, err = daemon.Start(context.Background(), o); err != nil {
		return nil, err
	}
	go func() {
		defer close(r.ended)
		r.daemon.Run(take, do)
	}()
	return r, nil
}

// hear is called by the goroutine of the flow that an event is about.
func (r *run) hear(e eventlog.Event) {
	switch e := e.(type) {
	case *eventlog.FlowProgress:
		if e.Status == eventlog.Failed {
			r.world.told.Add(1)
		}
		r.mu.Lock()
		r.status[e.Flow] = e
		r.mu.Unlock()
	case *eventlog.BatchDone:
		r.inOrder(e.Flow)
		if r.halt != nil && r.halt(r, e) {
			r.interrupt()
		}
	}
}

// inOrder holds a batch of a flow against PT-08: who it waits for is through. Every scenario checks it.
func (r *run) inOrder(flow string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, f := range r.world.plan.Flows {
		if f.Name != flow || r.early != nil {
			continue
		}
		for _, before := range waitsFor(f, r.world.plan.Continuous) {
			switch e := r.status[before]; {
			case e == nil:
				r.early = fmt.Errorf("flow %s writes, and %s, for which it waits, has not begun", flow, before)
			case f.Input.Flow != nil && e.Status.Final(): // dead letters are sent whatever becomes of the flow
			case e.Status != eventlog.Completed && e.Status != eventlog.Idle && e.Status != eventlog.Excluded:
				r.early = fmt.Errorf("flow %s writes, and %s, for which it waits, is %s", flow, before, e.Status)
			}
		}
	}
}

// waitsFor are the flows that must be through before f begins: those that it names and, in a triggered run, those that write what
// it reads (DO-01, D-52).
func waitsFor(f *plan.Flow, continuous bool) []string {
	if continuous {
		return f.DependsOn
	}
	return slices.Concat(f.DependsOn, f.Upstream)
}

// interrupt ends the daemon as the variant says: softly, so that it finishes what it has in hand, or by a crash.
func (r *run) interrupt() {
	if r.world.variant.is("stop", "crash") {
		r.crash()
		return
	}
	r.end(r.soft)
}

// crash is a power cut: nothing reaches disk or sinks any more. It waits for sinks that are writing. Every second one
// comes when all commits have just been synced, so that crash after crash gets somewhere; before the others a random part
// of what was not synced reaches the disk.
func (r *run) crash() {
	r.end(func() {
		if r.world.crashes%2 == 1 {
			_ = r.daemon.State().Sync(context.Background())
		}
		r.power.Lock()
		defer r.power.Unlock()
		r.dark = true
		r.disk = r.world.crashed()
		r.soft()
		r.hard()
	})
}

// cut is a power cut in the middle of a write: left is what the next daemon finds.
func (r *run) cut(left *disk.Disk) {
	r.end(func() {
		r.power.Lock()
		defer r.power.Unlock()
		r.dark = true
		r.disk = left
		r.soft()
		r.hard()
	})
}

// end ends the daemon in the given way unless it ends already.
func (r *run) end(how func()) {
	r.mu.Lock()
	first := !r.ending
	r.ending = true
	r.mu.Unlock()
	if first {
		how()
	}
}

// interrupted reports whether an end was asked for.
func (r *run) interrupted() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.ending
}

// stop waits until the daemon is gone, and ends it softly unless it ends already.
func (r *run) stop() {
	r.end(r.soft)
	<-r.ended
	r.daemon.Close()
	r.hard()
	if r.disk != nil {
		r.world.disk = r.disk
	}
}

// patience is how long a run may take before the test is told that it hangs.
const patience = 2 * time.Minute

// settle returns when every flow has ended or has applied all of its input, or when the daemon has ended.
func (r *run) settle() error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if !r.world.plan.Continuous {
		select {
		case <-r.ended:
			return nil
		case <-ctx.Done():
			return r.hangs()
		}
	}
	for waited := true; waited; { // once more after a wait: a flow may have made input for an earlier one
		waited = false
		for _, f := range r.world.plan.Flows {
			w, err := r.settleFlow(ctx, f)
			if err != nil {
				return err
			}
			waited = waited || w
		}
	}
	return nil
}

func (r *run) settleFlow(ctx context.Context, f *plan.Flow) (waited bool, err error) {
	for !r.settled(ctx, f) {
		waited = true
		select {
		case <-r.ended:
			return false, nil
		case <-ctx.Done():
			return false, r.hangs()
		case <-time.After(2 * time.Millisecond):
		}
	}
	return waited, nil
}

// settled reports whether nothing is left to do for a flow.
func (r *run) settled(ctx context.Context, f *plan.Flow) bool {
	r.mu.Lock()
	status := r.status[f.Name]
	r.mu.Unlock()
	switch {
	case status == nil:
		return false
	case status.Status.Final() && status.Retry == 0:
		return true
	case f.Input.Flow != nil && status.Status == eventlog.Failed && status.Err.Code == fault.UnknownTopic:
		return true // for as long as nobody makes the topic
	case status.Status != eventlog.Running || f.Once:
		return false
	}
	if f.Window != nil {
		return r.daemon.Current(ctx, f.Name)
	}
	flow, err := r.daemon.State().Flow(f.Name)
	if err != nil {
		return false
	}
	info := flow.Info()
	if info.Start == nil || info.Planned || info.Quarantined.Ordered > 0 || f.Sink != nil && info.Generation > 0 && info.NextBatch == 0 {
		return false
	}
	end, err := r.daemon.End(ctx, f.Name)
	return err == nil && info.Position.Reached(end) && (f.Input.Kind != plan.FromKafka || same(info.Position, end))
}

// same reports whether no topic was made anew since it was read: the flow has yet to find out.
func same(have, end batch.Position) bool {
	for _, m := range end {
		if before, ok := have.Find(m.Split); ok && before.ID != m.ID {
			return false
		}
	}
	return true
}

func (r *run) wroteEarly() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.early
}

// hangs says what every flow is doing.
func (r *run) hangs() error {
	var out strings.Builder
	for _, f := range r.world.plan.Flows {
		if f.Window != nil {
			continue
		}
		end, err := r.daemon.End(context.Background(), f.Name)
		fmt.Fprintf(&out, "  input of %s ends at %v (%v)\n", f.Name, end, err)
	}
	for _, f := range r.daemon.Status().Flows {
		fmt.Fprintf(&out, "  %s is %s %s %v %v\n", f.Name, f.Status, f.Reason, f.Error, f.Positions)
	}
	return fmt.Errorf("the run does not come to an end:\n%s", out.String())
}

// troubles says which flows failed and which were not started for it, one a line, or "ok".
func (r *run) troubles(messages bool) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var lines []string
	for _, f := range r.world.plan.Flows {
		e := r.status[f.Name]
		switch {
		case e == nil:
		case e.Status == eventlog.Failed && messages:
			lines = append(lines, fmt.Sprintf("%s FAILED %v", f.Name, e.Err))
		case e.Status == eventlog.Failed:
			lines = append(lines, fmt.Sprintf("%s FAILED %s", f.Name, e.Err.Code))
		case e.Status == eventlog.Skipped:
			lines = append(lines, fmt.Sprintf("%s SKIPPED: %s", f.Name, e.Reason))
		}
	}
	if lines == nil {
		return "ok"
	}
	return strings.Join(lines, "\n")
}

// brief says who failed, with the code, and who was skipped, sorted, or "ok".
func (r *run) brief() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var lines []string
	for name, e := range r.status {
		switch e.Status {
		case eventlog.Failed:
			lines = append(lines, fmt.Sprintf("%s FAILED %s", name, e.Err.Code))
		case eventlog.Skipped:
			lines = append(lines, name+" SKIPPED")
		}
	}
	if lines == nil {
		return "ok"
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

// states says what every flow came to, one a line. A flow that a stop found at work or waiting for data is RUNNING.
func (r *run) states() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var lines []string
	for _, f := range r.world.plan.Flows {
		status := eventlog.Status("")
		if e := r.status[f.Name]; e != nil {
			status = e.Status
		}
		if status == eventlog.Stopped {
			status = eventlog.Running
		}
		lines = append(lines, fmt.Sprintf("%s %s", f.Name, status))
	}
	return strings.Join(lines, "\n")
}

// apply runs the pipeline until everything that is there has been applied, in the way of the variant.
func (w *world) apply(s daemon.Selection, show func(*run) string) (_ string, err error) {
	called := w.inject()
	defer func() { err = cmp.Or(called(), err) }()
	plain := !s.All && s.Refresh == nil && s.FullRefresh == nil
	if w.up != nil && (!plain || !w.up.whole || w.up.troubles(false) != "ok") {
		w.down() // a run begins with every flow that is selected
	}
	var halt func(*run, *eventlog.BatchDone) bool
	if w.variant.is("restart", "batches") {
		halt = w.everyBatch()
	}
	crashed := !w.variant.is("stop", "crash")
	before, err := w.generations()
	if err != nil && !fault.Of(err, fault.StoreNotFound) {
		return "", err
	}
	if w.up != nil {
		w.arm(w.up.cut)
	}
	for {
		if w.up == nil {
			if w.up, err = w.start(s, halt); err != nil {
				return "", err
			}
		}
		r := w.up
		err := errors.Join(r.settle(), r.wroteEarly())
		w.disarm()
		if err != nil {
			return "", err
		}
		switch {
		case r.interrupted():
		case halt == nil && !crashed:
			crashed = true
			r.crash()
		case halt == nil && w.variant.is("mode", "continuous"):
			return show(r), nil
		default:
			w.down()
			return show(r), nil
		}
		w.down()
		if w.over() {
			return powerless, nil
		}
		if s, err = w.goOn(s, before); err != nil {
			return "", err
		}
	}
}

// everyBatch ends the daemon after every batch, and once after an update of each REPLACE WHERE flow: the next run computes its window again.
func (w *world) everyBatch() func(*run, *eventlog.BatchDone) bool {
	var updated sync.Map
	return func(_ *run, e *eventlog.BatchDone) bool {
		for _, f := range w.plan.Flows {
			if f.Name == e.Flow && f.Window != nil {
				_, before := updated.LoadOrStore(e.Flow, true)
				return !before
			}
		}
		return true
	}
}

// again is a selection after its full refreshes were done: the same flows run on.
func again(s daemon.Selection) daemon.Selection {
	if s.All {
		return daemon.Selection{}
	}
	for t := range s.FullRefresh {
		if s.Refresh == nil {
			s.Refresh = map[string]bool{}
		}
		s.Refresh[t] = true
	}
	s.FullRefresh = nil
	return s
}

// step runs the pipeline until a flow has committed so many batches, or cannot, and stops it.
func (w *world) step(flow string, batches int, show func(*run) string) (_ string, err error) {
	w.down()
	called := w.inject()
	defer func() { err = cmp.Or(called(), err) }()
	halt := func(r *run, e *eventlog.BatchDone) bool {
		if e.Flow == flow {
			batches--
		}
		return batches == 0 && r.daemon.State().Sync(context.Background()) == nil
	}
	r, err := w.start(daemon.Selection{}, halt)
	if err != nil {
		return "", err
	}
	w.up = r
	err = r.settle()
	w.down()
	return show(r), err
}

// down stops a daemon that stays up between commands.
func (w *world) down() {
	if w.up != nil {
		w.up.stop()
		w.up = nil
	}
}
