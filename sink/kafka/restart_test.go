package kafka

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"sluice/fault"
	"sluice/internal/testenv"
)

// A real broker is stopped twice while batches are written: each is there once, in order.
func TestBrokerStopped(t *testing.T) {
	c := testenv.StartKafka(t)
	k := &cluster{t: t, brokers: c.Brokers}
	topic := k.topic(1, nil)
	s := k.open(topic, "kafka.delivery.timeout.ms", "2000")
	trouble := 0
	until := time.Now().Add(5 * time.Minute)
	var stopping sync.WaitGroup
	for n := range 60 {
		if n == 20 || n == 40 {
			stopping.Wait()
			stopping.Go(func() { // in the middle of some later batch
				c.Stop(t)
				c.Restart(t)
			})
		}
		for {
			err := s.Write(context.Background(), id(topic, 1, 0, uint64(n)), rowsOf(fmt.Sprintf("a %d", n), fmt.Sprintf("b %d", n)))
			if err == nil {
				break
			}
			if fault.From(err).Code.Retry != fault.Backoff || time.Now().After(until) {
				t.Fatalf("batch %d: %v", n, err)
			}
			trouble++
			time.Sleep(100 * time.Millisecond)
		}
	}
	stopping.Wait()
	t.Logf("%d writes were repeated", trouble)
	got := k.records(topic)
	if len(got) != 120 {
		t.Fatalf("%d records, want 120", len(got))
	}
	for i, r := range got {
		if want := fmt.Sprintf(`{"key":%q,"n":%d}`, string("ab"[i%2]), i/2); string(r.Value) != want {
			t.Fatalf("record %d is %s, want %s", i, r.Value, want)
		}
	}
}
