package kafka

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"sluice/batch"
)

// D-17: stock tools see the flow's positions in a group of its name, the last one, too, and after a failure.
func TestCommitter(t *testing.T) {
	onEach(t, func(t *testing.T, k *cluster) {
		topic := k.topic(2)
		k.produce(topic, 0, "a", "b")
		s := k.source(topic)
		pos := start(t, s)
		var at atomic.Int64
		asked := 0
		c := s.Committer("shop."+topic, func(context.Context) (batch.Position, error) {
			if asked++; asked == 2 {
				return nil, errors.New("not now")
			}
			now := append(batch.Position{}, pos...)
			now[0].Next.At = at.Load()
			return now, nil
		})
		committed := func(want int64) bool {
			offsets, err := k.admin.FetchOffsets(context.Background(), "shop."+topic)
			o, ok := offsets.Lookup(topic, 0)
			return err == nil && ok && o.At == want
		}
		comes := func(want int64) {
			for deadline := time.Now().Add(time.Minute); !committed(want); time.Sleep(20 * time.Millisecond) {
				if time.Now().After(deadline) {
					t.Fatalf("%d was not committed", want)
				}
			}
		}
		at.Store(1)
		c.Moved()
		comes(1)
		for range 50 {
			at.Add(1)
			c.Moved()
		}
		comes(51)
		at.Store(2)
		c.Moved()
		c.Close() // writes what is left
		if !committed(2) {
			t.Error("Close did not write the last position")
		}
	})
}
