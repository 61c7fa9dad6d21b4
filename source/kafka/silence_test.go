package kafka

import (
	"context"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"sluice/batch"
	"sluice/internal/broker"
	"sluice/internal/testenv"
	"sluice/source/kafka/client"
)

// A broker that freezes is named within five seconds, whatever it was asked; nobody takes its silence for the end of the topic; and
// what was asked comes when it goes on.
func TestFrozenBroker(t *testing.T) {
	for _, key := range []kmsg.Key{kmsg.ApiVersions, kmsg.Metadata, kmsg.ListOffsets, kmsg.Fetch} {
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
	k := newCluster(t, b.Brokers(), kgo.Dialer(network.DialContext))
	topic := k.topic(1)
	k.produce(topic, 0, "a")
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
	s := k.open(Config{Options: k.options(topic), Stream: true, Monitor: m, Dial: network.DialContext})
	read := make(chan string, 2)
	go func() {
		var pos batch.Position
		var err error
		for pos, err = s.Start(context.Background()); err == nil; {
			var cols batch.Columns
			var r batch.Range
			cols, r, _, err = s.Read(t.Context(), pos, batch.Limit{})
			pos = pos.With(r)
			read <- strings.Join(rows(cols, r), " ")
		}
	}()

	frozen := <-at
	synctest.Wait()
	if w := s.Waiting(); key == kmsg.Fetch && !strings.HasPrefix(w, "waiting for broker 0 to say") {
		t.Errorf("it waits for %q, though no broker has said that there is nothing", w)
	}
	begun := <-told
	if begun.Address != b.Brokers()[0] || begun.Request != key.Name() || begun.Since.Sub(frozen).Abs() > time.Second || time.Since(frozen) > 5*time.Second {
		t.Errorf("after %v: %+v", time.Since(frozen), begun)
	}
	if w := s.Waiting(); !strings.Contains(w, b.Brokers()[0]+" has not answered since ") {
		t.Errorf("it waits for %q", w)
	}
	if got := <-read; got != "0@0=a" {
		t.Errorf("read %s", got)
	}
	if over := <-told; over.Over < 9*time.Second || over.Over > 12*time.Second || !over.Answered {
		t.Errorf("got %+v", over)
	}
	if w := s.Waiting(); w != "" {
		t.Errorf("it waits for %q, but there just is nothing", w)
	}
}

// A broker that freezes when everything was read: what it said last holds for a second and a half.
func TestFrozenBrokerAtTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var network kfake.VirtualNetwork
		freezer := testenv.Freezer{Network: network.Listen}
		b := testenv.Broker(t, broker.Options{Cluster: []kfake.Opt{kfake.ListenFn(freezer.Listen)}})
		k := newCluster(t, b.Brokers(), kgo.Dialer(network.DialContext))
		topic := k.topic(1)
		k.produce(topic, 0, "a")
		told := make(chan client.Silence, 16)
		m := client.NewMonitor(func(s client.Silence) { told <- s })
		defer m.Close()
		s := k.open(Config{Options: k.options(topic), Stream: true, Monitor: m, Dial: network.DialContext})
		pos := start(t, s)
		_, r := next(t, s, pos, batch.Limit{})
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		time.AfterFunc(10*time.Second, func() {
			if w := s.Waiting(); w != "" {
				t.Errorf("it waits for %q, but there just is nothing", w)
			}
			freezer.Freeze()
			time.Sleep(s.opts.client.FetchWait + answerSlack + time.Millisecond)
			if w := s.Waiting(); !strings.HasPrefix(w, "waiting for broker 0 to say") {
				t.Errorf("it waits for %q, though the broker has not answered lately", w)
			}
		})
		if _, _, _, err := s.Read(ctx, pos.With(r), batch.Limit{}); err == nil {
			t.Error("a frozen broker gave records")
		}
		if s := <-told; s.Request != "Fetch" || s.Node != 0 {
			t.Errorf("got %+v", s)
		}
		if w := s.Waiting(); w == "" {
			t.Error("it waits for nothing")
		}
		freezer.Thaw()
	})
}

// A broker freezes and another one takes over what it led: reading goes on there, and does not wait until requests to the old one are given up.
func TestFrozenBrokerIsLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var network kfake.VirtualNetwork
		freezer := testenv.Freezer{Network: network.Listen, Address: "localhost:9001"}
		b := testenv.Broker(t, broker.Options{Cluster: []kfake.Opt{kfake.NumBrokers(3), kfake.Ports(9000, 9001, 9002), kfake.ListenFn(freezer.Listen)}})
		k := newCluster(t, b.Brokers(), kgo.Dialer(network.DialContext))
		topic := k.topic(1)
		move := func(to int32) {
			t.Helper()
			if err := b.Cluster().MoveTopicPartition(topic, 0, to); err != nil {
				t.Fatal(err)
			}
		}
		move(1)
		k.produce(topic, 0, "a")
		told := make(chan client.Silence, 16)
		m := client.NewMonitor(func(s client.Silence) { told <- s })
		defer m.Close()
		s := k.open(Config{Options: k.options(topic), Stream: true, Monitor: m, Dial: network.DialContext})
		pos := start(t, s)
		got, r := next(t, s, pos, batch.Limit{})
		equal(t, got, "0@0=a")
		began := time.Now()
		freezer.Freeze()
		move(2)
		k.client = k.newClient(kgo.Dialer(network.DialContext), kgo.RequestTimeoutOverhead(time.Second)) // it may ask the frozen one first
		k.produce(topic, 0, "b")
		got, _ = next(t, s, pos.With(r), batch.Limit{})
		equal(t, got, "0@1=b")
		if took := time.Since(began); took > 15*time.Second {
			t.Errorf("it took %v", took)
		}
		if s := <-told; s.Node != 1 || s.Address != freezer.Address {
			t.Errorf("got %+v", s)
		}
		freezer.Thaw()
		if s := <-told; s.Node != 1 || s.Over == 0 {
			t.Errorf("got %+v", s)
		}
	})
}
