package eval

import (
	"fmt"
	"strings"
	"testing"

	"sluice/batch"
	"sluice/eval/dialect"
	"sluice/fault"
	"sluice/format"
	"sluice/syntax"
)

// compiled is a query over a stream t with the columns a STRING and b BINARY, with one expectation where check is not empty.
func compiled(t testing.TB, sql, check string) *dialect.Compiled {
	t.Helper()
	q, problems := syntax.ParseQuery("q.sql", sql)
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	a, problems := dialect.Analyse(q, oneTable{}, dialect.Options{Streaming: true})
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	p := dialect.Projection{Row: true}
	for i, f := range a.Output {
		p.Columns = append(p.Columns, dialect.Target{Field: f, From: i})
	}
	if check != "" {
		e, problems := syntax.ParseExpr(check, syntax.Pos{})
		if len(problems) > 0 {
			t.Fatal(problems)
		}
		p.Checks = append(p.Checks, e)
	}
	c, problems := a.Compile(p)
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	return c
}

type oneTable struct{}

func (oneTable) Relation(syntax.TableRef) (*dialect.Relation, *fault.Error) {
	return &dialect.Relation{Name: "t", Handle: "t", Fields: []batch.Field{field("a", str), field("b", batch.Of(batch.Binary))}, Stream: true}, nil
}

// D-14: what from_json made NULL is counted once for each row, in the plain and in the guarded statement alike: also where equal
// calls stand twice, where a condition uses what a subquery made, and where another row of the batch is refused. Expectations
// do not count.
func TestWhatBecameNullIsCounted(t *testing.T) {
	texts := texts(`{"x":1}`, `{"x":"one"}`, `oops`, `{"x":5}`, `{`)
	in := []Input{{Batch: columns([]batch.Field{field("a", str)}, texts)}}
	want := format.Nulled{Documents: 2, Fields: 1}
	for name, c := range map[string]struct{ sql, check string }{
		"once":              {"SELECT from_json(a, 'x INT') AS j FROM STREAM(t)", ""},
		"twice":             {"SELECT from_json(a, 'x INT').x, from_json(a, 'x INT').x + 1 AS y FROM STREAM(t)", ""},
		"in WHERE too":      {"SELECT from_json(a, 'x INT').x FROM STREAM(t) WHERE from_json(a, 'x INT').x IS NOT NULL", ""},
		"in a subquery":     {"SELECT j.x, j.x + 1 AS y FROM (SELECT from_json(a, 'x INT') AS j FROM STREAM(t)) WHERE j.x > 0 AND j.x < 9", ""},
		"with expectations": {"SELECT a, from_json(a, 'x INT') AS j FROM STREAM(t)", "from_json(a, 'x INT, z INT').x > j.x"},
		"inside try_cast":   {"SELECT from_json(a, 'x INT') AS j, try_cast(to_json(from_json(a, 'x INT')) AS INT) AS k FROM STREAM(t)", ""},
	} {
		for _, threads := range []int{1, 2} {
			s := prepare(t, open(t, threads), compiled(t, c.sql, c.check))
			for range 2 { // what one run counted does not stay
				out, err := s.Run(t.Context(), in, batchTime)
				if err != nil || out.Nulled != want {
					t.Errorf("%s: counted %+v, %v, want %+v", name, out.Nulled, err, want)
				}
				out, refused, err := s.RunIsolated(t.Context(), in, batchTime, false)
				if err != nil || len(refused) > 0 || out.Nulled != want {
					t.Errorf("%s, isolated: counted %+v, refused %v, %v, want %+v", name, out.Nulled, refused, err, want)
				}
			}
		}
	}
}

// A record that another part of the query refuses is no part of the counts, and those of the others are as ever (D-15).
func TestRefusedRowsDoNotCount(t *testing.T) {
	var rows []string
	for i := range 300 {
		rows = append(rows, [...]string{`{"x":1}`, `{"x":"one"}`, `oops`}[i%3])
	}
	rows[100], rows[200] = `{"x":0,"y":"?"}`, `{"x":0}`
	in := []Input{{Batch: columns([]batch.Field{field("a", str)}, texts(rows...))}}
	s := prepare(t, open(t, 1), compiled(t, "SELECT 1 / j.x AS r FROM (SELECT from_json(a, 'x INT, y INT') AS j FROM STREAM(t))", ""))
	out, refused, err := s.RunIsolated(t.Context(), in, batchTime, false)
	if err != nil || len(refused) != 2 || out.Rows.Len != 298 {
		t.Fatalf("%d rows, refused %v, %v", out.Rows.Len, refused, err)
	}
	if want := (format.Nulled{Documents: 99, Fields: 99}); out.Nulled != want {
		t.Errorf("counted %+v, want %+v", out.Nulled, want)
	}
}

// D-14: with FAILFAST the error says what is wrong, and only that record is refused.
func TestFailFast(t *testing.T) {
	in := []Input{{Batch: columns([]batch.Field{field("a", str)}, texts(`{"x":1}`, `{"x":"one"}`, `{"x":2}`, `{`))}}
	s := prepare(t, open(t, 1), compiled(t, "SELECT from_json(a, 'x INT', map('mode', 'failfast')).x FROM STREAM(t)", ""))
	if _, err := s.Run(t.Context(), in, batchTime); !fault.Of(err, fault.MalformedRecord) || !strings.Contains(err.Error(), `column x: the string "one" cannot be read as INT`) {
		t.Errorf("got %v", err)
	}
	out, refused, err := s.RunIsolated(t.Context(), in, batchTime, false)
	if err != nil || fmt.Sprint(values32(&out.Rows.Cols[0])) != "[1 2]" || len(refused) != 2 || refused[0].Row != 1 || refused[1].Row != 3 {
		t.Errorf("got %v, refused %v, %v", out.Rows, refused, err)
	}
}

func values32(c *batch.Column) []int32 { return batch.Values[int32](c) }

// The portable spelling over a record's bytes does not cast them: what is no UTF-8 is a malformed document, not a refused record.
func TestBytesAreNotCast(t *testing.T) {
	b := batch.NewBuilder(batch.Of(batch.Binary), 0)
	for _, text := range []string{`{"x":"é"}`, "{\"x\":\"\xff\"}", "\xff"} {
		b.AppendString(text)
	}
	b.AppendNull()
	in := []Input{{Batch: columns([]batch.Field{field("b", batch.Of(batch.Binary))}, b)}}
	for _, spelling := range []string{"CAST(b AS STRING)", "b::STRING", "string(b)"} {
		s := prepare(t, open(t, 1), compiled(t, "SELECT to_json(from_json("+spelling+", 'x STRING')) AS j FROM STREAM(t)", ""))
		out, err := s.Run(t.Context(), in, batchTime)
		if err != nil {
			t.Fatal(spelling, err)
		}
		var got []string
		for i := range out.Rows.Len {
			got = append(got, string(out.Rows.Cols[0].Text(i)))
		}
		if strings.Join(got, " ") != `{"x":"é"} {} {} ` || out.Nulled != (format.Nulled{Documents: 2}) {
			t.Errorf("%s: got %s, counted %+v", spelling, got, out.Nulled)
		}
	}
}

// Chunks, lists inside lists and constants: what comes out is what went in, on one thread and on more.
func TestFunctionsOverManyRows(t *testing.T) {
	const n = 10_000
	in := batch.NewBuilder(str, n)
	for i := range n {
		switch i % 4 {
		case 0:
			in.AppendNull()
		default:
			in.AppendString(fmt.Sprintf(`{"l":[[%d,null],[],null],"s":"%s","m":{"k%d":{"b":true}}}`, i, strings.Repeat("long text ", i%5), i))
		}
	}
	sql := "SELECT a, to_json(from_json(a, 'l ARRAY<ARRAY<INT>>, s STRING, m MAP<STRING, STRUCT<b: BOOLEAN>>')) AS b, to_json(array(array(1), NULL, array())) AS c FROM STREAM(t)"
	for _, threads := range []int{1, 2} {
		s := prepare(t, open(t, threads), compiled(t, sql, ""))
		out, err := s.Run(t.Context(), []Input{{Batch: columns([]batch.Field{field("a", str)}, in)}}, batchTime)
		if err != nil || out.Rows.Len != n {
			t.Fatalf("%d rows, %v", out.Rows.Len, err)
		}
		a, b, c := &out.Rows.Cols[0], &out.Rows.Cols[1], &out.Rows.Cols[2]
		for i := range n {
			if a.IsNull(i) != b.IsNull(i) || !a.IsNull(i) && string(a.Text(i)) != string(b.Text(i)) || string(c.Text(i)) != "[[1],null,[]]" {
				t.Fatalf("row %d: %s became %s and %s", i, a.Text(i), b.Text(i), c.Text(i))
			}
		}
	}
}

// An error of a function of package builtin costs the record that causes it and has its code; in an expectation it costs nothing
// (D-15, D-49).
func TestErrorsOfBuiltinFunctions(t *testing.T) {
	var rows []string
	for i := range 3000 {
		rows = append(rows, fmt.Sprint(i%1500-700)) // 0 is there twice
	}
	in := []Input{{Batch: columns([]batch.Field{field("a", str)}, texts(rows...))}}
	s := prepare(t, open(t, 2), compiled(t, "SELECT a, split_part('x,y', ',', CAST(a AS INT)) AS p FROM STREAM(t)", "slice(array(1), CAST(a AS INT) - 1, 1) IS NOT NULL"))
	if _, err := s.Run(t.Context(), in, batchTime); !fault.Of(err, fault.IndexOfZero) || !strings.Contains(err.Error(), "the index is 0") {
		t.Errorf("got %v", err)
	}
	out, refused, err := s.RunIsolated(t.Context(), in, batchTime, false)
	if err != nil || out.Rows.Len != 2998 || len(refused) != 2 || refused[0].Row != 700 || refused[1].Row != 2200 || !fault.Of(refused[0].Err, fault.IndexOfZero) {
		t.Errorf("%d rows, refused %v, %v", out.Rows.Len, refused, err)
	}
	s = prepare(t, open(t, 1), compiled(t, "SELECT try_cast(split_part('x,y', ',', CAST(a AS INT)) AS INT) AS p FROM STREAM(t)", ""))
	if _, err := s.Run(t.Context(), in, batchTime); !fault.Of(err, fault.IndexOfZero) { // try_cast guards the cast, not its operand
		t.Errorf("got %v", err)
	}
}
