package daemon

import (
	"context"
	"errors"
	"testing"
)

// asked has a job that is at work asked for something, and returns once the flow was stopped for it.
func asked(ctx context.Context, j *job, carryOut func(context.Context) error) (answer chan error) {
	stopped, answer := make(chan struct{}), make(chan error, 1)
	j.begin(func() { close(stopped) })
	go func() { answer <- j.between(ctx, carryOut) }()
	<-stopped
	return answer
}

// FR-13, D-31: an order is withdrawn when nobody waits for it any more, and the flow that was stopped for it goes on. One that is being carried
// out by then is carried out, and says so.
func TestAnOrderIsTakenBack(t *testing.T) {
	carried := 0
	carryOut := func(context.Context) error { carried++; return nil }
	j := &job{}
	ctx, leave := context.WithCancel(t.Context())
	answer := asked(ctx, j, carryOut)
	leave()
	if err := <-answer; !errors.Is(err, context.Canceled) {
		t.Errorf("withdrawn: %v", err)
	}
	if goesOn, err := j.end(t.Context()); !goesOn || err != nil || carried != 0 {
		t.Errorf("the flow goes on: %v, %v; carried out %d times", goesOn, err, carried)
	}
	if err := j.between(ctx, carryOut); !errors.Is(err, context.Canceled) || carried != 0 {
		t.Errorf("asked by somebody who is gone: %v; carried out %d times", err, carried)
	}

	ctx, leave = context.WithCancel(t.Context())
	answer = asked(ctx, j, func(ctx context.Context) error { leave(); return carryOut(ctx) })
	if goesOn, err := j.end(t.Context()); !goesOn || err != nil {
		t.Errorf("the flow goes on: %v, %v", goesOn, err)
	}
	if err := <-answer; err != nil || carried != 1 {
		t.Errorf("carried out %d times: %v", carried, err)
	}
}
