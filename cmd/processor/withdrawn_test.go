package main

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"sluice/daemon"
	"sluice/eventlog"
)

// leaving is the context of somebody who gives an order: it tells when he begins to wait for the answer, and the order is given.
type leaving struct {
	context.Context
	waits chan struct{}
	once  *sync.Once
}

func (l leaving) Done() <-chan struct{} {
	l.once.Do(func() { close(l.waits) })
	return l.Context.Done()
}

// FR-13, D-31: an order is withdrawn when nobody waits for it any more, and the flow that was stopped for it goes on.
func TestAnOrderIsWithdrawn(t *testing.T) {
	s := local(t, `CREATE SINK out FORMAT exec OPTIONS (command => './deliver');
CREATE FLOW publish AS INSERT INTO SINK out BY NAME SELECT a FROM STREAM read_files('in/*.json', format => 'json', schema => 'a INT');`,
		map[string]string{"in/1.json": "{\"a\":1}\n", "deliver": delivery, "hang": ""})
	if err := os.Chmod(filepath.Join(s.dir, "deliver"), 0o700); err != nil {
		t.Fatal(err)
	}
	a := &app{spec: s.dir, out: io.Discard, err: io.Discard}
	p, err := a.load()
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	d, err := daemon.Start(ctx, daemon.Options{Plan: p, Log: slog.New(slog.DiscardHandler), Fatal: func(err error) { t.Error(err) }})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	ended := make(chan struct{})
	go func() { d.Run(ctx, ctx); close(ended) }()
	defer func() { stop(); <-ended }()
	s.until("the program", func() bool { return s.file("batches") != "" })

	asking, leave := context.WithCancel(t.Context())
	order, said := leaving{asking, make(chan struct{}), new(sync.Once)}, make(chan error, 1)
	go func() { _, err := d.ResetCheckpoint(order, "publish"); said <- err }()
	<-order.waits
	leave()
	if err := <-said; !errors.Is(err, context.Canceled) {
		t.Errorf("withdrawn: %v", err)
	}
	if _, err := d.ResetCheckpoint(asking, "publish"); !errors.Is(err, context.Canceled) {
		t.Errorf("an order of somebody who is gone: %v", err)
	}
	if err := os.Remove(filepath.Join(s.dir, "hang")); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(s.dir, "in/2.json"), []byte("{\"a\":2}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s.until("the next batch", func() bool { return strings.Contains(s.file("batches"), `{"a":2}`) })
	if got, want := s.file("batches"), "0 0 {\"a\":1}\n1 0 {\"a\":2}\n"; got != want {
		t.Errorf("the program got\n%swant\n%s", got, want)
	}
}

// FR-13: an order that is being carried out is carried out whole, and the failed flow is tried again, though whoever gave it leaves at that moment.
func TestAnOrderOutlivesWhoGaveIt(t *testing.T) {
	s := local(t, `CREATE STREAMING TABLE t AS SELECT 10 / a AS q FROM STREAM read_files('in/*.json', format => 'json', schema => 'a INT');`, map[string]string{"in/1.json": "{\"a\":0}\n"})
	a := &app{spec: s.dir, out: io.Discard, err: io.Discard}
	p, err := a.load()
	if err != nil {
		t.Fatal(err)
	}
	var leave atomic.Pointer[context.CancelFunc]
	failed := make(chan struct{})
	listen := func(e eventlog.Event) {
		switch e := e.(type) {
		case *eventlog.UserAction:
			(*leave.Load())()
		case *eventlog.FlowProgress:
			if e.Status == eventlog.Failed {
				failed <- struct{}{}
			}
		}
	}
	ctx, stop := context.WithCancel(t.Context())
	d, err := daemon.Start(ctx, daemon.Options{Plan: p, Log: slog.New(slog.DiscardHandler), Fatal: func(err error) { t.Error(err) }, Listen: listen})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	ended := make(chan struct{})
	go func() { d.Run(ctx, ctx); close(ended) }()
	defer func() { stop(); <-ended }()
	<-failed
	for i := range 10 {
		asking, cancel := context.WithCancel(t.Context())
		leave.Store(&cancel)
		if generation, err := d.ResetCheckpoint(asking, "t"); generation != uint64(i+1) || err != nil {
			t.Fatalf("generation %d, %v", generation, err)
		}
		<-failed
	}
}
