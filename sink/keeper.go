package sink

import (
	"context"

	"sluice/batch"
)

// Keeper is a Sink whose target remembers which batch of the flow it accepted last (D-18).
type Keeper interface {
	Sink

	// Remembered reads what the target remembers, as a start looks for it whose first batch is next. It makes nothing, takes
	// nothing over and disturbs no run that writes.
	Remembered(ctx context.Context, next batch.ID) (Memory, error)

	// Adopt makes the target the store's of last, whoever wrote it: what it remembers is last, or nothing where ok is false.
	// Whoever else writes to it is stopped.
	Adopt(ctx context.Context, last batch.ID, ok bool) error
}

// Memory is what a target remembers of a flow, and where that is kept.
type Memory struct {
	Identity
	Found bool
	Where string
}

// Judge says whether the first batch of a run may be written to a target that remembers m, as the sink decides it then.
func (m Memory) Judge(target string, next batch.ID) error {
	switch {
	case m.Found:
		if err := m.Admit(target, next, false); err != nil {
			return err
		}
		return m.Follows(target, next)
	case next.Number > 0:
		return IdentityLost(target, next)
	}
	return nil
}
