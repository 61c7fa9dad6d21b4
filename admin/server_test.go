package admin

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"sluice/eventlog"
	"sluice/fault"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const token = "0123456789abcdef0123456789abcdef"

// rowsOf is a result of n rows that are read two at a time; the row with number fail, if any, cannot be read.
type rowsOf struct {
	n, next, fail int
	closed        bool
}

func (r *rowsOf) Columns() []Column { return []Column{{"n", "BIGINT"}, {"text", "STRING"}} }
func (r *rowsOf) Next(ctx context.Context) ([]byte, int, error) {
	if err := ctx.Err(); err != nil {
		return nil, 0, err
	}
	if r.next >= r.n {
		return nil, 0, io.EOF
	}
	var out bytes.Buffer
	from := r.next
	for ; r.next < min(r.n, from+2); r.next++ {
		if r.next == r.fail {
			return nil, 0, fault.New(fault.BadRequest, "row %d cannot be read", r.next).At(fault.Pos{Line: 1, Column: 8})
		}
		json.NewEncoder(&out).Encode([]any{r.next, "a\nb"})
	}
	return out.Bytes(), r.next - from, nil
}
func (r *rowsOf) Close() error { r.closed = true; return nil }

// daemon is a configuration with something behind every endpoint.
func daemon(t *testing.T) *Config {
	return &Config{
		Listen:  "127.0.0.1:0",
		Log:     slog.New(slog.DiscardHandler),
		Build:   Build{Version: "1.2.3", Go: "go1"},
		Metrics: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "sluice_build_info 1\n") }),
		Status: func() Status {
			return Status{Pipeline: "p", Ready: false, Reasons: []string{"the update is STOPPING"}}
		},
		Events: func(_ context.Context, after uint64, visit func(eventlog.Record) bool) error {
			levels := []eventlog.Level{eventlog.Info, eventlog.Metrics, eventlog.Warn, eventlog.Error}
			for n := after + 1; n <= 40; n++ {
				if !visit(eventlog.Record{Sequence: n, Level: levels[n%4]}) {
					return nil
				}
			}
			return nil
		},
		Query: func(_ context.Context, sql string) (Rows, error) {
			if sql != "SELECT n" {
				return nil, fault.New(fault.BadRequest, "cannot read %q", sql).At(fault.Pos{Line: 1, Column: 3}).WithHint("write SELECT n")
			}
			return &rowsOf{n: 5, fail: -1}, nil
		},
		Digests: func(_ context.Context, tables []string) ([]Digest, error) {
			if slices.Contains(tables, "no") {
				return nil, fault.New(fault.TableNotFound, "there is no table no")
			}
			return []Digest{{Table: strings.Join(tables, "+"), Rows: 2, Digest: "00ff", Varies: []string{"why"}}}, nil
		},
		VerifyDigests: func(_ context.Context, tables []string) ([]Digest, error) {
			if slices.Contains(tables, "damaged") {
				return nil, fault.New(fault.DigestDiffers, "table damaged: they differ")
			}
			return []Digest{{Table: "kept", Rows: 2, Digest: "00ff", Kept: true, Version: 7}}, nil
		},
		Undo: func(_ context.Context, u Undo) (Undone, error) {
			if *u.Version != 3 {
				return Undone{}, fault.New(fault.VersionNotFound, "table %s has no version %d", u.Table, *u.Version)
			}
			return Undone{Table: u.Table, Version: 9, RowsRemoved: 1, RowsAdded: 2}, nil
		},
		MaxRecord: 16 << 20,
		Mend: func(_ context.Context, m Mending) (int, error) {
			if m.Flow == "dead" {
				return 0, fault.New(fault.NotInQuarantine, "no such record is in quarantine")
			}
			return len(m.Value) + int(m.Index), nil
		},
		ResetCheckpoint: func(_ context.Context, flow string) (uint64, error) {
			if flow != "live" {
				return 0, fault.New(fault.FlowNotFound, "there is no flow %s", flow)
			}
			return 4, nil
		},
	}
}

func handler(t *testing.T, c *Config) http.Handler {
	t.Helper()
	h, err := newHandler(c)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func tokenFile(t *testing.T, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// ask sends a request as a client on this machine does; headers are "Name: value".
func ask(h http.Handler, method, path, body string, headers ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, path, strings.NewReader(body))
	r.Host = "127.0.0.1:7070"
	for _, line := range headers {
		name, value, _ := strings.Cut(line, ": ")
		if name == "Host" {
			r.Host = value
		}
		r.Header.Set(name, value)
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

func TestEndpoints(t *testing.T) {
	h := handler(t, daemon(t))
	for _, c := range []struct {
		method, path, body string
		status             int
		want               string // part of the answer; several are separated by |
	}{
		{"GET", "/livez", "", 200, "live"},
		{"GET", "/readyz", "", 503, `"ready": false|the update is STOPPING`},
		{"GET", "/version", "", 200, `"version": "1.2.3"`},
		{"GET", "/metrics", "", 200, "sluice_build_info 1"},
		{"GET", "/", "", 200, "<title>Sluice</title>"},
		{"GET", "/ui.js", "", 200, "/api/status"},
		{"GET", "/api/status", "", 200, `"pipeline": "p"`},
		{"GET", "/api/events?limit=1", "", 200, `"sequence": 2|"next": 2`},
		{"GET", "/api/events?after=x", "", 400, "BAD_REQUEST|after=x"},
		{"GET", "/api/events?after=-1", "", 400, "BAD_REQUEST"},
		{"GET", "/api/events?limit=10001", "", 400, "BAD_REQUEST|10000"},
		{"GET", "/api/events?level=loud", "", 400, "BAD_REQUEST|METRICS, INFO, WARN and ERROR"},
		{"POST", "/api/query", "SELECT n", 200, `{"columns":[{"name":"n","type":"BIGINT"},{"name":"text","type":"STRING"}]}|[4,"a\nb"]|{"rows":5}`},
		{"GET", "/api/digest?table=a&table=b", "", 200, `"table": "a+b"|"rows": 2|"digest": "00ff"|"varies": [|"why"`},
		{"GET", "/api/digest?table=no", "", 400, "TABLE_OR_VIEW_NOT_FOUND"},
		{"GET", "/api/digest?verify=true", "", 200, `"table": "kept"|"kept": true|"version": 7`},
		{"GET", "/api/digest?verify=false&table=a", "", 200, `"table": "a"|"kept": false`},
		{"GET", "/api/digest?verify=true&table=damaged", "", 503, "DIGEST_DIFFERS|table damaged: they differ"},
		{"GET", "/api/digest?verify=yes", "", 400, "verify=yes is neither true nor false"},
		{"POST", "/api/query", "DROP", 400, `"code": "BAD_REQUEST"|"class": "user"|"hint": "write SELECT n"|"line": 1|"column": 3`},
		{"POST", "/api/query", "", 400, "BAD_REQUEST"},
		{"GET", "/api/query", "", 405, "METHOD_NOT_ALLOWED|use POST"},
		{"POST", "/api/status", "", 405, "METHOD_NOT_ALLOWED|use GET"},
		{"POST", "/api/dlq", `{"action": "edit", "flow": "live", "offset": 3, "index": 2, "value": "AAEC"}`, 200, `"records": 5`},
		{"POST", "/api/dlq", `{"action": "edit", "value": ""}`, 200, `"records": 0`},
		{"POST", "/api/dlq", `{"action": "edit", "flow": "live"}`, 400, "BAD_REQUEST"},
		{"POST", "/api/dlq", `{"action": "forget", "flow": "dead"}`, 404, "NOT_IN_QUARANTINE"},
		{"POST", "/api/dlq", `{"action": "drop"}`, 400, "BAD_REQUEST"},
		{"POST", "/api/dlq", `{"action": "replay", "all": true}`, 400, "BAD_REQUEST"},
		{"POST", "/api/undo", `{"table": "t", "version": 3}`, 200, `"table": "t"|"version": 9|"num_removed_rows": 1|"num_added_rows": 2`},
		{"POST", "/api/undo", `{"table": "t", "version": 0}`, 400, "VERSION_NOT_FOUND"},
		{"POST", "/api/undo", `{"table": "t"}`, 400, "BAD_REQUEST"},
		{"POST", "/api/undo", `{"version": 3}`, 400, "BAD_REQUEST"},
		{"POST", "/api/reset-checkpoint", `{"flow": "live"}`, 200, `"generation": 4`},
		{"POST", "/api/reset-checkpoint", `{"flow": "dead"}`, 404, "FLOW_NOT_FOUND"},
		{"POST", "/api/reset-checkpoint", `{"flow": ""}`, 400, "BAD_REQUEST"},
		{"POST", "/api/reset-checkpoint", `{"flow": "live", "all": true}`, 400, "BAD_REQUEST"},
		{"POST", "/api/reset-checkpoint", `{"flow": "live"} {"flow": "live"}`, 400, "BAD_REQUEST"},
		{"POST", "/api/reset-checkpoint", strings.Repeat(" ", maxOrder+1), 413, "REQUEST_TOO_LARGE"},
		{"POST", "/api/query", strings.Repeat(" ", maxQuery+1), 413, "REQUEST_TOO_LARGE"},
		{"POST", "/api/dlq", `{"action": "edit", "value": "` + strings.Repeat("A", maxQuery+4) + `"}`, 200, `"records": 12582915`},
		{"POST", "/api/dlq", `{"action": "edit", "value": "` + strings.Repeat("A", maxQuery*2) + `"}`, 413, "REQUEST_TOO_LARGE|at most 16777216 bytes|maxRecordSize"},
		{"GET", "/nothing", "", 404, "ENDPOINT_NOT_FOUND"},
		{"GET", "/../go.mod", "", 307, ""},
	} {
		w := ask(h, c.method, c.path, c.body)
		if w.Code != c.status {
			t.Errorf("%s %s: status %d, want %d: %s", c.method, c.path, w.Code, c.status, w.Body)
		}
		for part := range strings.SplitSeq(c.want, "|") {
			if !strings.Contains(w.Body.String(), part) {
				t.Errorf("%s %s: no %s in %s", c.method, c.path, part, w.Body)
			}
		}
	}
}

// METRICS records are left out unless asked for, and what is left out still moves next on.
func TestEventLevels(t *testing.T) {
	h := handler(t, daemon(t))
	for query, want := range map[string][]uint64{
		"":                              {36, 38, 39, 40}, // 37 is METRICS
		"&level=warn":                   {38, 39},
		"&level=ERROR":                  {39},
		"&level=METRICS":                {36, 37, 38, 39, 40},
		"&level=METRICS&limit=2":        {36, 37},
		"&level=WARN&limit=1":           {38},
		"&limit=0":                      nil,
		"&after=40":                     {36, 38, 39, 40}, // the first of two counts
		"&level=WARN&limit=100&after=1": {38, 39},
		"&newest=true&limit=1":          {40},
		"&newest=true&limit=2":          {39, 40},
		"&newest=true&limit=3":          {38, 39, 40},
		"&newest=true&limit=9":          {36, 38, 39, 40},
		"&newest=true&limit=0":          nil,
		"&newest=true&level=WARN":       {38, 39},
	} {
		w := ask(h, "GET", "/api/events?after=35"+query, "")
		var got Events
		if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil {
			t.Fatal(err)
		}
		var have []uint64
		for _, e := range got.Events {
			have = append(have, e.Sequence)
		}
		if !slices.Equal(have, want) {
			t.Errorf("%s: records %v, want %v", query, have, want)
		}
		if query == "&level=ERROR" && got.Next != 40 {
			t.Errorf("%s: next is %d, want 40", query, got.Next)
		}
		if query == "&level=WARN&limit=1" && got.Next != 38 {
			t.Errorf("%s: next is %d, want 38", query, got.Next)
		}
	}
}

// D-55: with a token nothing but liveness, the bare readiness and the empty page is told without it.
func TestToken(t *testing.T) {
	c := daemon(t)
	c.Listen, c.TokenFile = "0.0.0.0:0", tokenFile(t, token+"\n")
	h := handler(t, c)
	secret := [][2]string{{"GET", "/version"}, {"GET", "/metrics"}, {"GET", "/api/status"}, {"GET", "/api/events"}, {"GET", "/api/digest"}, {"POST", "/api/query"}, {"POST", "/api/reset-checkpoint"}, {"POST", "/api/dlq"}, {"POST", "/api/undo"}}
	for _, route := range secret {
		for _, header := range []string{"X: y", "Authorization: Bearer ", "Authorization: Bearer " + token[1:], "Authorization: Basic " + token, "Authorization: " + token, "Authorization: Bearer " + token + "0"} {
			w := ask(h, route[0], route[1], "", header, "Host: sluice.example")
			if w.Code != 401 || !strings.Contains(w.Body.String(), "UNAUTHENTICATED") || w.Header().Get("WWW-Authenticate") != "Bearer" {
				t.Errorf("%s with %q: %d %s", route[1], header, w.Code, w.Body)
			}
			if strings.Contains(w.Body.String(), token) {
				t.Error("the answer tells the token")
			}
		}
		w := ask(h, route[0], route[1], "SELECT n", "Authorization: bearer "+token, "Host: sluice.example")
		if w.Code == 401 {
			t.Errorf("%s with the token: %d", route[1], w.Code)
		}
	}
	if w := ask(h, "GET", "/livez", "", "Host: sluice.example"); w.Code != 200 {
		t.Errorf("/livez: %d", w.Code)
	}
	if w := ask(h, "GET", "/readyz", "", "Host: sluice.example"); w.Code != 503 || strings.Contains(w.Body.String(), "STOPPING") {
		t.Errorf("/readyz without the token: %d %s", w.Code, w.Body)
	}
	if w := ask(h, "GET", "/readyz", "", "Host: sluice.example", "Authorization: Bearer "+token); !strings.Contains(w.Body.String(), "STOPPING") {
		t.Errorf("/readyz with the token: %s", w.Body)
	}
}

// A page of another site can make the user's browser send requests to this machine; they must do and tell nothing.
func TestForeignPages(t *testing.T) {
	open := handler(t, daemon(t))
	c := daemon(t)
	c.TokenFile = tokenFile(t, token)
	closed := handler(t, c)
	for _, x := range []struct {
		name    string
		h       http.Handler
		method  string
		headers []string
		refused bool
	}{
		{"a program", open, "POST", nil, false},
		{"the page itself", open, "POST", []string{"Origin: http://127.0.0.1:7070", "Sec-Fetch-Site: same-origin"}, false},
		{"by name", open, "POST", []string{"Host: localhost:7070"}, false},
		{"by IPv6", open, "POST", []string{"Host: [::1]:7070"}, false},
		{"without a port", open, "POST", []string{"Host: localhost"}, false},
		{"a form of another site", open, "POST", []string{"Origin: https://evil.example"}, true},
		{"another site, new browser", open, "POST", []string{"Sec-Fetch-Site: cross-site"}, true},
		{"another port of this machine", open, "POST", []string{"Origin: http://127.0.0.1:9999"}, true},
		{"a name that was made to point here", open, "POST", []string{"Host: evil.example:7070"}, true},
		{"reading by such a name", open, "GET", []string{"Host: evil.example:7070"}, true},
		{"a name like localhost", open, "GET", []string{"Host: localhost.evil.example"}, true},
		{"no host", open, "GET", []string{"Host: "}, true},
		{"by any name with the token", closed, "GET", []string{"Host: sluice.example", "Authorization: Bearer " + token}, false},
		{"a form of another site with the token", closed, "POST", []string{"Host: sluice.example", "Origin: https://evil.example", "Authorization: Bearer " + token}, true},
	} {
		path := "/api/status"
		if x.method == "POST" {
			path = "/api/query"
		}
		w := ask(x.h, x.method, path, "SELECT n", x.headers...)
		if refused := w.Code == 403 && strings.Contains(w.Body.String(), "PERMISSION_DENIED"); refused != x.refused {
			t.Errorf("%s: refused %v, want %v: %d %s", x.name, refused, x.refused, w.Code, w.Body)
		}
	}
}

func TestListenAddress(t *testing.T) {
	good := tokenFile(t, token)
	for _, x := range []struct {
		listen, tokenFile string
		want              *fault.Code
	}{
		{"127.0.0.1:0", "", nil},
		{"localhost:0", "", nil},
		{"[::1]:7070", "", nil},
		{"127.9.9.9:7070", "", nil},
		{"0.0.0.0:7070", good, nil},
		{"0.0.0.0:7070", "", fault.ListenRequiresToken},
		{":7070", "", fault.ListenRequiresToken},
		{"[::]:7070", "", fault.ListenRequiresToken},
		{"sluice.example:7070", "", fault.ListenRequiresToken},
		{"7070", "", fault.InvalidListenAddress},
		{"", "", fault.InvalidListenAddress},
		{"127.0.0.1:0", filepath.Join(t.TempDir(), "none"), fault.InvalidTokenFile},
		{"127.0.0.1:0", tokenFile(t, "short\n"), fault.InvalidTokenFile},
		{"127.0.0.1:0", tokenFile(t, token+" "+token), fault.InvalidTokenFile},
		{"127.0.0.1:0", tokenFile(t, token+"\x00"), fault.InvalidTokenFile},
	} {
		c := daemon(t)
		c.Listen, c.TokenFile = x.listen, x.tokenFile
		_, err := newHandler(c)
		if x.want == nil && err != nil || x.want != nil && !fault.Of(err, x.want) {
			t.Errorf("listen %q, token file %q: %v, want %v", x.listen, x.tokenFile, err, x.want)
		}
	}
}

func TestListenFailed(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	c := daemon(t)
	c.Listen = taken.Addr().String()
	if _, err := Listen(*c); !fault.Of(err, fault.ListenFailed) {
		t.Errorf("got %v", err)
	}
}

// A panic is one request's problem. After an answer has begun the connection is cut, since no error can be told any more.
func TestPanic(t *testing.T) {
	c := daemon(t)
	var log bytes.Buffer
	c.Log = slog.New(slog.NewTextHandler(&log, nil))
	c.Status = func() Status { panic("broken") }
	c.Metrics = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "half"); panic("broken") })
	h := handler(t, c)
	if w := ask(h, "GET", "/api/status", ""); w.Code != 500 || !strings.Contains(w.Body.String(), "INTERNAL_ERROR") {
		t.Errorf("got %d %s", w.Code, w.Body)
	}
	if !strings.Contains(log.String(), "server_test.go") {
		t.Errorf("the stack is not in the log: %s", &log)
	}
	defer func() {
		if p := recover(); p != http.ErrAbortHandler {
			t.Errorf("an answer that had begun was not cut: %v", p)
		}
	}()
	ask(h, "GET", "/metrics", "")
}

// Nothing that a query says is in the log, at any level.
func TestLogHasNoPayload(t *testing.T) {
	c := daemon(t)
	var log bytes.Buffer
	c.Log = slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	c.Query = func(context.Context, string) (Rows, error) { return &rowsOf{n: 1, fail: -1}, nil }
	ask(handler(t, c), "POST", "/api/query", "SELECT 'secret'")
	if !strings.Contains(log.String(), "/api/query") || strings.Contains(log.String(), "secret") {
		t.Errorf("log: %s", &log)
	}
}

// Close lets a request that runs finish, and ends one that does not.
func TestClose(t *testing.T) {
	for name, patient := range map[string]bool{"finishes": true, "is ended": false} {
		t.Run(name, func(t *testing.T) {
			started, release := make(chan bool), make(chan bool)
			c := daemon(t)
			c.Query = func(ctx context.Context, _ string) (Rows, error) {
				close(started)
				select {
				case <-release:
					return &rowsOf{n: 1, fail: -1}, nil
				case <-ctx.Done():
					return nil, ctx.Err()
				}
			}
			s, err := Listen(*c)
			if err != nil {
				t.Fatal(err)
			}
			client := newTestClient(t, s.Addr(), "")
			answered := make(chan error)
			go func() {
				rows, err := client.Query(context.Background(), "SELECT 1")
				if err == nil {
					rows.Close()
				}
				answered <- err
			}()
			<-started
			ctx, cancel := context.WithCancel(context.Background())
			closed := make(chan error)
			go func() { closed <- s.Close(ctx) }()
			if patient {
				close(release)
				if err := <-answered; err != nil {
					t.Errorf("the running request failed: %v", err)
				}
			} else {
				cancel()
				if err := <-answered; err == nil {
					t.Error("the request was answered, though it was to be ended")
				}
			}
			if err := <-closed; err != nil {
				t.Errorf("Close: %v", err)
			}
			cancel()
			if err := client.Live(context.Background()); !fault.Of(err, fault.DaemonUnreachable) {
				t.Errorf("after Close: %v", err)
			}
		})
	}
}

// A query may take longer than a request may take to arrive.
func TestSlowQuery(t *testing.T) {
	c := daemon(t)
	c.readTimeout = 50 * time.Millisecond
	c.Query = func(ctx context.Context, _ string) (Rows, error) {
		select {
		case <-time.After(300 * time.Millisecond):
			return &rowsOf{n: 3, fail: -1}, nil
		case <-ctx.Done():
			return nil, errors.New("the query was given up")
		}
	}
	s, err := Listen(*c)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close(context.Background())
	rows, err := newTestClient(t, s.Addr(), "").Query(context.Background(), "SELECT 1")
	if err != nil {
		t.Fatal(err)
	}
	rows.Close()
}
