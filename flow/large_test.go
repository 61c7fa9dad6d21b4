package flow

import (
	"context"
	"errors"
	"testing"

	"sluice/batch"
)

// D-30: one flow at a time carries a large batch; the turn is given on once, and is not waited for when the run is over.
func TestTurn(t *testing.T) {
	turn := NewTurn()
	done, err := turn.take(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	over, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := turn.take(over); !errors.Is(err, context.Canceled) {
		t.Errorf("a second flow waits: %v", err)
	}
	next := make(chan func())
	go func() {
		done, _ := turn.take(t.Context())
		next <- done
	}()
	done()
	other := <-next
	done() // it is not this flow's any more
	if _, err := turn.take(over); !errors.Is(err, context.Canceled) {
		t.Errorf("the turn was given on twice: %v", err)
	}
	other()
	var alone Turn
	for range 2 {
		if _, err := alone.take(t.Context()); err != nil {
			t.Error(err)
		}
	}
}

// A batch is large by the texts in it, at any depth.
func TestLarge(t *testing.T) {
	rows := func(bytes int) *batch.Columns {
		text := batch.NewBuilder(batch.ArrayOf(batch.Of(batch.String)), 1)
		text.Child(0).AppendText(make([]byte, bytes))
		text.AppendNested()
		return &batch.Columns{Cols: []batch.Column{text.Column()}, Len: 1}
	}
	for _, c := range []struct {
		limit int64
		bytes int
		want  bool
	}{{0, 1 << 20, false}, {10, 20, false}, {10, 21, true}} {
		f := &Flow{limit: batch.Limit{Bytes: c.limit}}
		if got := f.large(rows(c.bytes)); got != c.want {
			t.Errorf("%d bytes with a limit of %d: %v", c.bytes, c.limit, got)
		}
	}
}
