package scenario

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/cockroachdb/datadriven"

	"sluice/fault"
)

// injected is a fault that waits for the next run, step or reset.
type injected interface {
	fmt.Stringer
	// arm lets it happen from now on.
	arm(w *world)
	// disarm calls it off, and says whether it has happened, and whether what it hit was then tried again.
	disarm(w *world) (hit, again bool)
}

// vanished is a fault that never happened, or of which nobody took notice. It fails a test whatever its file expects.
type vanished struct{ text string }

func (v *vanished) Error() string { return v.text }

// arrangeFault is the command fault. It stops a daemon that is up, so that what is produced next is met by the fault.
func arrangeFault(_ context.Context, w *world, a *words) (string, error) {
	done := a.flag("done")
	times, err := a.number("times", 1)
	if err != nil {
		return "", err
	}
	topic := a.value("topic", "")
	where, err := a.name()
	if err != nil {
		return "", err
	}
	what, err := a.name()
	if err != nil {
		return "", err
	}
	var f injected
	if where == "sink" {
		s, err := w.sinkNamed(&words{args: []datadriven.CmdArg{{Key: what}}})
		if err != nil {
			return "", err
		}
		f = &sinkFault{name: s.Name, done: done, times: times}
	} else {
		b, err := newBrokerFault(where, what)
		if err != nil {
			return "", err
		}
		b.times, b.topic, b.done = times, topic, b.done || done
		f = b
	}
	w.down()
	w.faults = append(w.faults, f)
	return "", nil
}

// inject arms the faults that wait. The function that it returns calls them off and reports those that vanished: each must have
// happened, and must then have been answered by another try or by the failure of a flow.
func (w *world) inject() func() error {
	faults := w.faults
	w.faults = nil
	w.told.Store(0)
	for _, f := range faults {
		f.arm(w)
	}
	return func() error {
		var lost []string
		for _, f := range slices.Backward(faults) {
			switch hit, again := f.disarm(w); {
			case !hit:
				lost = append(lost, fmt.Sprintf("%v: it was never reached", f))
			case !again && w.told.Load() == 0:
				lost = append(lost, fmt.Sprintf("%v: it was neither tried again nor told", f))
			}
		}
		if lost == nil {
			return nil
		}
		return &vanished{strings.Join(lost, "\n")}
	}
}

// sinkFault lets a sink of any kind refuse its next batches, before it has taken them or after.
type sinkFault struct {
	name  string
	done  bool
	times int

	mu    sync.Mutex
	hits  int
	again bool // a batch came after the last hit
}

func (f *sinkFault) String() string { return "fault sink " + f.name }

func (f *sinkFault) arm(w *world) {
	w.refusing.Lock()
	defer w.refusing.Unlock()
	w.refusals = append(w.refusals, f)
}

func (f *sinkFault) disarm(w *world) (hit, again bool) {
	w.refusing.Lock()
	w.refusals = slices.DeleteFunc(w.refusals, func(o *sinkFault) bool { return o == f })
	w.refusing.Unlock()
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.hits > 0, f.again
}

// refuse does a write of a sink, with the faults that are due: what has been done may be told to have failed.
func (w *world) refuse(sink string, write func() error) error {
	w.refusing.Lock()
	due := slices.Clone(w.refusals)
	w.refusing.Unlock()
	for _, f := range due {
		if f.name != sink || !f.take() {
			continue
		}
		if f.done {
			if err := write(); err != nil {
				return err
			}
		}
		return fault.New(fault.ExecTryAgain, "the sink says that it did not take the batch")
	}
	return write()
}

func (f *sinkFault) take() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.hits == f.times {
		f.again = true
		return false
	}
	f.hits++
	return true
}
