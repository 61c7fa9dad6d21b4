package dialect

import (
	"strings"
	"testing"

	"sluice/batch"
	"sluice/fault"
	"sluice/syntax"
)

// byName are relations by their names.
type byName map[string]*Relation

func (s byName) Relation(ref syntax.TableRef) (*Relation, *fault.Error) {
	return s[ref.(*syntax.TableName).Name.Parts[0].Text], nil
}

// RW-03, RW-18, IR-10, IR-11: what the predicate says of the rows of each table that a query reads; "-" where it says nothing and all are read.
func TestWhatIsReadOfTables(t *testing.T) {
	scope := byName{"f": relation("f", windowColumns, false), "g": relation("g", windowColumns, false)}
	for _, c := range []struct{ query, predicate, f, g string }{
		{"SELECT * FROM f", "d >= '2026-01-08' AND k = 'a'", "(c0 >= v0 AND c1 = v1)", ""},
		{"SELECT k, d FROM f", "d >= '2026-01-08' OR k = 'a'", "(c0 >= v0 OR c1 = v1)", ""},
		{"SELECT d AS day, k FROM f", "day >= '2026-01-08'", "c0 >= v0", ""},
		{"SELECT d, sum(v) AS v FROM f GROUP BY ALL", "d = '2026-01-08' AND v > 3", "(c0 = v0 AND ?)", ""},
		{"SELECT d, sum(v) AS v FROM f GROUP BY d HAVING sum(v) > 0", "v > 3", "-", ""},
		{"SELECT max(d) AS d, k FROM f GROUP BY k", "d = '2026-01-08'", "-", ""},
		{"SELECT max(d) AS d FROM f", "d = '2026-01-08'", "-", ""},
		{"SELECT CAST(ts AS DATE) AS d, count(*) AS n FROM f GROUP BY ALL", "d = '2026-01-08'", "day(c4) = v0", ""},
		{"SELECT date(ts) AS d, v FROM f", "d IN ('2026-01-08')", "(day(c4) = v0)", ""},
		{"SELECT to_date(t) AS d FROM (SELECT ts AS t FROM f) AS x", "d = '2026-01-08'", "day(c4) = v0", ""},
		{"SELECT date_add(d, 1) AS d FROM f", "d = '2026-01-08'", "-", ""},
		{"SELECT CAST(v AS INT) AS v FROM f", "v = 1", "-", ""},
		{"SELECT DISTINCT d, k FROM f ORDER BY k", "d = '2026-01-08'", "c0 = v0", ""},
		{"SELECT d FROM f LIMIT 3", "d = '2026-01-08'", "-", ""},
		{"SELECT d FROM (SELECT d FROM f ORDER BY d LIMIT 3) AS x", "d = '2026-01-08'", "-", ""},
		{"SELECT d, rank() OVER (ORDER BY v) AS r FROM f", "d = '2026-01-08'", "-", ""},
		{"SELECT d FROM f QUALIFY row_number() OVER (PARTITION BY d ORDER BY v, k, ts, x) = 1", "d = '2026-01-08'", "-", ""},
		{"SELECT d, rand() AS r FROM f", "d = '2026-01-08'", "-", ""},
		{"SELECT f.d, g.k FROM f JOIN g ON f.d = g.d", "d > '2026-01-08'", "c0 > v0", "c0 > v0"},
		{"SELECT f.d, g.k FROM f, g WHERE f.v = g.v", "d > '2026-01-08' AND k = 'a'", "(c0 > v0 AND ?)", "(? AND c1 = v1)"},
		{"SELECT f.d, g.k FROM f LEFT JOIN g ON f.v = g.v AND g.d = f.d", "d > '2026-01-08' AND k = 'a'", "(c0 > v0 AND ?)", "(c0 > v0 AND ?)"},
		{"SELECT g.d, f.k FROM f LEFT JOIN g ON f.d = g.d", "d > '2026-01-08'", "-", "-"},
		{"SELECT g.d, f.k FROM f RIGHT JOIN g ON f.d = g.d", "d > '2026-01-08'", "c0 > v0", "c0 > v0"},
		{"SELECT d, f.k FROM f JOIN g USING (d)", "d > '2026-01-08'", "c0 > v0", "c0 > v0"},
		{"SELECT d, f.k FROM f RIGHT JOIN g USING (d)", "d > '2026-01-08'", "c0 > v0", "c0 > v0"},
		{"SELECT d, f.k FROM f FULL JOIN g USING (d)", "d > '2026-01-08'", "-", "-"},
		{"SELECT d, k FROM f LEFT SEMI JOIN g ON f.d = g.d", "d > '2026-01-08'", "c0 > v0", "c0 > v0"},
		{"SELECT d, k FROM f LEFT ANTI JOIN g ON f.k = g.k", "d > '2026-01-08'", "c0 > v0", "-"},
		{"SELECT d FROM f UNION ALL SELECT d FROM g", "d > '2026-01-08'", "c0 > v0", "c0 > v0"},
		{"SELECT d, k FROM f UNION SELECT date_add(d, 1), k FROM g", "d > '2026-01-08'", "c0 > v0", "-"},
		{"SELECT d, 'f' AS k FROM f UNION ALL SELECT d, k FROM g", "k = 'a' AND d > '2026-01-08'", "(? AND c0 > v1)", "(c1 = v0 AND c0 > v1)"},
		{"SELECT d FROM f EXCEPT SELECT d FROM g", "d > '2026-01-08'", "-", "-"},
		{"SELECT d, v FROM f WHERE v > (SELECT max(v) FROM g)", "d > '2026-01-08'", "c0 > v0", "-"},
		{"SELECT d, v FROM f WHERE v > (SELECT max(v) FROM f)", "d > '2026-01-08'", "-", ""},
		{"SELECT a.d, b.k FROM f AS a JOIN f AS b ON a.v = b.v", "d > '2026-01-08'", "(c0 > v0 OR ?)", ""}, // the other mention takes every row
		{"SELECT a.d, b.d AS e FROM f AS a JOIN f AS b ON a.v = b.v", "d > '2026-01-08' AND e = '2026-01-09'", "((c0 > v0 AND ?) OR (? AND c0 = v1))", ""},
		{"WITH c AS (SELECT d, max(v) AS v FROM f GROUP BY d) SELECT a.d, b.v FROM c AS a JOIN c AS b ON a.d = b.d", "d > '2026-01-08'", "(c0 > v0 OR c0 > v0)", ""},
		{"SELECT d, explode(array(1, v)) AS v FROM f", "d > '2026-01-08'", "-", ""},
	} {
		q, problems := syntax.ParseQuery("q", c.query)
		e, more := syntax.ParseExpr(c.predicate, fault.Pos{File: "p", Line: 1, Column: 1})
		if len(problems)+len(more) > 0 {
			t.Fatal(problems, more)
		}
		a, problems := Analyse(q, scope, Options{Zone: "UTC"})
		if len(problems) > 0 {
			t.Fatal(c.query, problems)
		}
		p := Projection{Where: &Where{Expr: e}}
		for i, f := range a.Output {
			if f.Name == "v" && strings.Contains(c.query, "AS INT)") {
				f.Type = batch.Of(batch.BigInt) // stored as another type than it is computed
			}
			p.Columns, p.Where.Columns = append(p.Columns, Target{Field: f, From: i}), append(p.Where.Columns, i)
		}
		out, problems := a.Compile(p)
		if len(problems) > 0 {
			t.Fatal(c.query, problems)
		}
		got := map[string]string{}
		for i, r := range out.Reads {
			if got[r.Relation.Name] = "-"; out.Window.Sources[i] != nil {
				got[r.Relation.Name] = out.Window.Sources[i].String()
			}
		}
		if got["f"] != c.f || got["g"] != c.g {
			t.Errorf("%s, %s: of f %q, of g %q, want %q and %q", c.query, c.predicate, got["f"], got["g"], c.f, c.g)
		}
	}
}
