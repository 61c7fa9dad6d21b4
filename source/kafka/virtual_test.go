package kafka

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"

	"sluice/batch"
	"sluice/fault"
	"sluice/internal/broker"
)

// Broker, clients and source in one bubble of virtual time: hours pass in no time, and drain_timeout is kept to the second (D-7).
func TestVirtualTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var network kfake.VirtualNetwork
		b, err := broker.Start(broker.Options{Cluster: []kfake.Opt{kfake.ListenFn(network.Listen)}, Topics: map[string]int32{"t": 1}})
		if err != nil {
			t.Fatal(err)
		}
		defer b.Close()
		k := &cluster{t: t, brokers: b.Brokers()}
		dial := kgo.Dialer(network.DialContext)
		cl, err := kgo.NewClient(kgo.SeedBrokers(k.brokers...), dial, kgo.TransactionalID("x"), kgo.TransactionTimeout(15*time.Minute), kgo.DefaultProduceTopic("t"), kgo.DisableClientMetrics())
		if err != nil {
			t.Fatal(err)
		}
		defer cl.Close()
		s, err := New(Config{Options: k.options("t"), Columns: metaColumns("value"), Stream: true, DrainTimeout: 10 * time.Minute, Dial: network.DialContext})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		ctx := context.Background()
		pos, err := s.Start(ctx)
		if err != nil {
			t.Fatal(err)
		}
		produce := func() {
			if err := cl.BeginTransaction(); err != nil {
				t.Fatal(err)
			}
			if err := cl.ProduceSync(ctx, kgo.StringRecord("a")).FirstErr(); err != nil {
				t.Fatal(err)
			}
		}
		time.AfterFunc(2*time.Hour, func() {
			produce()
			if err := cl.EndTransaction(ctx, kgo.TryCommit); err != nil {
				t.Error(err)
			}
		})
		began := time.Now()
		cols, r, _, err := s.Read(ctx, pos, batch.Limit{})
		if err != nil {
			t.Fatal(err)
		}
		equal(t, rows(cols, r), "0@0=a")
		if waited := time.Since(began); waited < 2*time.Hour || waited > 2*time.Hour+time.Minute {
			t.Errorf("waited %v", waited)
		}
		pos = pos.With(r)
		produce() // and leaves it open
		until, err := s.End(ctx)
		if err != nil {
			t.Fatal(err)
		}
		began = time.Now()
		for err == nil && !pos.Reached(until) {
			_, r, _, err = s.Read(ctx, pos, batch.Limit{Until: until})
			pos = pos.With(r)
		}
		mustFail(t, err, fault.OpenTransaction)
		if waited := time.Since(began); waited < 10*time.Minute || waited > 10*time.Minute+time.Second {
			t.Errorf("a drain waited %v for the transaction", waited)
		}
	})
}
