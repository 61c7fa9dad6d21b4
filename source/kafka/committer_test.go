package kafka

import (
	"context"
	"testing"
	"time"

	"sluice/batch"
)

// D-17: stock tools see the flow's positions in a group of its name.
func TestCommitter(t *testing.T) {
	onEach(t, func(t *testing.T, k *cluster) {
		topic := k.topic(2)
		k.produce(topic, 0, "a", "b")
		s := k.source(topic)
		pos := start(t, s)
		c := s.Committer("shop." + topic)
		for range 50 {
			c.Commit(pos)
		}
		_, r := next(t, s, pos, batch.Limit{})
		pos = pos.With(r)
		c.Commit(pos)
		for deadline := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
			offsets, err := k.admin.FetchOffsets(context.Background(), "shop."+topic)
			if err == nil {
				if o, ok := offsets.Lookup(topic, 0); ok && o.At == 2 {
					break
				}
			}
			if time.Now().After(deadline) {
				n, err := c.Failed()
				t.Fatalf("nothing was committed: %d failures, %v", n, err)
			}
		}
		pos[0].Next.At = 1
		c.Commit(pos)
		c.Close() // writes what is left
		offsets, err := k.admin.FetchOffsets(context.Background(), "shop."+topic)
		if err != nil {
			t.Fatal(err)
		}
		if o, _ := offsets.Lookup(topic, 0); o.At != 1 {
			t.Errorf("Close did not write the last position: %+v", o)
		}
	})
}
