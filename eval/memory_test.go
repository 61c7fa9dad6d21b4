package eval

import (
	"strings"
	"testing"

	"sluice/batch"
	"sluice/eval/dialect"
	"sluice/fault"
	"sluice/syntax"
)

// D-15: a value that is too large for the engine's memory is an error of the run, wherever it is made. It ends nothing else, and the
// statement is as usable as before.
func TestValuesLargerThanMemory(t *testing.T) {
	long := "[" + strings.Repeat("7,", 1<<20) + "7]"
	mayFit := []string{
		"SELECT from_json(a, 'ARRAY<BIGINT>') AS x FROM STREAM t",
		"SELECT array_append(from_json(a, 'ARRAY<BIGINT>'), 1L) AS x FROM STREAM t",
		"SELECT explode(from_json(a, 'ARRAY<BIGINT>')) AS x FROM STREAM t",
		"SELECT explode(sequence(1, len(a) * 10)) AS x FROM STREAM t",
		"SELECT explode(split(a, ',')) AS x FROM STREAM t",
		"SELECT size(array_repeat(a, 100)) AS x FROM STREAM t",
		"SELECT length(repeat(a, 100)) AS x FROM STREAM t",
		"SELECT upper(repeat(a, 50)) AS x FROM STREAM t",
	}
	tooMuch := []string{ // that functions in Go make, which are outside of DuckDB's memory
		"SELECT size(sequence(1, len(a) * 100)) AS x FROM STREAM t",
		"SELECT length(lpad(a, len(a) * 100, 'ab')) AS x FROM STREAM t",
		"SELECT length(regexp_replace(a, '7', 'twenty bytes for each')) AS x FROM STREAM t",
		"SELECT length(array_join(array_repeat(a, 20), a)) AS x FROM STREAM t",
	}
	for i, query := range append(mayFit, tooMuch...) {
		q, problems := syntax.ParseQuery("q", query)
		if len(problems) > 0 {
			t.Fatal(problems)
		}
		a, problems := dialect.Analyse(q, oneTable{}, dialect.Options{Streaming: true})
		if len(problems) > 0 {
			t.Fatal(problems)
		}
		c, problems := a.Compile(dialect.Projection{Row: true, Columns: []dialect.Target{{Field: a.Output[0], From: 0}}})
		if len(problems) > 0 {
			t.Fatal(problems)
		}
		e, err := Open(Options{Threads: 1, MemoryLimit: 16 << 20})
		if err != nil {
			t.Fatal(err)
		}
		s, err := e.Prepare(c)
		if err != nil {
			t.Fatal(err)
		}
		fields := c.Reads[0].Relation.Fields[:1]
		small, large := columns(fields, texts("[1]")), columns(fields, texts("[1]", long, "[2]"))
		for _, in := range []*batch.Columns{small, large, small} {
			_, err := s.Run(t.Context(), []Input{{Batch: in}}, batchTime)
			if err != nil && (in == small || !fault.Of(err, fault.OutOfMemory)) {
				t.Errorf("%s: %v", query, err)
			}
		}
		out, refused, err := s.RunIsolated(t.Context(), []Input{{Batch: large}}, batchTime, false)
		if _, whole := s.Run(t.Context(), []Input{{Batch: large}}, batchTime); whole == nil && i < len(mayFit) {
			continue // on this path there was enough
		}
		if err != nil || len(refused) != 1 || refused[0].Row != 1 || refused[0].Err.Code != fault.OutOfMemory || out.Row[0] != 0 || out.Row[len(out.Row)-1] != 2 {
			t.Errorf("%s: isolated, %v, %v", query, refused, err)
		}
		s.Close()
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	}
}
