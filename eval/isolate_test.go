package eval

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"sluice/batch"
	"sluice/eval/dialect"
	"sluice/fault"
)

// casting is a row-wise query that refuses texts which are no numbers; each number n gives n%3 rows.
func casting(fields []batch.Field) *dialect.Compiled {
	const check = `nullif(CAST(CASE WHEN n % 5 = 0 THEN 'zero' ELSE '1' END AS INT) > 0, n = 13)`
	sql := `SELECT n, %s, _row%s FROM (SELECT n, _row, unnest(range(n %% 3)) FROM (SELECT CAST(a AS BIGINT) AS n, _row FROM t))`
	return &dialect.Compiled{Reads: []dialect.Read{read("t", fields...)}, Columns: []batch.Field{field("n", bigint)}, Checks: 1, Row: true,
		SQL:     fmt.Sprintf(sql, check, ""),
		Guarded: fmt.Sprintf(sql, "TRY("+check+")", ", TRY(CASE WHEN "+check+" THEN TRUE ELSE FALSE END)")}
}

// An error of an expectation is NULL in the guarded statement, and only there, and is told from a NULL (D-4, D-49).
func TestGuardedChecksAreNull(t *testing.T) {
	in := columns([]batch.Field{field("a", str)}, texts("1", "4", "10", "13"))
	s := prepare(t, open(t, 1), casting(in.Fields))
	if _, err := s.Run(t.Context(), []Input{{Batch: in}}, batchTime); !fault.Of(err, fault.CastInvalidInput) {
		t.Fatalf("got %v", err)
	}
	out, refused, err := s.RunIsolated(t.Context(), []Input{{Batch: in}}, batchTime, false)
	if err != nil || len(refused) > 0 {
		t.Fatal(refused, err)
	}
	var got, ran []string
	for i := range out.Rows.Len {
		got = append(got, show(&out.Checks[0], i))
		ran = append(ran, show(&out.Ran[0], i))
	}
	if fmt.Sprint(got) != "[true true NULL NULL]" || fmt.Sprint(ran) != "[true true NULL false]" {
		t.Errorf("checks are %v, ran %v", got, ran)
	}
}

// The rows that SQL refuses are named, the others come out in the order of the input, wherever the bad ones stand (D-15).
func TestIsolation(t *testing.T) {
	fields := []batch.Field{field("a", str)}
	s := prepare(t, open(t, 1), casting(fields))
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(0, 200).Draw(t, "rows")
		bad := rapid.SliceOfDistinct(rapid.IntRange(0, max(n-1, 0)), rapid.ID).Draw(t, "bad")
		in, wantRows, wantBad := texts(), []int32{}, []int{}
		for i := range n {
			if slices.Contains(bad, i) {
				in.AppendString("no number")
				wantBad = append(wantBad, i)
				continue
			}
			in.AppendString(fmt.Sprint(i))
			for range i % 3 {
				wantRows = append(wantRows, int32(i))
			}
		}
		out, refused, err := s.RunIsolated(context.Background(), []Input{{Batch: columns(fields, in)}}, batchTime, false)
		if err != nil {
			t.Fatal(err)
		}
		gotBad := []int{}
		for _, r := range refused {
			gotBad = append(gotBad, r.Row)
			if r.Err.Code.Class != fault.Data {
				t.Fatalf("row %d: %v", r.Row, r.Err)
			}
		}
		if !slices.Equal(gotBad, wantBad) || !slices.Equal(out.Row, wantRows) || out.Rows.Len != len(wantRows) {
			t.Fatalf("refused %v, want %v; rows %v, want %v", gotBad, wantBad, out.Row, wantRows)
		}
		for i, row := range out.Row {
			if v := values(&out.Rows.Cols[0])[i]; v != int64(row) || out.Checks[0].IsNull(i) != (v%5 == 0 || v == 13) || out.Ran[0].IsNull(i) != (v%5 == 0) {
				t.Fatalf("row %d has %d, check %s", row, v, show(&out.Checks[0], i))
			}
		}
	})
}

// Isolation is bounded: 2n runs at the worst, about 2 log2(n) for a single bad row.
func TestIsolationIsBounded(t *testing.T) {
	fields := []batch.Field{field("a", str)}
	s := prepare(t, open(t, 1), &dialect.Compiled{Reads: []dialect.Read{read("t", fields...)}, Columns: []batch.Field{field("n", bigint)}, SQL: `SELECT CAST(a AS BIGINT) FROM t`})
	for _, test := range []struct{ rows, every, most int }{{4096, 4096, 26}, {4096, 1, 8192}, {5, 5, 10}} {
		in := texts()
		for i := range test.rows {
			in.AppendString(map[bool]string{true: "bad", false: "1"}[i%test.every == test.every-1])
		}
		before := s.runs
		_, refused, err := s.RunIsolated(t.Context(), []Input{{Batch: columns(fields, in)}}, batchTime, false)
		if err != nil || len(refused) != test.rows/test.every {
			t.Fatalf("%d rows refused, %v", len(refused), err)
		}
		if runs := s.runs - before; runs > test.most {
			t.Errorf("%d runs for %d bad rows of %d, want at most %d", runs, len(refused), test.rows, test.most)
		}
	}
}
