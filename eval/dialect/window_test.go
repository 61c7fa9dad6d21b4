package dialect

import (
	"fmt"
	"strings"
	"testing"

	"sluice/fault"
	"sluice/syntax"
)

const windowColumns = "d DATE, k STRING, v BIGINT, x DOUBLE, ts TIMESTAMP, n DECIMAL(10,2), b BOOLEAN, s STRUCT<f: INT>"

func compileWindow(t *testing.T, query, predicate string) (*Compiled, fault.List) {
	t.Helper()
	q, problems := syntax.ParseQuery("q", query)
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	e, problems := syntax.ParseExpr(predicate, fault.Pos{File: "p", Line: 1, Column: 1})
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	a, problems := Analyse(q, one{relation("t", windowColumns, false)}, Options{Zone: "UTC"})
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	p := Projection{Where: &Where{Expr: e}}
	for i, f := range a.Output {
		p.Columns, p.Where.Columns = append(p.Columns, Target{Field: f, From: i}), append(p.Where.Columns, i)
	}
	p.Where.Aliases = a.Aliases(p.Columns)
	return a.Compile(p)
}

// D-25: what of a predicate can be held against the statistics of a file. A column that is cast before it is compared cannot.
func TestTreesOfPredicates(t *testing.T) {
	for _, c := range []struct{ predicate, tree string }{
		{"d >= '2026-01-08'", "c0 >= v0"},
		{"d >= date_add(current_date(), -2)", "c0 >= v0"},
		{"current_date() - INTERVAL 7 DAYS <= d", "c0 >= v0"},
		{"d BETWEEN current_date() - INTERVAL 7 DAYS AND current_date()", "(c0 >= v0 AND c0 <= v1)"},
		{"d NOT BETWEEN '2026-01-01' AND '2026-01-02'", "NOT (c0 >= v0 AND c0 <= v1)"},
		{"d >= '2026-01-02' OR k = 'x'", "(c0 >= v0 OR c1 = v1)"},
		{"NOT (d >= '2026-01-02' OR k <=> NULL)", "NOT (c0 >= v0 OR c1 <=> v1)"},
		{"k IN ('a', 'b') AND v <> 3", "((c1 = v0 OR c1 = v1) AND NOT c2 = v2)"},
		{"k NOT IN ('a')", "NOT (c1 = v0)"},
		{"k IS NULL OR v IS NOT NULL", "(c1 IS NULL OR NOT c2 IS NULL)"},
		{"k IS DISTINCT FROM 'a'", "NOT c1 <=> v0"},
		{"ts >= DATE '2026-01-01'", "c4 >= v0"},
		{"x > 1.5 AND x < 2", "(c3 > v0 AND c3 < v1)"},
		{"n = 1.25", "c5 = v0"},
		{"TRUE", "v0"},
		{"b", "?"},
		{"v > 1.5", "?"}, // v is cast
		{"CAST(ts AS DATE) = '2026-01-01'", "day(c4) = v0"},
		{"'2026-01-01' > date(ts) OR to_date(ts) IN ('2026-02-01')", "(day(c4) < v0 OR (day(c4) = v1))"},
		{"CAST(x AS INT) = 1", "?"},
		{"v + 1 > 3", "?"},
		{"v > x", "?"},
		{"k LIKE 'a%'", "?"},
		{"rand() < 0.5 AND d > '2026-01-01'", "(? AND c0 > v0)"},
		{"v > rand()", "?"},
		{"s.f = 1", "?"},
		{"v IN (1, 2, v + 1)", "(c2 = v0 OR c2 = v1 OR ?)"},
	} {
		out, problems := compileWindow(t, "SELECT * FROM t", c.predicate)
		if len(problems) > 0 {
			t.Errorf("%s: %v", c.predicate, problems)
		} else if got := out.Window.Tree.String(); got != c.tree {
			t.Errorf("%s: got %s, want %s", c.predicate, got, c.tree)
		}
	}
}

// RW-11, RW-O6, D-20: a table's name in front means a column that the query hands on unchanged.
func TestColumnsOfPredicates(t *testing.T) {
	for _, c := range []struct{ query, predicate, tree string }{
		{"SELECT f.d, f.k FROM t AS f", "f.d > '2026-01-01' AND k = 'a'", "(c0 > v0 AND c1 = v1)"},
		{"SELECT t.k, t.d FROM t", "t.d > '2026-01-01'", "c1 > v0"},
		{"SELECT f.d, sum(f.v) AS s FROM t AS f GROUP BY f.d", "f.d > '2026-01-01' OR s > 1", "(c0 > v0 OR c1 > v1)"},
		{"SELECT f.d AS D FROM t AS f", "f.d > '2026-01-01'", "c0 > v0"},
		{"SELECT f.k AS d, g.d AS k FROM t AS f JOIN t AS g ON f.v = g.v", "d = '2026-05-18'", "c0 = v0"}, // the column of the output, a text
		{"SELECT date_add(d, 1) AS d FROM t", "d = '2026-05-18'", "c0 = v0"},
		{"SELECT s AS f, d FROM t AS f", "f.f = 1", "?"},
		{"SELECT f.d + INTERVAL 1 DAY AS d FROM t AS f", "f.d > '2026-01-01'", "REPLACE_WHERE_COLUMN_NOT_IN_OUTPUT"},
		{"SELECT f.d AS day FROM t AS f", "f.d > '2026-01-01'", "REPLACE_WHERE_COLUMN_NOT_IN_OUTPUT"},
		{"SELECT f.d FROM t AS f", "g.d > '2026-01-01'", "REPLACE_WHERE_COLUMN_NOT_IN_OUTPUT"},
		{"SELECT f.d FROM t AS f", "v > 1", "REPLACE_WHERE_COLUMN_NOT_IN_OUTPUT"},
		{"SELECT d FROM t UNION ALL SELECT d FROM t", "t.d > '2026-01-01'", "REPLACE_WHERE_COLUMN_NOT_IN_OUTPUT"},
	} {
		out, problems := compileWindow(t, c.query, c.predicate)
		got := ""
		if len(problems) > 0 {
			got = problems[0].Code.Name
		} else {
			got = out.Window.Tree.String()
		}
		if got != c.tree {
			t.Errorf("%s, %s: got %s %v, want %s", c.query, c.predicate, got, problems, c.tree)
		}
	}
}

// A predicate in which nothing is constant needs no statement for its constants, and one with rand() says so.
func TestWindowsKnowWhatTheyAre(t *testing.T) {
	for _, c := range []struct {
		predicate         string
		values, constants int
		clock, random     bool
	}{
		{"b", 0, 0, false, false},
		{"d > '2026-01-01'", 1, 1, false, false},
		{"d > current_date() AND d < '2027-01-01'", 2, 3, true, false}, // and the text of the first
		{"x < rand()", 0, 0, false, true},
	} {
		out, problems := compileWindow(t, "SELECT * FROM t", c.predicate)
		if len(problems) > 0 {
			t.Fatal(problems)
		}
		w, got := out.Window, 0
		clock := false
		if w.Constants != nil {
			got, clock = len(w.Constants.Columns), w.Constants.Clock
		}
		if w.Values != c.values || got != c.constants || clock != c.clock || w.Random != c.random || out.Checks != 1 || out.Clock != c.clock {
			t.Errorf("%s: %s", c.predicate, fmt.Sprint(w.Values, got, clock, w.Random, out.Checks, out.Clock))
		}
	}
}

// A list of tens of thousands is bound once, and what files are held against stays bounded.
func TestLongListsOfPredicates(t *testing.T) {
	list := strings.Repeat("7, ", 40_000) + "7"
	for _, predicate := range []string{"v IN (" + list + ")", "k = 'x' OR v NOT IN (" + list + ")"} {
		c, problems := compileWindow(t, "SELECT * FROM t", predicate)
		if len(problems) > 0 {
			t.Fatal(problems)
		}
		if n := c.Window.Values; n != mostValues {
			t.Errorf("%d values", n)
		}
	}
}
