package kafka

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"

	"sluice/batch"
	"sluice/fault"
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

// A group that cannot be written for a moment is not worth a word, whatever the brokers answer; one that stays so is, once, and again
// after it could be written.
func TestCommitterTellsWhatLasts(t *testing.T) {
	passing := (&Source{}).opts.client.Fault(t.Context(), kerr.UnknownTopicOrPartition, "writing")
	refused := (&Source{}).opts.client.Fault(t.Context(), kerr.GroupAuthorizationFailed, "writing")
	if !fault.Of(passing, fault.KafkaUnavailable) {
		t.Fatalf("%v: only who looks for a topic may say that it does not exist", passing)
	}
	at, told := time.Now(), 0
	c := &Committer{warn: func(string, ...any) { told++ }}
	for _, x := range []struct {
		err   error
		after time.Duration
		told  int
	}{{passing, 0, 0}, {passing, lasting - 1, 0}, {passing, 1, 1}, {passing, lasting, 1}, {refused, 0, 1}} {
		at = at.Add(x.after)
		if c.tell(x.err, at); told != x.told {
			t.Errorf("%v after %v: told %d times, want %d", x.err, x.after, told, x.told)
		}
	}
	c.failing, c.told = time.Time{}, false // as after a success
	if c.tell(refused, at); told != 2 {
		t.Errorf("what does not pass by itself was told %d times", told-1)
	}
}
