package kafka

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"sluice/internal/broker"
	"sluice/internal/testenv"
	"sluice/source/kafka/client"
)

// A broker that freezes is named within five seconds, at whatever step of a batch; the batch is there once when it goes on.
func TestFrozenBroker(t *testing.T) {
	for _, key := range []kmsg.Key{kmsg.Metadata, kmsg.OffsetFetch, kmsg.InitProducerID, kmsg.Produce, kmsg.AddOffsetsToTxn, kmsg.TxnOffsetCommit, kmsg.EndTxn} {
		t.Run(key.Name(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { frozenAt(t, key) })
		})
	}
}

// frozenAt has the broker freeze for ten seconds when it is asked something for the first time.
func frozenAt(t *testing.T, key kmsg.Key) {
	var network kfake.VirtualNetwork
	freezer := testenv.Freezer{Network: network.Listen}
	b := testenv.Broker(t, broker.Options{Cluster: []kfake.Opt{kfake.ListenFn(freezer.Listen)}})
	k := &cluster{t: t, brokers: b.Brokers(), fake: b, options: []kgo.Opt{kgo.Dialer(network.DialContext)}}
	topic := k.topic(1, nil)
	at, once := make(chan time.Time, 1), sync.Once{}
	b.Cluster().ControlKey(int16(key), func(kmsg.Request) (kmsg.Response, error, bool) {
		once.Do(func() {
			at <- time.Now()
			freezer.Freeze()
			time.AfterFunc(10*time.Second, freezer.Thaw)
		})
		return nil, nil, false
	})
	told := make(chan client.Silence, 16)
	m := client.NewMonitor(func(s client.Silence) { told <- s })
	defer m.Close()
	s, err := New(Config{Options: k.given(topic), Pipeline: "shop", Flow: "publish", Fields: fields, Monitor: m, Dial: network.DialContext})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	written := make(chan error, 1)
	go func() {
		first := id(topic, 1, 0, 0)
		err := s.Open(context.Background(), first, false)
		if err == nil {
			err = s.Write(context.Background(), first, rowsOf("a 1", "b 2"))
		}
		written <- err
	}()
	select {
	case begun := <-told:
		frozen := <-at
		if begun.Address != b.Brokers()[0] || begun.Request != key.Name() || begun.Since.Sub(frozen).Abs() > time.Second || time.Since(frozen) > 5*time.Second {
			t.Errorf("after %v: %+v", time.Since(frozen), begun)
		}
	case err := <-written:
		t.Fatalf("the frozen broker was not noticed; the write returned %v", err)
	}
	if err := <-written; err != nil {
		t.Fatal(err)
	}
	if over := <-told; over.Over < 9*time.Second || over.Over > 12*time.Second || !over.Answered {
		t.Errorf("got %+v", over)
	}
	if got, want := show(k.records(topic)), "{\"key\":\"a\",\"n\":1}\n{\"key\":\"b\",\"n\":2}"; got != want {
		t.Errorf("the topic holds\n%s\nwant\n%s", got, want)
	}
}
