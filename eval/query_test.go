package eval

import (
	"context"
	"errors"
	"strings"
	"testing"

	"sluice/batch"
	"sluice/eval/dialect"
	"sluice/fault"
)

func TestQueryBringsChunks(t *testing.T) {
	r := read("t", field("a", bigint))
	r.Relation.Stream = false
	n := ints()
	for i := range int64(10_000) {
		n.AppendInt(i)
	}
	rows, err := open(t, 2).Query(t.Context(), &dialect.Compiled{SQL: `SELECT a FROM t WHERE a % 2 = 0 ORDER BY a`, Columns: r.Relation.Fields, Reads: []dialect.Read{r}},
		[]Input{pieces(columns(r.Relation.Fields, n), 777)}, batchTime)
	if err != nil {
		t.Fatal(err)
	}
	next := int64(0)
	for {
		chunk, err := rows.Next()
		if err != nil {
			t.Fatal(err)
		}
		if chunk.Len == 0 {
			break
		}
		for _, v := range values(&chunk.Cols[0]) {
			if v != next {
				t.Fatalf("got %d, want %d", v, next)
			}
			next += 2
		}
	}
	if again, err := rows.Next(); again.Len != 0 || err != nil || next != 10_000 {
		t.Errorf("after the end: %d rows, %v; the last row is %d", again.Len, err, next-2)
	}
	for range 2 {
		if err := rows.Close(); err != nil {
			t.Error(err)
		}
	}
}

// Whoever closes early gets no error, and the scan is closed with the rows.
func TestQueryIsClosedEarly(t *testing.T) {
	e, closed := open(t, 1), 0
	c := &dialect.Compiled{SQL: `SELECT a FROM t`, Columns: []batch.Field{field("a", bigint)}, Reads: []dialect.Read{read("t", field("a", bigint))}}
	in := []Input{{Open: func() (Scan, error) { return endless{&closed}, nil }}}
	for range 20 {
		rows, err := e.Query(t.Context(), c, in, batchTime)
		if err != nil {
			t.Fatal(err)
		}
		if chunk, err := rows.Next(); chunk.Len == 0 || err != nil {
			t.Fatalf("%d rows, %v", chunk.Len, err)
		}
		if err := rows.Close(); err != nil {
			t.Error(err)
		}
	}
	if closed != 20 || len(e.statements) != 0 {
		t.Errorf("closed %d scans, %d statements are open", closed, len(e.statements))
	}
}

func TestQueryThatFails(t *testing.T) {
	e, closed := open(t, 1), 0
	c := &dialect.Compiled{SQL: `SELECT 1 // (CASE WHEN a = 0 THEN error('zero') ELSE 1 END)::INT FROM t`, Columns: []batch.Field{field("a", batch.Of(batch.Int))}, Reads: []dialect.Read{read("t", field("a", bigint))}}
	in := []Input{{Open: func() (Scan, error) { return endless{&closed}, nil }}}
	rows, err := e.Query(t.Context(), c, in, batchTime)
	if err == nil { // DuckDB may find the error only when rows are fetched
		_, err = rows.Next()
		if closing := rows.Close(); !errors.Is(closing, err) {
			t.Errorf("closing gave %v", closing)
		}
	}
	if !fault.Of(err, fault.EvaluationFailed) || closed != 1 || len(e.statements) != 0 {
		t.Errorf("got %v; closed %d scans, %d statements are open", err, closed, len(e.statements))
	}
	ctx, cancel := context.WithCancel(t.Context())
	c.SQL, c.Columns = `SELECT a FROM t`, []batch.Field{field("a", bigint)}
	rows, err = e.Query(ctx, c, in, batchTime)
	if err != nil {
		t.Fatal(err)
	}
	cancel()
	for err == nil {
		_, err = rows.Next()
	}
	if closing := rows.Close(); !errors.Is(err, context.Canceled) || !errors.Is(closing, context.Canceled) || closed != 2 {
		t.Errorf("got %v and %v; closed %d scans", err, closing, closed)
	}
	if _, err := e.Query(ctx, c, in, batchTime); !errors.Is(err, context.Canceled) || len(e.statements) != 0 {
		t.Errorf("got %v", err)
	}
}

// A query that a thread of DuckDB's breaks off while nobody fetches is run again to learn why, from its inputs: here they fail the second time alone.
func TestQueryBrokenOff(t *testing.T) {
	r, opened := read("t", field("a", bigint)), 0
	r.Relation.Stream = false
	in := Input{Open: func() (Scan, error) {
		opened++
		return pieces(columns(r.Relation.Fields, ints(1, int64(opened))), 1).Open()
	}}
	c := &dialect.Compiled{SQL: `SELECT CASE WHEN a = 2 THEN error('late') ELSE a::VARCHAR END::BIGINT FROM t`, Columns: r.Relation.Fields, Reads: []dialect.Read{r}}
	rows, err := open(t, 2).Query(t.Context(), c, []Input{in}, batchTime)
	if err != nil {
		t.Fatal(err)
	}
	if err := rows.cause(); !fault.Of(err, fault.EvaluationFailed) || !strings.Contains(err.Error(), "late") || opened != 2 {
		t.Errorf("got %v; opened %d scans", err, opened)
	}
	_ = rows.Close()
}
