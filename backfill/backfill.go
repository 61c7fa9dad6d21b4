// Package backfill drains a flow to an end that was fixed when it first started, and records that it finished.
//
// It promises that the end is stored before the first row is read and never moves (ON-O1), that progress inside it is
// durable because every batch commits its positions (ON-O2), and that the completion is in the same commit as the last
// rows, or in one of its own when there are none (ON-O3). A flow that completed is never run again in its generation
// (ON-01, DO-18).
package backfill

import (
	"context"
	"time"

	"sluice/flow"
	"sluice/source"
	"sluice/state"
)

// Run drains f. It returns nil when the flow has completed, and when take ended before.
func Run(take, do context.Context, f *flow.Flow, s *state.Flow, in source.Source, say func(string)) error {
	if _, done := s.Completed(); done {
		return f.Replay(take, do)
	}
	end, _, fixed := s.End()
	if !fixed {
		var err error
		if end, err = in.End(take); err != nil {
			return err
		}
		if err := s.SetEnd(end, time.Now().UTC().Truncate(time.Microsecond)); err != nil {
			return err
		}
	}
	return f.Run(take, do, &flow.End{Until: end, Complete: true}, say)
}
