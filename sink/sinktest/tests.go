package sinktest

import (
	"context"
	"errors"
	"testing"

	"sluice/batch"
	"sluice/fault"
	"sluice/sink"
)

func inOrder(t *testing.T, k Kind) {
	target := k.New(t, simpleFields)
	s := opened(t, target, batch.ID{}, false)
	var want []string
	for n := range 5 {
		rows := simple(n*10, n*3+1)
		write(t, s, ID(0, uint64(n)), sink.Rows{Columns: rows})
		want = append(want, Lines(t, rows)...)
	}
	closed(t, s)
	compare(t, Lines(t, target.Read(t, false)), want)
}

// sentTwice is what a crash between the sink's answer and the store's commit leads to (FB-09, D-42).
func sentTwice(t *testing.T, k Kind) {
	target := k.New(t, simpleFields)
	s := opened(t, target, batch.ID{}, false)
	first, second := simple(0, 3), simple(10, 2)
	write(t, s, ID(0, 0), sink.Rows{Columns: first})
	write(t, s, ID(0, 1), sink.Rows{Columns: second})
	closed(t, s)
	s = opened(t, target, ID(0, 0), true)
	again := ID(0, 1)
	again.Replay, again.Epoch = true, 2
	write(t, s, again, sink.Rows{Columns: second})
	closed(t, s)
	want := append(Lines(t, first), Lines(t, second)...)
	if !k.OnceOnly {
		want = append(want, Lines(t, second)...)
	}
	compare(t, Lines(t, target.Read(t, false)), want)
}

func allTypes(t *testing.T, k Kind) {
	rows := everyType(k)
	target := k.New(t, rows.Fields)
	s := opened(t, target, batch.ID{}, false)
	write(t, s, ID(0, 0), sink.Rows{Columns: rows})
	closed(t, s)
	compare(t, Lines(t, target.Read(t, false)), Lines(t, rows))
}

// emptyBatch is batch 0 after a reset, which is delivered even when empty (FB-04, FB-O2).
func emptyBatch(t *testing.T, k Kind) {
	target := k.New(t, simpleFields)
	s := opened(t, target, batch.ID{}, false)
	write(t, s, ID(0, 0), sink.Rows{Columns: simple(0, 0)})
	rows := simple(0, 2)
	write(t, s, ID(0, 1), sink.Rows{Columns: rows})
	closed(t, s)
	compare(t, Lines(t, target.Read(t, false)), Lines(t, rows))
}

// a batch that failed and is sent again is there, all of it, and so is what comes after it.
func failedWrite(t *testing.T, k Kind) {
	target := k.New(t, simpleFields)
	s := opened(t, target, batch.ID{}, false)
	first, second := simple(0, 2), simple(10, 2)
	write(t, s, ID(0, 0), sink.Rows{Columns: first})
	mend := target.Break(t)
	if mend == nil {
		closed(t, s)
		t.Skip("this kind cannot be made to fail")
	}
	err := s.Write(context.Background(), ID(0, 1), sink.Rows{Columns: second})
	if err == nil || fault.From(err).Code.Retry != fault.Backoff {
		t.Fatalf("Write to a broken target: %v, want an error with the retry %s", err, fault.Backoff)
	}
	mend()
	again := ID(0, 1)
	again.Replay = true
	write(t, s, again, sink.Rows{Columns: second})
	third := simple(20, 1)
	write(t, s, ID(0, 2), sink.Rows{Columns: third})
	closed(t, s)
	compare(t, Lines(t, target.Read(t, false)), append(append(Lines(t, first), Lines(t, second)...), Lines(t, third)...))
}

func reopened(t *testing.T, k Kind) {
	target := k.New(t, simpleFields)
	var want []string
	for n := range 3 {
		s := opened(t, target, ID(0, uint64(max(n-1, 0))), n > 0)
		rows := simple(n*10, 2)
		write(t, s, ID(0, uint64(n)), sink.Rows{Columns: rows})
		closed(t, s)
		want = append(want, Lines(t, rows)...)
	}
	compare(t, Lines(t, target.Read(t, false)), want)
}

func cancelled(t *testing.T, k Kind) {
	target := k.New(t, simpleFields)
	s := opened(t, target, batch.ID{}, false)
	rows := simple(0, 2)
	write(t, s, ID(0, 0), sink.Rows{Columns: rows})
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := s.Write(ctx, ID(0, 1), sink.Rows{Columns: simple(10, 2)}); !errors.Is(err, context.Canceled) {
		t.Fatalf("Write with an ended context: %v", err)
	}
	closed(t, s)
	compare(t, Lines(t, target.Read(t, false)), Lines(t, rows))
}

func changeFeed(t *testing.T, k Kind) {
	if !k.Feed {
		t.Skip("this kind folds a change feed")
	}
	target := k.New(t, simpleFields)
	s := opened(t, target, batch.ID{}, false)
	rows := simple(0, 4)
	changes := []sink.Change{sink.DeleteRow, sink.InsertRow, sink.UpdatePreimage, sink.UpdatePostimage}
	write(t, s, ID(0, 0), sink.Rows{Columns: rows, Change: changes})
	closed(t, s)
	compare(t, Lines(t, target.Read(t, true)), Lines(t, withChange(rows, changes)))
}

// newGeneration is a full refresh: numbers start at 0 again and mean other rows (FB-O1).
func newGeneration(t *testing.T, k Kind) {
	target := k.New(t, simpleFields)
	s := opened(t, target, batch.ID{}, false)
	before, after := simple(0, 2), simple(10, 2)
	write(t, s, ID(0, 0), sink.Rows{Columns: before})
	closed(t, s)
	s = opened(t, target, batch.ID{}, false)
	write(t, s, ID(1, 0), sink.Rows{Columns: after})
	closed(t, s)
	compare(t, Lines(t, target.Read(t, false)), append(Lines(t, before), Lines(t, after)...))
}
