package admin

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"sluice/eventlog"
	"sluice/fault"
)

// newTestClient returns a client with connections of its own, which end with the test.
func newTestClient(t *testing.T, address, token string) *Client {
	c := NewClient(address, token)
	transport := &http.Transport{}
	c.http.Transport = transport
	t.Cleanup(transport.CloseIdleConnections)
	return c
}

func serve(t *testing.T, c *Config) *Client {
	t.Helper()
	s, err := Listen(*c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close(context.Background()) })
	return newTestClient(t, s.Addr(), token)
}

func TestClient(t *testing.T) {
	config := daemon(t)
	config.TokenFile = tokenFile(t, token)
	c := serve(t, config)
	ctx := context.Background()

	if err := c.Live(ctx); err != nil {
		t.Errorf("Live: %v", err)
	}
	if ready, err := c.Ready(ctx); err != nil || ready.Ready || len(ready.Reasons) != 1 {
		t.Errorf("Ready: %+v, %v", ready, err)
	}
	if build, err := c.Version(ctx); err != nil || build != config.Build {
		t.Errorf("Version: %+v, %v", build, err)
	}
	if status, err := c.Status(ctx); err != nil || status.Pipeline != "p" {
		t.Errorf("Status: %+v, %v", status, err)
	}
	if events, err := c.Events(ctx, 35, 2, eventlog.Metrics); err != nil || len(events.Events) != 2 || events.Next != 37 {
		t.Errorf("Events: %+v, %v", events, err)
	}
	three := int64(3)
	if u, err := c.Undo(ctx, Undo{Table: "t", Version: &three}); err != nil || u != (Undone{Table: "t", Version: 9, RowsRemoved: 1, RowsAdded: 2}) {
		t.Errorf("Undo: %+v, %v", u, err)
	}
	if generation, err := c.ResetCheckpoint(ctx, "live"); err != nil || generation != 4 {
		t.Errorf("ResetCheckpoint: %d, %v", generation, err)
	}
	if _, err := c.ResetCheckpoint(ctx, "dead"); !fault.Of(err, fault.FlowNotFound) {
		t.Errorf("ResetCheckpoint of an unknown flow: %v", err)
	}
	if _, err := newTestClient(t, c.address, "wrong").Status(ctx); !fault.Of(err, fault.Unauthenticated) {
		t.Errorf("with a wrong token: %v", err)
	}
	if _, err := NewClient("127.0.0.1:1", "").Status(ctx); !fault.Of(err, fault.DaemonUnreachable) {
		t.Errorf("where nothing listens: %v", err)
	}
	if _, err := NewClient("nonsense\n", "").Status(ctx); !fault.Of(err, fault.InvalidListenAddress) {
		t.Errorf("with an address that is none: %v", err)
	}
	ended, cancel := context.WithCancel(ctx)
	cancel()
	if _, err := c.Status(ended); !errors.Is(err, context.Canceled) {
		t.Errorf("with a context that has ended: %v", err)
	}
}

func readAll(t *testing.T, c *Client, sql string) (rows []string, err error) {
	t.Helper()
	r, err := c.Query(context.Background(), sql)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	if len(r.Columns) != 2 || r.Columns[1] != (Column{"text", "STRING"}) {
		t.Errorf("columns %v", r.Columns)
	}
	for {
		row, err := r.Next()
		if errors.Is(err, io.EOF) {
			return rows, nil
		}
		if err != nil {
			return rows, err
		}
		rows = append(rows, fmt.Sprintf("%s", row))
	}
}

func TestQuery(t *testing.T) {
	config := daemon(t)
	result := &rowsOf{n: 5, fail: -1}
	config.Query = func(context.Context, string) (Rows, error) { return result, nil }
	t.Cleanup(func() { // after the server's end: the client sees the last line before the handler has returned
		if !result.closed {
			t.Error("the result was not closed")
		}
	})
	c := serve(t, config)

	rows, err := readAll(t, c, "SELECT n")
	if err != nil || len(rows) != 5 || rows[4] != `[4 "a\nb"]` {
		t.Errorf("rows %q, %v", rows, err)
	}
	result = &rowsOf{n: 0, fail: -1}
	if rows, err := readAll(t, c, "SELECT n"); err != nil || len(rows) != 0 {
		t.Errorf("no rows: %q, %v", rows, err)
	}
	// An error on the way comes after the rows before it, with its position.
	result = &rowsOf{n: 5, fail: 3}
	rows, err = readAll(t, c, "SELECT n")
	if len(rows) != 2 || !fault.Of(err, fault.BadRequest) || fault.From(err).Pos.Column != 8 {
		t.Errorf("rows %q, %v", rows, err)
	}
}

// Who interrupts a command is told so, whatever it waits for, and the daemon notices it.
func TestInterrupted(t *testing.T) {
	arrived, left := make(chan struct{}), make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		if r.URL.Path == "/api/query" {
			io.WriteString(w, `{"columns":[]}`+"\n")
			w.(http.Flusher).Flush()
		}
		arrived <- struct{}{}
		<-r.Context().Done()
		left <- struct{}{}
	}))
	defer server.Close()
	c := newTestClient(t, strings.TrimPrefix(server.URL, "http://"), "")
	for name, ask := range map[string]func(context.Context) error{
		"status": func(ctx context.Context) error { _, err := c.Status(ctx); return err },
		"order":  func(ctx context.Context) error { _, err := c.ResetCheckpoint(ctx, "f"); return err },
		"mend":   func(ctx context.Context) error { _, err := c.Mend(ctx, Mending{Action: "forget"}); return err },
		"query": func(ctx context.Context) error {
			rows, err := c.Query(ctx, "SELECT 1")
			if err == nil {
				_, err = rows.Next()
				rows.Close()
			}
			return err
		},
	} {
		ctx, interrupt := context.WithCancelCause(context.Background())
		said := make(chan error, 1)
		go func() { said <- ask(ctx) }()
		<-arrived
		interrupt(errors.New("terminated"))
		err := <-said
		<-left
		if withdrawn := name == "order" || name == "mend"; !fault.Of(err, fault.Interrupted) || (fault.From(err).Hint != "") != withdrawn {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Whatever else answers at the address must give an error with a code, never a short success.
func TestStrangeAnswers(t *testing.T) {
	for name, x := range map[string]struct {
		status int
		body   string
		want   *fault.Code
	}{
		"not JSON":           {200, "<html>\n", fault.DaemonAnswerMalformed},
		"another error page": {502, "bad gateway", fault.DaemonAnswerMalformed},
		"rows cut":           {200, `{"columns":[{"name":"n","type":"INT"}]}` + "\n[1]\n", fault.DaemonUnreachable},
		"a row cut":          {200, `{"columns":[{"name":"n","type":"INT"}]}` + "\n[1", fault.DaemonUnreachable},
		"nothing":            {200, "", fault.DaemonUnreachable},
		"an empty line":      {200, "\n", fault.DaemonAnswerMalformed},
		"not a row":          {200, `{"columns":[{"name":"n","type":"INT"}]}` + "\nhello\n", fault.DaemonAnswerMalformed},
		"unknown code":       {400, `{"code":"FROM_THE_FUTURE","message":"m"}`, fault.DaemonAnswerMalformed},
	} {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.WriteHeader(x.status)
				io.WriteString(w, x.body)
			}))
			defer server.Close()
			c := newTestClient(t, strings.TrimPrefix(server.URL, "http://"), "")
			rows, err := c.Query(context.Background(), "SELECT 1")
			for err == nil {
				_, err = rows.Next()
			}
			if !fault.Of(err, x.want) {
				t.Errorf("got %v, want %s", err, x.want)
			}
			if x.status != 200 {
				if _, err := c.Status(context.Background()); !fault.Of(err, x.want) {
					t.Errorf("status: got %v, want %s", err, x.want)
				}
			}
		})
	}
}
