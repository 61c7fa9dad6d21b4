package eval

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"

	duckdb "github.com/duckdb/duckdb-go-bindings"
	"go.uber.org/goleak"

	"sluice/batch"
	"sluice/eval/dialect"
	"sluice/fault"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestSettingsAreChecked(t *testing.T) {
	for _, test := range []struct {
		opt  Options
		want *fault.Code
	}{
		{Options{}, fault.EngineUnavailable},
		{Options{Threads: 1}, fault.EngineUnavailable},
		{Options{MemoryLimit: 1 << 28}, fault.EngineUnavailable},
		{Options{Threads: 1, MemoryLimit: 1 << 28, Zone: "Mars/Olympus"}, fault.InvalidTimeZone},
	} {
		if e, err := Open(test.opt); !fault.Of(err, test.want) {
			t.Errorf("%+v: got %v", test.opt, err)
			if err == nil {
				e.Close()
			}
		}
	}
}

// SQL reaches no file, no extension and no setting, whatever a statement says.
func TestSandbox(t *testing.T) {
	e := open(t, 1)
	conn, err := e.connect()
	if err != nil {
		t.Fatal(err)
	}
	defer duckdb.Disconnect(&conn)
	file := t.TempDir() + "/file"
	if err := os.WriteFile(file, []byte("secret\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for sql, want := range map[string]string{
		`COPY (SELECT 1) TO '` + file + `.csv'`:   "disabled by configuration",
		`SELECT * FROM read_csv('` + file + `')`:  "disabled by configuration",
		`SELECT * FROM read_text('` + file + `')`: "disabled by configuration",
		`SELECT * FROM glob('` + file + `*')`:     "disabled by configuration",
		`SELECT * FROM '` + file + `'`:            "does not exist",
		`ATTACH '` + file + `.db'`:                "disabled by configuration",
		`INSTALL httpfs`:                          "disabled",
		`LOAD httpfs`:                             "disabled through configuration",
		`SET threads = 4`:                         "locked",
		`SET TimeZone = 'Asia/Tokyo'`:             "locked",
		`SET enable_external_access = true`:       "locked",
		`SELECT * FROM sluice_scan(123)`:          "no such source",
		`SELECT * FROM sluice_scan(-1)`:           "no such source",
		`SELECT sluice_clock(123)`:                "no such clock",
	} {
		if err := execute(conn, sql); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", sql, err, want)
		}
	}
}

// duckdb.h is DuckDB's own, of the version that is linked.
func TestHeaderIsTheLinkedOne(t *testing.T) {
	dir, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/duckdb/duckdb-go-bindings").Output()
	if err != nil {
		t.Skip("no go command here: ", err)
	}
	want, err := os.ReadFile(strings.TrimSpace(string(dir)) + "/include/duckdb.h")
	if err != nil {
		t.Fatal(err)
	}
	have, err := os.ReadFile("duckdb.h")
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(have, want) {
		t.Error("duckdb.h differs from the one of the module; copy that, and change libraryVersion with it")
	}
}

// A query larger than memory spills to the temporary folder, and is refused without one.
func TestMemoryLimit(t *testing.T) {
	r := read("t", field("a", bigint), field("b", str))
	a, b := ints(), texts()
	for i := range int64(400_000) {
		a.AppendInt(i * 7919 % 400_000)
		b.AppendString(fmt.Sprintf("%0100d", i))
	}
	in := []Input{{Batch: columns(r.Relation.Fields, a, b)}}
	for _, dir := range []string{"", t.TempDir()} {
		e, err := Open(Options{Threads: 1, MemoryLimit: 32 << 20, TempDir: dir})
		if err != nil {
			t.Fatal(err)
		}
		defer e.Close()
		s := prepare(t, e, &dialect.Compiled{SQL: `SELECT a, b FROM t ORDER BY b DESC, a`, Columns: r.Relation.Fields, Reads: []dialect.Read{r}})
		out, err := s.Run(t.Context(), in, batchTime)
		if dir == "" {
			if !fault.Of(err, fault.OutOfMemory) {
				t.Errorf("without a folder: got %v", err)
			}
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		if out.Rows.Len != 400_000 || values(&out.Rows.Cols[0])[0] != 399_999*7919%400_000 {
			t.Errorf("%d rows, the first is %d", out.Rows.Len, values(&out.Rows.Cols[0])[0])
		}
	}
}

// Statements of one engine run at the same time, each on its own connection, with views of the same names.
func TestStatementsAreApart(t *testing.T) {
	e := open(t, 2)
	var group sync.WaitGroup
	for g := range int64(8) {
		group.Go(func() {
			r := read("t", field("a", bigint))
			s, err := e.Prepare(&dialect.Compiled{SQL: fmt.Sprintf(`SELECT a + %d FROM t`, g), Columns: r.Relation.Fields, Reads: []dialect.Read{r}})
			if err != nil {
				t.Error(err)
				return
			}
			defer s.Close()
			for i := range int64(200) {
				in := columns(r.Relation.Fields, ints(i, 2*i))
				input := []Input{{Batch: in}, pieces(in, 1)}[i%2]
				out, err := s.Run(t.Context(), []Input{input}, batchTime)
				if err != nil {
					t.Error(err)
					return
				}
				expectInts(t, values(&out.Rows.Cols[0]), i+g, 2*i+g)
			}
		})
	}
	group.Wait()
}

// Running, preparing, failing and being interrupted leave nothing behind.
func TestNothingLeaks(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	e := open(t, 1)
	in := bookings(20)
	c := &dialect.Compiled{Reads: []dialect.Read{read("t", in.Fields...)}, Columns: []batch.Field{field("b", str)}, Clock: true, Row: true,
		SQL: `SELECT CASE WHEN CAST(amount AS DECIMAL(10,2)) >= 19 THEN error('nineteen') ELSE status || '-with a longer text' END, _row FROM t WHERE $1::TIMESTAMPTZ IS NOT NULL`}
	s := prepare(t, e, c)
	good := []Input{{Batch: bookings(19)}}
	bad := []Input{{Batch: in}}
	scan := []Input{pieces(bookings(19), 10)}
	work := func(times int) {
		for i := range times {
			inputs := [][]Input{good, good, scan, bad}[i%4]
			if _, err := s.Run(t.Context(), inputs, batchTime); (err != nil) != (i%4 == 3) {
				t.Fatalf("run %d: %v", i, err)
			}
			if i%500 == 0 {
				other, err := e.Prepare(c)
				if err != nil {
					t.Fatal(err)
				}
				other.Close()
			}
		}
	}
	work(10_000) // until the allocators have what they need
	// What leaks grows in every round; allocators, and what other tests left to the collector, in one of them perhaps.
	grown := 0
	for range 4 {
		before := residentBytes(t)
		work(50_000)
		if grown = residentBytes(t) - before; grown <= 16<<20 {
			return
		}
	}
	t.Errorf("50000 runs took %d bytes of memory", grown)
}

func residentBytes(t *testing.T) int {
	t.Helper()
	data, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		t.Skip("no /proc here")
	}
	var size, resident int
	if _, err := fmt.Sscan(string(data), &size, &resident); err != nil {
		t.Fatal(err)
	}
	return resident * os.Getpagesize()
}
