package state

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"pgregory.net/rapid"

	"sluice/batch"
	"sluice/fault"
	memory "sluice/internal/disk"
)

// twin is an append table that is lived twice: in one store tails become files now and then, in the other never. Whatever is asked, both
// give the same answer.
type twin struct {
	*rapid.T
	fs      [2]vfs.FS
	s       [2]*Store
	table   [2]*Table
	writer  [2]*Flow
	readers [2]*Flow
	held    [2]*Snapshot // or nil
	version int          // of the columns
	written int64
}

// forms are the columns of the table, one definition after the other: one is added, widened, left out, added again.
var forms = [][]batch.Field{
	{{Name: "k", Type: batch.Of(batch.String)}, {Name: "seq", Type: batch.Of(batch.BigInt)}, {Name: "v", Type: batch.Of(batch.String)}},
	{{Name: "k", Type: batch.Of(batch.String)}, {Name: "x", Type: batch.Of(batch.Int)}, {Name: "seq", Type: batch.Of(batch.BigInt)}, {Name: "v", Type: batch.Of(batch.String)}},
	{{Name: "k", Type: batch.Of(batch.String)}, {Name: "x", Type: batch.Of(batch.BigInt)}, {Name: "seq", Type: batch.Of(batch.BigInt)}, {Name: "v", Type: batch.Of(batch.String)}, {Name: "_commit", Type: batch.Of(batch.Double)}},
	{{Name: "seq", Type: batch.Of(batch.BigInt)}, {Name: "k", Type: batch.Of(batch.String)}, {Name: "v", Type: batch.Of(batch.String)}},
	{{Name: "k", Type: batch.Of(batch.String)}, {Name: "x", Type: batch.Of(batch.String)}, {Name: "seq", Type: batch.Of(batch.BigInt)}, {Name: "v", Type: batch.Of(batch.String)}},
}

func (w *twin) open(i int) {
	o := Options{Dir: "db", FS: w.fs[i], Pipeline: "p", CacheSize: 1 << 20, MemTableSize: 1 << 20, OnFault: func(err error) { w.Errorf("store failed: %v", err) }}
	if i == 0 {
		o.Sealer, o.FileSize, o.RowGroup = plainSealer{w.fs[i]}, 120, 30
	}
	var err error
	w.s[i], err = Open(o)
	ok(w, err)
	for { // a definition that does not fit gives way to the next
		w.table[i], err = w.s[i].Table(TableSpec{Name: events.Name, Fields: forms[w.version], Retention: RetainConsumed})
		if !fault.Of(err, fault.ColumnTypeDrift) {
			break
		}
		w.version = (w.version + 1) % len(forms)
	}
	ok(w, err)
	w.writer[i], err = w.s[i].Flow("w")
	ok(w, err)
	w.readers[i], err = w.s[i].Flow("r")
	ok(w, err)
	ok(w, w.table[i].Subscribe(context.Background(), w.readers[i], false))
}

// close closes one of the two.
func (w *twin) close(i int) {
	if w.held[i] != nil {
		ok(w, w.held[i].Close())
		w.held[i] = nil
	}
	ok(w, w.s[i].Check())
	ok(w, w.s[i].Close())
}

// both does something in both stores, and compares what comes of it.
func both[T any](w *twin, what string, do func(i int) T) T {
	w.Helper()
	a, b := do(0), do(1)
	if !reflect.DeepEqual(a, b) {
		w.Fatalf("%s: with files\n%v\nwithout\n%v", what, a, b)
	}
	return a
}

func (w *twin) append(t *rapid.T) {
	n := rapid.SampledFrom([]int{1, 1, 2, 5, 40}).Draw(t, "rows")
	fields := forms[w.version]
	for i := range w.s {
		cols := batch.Columns{Fields: fields, Len: n}
		for c, f := range fields {
			b := batch.NewBuilder(f.Type, n)
			for row := range n {
				if (int(w.written)+row+c)%7 == 0 {
					b.AppendNull()
				} else if f.Type.Kind == batch.Double {
					batch.Append(b, float64(row))
				} else {
					fill(b, int(w.written)+row)
				}
			}
			cols.Cols = append(cols.Cols, b.Column())
		}
		x, err := w.table[i].Begin(context.Background())
		ok(w, err)
		ok(w, x.Append(&cols))
		_, err = x.Commit(w.writer[i], Advance{Range: spanOf(w.writer[i], w.written+int64(n)), Time: noon.Add(time.Duration(w.written))})
		ok(w, err)
	}
	w.written += int64(n)
}

// read lets the reader take some rows, and commits that it has them, which may trim the table.
func (w *twin) read(limit batch.Limit, commit bool) {
	both(w, "a read", func(i int) string {
		pos := w.readers[i].Position()
		rows, r, err := w.table[i].ReadAppends(nil, pos, limit, nil)
		ok(w, err)
		if commit && len(r.Splits) > 0 {
			ok(w, w.readers[i].Skip(Advance{Range: r}))
		}
		for k := range r.Splits {
			r.Splits[k].Bytes = 0 // an estimate
		}
		return fmt.Sprint(text(rows), rows.Pos, r)
	})
}

func scanned(w *twin, s *Snapshot, parts int, columns ...string) (out []string) {
	for part := range parts {
		scan, err := s.Scan(events.Name, columns, part, parts)
		ok(w, err)
		for {
			rows, err := scan.Next(7)
			ok(w, err)
			if rows.Len == 0 {
				break
			}
			out = append(out, fmt.Sprint(rows.Fields))
			out = append(out, text(rows)...)
		}
		ok(w, scan.Close())
	}
	return out
}

// scannedAt are the rows of a version, or why there are none.
func scannedAt(w *twin, s *Store, version int64) []string {
	snapshot := s.Snapshot()
	defer snapshot.Close()
	scan, err := snapshot.ScanAt(events.Name, version, nil)
	if err != nil {
		return []string{err.Error()}
	}
	return drained(w, scan)
}

// Files of an append table are seen by nobody: scans, whole and in parts, snapshots that are older, streaming readers wherever they stand
// and however much they take, changed columns, retention, digests and restarts give what they give without files.
func TestFilesOfAppendTablesAreInvisible(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		w := &twin{T: rt, fs: [2]vfs.FS{vfs.NewMem(), vfs.NewMem()}}
		for i := range w.s {
			w.open(i)
		}
		lines := func(s *Snapshot) []string { return plainRows(scanned(w, s, 1)) }
		rt.Repeat(map[string]func(*rapid.T){
			"append": w.append,
			"seal":   func(t *rapid.T) { ok(w, w.s[0].Seal(context.Background())) },
			"read": func(t *rapid.T) {
				w.read(batch.Limit{Rows: rapid.IntRange(0, 12).Draw(t, "limit")}, rapid.Bool().Draw(t, "commit"))
			},
			"read up to": func(t *rapid.T) {
				until := batch.Offset{At: rapid.Int64Range(1, w.table[0].Version()+1).Draw(t, "at"), Index: rapid.Int32Range(0, 3).Draw(t, "index")}
				if p, stands := w.readers[0].Position().Find(events.Name); stands && until.Less(p.Next) {
					t.Skip()
				}
				w.read(batch.Limit{Until: batch.Position{w.table[0].mark(until)}}, rapid.Bool().Draw(t, "commit"))
			},
			"scan": func(t *rapid.T) {
				parts := rapid.IntRange(1, 4).Draw(t, "parts")
				both(w, "a scan", func(i int) []string {
					s := w.s[i].Snapshot()
					defer s.Close()
					sum, err := s.Digest(context.Background(), events.Name)
					ok(w, err)
					return append(append(plainRows(scanned(w, s, parts)), plainRows(scanned(w, s, parts, "v", "seq"))...), fmt.Sprint(sum, w.table[i].Info().Rows))
				})
			},
			"as of": func(t *rapid.T) { // D-27
				version := rapid.Int64Range(-1, w.table[0].Version()+1).Draw(t, "version")
				past := both(w, "a version", func(i int) []string { return scannedAt(w, w.s[i], version) })
				s := w.s[0].Snapshot()
				defer s.Close()
				if now := lines(s); !strings.Contains(fmt.Sprint(past), "VERSION_NOT_FOUND") && (len(past) > len(now) || !slices.Equal(past, now[:len(past)]) || version == w.table[0].Version() && len(past) < len(now)) {
					t.Fatalf("version %d of %d is %v, the table is %v", version, w.table[0].Version(), past, now)
				}
			},
			"hold": func(t *rapid.T) {
				for i := range w.s {
					if w.held[i] != nil {
						ok(w, w.held[i].Close())
					}
					w.held[i] = w.s[i].Snapshot()
				}
			},
			"old": func(t *rapid.T) {
				if w.held[0] == nil {
					t.Skip()
				}
				both(w, "an old snapshot", func(i int) []string { return lines(w.held[i]) })
			},
			"define": func(t *rapid.T) {
				w.version = rapid.IntRange(0, len(forms)-1).Draw(t, "form")
				for i := range w.s {
					w.close(i)
					w.open(i)
				}
			},
			"reset": func(t *rapid.T) {
				for i := range w.s {
					ok(w, w.s[i].Reset([]string{events.Name}, []string{"r"}))
					w.close(i)
					w.open(i)
				}
			},
		})
		for i := range w.s {
			w.close(i)
		}
	})
}

// plainRows leaves out what depends on how rows come together.
func plainRows(lines []string) (out []string) {
	for _, line := range lines {
		if !strings.HasPrefix(line, "[{") {
			out = append(out, line)
		}
	}
	return out
}

// D-16 with files: those whose rows are all trimmed are deleted, of the others nobody sees the rows that are. (TestRowsAgeOutOfAnAppendTable
// has the rest.)
func TestTrimmedFilesGo(t *testing.T) {
	const commits, each = 700, 50
	fs := vfs.NewMem()
	s := open(t, fs, sealed(1<<20))
	spec := events
	spec.Retention = RetainConsumed
	table, err := s.Table(spec)
	ok(t, err)
	writer, err := s.Flow("w")
	ok(t, err)
	reader, err := s.Flow("r")
	ok(t, err)
	ok(t, table.Subscribe(context.Background(), reader, false))
	old := s.Snapshot()
	var first *Snapshot // that has files
	for n := range int64(commits) {
		_, err := appendRows(table, writer, n+1, row{k: "k", seq: n})
		ok(t, err)
		if n%each == each-1 {
			ok(t, s.Seal(context.Background()))
		}
		if n == 2*each {
			first = s.Snapshot()
		}
		if n%3 == 0 {
			_, r, err := table.ReadAppends(nil, reader.Position(), batch.Limit{}, nil)
			ok(t, err)
			ok(t, reader.Skip(Advance{Range: r}))
		}
	}
	ok(t, old.Close())
	rows, files := table.Info().Rows, len(table.live)
	if rows >= commits-trimCommits+each || files > int(rows)/each+1 {
		t.Errorf("%d rows in %d files are left", rows, files)
	}
	if left := contents(t, s, spec.Name); int64(len(left)) != rows || left[0] != fmt.Sprintf("k,%d,", commits-rows) {
		t.Errorf("a scan gives %d rows from %s on, the table says it has %d", len(left), left[0], rows)
	}
	late, err := s.Flow("late")
	ok(t, err)
	if _, _, err := table.ReadAppends(nil, late.Position(), batch.Limit{}, nil); !fault.Of(err, fault.RowsTrimmed) {
		t.Errorf("a reader that stands before what is left gets %v", err)
	}
	scan, err := first.Scan(spec.Name, []string{"seq"}, 0, 1)
	ok(t, err)
	seen, err := scan.Next(0)
	ok(t, err)
	if seen.Len == 0 || batch.Values[int64](&seen.Cols[0])[0] != 0 {
		t.Errorf("a snapshot from before the trim sees %d rows", seen.Len)
	}
	ok(t, scan.Close())
	ok(t, first.Close())
	closeChecked(t, s)
	open(t, fs, sealed(1<<20))
	if names, err := fs.List("db/files"); err != nil || len(names) != files {
		t.Errorf("after a restart there are %d files, the table has %d: %v", len(names), files, err)
	}
}

// The power fails before every write while tails become files: no row is lost, none is there twice, no file is left that no table has, and
// the store goes on.
func TestSealingOutlivesEveryCrash(t *testing.T) {
	for _, survives := range []int{0, 50, 100} {
		for k := 1; ; k++ {
			d := memory.New()
			var after *memory.Disk
			s := open(t, d.FS(), sealed(150))
			table, err := s.Table(events)
			ok(t, err)
			f, err := s.Flow("f")
			ok(t, err)
			ok(t, s.Sync(context.Background()))
			acknowledged, durable := 0, 0
			d.FailAt(k, func() { after, durable = d.Crash(survives, uint64(k)), acknowledged })
			var want []string
			for n := range int64(5) {
				var rows []row
				for i := range 4 {
					rows = append(rows, row{k: "k", seq: n, v: fmt.Sprint(i)})
					want = append(want, fmt.Sprintf("k,%d,%d", n, i))
				}
				_, err := appendRows(table, f, n+1, rows...)
				ok(t, err)
				if n%2 == 0 {
					ok(t, s.Sync(context.Background()))
					acknowledged = len(want)
				}
				ok(t, s.Seal(context.Background()))
			}
			same(t, "before", contents(t, s, events.Name), want...)
			d.Disarm()
			closeChecked(t, s)
			if after == nil {
				break
			}
			s = open(t, after.FS(), sealed(150))
			table, err = s.Table(events)
			ok(t, err)
			f, err = s.Flow("f")
			ok(t, err)
			n := int(f.NextBatch()) * 4
			if n < durable {
				t.Fatalf("write %d: %d rows of %d acknowledged", k, n, durable)
			}
			same(t, fmt.Sprint("write ", k), contents(t, s, events.Name), want[:n]...)
			names, err := after.FS().List("db/files")
			ok(t, err)
			if len(names) != len(table.live) {
				t.Fatalf("write %d: files %v, the table has %d", k, names, len(table.live))
			}
			_, err = appendRows(table, f, int64(n), row{k: "on"})
			ok(t, err)
			ok(t, s.Seal(context.Background()))
			same(t, fmt.Sprint("after write ", k), contents(t, s, events.Name), append(want[:n:n], "on,0,")...)
			closeChecked(t, s)
		}
	}
}

// A tail that is large is sealed while the table is written and read. One that cannot be written to a file stays where it is, and so does
// one that is being written when the table is refreshed.
func TestLargeTailsAreSealed(t *testing.T) {
	fs := vfs.NewMem()
	at := &held{Sealer: plainSealer{fs}}
	s := open(t, fs, func(o *Options) { o.Sealer, o.SealAt = at, 1000 })
	table, err := s.Table(events)
	ok(t, err)
	f, err := s.Flow("f")
	ok(t, err)
	n := int64(0)
	add := func() {
		t.Helper()
		n++
		_, err := appendRows(table, f, n, row{k: "k", seq: n, v: strings.Repeat("v", 400)})
		ok(t, err)
	}
	sealedUp := func() int64 {
		table.mu.Lock()
		defer table.mu.Unlock()
		return table.sealedTo()
	}
	for sealedUp() == 0 {
		if add(); n%8 == 0 {
			time.Sleep(time.Millisecond) // lets the goroutine of the store have its turn
		}
	}
	ok(t, s.Seal(context.Background())) // what is at work ends
	at.fails(errors.New("no room"))
	add()
	if err := s.Seal(context.Background()); err == nil || !strings.Contains(err.Error(), "no room") {
		t.Errorf("a file that cannot be written: %v", err)
	}
	at.fails(nil)
	ok(t, s.Seal(context.Background()))
	if got := contents(t, s, events.Name); int64(len(got)) != n || sealedUp() != n {
		t.Errorf("%d rows of %d, sealed up to %d", len(got), n, sealedUp())
	}
}

// held is a Sealer that fails when it is told to.
type held struct {
	Sealer
	mu  sync.Mutex
	err error
}

func (h *held) fails(err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.err = err
}

func (h *held) WriteFile(ctx context.Context, path string, fields []batch.Field, rowGroup int, next func() (batch.Columns, error)) error {
	h.mu.Lock()
	err := h.err
	h.mu.Unlock()
	if err != nil {
		return err
	}
	return h.Sealer.WriteFile(ctx, path, fields, rowGroup, next)
}
