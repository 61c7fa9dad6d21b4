package state

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"pgregory.net/rapid"

	"sluice/batch"
	"sluice/fault"
	memory "sluice/internal/disk"
)

// Places of the rows of one commit are numbered in 31 bits: a statement that adds more is refused, and nothing of it is stored.
func TestStatementTooLarge(t *testing.T) {
	r := &rewriting{t: &Table{name: "t"}, ordinal: math.MaxInt32 - 1}
	rows := batch.Columns{Len: 2}
	if _, err := r.placed(nil, &rows, nil); !fault.Of(err, fault.StatementTooLarge) {
		t.Errorf("%v", err)
	}
}

// pieceRows are rows in memory. It is a Rows.
type pieceRows []batch.Columns

func (p *pieceRows) Next() (batch.Columns, error) {
	for len(*p) > 0 {
		first := (*p)[0]
		if *p = (*p)[1:]; first.Len > 0 {
			return first, nil
		}
	}
	return batch.Columns{}, nil
}

// statement changes those rows of a table whose sequence is among some: they go, or get a value if v is not "".
func statement(table *Table, v string, among func(seq int64) bool) (err error) {
	ctx := context.Background()
	d, err := table.BeginDML(ctx, true)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.End()) }()
	files, err := d.Snapshot().Files(table.Name())
	if err != nil {
		return err
	}
	s := Swap{Cause: "UPDATE", Advance: Advance{Time: noon.Add(time.Duration(d.Version()+1) * time.Second)}}
	for _, f := range files {
		rows, changed, err := changedRows(d, f.ID, v, among)
		if err != nil {
			return err
		}
		if changed == 0 {
			continue
		}
		s.Remove, s.Rows = append(s.Remove, f.ID), append(s.Rows, &rows)
		if s.RowsRemoved += changed; v != "" {
			s.RowsAdded += changed
		}
	}
	if s.Remove == nil {
		return nil
	}
	_, err = d.Swap(ctx, s)
	return err
}

// changedRows are the rows that a file has after a statement.
func changedRows(d *DML, file FileID, v string, among func(seq int64) bool) (out pieceRows, changed int64, err error) {
	var scan interface {
		Next(int) (batch.Columns, error)
		Close() error
	}
	if scan, err = d.ScanPlaced(file, []string{"k", "seq", "v"}); d.t.record.Replaced {
		scan, err = d.snapshot.ScanFiles(d.t.name, []FileID{file}, nil)
	}
	if err != nil {
		return nil, 0, err
	}
	defer scan.Close()
	for {
		rows, err := scan.Next(0)
		if err != nil || rows.Len == 0 {
			return out, changed, err
		}
		values := batch.NewBuilder(batch.Of(batch.String), rows.Len)
		var stay []int32
		for i := range rows.Len {
			hit := among(batch.Values[int64](rows.Col("seq"))[i])
			if hit {
				changed++
				values.AppendString(v)
			} else {
				values.AppendFrom(rows.Col("v"), i)
			}
			if !hit || v != "" {
				stay = append(stay, int32(i))
			}
		}
		rows.Cols = slices.Clone(rows.Cols)
		rows.Cols[2] = values.Column()
		out = append(out, rows.Take(stay))
	}
}

// insert adds rows from outside.
func insert(table *Table, rows ...row) (err error) {
	d, err := table.BeginDML(context.Background(), false)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.End()) }()
	_, err = d.Insert(context.Background(), Swap{Rows: []Rows{&given{rows: rows, each: 2}}, Cause: "INSERT", RowsAdded: int64(len(rows)), Advance: Advance{Time: noon.Add(time.Duration(d.Version()+1) * time.Second)}})
	return err
}

// written is an append table as it should be, and as it was.
type written struct {
	*rapid.T
	s        *Store
	fs       vfs.FS
	size     int64
	table    *Table
	writer   *Flow
	reader   *Flow
	next     int64
	rows     []row   // now
	versions [][]row // that there were
	unread   []row   // what the reader has yet to see: rows as they were appended
}

func (w *written) open() {
	s, err := Open(Options{Dir: "db", FS: w.fs, Pipeline: "p", Sealer: plainSealer{w.fs}, FileSize: w.size, InsertAt: 200, OnFault: func(err error) { w.Errorf("store failed: %v", err) }})
	ok(w, err)
	w.s = s
	w.table, err = s.Table(TableSpec{Name: events.Name, Fields: events.Fields, Retention: RetainForever, History: History{Times: 1000}})
	ok(w, err)
	ok(w, w.table.KeepDigest(context.Background(), true))
	w.writer, err = s.Flow("w")
	ok(w, err)
	w.reader, err = s.Flow("r")
	ok(w, err)
	ok(w, w.table.Subscribe(context.Background(), w.reader, false))
}

func (w *written) close() {
	ok(w, w.s.Check())
	ok(w, w.s.Close())
}

// drawn are rows to be added.
func (w *written) drawn(t *rapid.T) (out []row) {
	for range rapid.IntRange(1, 12).Draw(t, "rows") {
		w.next++
		out = append(out, row{k: "k", seq: w.next, v: fmt.Sprint("v", w.next)})
	}
	return out
}

func (w *written) added(rows []row) {
	w.rows, w.unread = append(w.rows, rows...), append(w.unread, rows...)
	w.version()
}

func (w *written) version() {
	for int64(len(w.versions)) <= w.table.Version() {
		w.versions = append(w.versions, slices.Clone(w.rows))
	}
}

// D-34, DM-08: whatever statements change in an append table, wherever its rows lie, it has the rows that it should have, now and as of every version (D-27); a
// reader gets each row once, as it was appended, at whatever place it stands and however much it takes at a time; counts, digest and places hold.
func TestStatementsOnAnAppendTable(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := &written{T: t, fs: vfs.NewMem(), size: rapid.SampledFrom([]int64{100, 400, 1 << 20}).Draw(t, "file size")}
		w.open()
		w.version()
		lines := func(rows []row) (out []string) {
			for _, r := range rows {
				out = append(out, fmt.Sprintf("%s,%d,%s", r.k, r.seq, r.v))
			}
			return out
		}
		change := func(t *rapid.T, v string) {
			every, of := rapid.Int64Range(1, 4).Draw(t, "every"), rapid.Int64Range(0, 3).Draw(t, "of")
			from := rapid.Int64Range(0, w.next+1).Draw(t, "from")
			among := func(seq int64) bool { return seq >= from && seq%every == of%every }
			ok(w, statement(w.table, v, among))
			var rows []row
			for _, r := range w.rows {
				if hit := among(r.seq); hit && v == "" {
					continue
				} else if hit {
					r.v = v
				}
				rows = append(rows, r)
			}
			w.rows = rows
			w.version()
		}
		t.Repeat(map[string]func(*rapid.T){
			"append": func(t *rapid.T) {
				rows := w.drawn(t)
				_, err := appendRows(w.table, w.writer, w.next, rows...)
				ok(w, err)
				w.added(rows)
			},
			"insert": func(t *rapid.T) {
				rows := w.drawn(t)
				ok(w, insert(w.table, rows...))
				w.added(rows)
			},
			"update": func(t *rapid.T) { change(t, rapid.SampledFrom([]string{"x", "yy"}).Draw(t, "v")) },
			"delete": func(t *rapid.T) { change(t, "") },
			"seal":   func(t *rapid.T) { ok(w, w.s.Seal(context.Background())) },
			"read": func(t *rapid.T) {
				limit := batch.Limit{Rows: rapid.IntRange(0, 7).Draw(t, "limit")}
				rows, r, err := w.table.ReadAppends(w.reader, w.reader.Position(), limit, nil)
				ok(w, err)
				if rows.Len > len(w.unread) {
					t.Fatalf("read %v, %v are left", text(rows), w.unread)
				}
				same(t, "what was read", text(rows), lines(w.unread[:rows.Len])...)
				w.unread = w.unread[rows.Len:]
				if len(r.Splits) > 0 {
					ok(w, w.reader.Skip(Advance{Range: r}))
				}
			},
			"as of": func(t *rapid.T) {
				version := rapid.Int64Range(0, w.table.Version()).Draw(t, "version")
				s := w.s.Snapshot()
				defer s.Close()
				scan, err := s.ScanAt(events.Name, version, nil)
				ok(w, err)
				same(t, fmt.Sprint("version ", version), drained(w, scan), lines(w.versions[version])...)
			},
			"reopen": func(t *rapid.T) { w.close(); w.open() },
			"reset the reader": func(t *rapid.T) {
				ok(w, w.s.Reset(nil, []string{"r"}))
				ok(w, w.table.Subscribe(context.Background(), w.reader, false))
				w.unread = slices.Clone(w.rows)
			},
			"": func(t *rapid.T) {
				same(t, "the table", contents(w, w.s, events.Name), lines(w.rows)...)
				if n := w.table.Info().Rows; n != int64(len(w.rows)) {
					t.Fatalf("counts %d rows of %d", n, len(w.rows))
				}
			},
		})
		for len(w.unread) > 0 {
			rows, r, err := w.table.ReadAppends(w.reader, w.reader.Position(), batch.Limit{}, nil)
			ok(w, err)
			if rows.Len == 0 && len(r.Splits) == 0 {
				t.Fatalf("the reader does not get %v", w.unread)
			}
			same(t, "the rest", text(rows), lines(w.unread[:rows.Len])...)
			w.unread = w.unread[rows.Len:]
			ok(w, w.reader.Skip(Advance{Range: r}))
		}
		w.close()
	})
}

// The power fails before every write of some statements: what is found is the table before a statement or after it, never older than what
// was acknowledged (D-26).
func TestStatementsOutliveEveryCrash(t *testing.T) {
	for _, spec := range []TableSpec{events, windows} {
		for _, survives := range []int{0, 50, 100} {
			for k := 1; crashedStatement(t, spec, survives, k); k++ {
			}
		}
	}
}

// statements are some, one after the other, with what the table has after each.
var statements = []struct {
	do   func(*Table) error
	rows []string
}{
	{func(t *Table) error { return insert(t, row{"a", 1, "v", 0}, row{"b", 2, "v", 0}) }, []string{"a,1,v", "b,2,v"}},
	{func(t *Table) error { return statement(t, "w", func(seq int64) bool { return seq == 2 }) }, []string{"a,1,v", "b,2,w"}},
	{func(t *Table) error { return insert(t, row{"c", 3, strings.Repeat("v", 300), 0}) }, []string{"a,1,v", "b,2,w", "c,3," + strings.Repeat("v", 300)}},
	{func(t *Table) error { return statement(t, "", func(seq int64) bool { return seq != 2 }) }, []string{"b,2,w"}},
	{func(t *Table) error { return insert(t, row{"d", 4, "v", 0}) }, []string{"b,2,w", "d,4,v"}},
	{func(t *Table) error { return statement(t, "", func(int64) bool { return true }) }, nil},
}

// crashedStatement reports whether so many writes were made.
func crashedStatement(t *testing.T, spec TableSpec, survives, k int) bool {
	d := memory.New()
	var after *memory.Disk
	small := func(o *Options) { o.InsertAt = 250 }
	s := open(t, d.FS(), sealed(1<<20), small)
	table, err := s.Table(spec)
	ok(t, err)
	ok(t, s.Sync(context.Background()))
	acknowledged, durable := 0, 0
	d.FailAt(k, func() { after, durable = d.Crash(survives, uint64(k)), acknowledged })
	for i, one := range statements {
		ok(t, one.do(table))
		ok(t, s.Sync(context.Background()))
		acknowledged = i + 1
	}
	d.Disarm()
	same(t, "in the end", contents(t, s, spec.Name))
	closeChecked(t, s)
	if after == nil {
		return false
	}
	s = open(t, after.FS(), sealed(1<<20), small)
	table, err = s.Table(spec)
	ok(t, err)
	at := int(table.Version())
	if at < durable || at > durable+1 {
		t.Fatalf("%s, write %d: version %d, of %d acknowledged", spec.Name, k, at, durable)
	}
	var want []string
	if at > 0 {
		want = statements[at-1].rows
	}
	same(t, fmt.Sprintf("%s, write %d", spec.Name, k), contents(t, s, spec.Name), want...)
	ok(t, insert(table, row{k: "on"}))
	closeChecked(t, s)
	return true
}
