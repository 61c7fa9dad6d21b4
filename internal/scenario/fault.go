package scenario

import (
	"context"
	"fmt"
	"slices"
	"strings"
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
	f, err := newBrokerFault(where, what)
	if err != nil {
		return "", err
	}
	f.times, f.topic, f.done = times, topic, f.done || done
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
