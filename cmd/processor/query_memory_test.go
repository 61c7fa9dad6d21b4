package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"sluice/admin"
	"sluice/daemon"
	"sluice/fault"
)

// D-30: a query that makes more than there is memory for is refused, and the daemon stays within its limit, whoever makes the value: DuckDB or
// a function in Go.
func TestQueriesWithinMemory(t *testing.T) {
	var records strings.Builder
	for i := range 3000 {
		fmt.Fprintf(&records, "{\"id\":%d}\n", i+1)
	}
	s := local(t, `CREATE STREAMING TABLE t AS SELECT id FROM STREAM read_files('in/*.json', format => 'json', schema => 'id INT');`, map[string]string{"in/a.json": records.String()})
	d := s.start("--set", "sluice.memory_limit=512MB")
	var client *admin.Client
	s.until("the table", func() bool {
		where, ok := daemon.ReadWhere(filepath.Join(s.dir, "state"))
		if !ok {
			return false
		}
		client = admin.NewClient(where.Address, "")
		status, err := client.Status(t.Context())
		return err == nil && len(status.Tables) == 1 && status.Tables[0].Rows == 3000
	})
	for _, query := range []string{
		"SELECT sum(size(sequence(1, id * 1000))) FROM t",
		"SELECT explode(sequence(1, id * 1000)) AS x FROM t",
		"SELECT sum(length(repeat('x', id * 100000))) FROM t",
		"SELECT length(repeat('x', 900000000))",
		"SELECT sum(length(lpad('x', id * 100000, 'ab'))) FROM t",
		"SELECT sum(length(initcap(repeat('ab c', id * 10000)))) FROM t",
		"SELECT sum(size(array_repeat(repeat('x', 1000), id * 100))) FROM t",
		"SELECT sum(length(array_join(array_repeat(repeat('x', 1000), id), repeat('y', 1000)))) FROM t",
		"SELECT sum(length(regexp_replace(repeat('x', id * 100), 'x', 'twenty bytes for each'))) FROM t",
		"SELECT sum(length(to_json(named_struct('a', sequence(1, id * 1000))))) FROM t",
		"SELECT sum(size(transform(sequence(1, id * 1000), x -> md5(CAST(x AS STRING))))) FROM t",
		"SELECT sum(size(split(repeat('x,', id * 10000), ','))) FROM t",
		"SELECT sum(length(hex(repeat('x', id * 100000)))) FROM t",
	} {
		rows, err := client.Query(t.Context(), query)
		for err == nil {
			_, err = rows.Next()
		}
		if !errors.Is(err, io.EOF) && !fault.Of(err, fault.OutOfMemory) {
			t.Errorf("%s: %v", query, err)
		}
	}
	memoryCase{limit: "512MB", bytes: 512_000_000}.within(d)
	d.stop(exitOK)
}

// ends tells of each request that has ended.
type ends struct {
	slog.Handler
	ended chan struct{}
}

func (e ends) Enabled(context.Context, slog.Level) bool { return true }

func (e ends) Handle(_ context.Context, r slog.Record) error {
	if r.Message == "request" {
		e.ended <- struct{}{}
	}
	return nil
}

// A query ends when its client leaves, in whatever it is.
func TestQueriesOfClientsThatLeave(t *testing.T) {
	s := local(t, `CREATE STREAMING TABLE t AS SELECT id FROM STREAM read_files('in/*.json', format => 'json', schema => 'id INT');`,
		map[string]string{"in/a.json": strings.Repeat("{\"id\":1}\n", 3000)})
	a := &app{spec: s.dir, out: io.Discard, err: io.Discard}
	p, err := a.load()
	if err != nil {
		t.Fatal(err)
	}
	p.Settings.Listen = "127.0.0.1:0"
	log := ends{slog.DiscardHandler, make(chan struct{})}
	d, err := daemon.Start(t.Context(), daemon.Options{Plan: p, Log: slog.New(log), Fatal: func(err error) { t.Error(err) }})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	address, err := d.Serve()
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { d.Run(ctx, ctx); close(ended) }()
	defer func() { stop(); <-ended }()
	s.until("the table", func() bool {
		for _, table := range d.Status().Tables {
			return table.Rows == 3000
		}
		return false
	})
	for _, query := range []string{
		"SELECT count(*) FROM t a, t b, t c, t d",
		"SELECT a.id FROM t a, t b, t c, t d",
		"SELECT sum(length(initcap(repeat('ab c', 1000)))) FROM t a, t b, t c",
		"SELECT explode(sequence(1, 1000)) AS x FROM t a, t b, t c",
	} {
		conn, err := net.Dial("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(conn, "POST /api/query HTTP/1.1\r\nHost: %s\r\nContent-Length: %d\r\n\r\n%s", address, len(query), query)
		time.Sleep(100 * time.Millisecond) // it should have begun by then, and must end if it has not
		if err := conn.Close(); err != nil {
			t.Fatal(err)
		}
		<-log.ended
	}
}
