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

// A real broker is stopped, and killed, while batches are written: each is there once, in order.
func TestBrokerStopped(t *testing.T) {
	c := testenv.StartKafka(t)
	k := &cluster{t: t, brokers: c.Brokers}
	topic := k.topic(1, nil)
	s := k.open(topic, "kafka.delivery.timeout.ms", "2000")
	const batches = 60
	rounds := map[int]func(testing.TB){20: c.Stop, 40: c.Kill}
	var stopping sync.WaitGroup
	for n := range batches {
		if end := rounds[n]; end != nil {
			stopping.Wait()
			stopping.Go(func() {
				end(t)
				c.Restart(t)
			})
		}
		until := time.Now().Add(5 * time.Minute)
		for next := id(topic, 1, 0, uint64(n)); ; next.Replay = true {
			err := s.Write(context.Background(), next, rowsOf(fmt.Sprintf("a %d", n), fmt.Sprintf("b %d", n)))
			if err == nil {
				break
			}
			if fault.From(err).Code.Retry != fault.Backoff || time.Now().After(until) {
				t.Fatalf("batch %d: %v", n, err)
			}
			time.Sleep(100 * time.Millisecond)
		}
	}
	stopping.Wait()
	got := k.records(topic)
	if len(got) != 2*batches {
		t.Fatalf("%d records, want %d", len(got), 2*batches)
	}
	for i, r := range got {
		if want := fmt.Sprintf(`{"key":%q,"n":%d}`, string("ab"[i%2]), i/2); string(r.Value) != want {
			t.Fatalf("record %d is %s, want %s", i, r.Value, want)
		}
	}
}
