package exec

import (
	"context"
	"os/exec"
)

// Check looks whether there is a program to start, as dry-run --connect does. It starts nothing.
func (s *Sink) Check(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if _, err := exec.LookPath(s.command(ctx).Path); err != nil {
		return s.notStarted(err)
	}
	return nil
}
