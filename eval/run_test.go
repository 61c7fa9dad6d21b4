package eval

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"sluice/batch"
	"sluice/eval/dialect"
	"sluice/fault"
)

// values views a BIGINT column.
func values(c *batch.Column) []int64 { return batch.Values[int64](c) }

func expectInts(t *testing.T, got []int64, want ...int64) {
	t.Helper()
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// A statement yields its columns, the sequence, the checks and the input row, in this order (dialect.Compiled).
func TestResultIsTakenApart(t *testing.T) {
	in := columns([]batch.Field{field("a", bigint), field("b", str)}, ints(5, -1, 7, 8), texts("x", "y", "", "a text of more than twelve bytes"))
	sequence := batch.StructOf(field("a", bigint), field("b", str))
	s := prepare(t, open(t, 1), &dialect.Compiled{Reads: []dialect.Read{read("t", in.Fields...)},
		Columns: []batch.Field{field("b", str), field("nothing", batch.Of(batch.Void))}, Sequence: sequence, Checks: 2, Row: true,
		SQL: `SELECT b, NULL, row(a, b), a > 5, CASE WHEN a <> 7 THEN b <> 'x' END, _row FROM t WHERE a > 0`})
	out, err := s.Run(t.Context(), []Input{{Batch: in}}, batchTime)
	if err != nil {
		t.Fatal(err)
	}
	var got strings.Builder
	for i := range out.Rows.Len {
		fmt.Fprintln(&got, show(&out.Rows.Cols[0], i), show(&out.Rows.Cols[1], i), show(&out.Sequence, i), show(&out.Checks[0], i), show(&out.Checks[1], i), out.Row[i])
	}
	want := `"x" NULL (0500000000000000 "x") false false 0
"" NULL (0700000000000000 "") true NULL 2
"a text of more than twelve bytes" NULL (0800000000000000 "a text of more than twelve bytes") true true 3
`
	if got.String() != want {
		t.Errorf("got\n%swant\n%s", got.String(), want)
	}
	if !out.Rows.Cols[1].Type.Equal(batch.Type{}) || len(out.Rows.Fields) != 2 || len(out.Checks) != 2 {
		t.Errorf("wrong shape: %+v", out)
	}
}

// The memory of a result is used again in the run after the next, not in the next.
func TestResultOutlivesTheNextRun(t *testing.T) {
	s := prepare(t, open(t, 1), &dialect.Compiled{Reads: []dialect.Read{read("t", field("a", bigint))}, Columns: []batch.Field{field("a", bigint)}, SQL: `SELECT a FROM t`})
	run := func(v int64) Result {
		out, err := s.Run(t.Context(), []Input{{Batch: columns([]batch.Field{field("a", bigint)}, ints(v, v+1))}}, batchTime)
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	first := run(1)
	second := run(3)
	expectInts(t, values(&first.Rows.Cols[0]), 1, 2)
	third := run(5)
	expectInts(t, values(&second.Rows.Cols[0]), 3, 4)
	expectInts(t, values(&third.Rows.Cols[0]), 5, 6)
}

// Columns are found by name, wherever they stand among others; hidden members have a dot in theirs.
// Forget gives up what a large result has made the memory of results grow to, and the statement goes on.
func TestForget(t *testing.T) {
	s := prepare(t, open(t, 1), &dialect.Compiled{Reads: []dialect.Read{read("t", field("b", str))}, Columns: []batch.Field{field("b", str)}, SQL: `SELECT b FROM t`})
	run := func(text string) {
		t.Helper()
		out, err := s.Run(t.Context(), []Input{{Batch: columns([]batch.Field{field("b", str)}, texts(text))}}, batchTime)
		if err != nil {
			t.Fatal(err)
		}
		if got := string(out.Rows.Cols[0].Text(0)); got != text {
			t.Errorf("got %d bytes, want %d", len(got), len(text))
		}
	}
	held := func() (n int) {
		for i := range s.results {
			n += len(s.results[i].columns[0].bytes)
		}
		return n
	}
	for range 2 {
		run(strings.Repeat("large", 10_000))
	}
	if got := held(); got < 100_000 {
		t.Errorf("%d bytes are held", got)
	}
	s.Forget()
	run("a small text that is not inside")
	if got := held(); got > 1000 {
		t.Errorf("%d bytes are held", got)
	}
}

func TestColumnsAreFoundByName(t *testing.T) {
	meta := field("_metadata", batch.StructOf(field("offset", bigint), field("topic", str)))
	r := read("t", field("a", bigint), field("b", bigint))
	r.Relation.Hidden = []batch.Field{meta}
	r.Columns = []string{"b", "_metadata.offset"}
	s := prepare(t, open(t, 1), &dialect.Compiled{Reads: []dialect.Read{r}, Columns: []batch.Field{field("x", bigint)}, SQL: `SELECT b + "_metadata.offset" FROM t`})
	fields := []batch.Field{field("_metadata.offset", bigint), field("unused", str), field("b", bigint)}
	for range 2 {
		out, err := s.Run(t.Context(), []Input{{Batch: columns(fields, ints(1, 2), texts("p", "q"), ints(10, 20))}}, batchTime)
		if err != nil {
			t.Fatal(err)
		}
		expectInts(t, values(&out.Rows.Cols[0]), 11, 22)
		fields = []batch.Field{fields[2], fields[1], fields[0]} // the other way round: the sum is the same
	}
}

// Two relations, each read twice: every scan goes over its input by itself.
func TestJoinsOfBatchesAndScans(t *testing.T) {
	a, b := read("a", field("k", bigint), field("v", bigint)), read("b", field("k", bigint), field("v", bigint))
	b.Relation.Stream = false
	for _, threads := range []int{1, 4} {
		s := prepare(t, open(t, threads), &dialect.Compiled{Reads: []dialect.Read{a, b}, Columns: []batch.Field{field("n", bigint), field("s", bigint)},
			SQL: `SELECT count(*), sum(a1.v + a2.v + b1.v + b2.v)::BIGINT FROM a a1 JOIN a a2 ON a1.k = a2.k + 1 JOIN b b1 ON b1.k = a1.k LEFT JOIN b b2 ON b2.k = b1.k * 2`})
		k, v := ints(), ints()
		for i := range int64(10_000) {
			k.AppendInt(i)
			v.AppendInt(1)
		}
		in := columns(a.Relation.Fields, k, v)
		closed, opened := 0, 0
		table := Input{Open: func() (Scan, error) {
			opened++
			return &piecewise{rows: in, n: 1234, closed: &closed}, nil
		}}
		out, err := s.Run(t.Context(), []Input{{Batch: in}, table}, batchTime)
		if err != nil {
			t.Fatal(err)
		}
		// 9999 pairs of neighbours; for the 4999 of them with an even partner in b all four values count.
		expectInts(t, values(&out.Rows.Cols[0]), 9999)
		expectInts(t, values(&out.Rows.Cols[1]), 4*4999)
		if opened != 2 || closed != 2 {
			t.Errorf("the table was opened %d times and closed %d times", opened, closed)
		}
	}
}

// A stream joined with a table keeps the order of the stream's rows, however large the table is.
func TestStreamTableJoinKeepsTheStreamsOrder(t *testing.T) {
	stream, table := read("s", field("k", bigint)), read("t", field("k", bigint), field("v", str))
	table.Relation.Stream = false
	k, v := ints(), texts()
	for i := range int64(20_000) {
		k.AppendInt(i)
		v.AppendString(fmt.Sprint("value number ", i))
	}
	rows := columns(table.Relation.Fields, k, v)
	for _, join := range []string{"JOIN", "LEFT JOIN"} {
		s := prepare(t, open(t, 1), &dialect.Compiled{Reads: []dialect.Read{stream, table}, Columns: []batch.Field{field("v", str)}, Row: true,
			SQL: `SELECT t.v, s._row FROM s ` + join + ` t ON s.k = t.k`})
		n := ints()
		for i := range int64(5000) {
			n.AppendInt(i * 7919 % 20_000)
		}
		in := columns(stream.Relation.Fields, n)
		out, err := s.Run(t.Context(), []Input{{Batch: in}, pieces(rows, 3000)}, batchTime)
		if err != nil {
			t.Fatal(err)
		}
		if len(out.Row) != 5000 {
			t.Fatalf("%s: %d rows", join, len(out.Row))
		}
		for i, row := range out.Row {
			if want := fmt.Sprint("value number ", i*7919%20_000); int(row) != i || string(out.Rows.Cols[0].Text(i)) != want {
				t.Fatalf("%s: row %d is input row %d with %q, want %q", join, i, row, out.Rows.Cols[0].Text(i), want)
			}
		}
	}
}

// count(*) asks for rows of no column; a relation of which no column is read still has its rows.
func TestRowsWithoutColumns(t *testing.T) {
	r := read("t", field("a", bigint))
	in := columns(r.Relation.Fields, ints(make([]int64, 5000)...))
	for _, names := range [][]string{{"a"}, nil} {
		r.Columns = names
		s := prepare(t, open(t, 1), &dialect.Compiled{Reads: []dialect.Read{r}, Columns: []batch.Field{field("n", bigint)}, SQL: `SELECT count(*) FROM t`})
		for _, input := range []Input{{Batch: in}, pieces(in, 999)} {
			out, err := s.Run(t.Context(), []Input{input}, batchTime)
			if err != nil {
				t.Fatal(err)
			}
			expectInts(t, values(&out.Rows.Cols[0]), 5000)
		}
	}
}

// The batch time is a value of the run, not of the plan (D-48), in streams, in batch queries and in guarded statements; text
// that looks like the parameter is left alone.
func TestBatchTime(t *testing.T) {
	for _, stream := range []bool{true, false} {
		r := read("t", field("a", bigint))
		r.Relation.Stream = stream
		c := &dialect.Compiled{Reads: []dialect.Read{r}, Clock: true, Checks: 1, Columns: []batch.Field{field("at", batch.Of(batch.Timestamp)), field("day", batch.Of(batch.Date)), field("s", str)},
			SQL:     `SELECT list_transform([a], x -> CASE WHEN a = 0 THEN $1::TIMESTAMPTZ END)[1], CAST($1::TIMESTAMPTZ AS DATE), 'it''s $1' AS "$1", $1::TIMESTAMPTZ > TIMESTAMPTZ '2024-03-01' FROM t WHERE $1::TIMESTAMPTZ IS NOT NULL`,
			Guarded: `SELECT $1::TIMESTAMPTZ, CAST($1::TIMESTAMPTZ AS DATE), 'it''s $1' AS "$1", TRY($1::TIMESTAMPTZ > TIMESTAMPTZ '2024-03-01'), TRUE FROM t WHERE $1::TIMESTAMPTZ IS NOT NULL`}
		e, err := Open(Options{Threads: 1, MemoryLimit: 1 << 28, Zone: "Asia/Tokyo"})
		if err != nil {
			t.Fatal(err)
		}
		s, err := e.Prepare(c)
		if err != nil {
			t.Fatal(err)
		}
		in := []Input{{Batch: columns(r.Relation.Fields, ints(make([]int64, 3000)...))}}
		for day, at := range map[int32]time.Time{ // days as Tokyo has them
			19_783: time.Date(2024, 3, 1, 14, 59, 59, 999_999_000, time.UTC),
			19_784: time.Date(2024, 3, 1, 15, 0, 0, 1000, time.UTC),
		} {
			for _, run := range []func() (Result, error){
				func() (Result, error) { return s.Run(t.Context(), in, at) },
				func() (Result, error) { out, _, err := s.RunIsolated(t.Context(), in, at, false); return out, err },
			} {
				out, err := run()
				if err != nil {
					t.Fatal(err)
				}
				for _, i := range []int{0, 2999} {
					if got := values(&out.Rows.Cols[0])[i]; got != at.UnixMicro() {
						t.Errorf("stream %v: time %d, want %d", stream, got, at.UnixMicro())
					}
					if got := batch.Values[int32](&out.Rows.Cols[1])[i]; got != day {
						t.Errorf("stream %v: day %d, want %d", stream, got, day)
					}
					if got := string(out.Rows.Cols[2].Text(i)); got != "it's $1" {
						t.Errorf("text became %q", got)
					}
				}
			}
		}
		if err := e.Close(); err != nil { // closes the statement as well
			t.Error(err)
		}
	}
}

// DuckDB plans the statement of a stream once, not in each run: that costs ten times a small batch.
func TestStreamsArePlannedOnce(t *testing.T) {
	in := bookings(10)
	s := prepare(t, open(t, 1), &dialect.Compiled{Reads: []dialect.Read{read("t", in.Fields...)}, Clock: true, Columns: []batch.Field{field("d", batch.Of(batch.Date)), field("n", bigint)},
		SQL: `SELECT CAST($1::TIMESTAMPTZ AS DATE) + 1, id FROM t WHERE CAST(amount AS DECIMAL(10,2)) >= 0 AND $1::TIMESTAMPTZ > TIMESTAMPTZ '2000-01-01'`})
	before := s.sources[0].plans
	for range 10 {
		if _, err := s.Run(t.Context(), []Input{{Batch: in}}, batchTime); err != nil {
			t.Fatal(err)
		}
	}
	if again := s.sources[0].plans - before; again != 0 {
		t.Errorf("planned %d times more in 10 runs", again)
	}
}

// What dialect promises is checked against what DuckDB says, and the shape of inputs against what the query reads.
func TestDisagreementIsAnInternalError(t *testing.T) {
	e := open(t, 2)
	r := read("t", field("a", bigint), field("b", str))
	for name, c := range map[string]*dialect.Compiled{
		"type":        {SQL: `SELECT a FROM t`, Columns: []batch.Field{field("a", str)}},
		"nested":      {SQL: `SELECT [a] FROM t`, Columns: []batch.Field{field("a", batch.ArrayOf(str))}},
		"precision":   {SQL: `SELECT a::DECIMAL(10,2) FROM t`, Columns: []batch.Field{field("a", batch.DecimalOf(10, 3))}},
		"zone":        {SQL: `SELECT TIMESTAMP '2020-01-01' FROM t`, Columns: []batch.Field{field("a", batch.Of(batch.Timestamp))}},
		"too few":     {SQL: `SELECT a FROM t`, Columns: []batch.Field{field("a", bigint)}, Checks: 1},
		"parameter":   {SQL: `SELECT a FROM t WHERE a > $1`, Columns: []batch.Field{field("a", bigint)}},
		"no clock":    {SQL: `SELECT a FROM t`, Columns: []batch.Field{field("a", bigint)}, Clock: true, Reads: []dialect.Read{{Relation: &dialect.Relation{Name: "t", Handle: "t", Fields: r.Relation.Fields}, Columns: []string{"a"}}}},
		"column":      {SQL: `SELECT c FROM t`, Columns: []batch.Field{field("c", bigint)}},
		"no SQL":      {SQL: `SELEC`, Columns: []batch.Field{field("c", bigint)}},
		"unknown":     {SQL: `SELECT a FROM t`, Columns: []batch.Field{field("a", bigint)}, Reads: []dialect.Read{{Relation: r.Relation, Columns: []string{"z"}}}},
		"no values":   {SQL: `SELECT a FROM t`, Columns: []batch.Field{field("a", bigint)}, Reads: []dialect.Read{read("t", field("a", batch.Of(batch.Void)))}},
		"same view":   {SQL: `SELECT a FROM t`, Columns: []batch.Field{field("a", bigint)}, Reads: []dialect.Read{r, r}},
		"two threads": {SQL: `SELECT a FROM t`, Columns: []batch.Field{field("a", bigint)}, Unordered: true},
		"not a name":  {SQL: `SELECT a FROM sluice_scan(1)`, Columns: []batch.Field{field("a", bigint)}},
	} {
		if c.Reads == nil {
			c.Reads = []dialect.Read{r}
		}
		if s, err := e.Prepare(c); !fault.Of(err, fault.InternalError) {
			t.Errorf("%s: got %v", name, err)
			if err == nil {
				s.Close()
			}
		}
	}

	s := prepare(t, e, &dialect.Compiled{SQL: `SELECT a FROM t WHERE b <> ''`, Columns: []batch.Field{field("a", bigint)}, Reads: []dialect.Read{r}})
	good := func() *batch.Columns { return columns(r.Relation.Fields, ints(1, 2), texts("x", "y")) }
	for name, in := range map[string][]Input{
		"none":    {},
		"nothing": {{}},
		"missing": {{Batch: columns(r.Relation.Fields[:1], ints(1))}},
		"other":   {{Batch: columns([]batch.Field{field("a", str), field("b", str)}, texts("1"), texts("x"))}},
		"short":   {{Batch: func() *batch.Columns { c := good(); c.Cols[0].Fixed = c.Cols[0].Fixed[:15]; return c }()}},
		"offsets": {{Batch: func() *batch.Columns { c := good(); c.Cols[1].Offsets = c.Cols[1].Offsets[:2]; return c }()}},
		"bytes":   {{Batch: func() *batch.Columns { c := good(); c.Cols[1].Bytes = c.Cols[1].Bytes[:1]; return c }()}},
		"rows":    {{Batch: func() *batch.Columns { c := good(); c.Len = 3; return c }()}},
		"nulls":   {{Batch: func() *batch.Columns { c := good(); c.Cols[0].Valid = batch.Bitmap{}; return c }()}},
	} {
		if _, err := s.Run(t.Context(), in, batchTime); !fault.Of(err, fault.InternalError) {
			t.Errorf("%s: got %v", name, err)
		}
	}
	out, err := s.Run(t.Context(), []Input{{Batch: good()}}, batchTime)
	if err != nil {
		t.Fatal(err)
	}
	expectInts(t, values(&out.Rows.Cols[0]), 1, 2)
}

// columns whose names differ in case only are two columns.
func TestNamesThatDifferInCase(t *testing.T) {
	r := read("t", field("a", str), field("A", str))
	s := prepare(t, open(t, 1), &dialect.Compiled{SQL: `SELECT "a" || "A#2" FROM t`, Columns: []batch.Field{field("c", str)}, Reads: []dialect.Read{r}})
	out, err := s.Run(t.Context(), []Input{{Batch: columns(r.Relation.Fields, texts("x"), texts("y"))}}, batchTime)
	if err != nil {
		t.Fatal(err)
	}
	if got := string(out.Rows.Cols[0].Text(0)); got != "xy" {
		t.Errorf("got %s", got)
	}
}

// What an expression does not come to, or catches, another one that shares it does not make DuckDB compute.
func TestSharedExpressionsAreComputedWhereTheyStand(t *testing.T) {
	in := columns([]batch.Field{field("a", bigint), field("b", bigint)}, ints(math.MaxInt64, 2), ints(5, 6))
	for _, sql := range []string{
		`SELECT coalesce(b, a + 1), coalesce(b + 0, a + 1) FROM t`,
		`SELECT coalesce(TRY(a + 1), 5), b + coalesce(TRY((a + 1) * 0), 0) FROM t`,
		`SELECT CASE WHEN b IN (5, 6, a + 1) THEN b END, CASE WHEN b IN (6, 5, a + 1) THEN b END FROM t`,
	} {
		s := prepare(t, open(t, 1), &dialect.Compiled{Reads: []dialect.Read{read("t", in.Fields...)}, Columns: []batch.Field{field("x", bigint), field("y", bigint)}, SQL: sql})
		out, err := s.Run(t.Context(), []Input{{Batch: in}}, batchTime)
		if err != nil {
			t.Errorf("%s: %v", sql, err)
			continue
		}
		if y := values(&out.Rows.Cols[1]); y[0] != 5 || y[1] != 6 {
			t.Errorf("%s: %v", sql, y)
		}
	}
}
