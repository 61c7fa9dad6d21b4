package daemon

import (
	"context"
	"encoding/json"

	"sluice/eventlog"
	"sluice/fault"
	"sluice/state"
)

// Events reads the event log of a store behind a sequence number, in steps, until visit returns false.
func Events(ctx context.Context, s *state.Store, after uint64, visit func(eventlog.Record) bool) error {
	const step = 1000
	for ctx.Err() == nil {
		stored, err := s.Events(after+1, step)
		if err != nil {
			return err
		}
		for _, e := range stored {
			var r eventlog.Record
			if err := json.Unmarshal(e.Bytes, &r); err != nil {
				return fault.New(fault.InternalError, "event %d cannot be read", e.Sequence).Because(err)
			}
			if !visit(r) {
				return nil
			}
			after = e.Sequence
		}
		if len(stored) < step {
			return nil
		}
	}
	return ctx.Err()
}
