package postgres

import (
	"bytes"
	"context"
	gojson "encoding/json"
	"fmt"
	"net/url"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"sluice/batch"
	"sluice/fault"
	"sluice/format/json"
	"sluice/internal/testenv"
	"sluice/option"
	"sluice/sink"
	"sluice/sink/sinktest"
)

func TestMain(m *testing.M) { testenv.Main(m) }

var ctx = context.Background()

// database is an empty database of a test.
type database struct {
	t   testing.TB
	url string
}

func newDatabase(t testing.TB) *database { return &database{t, testenv.Postgres(t)} }

// exec runs statements and returns the rows of the last one, a line each.
func (d *database) exec(sql string, args ...any) string {
	d.t.Helper()
	c, err := pgx.Connect(ctx, d.url)
	if err != nil {
		d.t.Fatal(err)
	}
	defer c.Close(ctx)
	rows, err := c.Query(ctx, sql, args...)
	if err != nil {
		d.t.Fatal(err)
	}
	lines, err := pgx.CollectRows(rows, func(r pgx.CollectableRow) (string, error) {
		values, err := r.Values()
		var text []string
		for _, v := range values {
			if v == nil {
				v = "NULL"
			}
			text = append(text, fmt.Sprint(v))
		}
		return strings.Join(text, " "), err
	})
	if err != nil {
		d.t.Fatalf("%s: %v", sql, err)
	}
	return strings.Join(lines, "\n")
}

func (d *database) config(fields []batch.Field, pairs ...string) Config {
	d.t.Helper()
	given := []option.Given{{Name: "url", Value: d.url}, {Name: "table", Value: "out"}}
	for i := 0; i < len(pairs); i += 2 {
		given = append(given, option.Given{Name: pairs[i], Value: pairs[i+1]})
	}
	v, problems := Options().Parse("sink format postgres", given, fault.Pos{})
	if err := problems.Err(); err != nil {
		d.t.Fatal(err)
	}
	return Config{Options: v, Pipeline: "shop", Flow: "publish", Fields: fields}
}

var fields = []batch.Field{{Name: "key", Type: batch.Of(batch.String)}, {Name: "seq", Type: batch.Of(batch.BigInt)}, {Name: "v", Type: batch.Of(batch.String)}}

func (d *database) open(pairs ...string) *Sink {
	d.t.Helper()
	s, err := New(d.config(fields, pairs...))
	if err != nil {
		d.t.Fatal(err)
	}
	d.t.Cleanup(func() { _ = s.Close() })
	return s
}

// id is the identity of a batch of store s1.
func id(epoch, generation, number uint64) batch.ID {
	return batch.ID{Pipeline: "shop", Flow: "publish", Store: "s1", Epoch: epoch, Generation: generation, Number: number}
}

// again is the identity of a batch that was sent before.
func again(id batch.ID) batch.ID {
	id.Replay = true
	return id
}

// rowsOf makes rows of "key seq v"; NULL is null. A leading + or - makes it a change feed.
func rowsOf(lines ...string) sink.Rows {
	builders := make([]batch.Builder, len(fields))
	for i, f := range fields {
		builders[i].Init(f.Type, 0)
	}
	var out sink.Rows
	for _, line := range lines {
		if line[0] == '+' || line[0] == '-' {
			out.Change = append(out.Change, map[byte]sink.Change{'+': sink.InsertRow, '-': sink.DeleteRow}[line[0]])
			line = line[1:]
		}
		for i, text := range strings.Fields(line) {
			var n int64
			switch _, err := fmt.Sscan(text, &n); {
			case text == "NULL":
				builders[i].AppendNull()
			case i == 1 && err == nil:
				builders[i].AppendInt(n)
			default:
				builders[i].AppendString(text)
			}
		}
	}
	out.Columns = batch.Columns{Fields: fields, Len: len(lines)}
	for i := range builders {
		out.Columns.Cols = append(out.Columns.Cols, builders[i].Column())
	}
	if out.Change != nil {
		batch.EncodeKeys(&out.Keys, &out.Columns.Cols[0])
		batch.EncodeKeys(&out.Sequence, &out.Columns.Cols[1])
	}
	return out
}

func write(t *testing.T, s *Sink, id batch.ID, lines ...string) {
	t.Helper()
	if err := s.Write(ctx, id, rowsOf(lines...)); err != nil {
		t.Fatal(err)
	}
}

func mustFail(t *testing.T, err error, code *fault.Code, parts ...string) {
	t.Helper()
	if !fault.Of(err, code) {
		t.Fatalf("got %v, want %s", err, code)
	}
	for _, p := range parts {
		if !strings.Contains(err.Error(), p) {
			t.Errorf("%q does not say %q", err, p)
		}
	}
}

func (d *database) holds(want ...string) {
	d.t.Helper()
	if got := d.exec("SELECT key, seq, v FROM out ORDER BY key NULLS FIRST, seq, v"); got != strings.Join(want, "\n") {
		d.t.Errorf("got\n%s\nwant\n%s", got, strings.Join(want, "\n"))
	}
}

func TestConformance(t *testing.T) {
	// Sinks reach their tables through a network that can lose the answer to a COMMIT.
	network := sinktest.NewLossy(func(sent []byte) bool { return bytes.Contains(bytes.ToLower(sent), []byte("commit\x00")) })
	server, err := pgx.ParseConfig(testenv.Postgres(t)) // the server's goroutines are not the sink's
	if err != nil {
		t.Fatal(err)
	}
	proxy := network.Proxy(t, server.Host, server.Port)
	sinktest.Run(t, sinktest.Kind{
		OnceOnly: true, Feed: true,
		Text: func(s string) bool { return !strings.Contains(s, "\x00") },
		New: func(t *testing.T, fields []batch.Field) sinktest.Target {
			return &target{newDatabase(t), fields, network, proxy}
		},
	})
}

// target is a table of the conformance suite.
type target struct {
	db     *database
	fields []batch.Field
	net    *sinktest.Lossy
	proxy  string // its address
}

// through is the database's url through the network.
func (x *target) through(t *testing.T) string {
	u, err := url.Parse(x.db.url)
	if err != nil {
		t.Fatal(err)
	}
	u.Host = x.proxy
	q := u.Query()
	q.Del("host")
	q.Del("port")
	u.RawQuery = q.Encode()
	return u.String()
}

// Doubt implements sinktest.Doubtful.
func (x *target) Doubt(*testing.T) func() bool { return x.net.Lose() }

func (x *target) Open(t *testing.T) sink.Sink {
	t.Helper()
	c := (&database{t, x.through(t)}).config(x.fields, "create_table", "true")
	c.Flow, c.Feed = "conformance", true // the table has _change_type, too
	s, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.connect(ctx); err != nil {
		t.Fatal(err)
	}
	x.db.exec("ALTER TABLE out ALTER _change_type DROP NOT NULL")
	return s
}

// Read reads each column as text that says everything, makes JSON of it, and decodes that.
func (x *target) Read(t *testing.T, feed bool) batch.Columns {
	t.Helper()
	fields := x.fields
	if feed {
		fields = sink.FieldsWithChange(fields)
	}
	var columns []string
	for _, f := range fields {
		columns = append(columns, exactText(f))
	}
	c, err := pgx.Connect(ctx, x.db.url)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close(ctx)
	if _, err := c.Exec(ctx, "SET TimeZone = 'UTC'"); err != nil {
		t.Fatal(err)
	}
	rows, err := c.Query(ctx, "SELECT "+strings.Join(columns, ", ")+" FROM out ORDER BY ctid")
	if err != nil {
		t.Fatal(err)
	}
	documents, err := pgx.CollectRows(rows, func(r pgx.CollectableRow) ([]byte, error) {
		values := make([]*string, len(fields))
		to := make([]any, len(fields))
		for i := range values {
			to[i] = &values[i]
		}
		if err := r.Scan(to...); err != nil {
			return nil, err
		}
		var doc bytes.Buffer
		for i, f := range fields {
			value := []byte("null")
			switch {
			case values[i] == nil:
			case f.Type.IsNested() || f.Type.Kind == batch.Variant || f.Type.Kind == batch.Boolean:
				value = []byte(*values[i])
			default:
				value, _ = gojson.Marshal(*values[i])
			}
			fmt.Fprintf(&doc, "%c%q:%s", "{,"[min(i, 1)], f.Name, value)
		}
		doc.WriteByte('}')
		return doc.Bytes(), nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return decode(t, fields, documents)
}

func exactText(f batch.Field) string {
	name := pgx.Identifier{f.Name}.Sanitize()
	switch f.Type.Kind {
	case batch.Binary:
		return "replace(encode(" + name + ", 'base64'), E'\\n', '')"
	case batch.Timestamp:
		return "to_char(" + name + `, 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')`
	case batch.TimestampNTZ:
		return "to_char(" + name + `, 'YYYY-MM-DD"T"HH24:MI:SS.US')`
	}
	return name + "::text"
}

func decode(t *testing.T, fields []batch.Field, documents [][]byte) batch.Columns {
	t.Helper()
	decoder, err := json.NewDecoder(json.Options{Fields: fields, CorruptRecord: -1, NumbersAsStrings: true})
	if err != nil {
		t.Fatal(err)
	}
	builders := make([]batch.Builder, len(fields))
	for i, f := range fields {
		builders[i].Init(f.Type, 0)
	}
	if bad := decoder.Decode(documents, builders); len(bad) > 0 {
		t.Fatalf("%s: %v", documents[bad[0].Index], bad[0].Err)
	}
	out := batch.Columns{Fields: fields, Len: len(documents)}
	for i := range builders {
		out.Cols = append(out.Cols, builders[i].Column())
	}
	return out
}

// Break ends the sink's connection.
func (x *target) Break(t *testing.T) func() {
	x.db.exec("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name LIKE 'sluice %' AND datname = current_database()")
	return func() {}
}
