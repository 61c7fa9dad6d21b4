package eval

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"sluice/batch"
	"sluice/eval/dialect"
)

// openFiles starts an engine that may use a folder, and returns both.
func openFiles(t testing.TB, threads int) (*Engine, string) {
	t.Helper()
	dir := t.TempDir()
	e, err := Open(Options{Threads: threads, MemoryLimit: 1 << 30, Files: dir})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = e.Close() })
	return e, dir
}

// inPieces brings rows so many at a time.
func inPieces(rows *batch.Columns, n int) func() (batch.Columns, error) {
	at := 0
	return func() (batch.Columns, error) {
		index := []int32{}
		for ; at < rows.Len && len(index) < n; at++ {
			index = append(index, int32(at))
		}
		return rows.Take(index), nil
	}
}

// readAll reads columns of a file, copied.
func readAll(t rapid.TB, e *Engine, path string, fields []batch.Field, columns []int, from, to batch.Offset) batch.Columns {
	t.Helper()
	next, end, err := e.ReadFile(context.Background(), path, fields, columns, from, to)
	if err != nil {
		t.Fatal(err)
	}
	var out batch.Columns
	var b []batch.Builder
	for {
		rows, err := next()
		if err != nil {
			t.Fatal(err)
		}
		if b == nil {
			b = make([]batch.Builder, len(rows.Cols))
			for c := range b {
				b[c].Init(rows.Fields[c].Type, 0)
			}
			out.Fields = rows.Fields
		}
		if rows.Len == 0 {
			break
		}
		for c := range b {
			for i := range rows.Len {
				b[c].AppendFrom(&rows.Cols[c], i)
			}
		}
		out.Len += rows.Len
	}
	if err := end(); err != nil {
		t.Fatal(err)
	}
	for c := range b {
		out.Cols = append(out.Cols, b[c].Column())
	}
	return out
}

// What is written to a file is read bit for bit: every type, NULL at each depth, NaN, -0.0, the ends of every range, names that
// differ in case.
func TestFilesKeepEveryValue(t *testing.T) {
	e, dir := openFiles(t, 1)
	n := 0
	rapid.Check(t, func(t *rapid.T) {
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
		rows := &batch.Columns{Len: rapid.SampledFrom([]int{0, 1, 7, 2048, 5000}).Draw(t, "rows")}
		nulls := rapid.SampledFrom([]float64{0, 0.3, 1}).Draw(t, "nulls")
		types := everyType
		if rows.Len > 7 {
			at := rapid.IntRange(0, len(everyType)-4).Draw(t, "type")
			types = everyType[at : at+4]
		}
		for i, typ := range types {
			b := batch.NewBuilder(typ, rows.Len)
			for range rows.Len {
				appendRandom(b, r, nulls)
			}
			rows.Fields = append(rows.Fields, field(strings.Repeat("x", i+1), typ))
			rows.Cols = append(rows.Cols, b.Column())
		}
		n++
		path := filepath.Join(dir, fmt.Sprint(n, ".parquet")) // DuckDB keeps in mind what it read under a name
		if err := e.WriteFile(context.Background(), path, rows.Fields, 2048, inPieces(rows, 1000)); err != nil {
			t.Fatal(err)
		}
		var all []int
		for i := range rows.Fields {
			all = append(all, i)
		}
		got := readAll(t, e, path, rows.Fields, all, batch.Offset{}, batch.Offset{})
		if got.Len != rows.Len {
			t.Fatalf("%d rows of %d", got.Len, rows.Len)
		}
		for c := range rows.Cols {
			for i := range rows.Len {
				if g, w := show(&got.Cols[c], i), show(&rows.Cols[c], i); g != w {
					t.Fatalf("%s, row %d: got %s, want %s", rows.Fields[c].Type, i, g, w)
				}
			}
		}
	})
}

// The same for values of which some are equal to SQL and others do not fit in a smaller type, often enough for a dictionary to be made.
func TestFilesKeepValuesThatAreEqualToSQL(t *testing.T) {
	e, dir := openFiles(t, 1)
	dir = filepath.Join(dir, "it's [a] folder*") // means nothing but itself
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	const n = 4000
	type cell = func(b *batch.Builder, i int)
	some := func(values ...int64) cell {
		return func(b *batch.Builder, i int) { b.AppendInt(values[i%len(values)]) }
	}
	year1, year9999 := time.Date(1, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(9999, 12, 31, 23, 59, 59, 999_999_000, time.UTC)
	text := func(b *batch.Builder, i int) {
		b.AppendString([]string{"", "\x00", "a\x00b", "a", strings.Repeat("x", 3000)[:i%3000]}[i%5])
	}
	columns := []struct {
		field batch.Field
		cell  cell
	}{
		{field("d", double), func(b *batch.Builder, i int) {
			batch.Append(b, []float64{0, math.Copysign(0, -1), math.NaN(), math.Float64frombits(0x7ff8000000000001), math.Inf(-1), 0.1}[i%6])
		}},
		{field("f", batch.Of(batch.Float)), func(b *batch.Builder, i int) {
			batch.Append(b, []float32{0, float32(math.Copysign(0, -1)), float32(math.NaN()), float32(math.Inf(1))}[i%4])
		}},
		{field("a", batch.ArrayOf(double)), func(b *batch.Builder, i int) {
			batch.Append(b.Child(0), []float64{0, math.Copysign(0, -1)}[i%2])
			b.AppendNested()
		}},
		{field("m", batch.DecimalOf(38, 10)), func(b *batch.Builder, i int) {
			batch.Append(b, []batch.Int128{{Lo: 0x098a223fffffffff, Hi: 0x4b3b4ca85a86c47a}, {Lo: 0xf675ddc000000001, Hi: -0x4b3b4ca85a86c47b}, {}}[i%3])
		}},
		{field("date", batch.Of(batch.Date)), some(year1.Unix()/86400, year9999.Unix()/86400, 0)},
		{field("Timestamp", batch.Of(batch.Timestamp)), some(year1.UnixMicro(), year9999.UnixMicro(), -1)},
		{field("ntz", batch.Of(batch.TimestampNTZ)), some(year1.UnixMicro(), year9999.UnixMicro(), 0)},
		{field("big", bigint), some(math.MaxInt64, math.MinInt64, 0)},
		{field("text", str), text},
		{field("v", batch.Of(batch.Variant)), text},
		{field("bytes", batch.Of(batch.Binary)), text},
		{field(`a "quoted", name`, batch.StructOf(field("x", bigint), field("X", str), field("x_1", str), field("", str))), func(b *batch.Builder, i int) {
			b.Child(0).AppendInt(int64(i))
			text(b.Child(1), i)
			text(b.Child(2), i+1)
			b.Child(3).AppendNull()
			b.AppendNested()
		}},
		{field("Ä", bigint), some(1)},
		{field("ä", bigint), some(2)},
		{field("filename", bigint), some(3)},
		{field("_commit", bigint), func(b *batch.Builder, i int) { b.AppendInt(int64(i / 3)) }},
		{field("_ordinal", batch.Of(batch.Int)), func(b *batch.Builder, i int) { b.AppendInt(int64(i % 3)) }},
	}
	rows := &batch.Columns{Len: n}
	var all []int
	for c, column := range columns {
		b := batch.NewBuilder(column.field.Type, n)
		for i := range n {
			column.cell(b, i)
		}
		rows.Fields, rows.Cols, all = append(rows.Fields, column.field), append(rows.Cols, b.Column()), append(all, c)
	}
	path := filepath.Join(dir, "1-1.parquet")
	if err := e.WriteFile(context.Background(), path, rows.Fields, 2048, inPieces(rows, 700)); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ from, to, first, rows int }{{0, 0, 0, n}, {1, n + 1, 1, n - 1}, {100, 104, 100, 4}, {3000, 3000, 3000, 0}} {
		place := func(i int) batch.Offset { return batch.Offset{At: int64(i / 3), Index: int32(i % 3)} }
		got := readAll(t, e, path, rows.Fields, all, place(c.from), place(c.to))
		if got.Len != c.rows {
			t.Fatalf("%+v: %d rows", c, got.Len)
		}
		for k := range rows.Cols {
			for i := range got.Len {
				if g, w := show(&got.Cols[k], i), show(&rows.Cols[k], c.first+i); g != w {
					t.Fatalf("%s, row %d: got %.80s, want %.80s", rows.Fields[k].Name, i, g, w)
				}
			}
		}
	}
	if got := readAll(t, e, path, rows.Fields, nil, batch.Offset{}, batch.Offset{}); got.Len != n || len(got.Cols) != 0 {
		t.Errorf("without columns: %d rows of %d columns", got.Len, len(got.Cols))
	}
	if got := readAll(t, e, path, rows.Fields, []int{8, 4}, batch.Offset{}, batch.Offset{}); got.Fields[0].Name != "text" || got.Fields[1].Name != "date" || got.Len != n {
		t.Errorf("%d rows of %v", got.Len, got.Fields)
	}
}

// An engine reaches its folder and nothing else, and one that has none reaches no file.
func TestFilesStayInTheirFolder(t *testing.T) {
	e, dir := openFiles(t, 1)
	rows := columns([]batch.Field{field("a", bigint)}, ints(1, 2, 3))
	write := func(e *Engine, path string) error {
		return e.WriteFile(context.Background(), path, rows.Fields, 2048, inPieces(rows, 2))
	}
	inside, outside := filepath.Join(dir, "1.parquet"), filepath.Join(t.TempDir(), "1.parquet")
	if err := write(e, inside); err != nil {
		t.Fatal(err)
	}
	if err := write(e, outside); err == nil {
		t.Error("wrote a file outside")
	}
	if err := write(e, filepath.Join(dir, "..", "1.parquet")); err == nil {
		t.Error("wrote a file above")
	}
	other := open(t, 1)
	if err := write(other, filepath.Join(dir, "2.parquet")); err == nil {
		t.Error("an engine without files wrote one")
	}
	if _, _, err := other.ReadFile(context.Background(), inside, rows.Fields, []int{0}, batch.Offset{}, batch.Offset{}); err == nil {
		t.Error("an engine without files read one")
	}
}

// What interrupts a file is an error: of the rows, a context that ends; and a damaged file is one.
func TestFilesThatFail(t *testing.T) {
	e, dir := openFiles(t, 1)
	rows := columns([]batch.Field{field("a", bigint)}, ints(1, 2, 3))
	broken := errors.New("broken")
	path := filepath.Join(dir, "1.parquet")
	if err := e.WriteFile(context.Background(), path, rows.Fields, 2048, func() (batch.Columns, error) { return batch.Columns{}, broken }); !errors.Is(err, broken) {
		t.Errorf("rows that break off: %v", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	err := e.WriteFile(ctx, filepath.Join(dir, "2.parquet"), rows.Fields, 2048, func() (batch.Columns, error) {
		cancel()
		return *rows, nil
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("a context that ends: %v", err)
	}
	path = filepath.Join(dir, "3.parquet")
	if err := e.WriteFile(context.Background(), path, rows.Fields, 2048, inPieces(rows, 2)); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(path, 100); err != nil {
		t.Fatal(err)
	}
	next, end, err := e.ReadFile(context.Background(), path, rows.Fields, []int{0}, batch.Offset{}, batch.Offset{})
	if err == nil {
		_, err = next()
		_ = end()
	}
	if err == nil {
		t.Error("a file that was cut off is read")
	}
}

// fileScan is a file as an input.
type fileScan struct {
	next func() (batch.Columns, error)
	end  func() error
}

func (f *fileScan) Next(int) (batch.Columns, error) { return f.next() }
func (f *fileScan) Close() error                    { return f.end() }

// A query reads files through scans, on engines that are at work with it.
func TestFilesAreReadWithinAQuery(t *testing.T) {
	for _, threads := range []int{1, 2} {
		e, dir := openFiles(t, threads)
		b := batch.NewBuilder(bigint, 0)
		for i := range 100_000 {
			b.AppendInt(int64(i))
		}
		rows := columns([]batch.Field{field("a", bigint)}, b)
		path := filepath.Join(dir, "1.parquet")
		if err := e.WriteFile(context.Background(), path, rows.Fields, 10_000, inPieces(rows, 5000)); err != nil {
			t.Fatal(err)
		}
		table := read("t", rows.Fields...)
		table.Relation.Stream = false
		c := &dialect.Compiled{SQL: "SELECT count(*) AS n FROM t AS x JOIN t AS y USING (a)", Reads: []dialect.Read{table}, Columns: []batch.Field{field("n", bigint)}}
		scan := func() (Scan, error) {
			next, end, err := e.ReadFile(context.Background(), path, rows.Fields, []int{0}, batch.Offset{}, batch.Offset{})
			return &fileScan{next, end}, err
		}
		result, err := e.Query(context.Background(), c, []Input{{Open: scan}}, batchTime)
		if err != nil {
			t.Fatal(err)
		}
		out, err := result.Next()
		if err != nil || batch.Values[int64](&out.Cols[0])[0] != 100_000 {
			t.Errorf("%d threads: %v %v", threads, out, err)
		}
		if err := result.Close(); err != nil {
			t.Error(err)
		}
	}
}
