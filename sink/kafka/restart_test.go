package kafka

import (
	"context"
	"fmt"
	"os"
	"sync"
	"testing"
	"time"

	"sluice/fault"
	"sluice/internal/testenv"
)

// A real broker is stopped twice: each batch is there once, in order. By default it is stopped between two batches. With
// SLUICE_SOAK it is stopped in the middle of one; Kafka 4.4 can come back from that with a transaction that hangs for ever,
// which only its operator can end (kafka-transactions.sh find-hanging), so that run may end early.
func TestBrokerStopped(t *testing.T) {
	c := testenv.StartKafka(t)
	k := &cluster{t: t, brokers: c.Brokers}
	topic := k.topic(1, nil)
	s := k.open(topic, "kafka.delivery.timeout.ms", "2000")
	const batches = 60
	var stopping sync.WaitGroup
	for n := range batches {
		if n == 20 || n == 40 {
			stopping.Wait()
			stopping.Go(func() {
				c.Stop(t)
				c.Restart(t)
			})
			if os.Getenv("SLUICE_SOAK") == "" {
				stopping.Wait()
			}
		}
		until := time.Now().Add(5 * time.Minute)
		for {
			err := s.Write(context.Background(), id(topic, 1, 0, uint64(n)), rowsOf(fmt.Sprintf("a %d", n), fmt.Sprintf("b %d", n)))
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
