package kafka

import (
	"context"
	"fmt"
	"strings"
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
	var stopping sync.WaitGroup
	batches, inDoubt := 60, 0
deliver:
	for n := range batches {
		until := time.Now().Add(2 * time.Minute)
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
			if fault.From(err).Code.Retry != fault.Backoff {
				t.Fatalf("batch %d: %v", n, err)
			}
			if time.Now().After(until) {
				// A broker that stops while a transaction ends can come back with that transaction hanging for ever, which only
				// its operator can end (kafka-transactions.sh find-hanging). What was accepted before must be exact all the same.
				if !strings.Contains(err.Error(), "has not ended in the cluster") {
					t.Fatalf("batch %d: %v", n, err)
				}
				t.Logf("the broker left a transaction hanging at batch %d: %v", n, err)
				batches, inDoubt = n, 1
				break deliver
			}
			trouble++
			time.Sleep(100 * time.Millisecond)
		}
	}
	stopping.Wait()
	t.Logf("%d writes were repeated", trouble)
	got := k.records(topic)
	if len(got) != 2*batches && len(got) != 2*(batches+inDoubt) {
		t.Fatalf("%d records of %d batches, %d in doubt", len(got), batches, inDoubt)
	}
	for i, r := range got {
		if want := fmt.Sprintf(`{"key":%q,"n":%d}`, string("ab"[i%2]), i/2); string(r.Value) != want {
			t.Fatalf("record %d is %s, want %s", i, r.Value, want)
		}
	}
}
