package eval

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"sluice/batch"
	"sluice/eval/dialect"
	"sluice/fault"
	"sluice/replacewhere"
	"sluice/syntax"
)

var prunedFields = []batch.Field{field("d", batch.Of(batch.Date)), field("ts", batch.Of(batch.Timestamp)), field("x", batch.Of(batch.Double)),
	field("k", batch.Of(batch.String)), field("v", batch.Of(batch.Int))}

// twoTables are the relations f and g.
type twoTables struct{}

func (twoTables) Relation(ref syntax.TableRef) (*dialect.Relation, *fault.Error) {
	name := ref.(*syntax.TableName).Name.Parts[0].Text
	return &dialect.Relation{Name: name, Handle: name, Fields: prunedFields}, nil
}

// Queries through which a predicate is taken to the tables, or is not.
var prunedQueries = []string{
	"SELECT * FROM f",
	"SELECT d, sum(v) AS v FROM f GROUP BY ALL",
	"SELECT CAST(ts AS DATE) AS d, count(*) AS v FROM f GROUP BY ALL",
	"SELECT date(ts) AS d, x, v FROM f",
	"SELECT max(d) AS d, k FROM f GROUP BY k",
	"SELECT x, count(*) AS v FROM f GROUP BY x",
	"SELECT DISTINCT d, k, x FROM f",
	"SELECT date_add(d, 1) AS d, v FROM f",
	"SELECT f.d, f.k, f.ts, g.v FROM f JOIN g ON f.d = g.d AND f.k <> g.k",
	"SELECT f.x, f.d, g.v FROM f JOIN g ON f.x = g.x",
	"SELECT f.d, g.d AS e, g.v, f.ts FROM f LEFT JOIN g ON f.d = g.d",
	"SELECT g.d, f.v FROM f LEFT JOIN g ON f.d = g.d",
	"SELECT g.d, f.v FROM f RIGHT JOIN g ON f.d = g.d",
	"SELECT f.d, g.v FROM f RIGHT JOIN g USING (d)",
	"SELECT d, f.v, g.x FROM f JOIN g USING (d)",
	"SELECT d, f.v, g.x FROM f FULL JOIN g USING (d)",
	"SELECT f.d, f.v FROM f LEFT SEMI JOIN g ON f.d = g.d",
	"SELECT f.d, f.v FROM f LEFT ANTI JOIN g ON f.d = g.d",
	"SELECT f.d, f.v FROM f LEFT ANTI JOIN g ON f.k = g.k",
	"SELECT d, v, x FROM f UNION ALL SELECT d, v, x FROM g",
	"SELECT d, k FROM f UNION SELECT d, k FROM g",
	"SELECT d, k FROM f EXCEPT SELECT d, k FROM g",
	"SELECT d, v, rank() OVER (ORDER BY d) AS r FROM f",
	"SELECT d, k, v FROM f ORDER BY d, k, v LIMIT 3",
	"SELECT d, v FROM (SELECT d, v FROM f ORDER BY d, v LIMIT 4) AS t",
	"WITH c AS (SELECT d, max(v) AS v FROM f GROUP BY d) SELECT a.d, b.v FROM c AS a JOIN c AS b ON a.d = b.d",
	"WITH c AS (SELECT d, max(v) AS v FROM f GROUP BY d) SELECT a.d, b.v, b.d AS e FROM c AS a JOIN c AS b ON a.v = b.v",
	"SELECT d, v FROM f WHERE v > (SELECT avg(v) FROM f)",
	"SELECT d, v, (SELECT max(v) FROM g) AS m FROM f",
	"SELECT d, v FROM f WHERE EXISTS (SELECT 1 FROM g WHERE g.d = f.d)",
	"SELECT a.d, b.k FROM f AS a JOIN f AS b ON a.v = b.v",
	"SELECT d, explode(array(1, v)) AS v FROM f",
}

var prunedPredicates = []string{"d >= '2026-03-29'", "d = '2026-03-29'", "d IN ('2026-03-28', '2026-03-30')", "d < '2026-03-29' OR d IS NULL", "NOT (d > '2026-03-28')",
	"d BETWEEN '2026-03-28' AND '2026-03-29'", "d <=> NULL", "d IS NOT NULL AND v > 1", "x >= 0.0D", "x = double('NaN')", "x < 0.0D OR x IS NULL", "x = -0.0D", "x > 1D",
	"date(ts) = '2026-03-29'", "CAST(ts AS DATE) > '2026-03-28' AND d < '2026-03-30'", "ts >= TIMESTAMP '2026-03-29 12:00:00'", "e = '2026-03-29'", "e IS NULL", "k = 'a' OR d = '2026-03-29'", "k IS NULL AND d > '2026-03-28'"}

// RW-01 to RW-03, RW-18: without the files that statistics say hold no row for the window, the window is what it is with all of them.
func TestWhatIsNotReadDoesNotMatter(t *testing.T) {
	e, err := Open(Options{Threads: 1, MemoryLimit: 256 << 20, Zone: "Europe/Berlin"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { e.Close() })
	skipped := map[string]int{}
	for _, query := range prunedQueries {
		for _, predicate := range prunedPredicates {
			c := compileWindow(t, query, predicate)
			if c == nil {
				continue // it is about columns that the query does not give
			}
			for seed := range uint64(2) {
				r := rand.New(rand.NewPCG(seed, uint64(len(query)*1000+len(predicate))))
				tables := map[string][]*batch.Columns{"f": drawFiles(r), "g": drawFiles(r)}
				values := constantsOf(t, e, c)
				var all, pruned []Input
				for i, read := range c.Reads {
					files := tables[read.Relation.Name]
					kept := slices.DeleteFunc(slices.Clone(files), func(f *batch.Columns) bool {
						tree := c.Window.Sources[i]
						return tree != nil && tree.Over(statsOfRows(f), values) == replacewhere.Never
					})
					skipped[query] += len(files) - len(kept)
					all, pruned = append(all, inputOf(files)), append(pruned, inputOf(kept))
				}
				want, got := windowOf(t, e, c, all), windowOf(t, e, c, pruned)
				if !slices.Equal(got, want) {
					t.Fatalf("%s, %s, seed %d: got\n%s\nwant\n%s", query, predicate, seed, strings.Join(got, "\n"), strings.Join(want, "\n"))
				}
			}
		}
	}
	for _, query := range prunedQueries[:2] {
		if skipped[query] == 0 {
			t.Errorf("%s: no file was left out", query)
		}
	}
}

func compileWindow(t *testing.T, query, predicate string) *dialect.Compiled {
	t.Helper()
	q, problems := syntax.ParseQuery("q", query)
	x, more := syntax.ParseExpr(predicate, fault.Pos{File: "p", Line: 1, Column: 1})
	if len(problems)+len(more) > 0 {
		t.Fatal(problems, more)
	}
	a, problems := dialect.Analyse(q, twoTables{}, dialect.Options{Zone: "Europe/Berlin"})
	if len(problems) > 0 {
		t.Fatal(query, problems)
	}
	p := dialect.Projection{Where: &dialect.Where{Expr: x}}
	for i, f := range a.Output {
		p.Columns, p.Where.Columns = append(p.Columns, dialect.Target{Field: f, From: i}), append(p.Where.Columns, i)
	}
	c, problems := a.Compile(p)
	if len(problems) > 0 && problems[0].Code != fault.ReplaceWhereColumn {
		t.Fatal(query, predicate, problems)
	}
	return c
}

// drawFiles draws a few files of a table, each of rows that lie near each other in time.
func drawFiles(r *rand.Rand) (out []*batch.Columns) {
	first := time.Date(2026, 3, 27, 20, 0, 0, 0, time.UTC)
	floats := []float64{0, math.Copysign(0, -1), 1, 2, -1, math.NaN(), math.Inf(1)}
	for range 6 {
		var b [5]*batch.Builder
		for i, f := range prunedFields {
			b[i] = batch.NewBuilder(f.Type, 0)
		}
		day := r.IntN(4)
		low := r.IntN(len(floats))
		for range r.IntN(4) {
			at := first.Add(time.Duration(day*24+r.IntN(12)) * time.Hour)
			add := []func(){
				func() { b[0].AppendInt(at.Unix() / 86400) },
				func() { b[1].AppendInt(at.UnixMicro()) },
				func() { batch.Append(b[2], floats[min(low+r.IntN(2), len(floats)-1)]) },
				func() { b[3].AppendString([]string{"", "a", "b"}[r.IntN(3)]) },
				func() { b[4].AppendInt(int64(r.IntN(4))) },
			}
			for i, f := range add {
				if r.IntN(7) == 0 {
					b[i].AppendNull()
				} else {
					f()
				}
			}
		}
		out = append(out, columns(prunedFields, b[:]...))
	}
	return out
}

// statsOfRows is what a store would know of a file.
func statsOfRows(rows *batch.Columns) *replacewhere.Stats {
	s := &replacewhere.Stats{Rows: int64(rows.Len)}
	for i := range rows.Cols {
		c, stats := &rows.Cols[i], replacewhere.Column{Known: true}
		for row := range rows.Len {
			key := batch.AppendKey(nil, []*batch.Column{c}, row)
			switch {
			case c.IsNull(row):
				stats.Nulls++
			case batch.NullOrNaN(c, row):
				stats.NaN = true
			default:
				if stats.Min == nil || bytes.Compare(key, stats.Min) < 0 {
					stats.Min = key
				}
				if bytes.Compare(key, stats.Max) > 0 {
					stats.Max = key
				}
			}
		}
		s.Columns = append(s.Columns, stats)
	}
	return s
}

func constantsOf(t *testing.T, e *Engine, c *dialect.Compiled) []replacewhere.Value {
	t.Helper()
	if c.Window.Constants == nil {
		return nil
	}
	out := ran(t, e, c.Window.Constants, nil)
	out.Rows.Cols = out.Rows.Cols[:c.Window.Values]
	return replacewhere.Values(out.Rows)
}

// ran runs a statement that is closed at once: there are thousands.
func ran(t *testing.T, e *Engine, c *dialect.Compiled, inputs []Input) Result {
	t.Helper()
	s, err := e.Prepare(c)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	out, err := s.Run(t.Context(), inputs, batchTime)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func inputOf(files []*batch.Columns) Input {
	return Input{Open: func() (Scan, error) { return &filesScan{files}, nil }}
}

// filesScan brings one file after the other.
type filesScan struct{ files []*batch.Columns }

func (s *filesScan) Next(int) (batch.Columns, error) {
	for len(s.files) > 0 {
		f := s.files[0]
		if s.files = s.files[1:]; f.Len > 0 {
			return *f, nil
		}
	}
	return batch.Columns{}, nil
}

func (s *filesScan) Close() error { return nil }

// windowOf are the rows for which the predicate is TRUE, in some order that is always the same.
func windowOf(t *testing.T, e *Engine, c *dialect.Compiled, inputs []Input) (out []string) {
	t.Helper()
	result := ran(t, e, c, inputs)
	verdicts := &result.Checks[0]
	for i := range result.Rows.Len {
		if !verdicts.IsNull(i) && batch.Values[uint8](verdicts)[i] != 0 {
			row := ""
			for f := range result.Rows.Cols {
				row += fmt.Sprintf(" %s", show(&result.Rows.Cols[f], i))
			}
			out = append(out, row)
		}
	}
	slices.Sort(out)
	return out
}
