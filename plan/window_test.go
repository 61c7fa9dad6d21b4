package plan_test

import (
	"fmt"
	"slices"
	"testing"

	"sluice/batch"
)

// PO-01, PO-02, PO-O7: another predicate for one update, held to the same rules; the defined one stays.
func TestOverride(t *testing.T) {
	p, problems := build(t, "", `CREATE STREAMING TABLE raw AS SELECT * FROM STREAM read_kafka(subscribe => 'a', format => 'json', schema => 'date DATE, region STRING, v BIGINT');
CREATE STREAMING TABLE w FLOW REPLACE WHERE f.date >= current_date() BY NAME SELECT f.date, region, sum(v) AS s FROM raw AS f GROUP BY ALL;`)
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	window := p.Flows[1].Window
	for _, c := range []struct{ predicate, tree, code string }{
		{"f.date BETWEEN '2025-01-01' AND '2025-03-31' AND region = 'eu'", "((c0 >= v0 AND c0 <= v1) AND c1 = v2)", ""}, // PO-04
		{"v > 1", "", "REPLACE_WHERE_COLUMN_NOT_IN_OUTPUT"},
		{"s >", "", "PARSE_SYNTAX_ERROR"},
		{"rand() < 0.5", "", "REPLACE_WHERE_OVERRIDE_NOT_SUPPORTED"},
		{"region IN (SELECT 'eu')", "", "INVALID_SUBQUERY_EXPRESSION"},
	} {
		over, problems := window.Override(c.predicate)
		switch {
		case c.code != "" && (len(problems) == 0 || problems[0].Code.Name != c.code), c.code == "" && len(problems) > 0:
			t.Errorf("%s: %v", c.predicate, problems)
		case c.code == "" && (over.Query.Window.Tree.String() != c.tree || over.Predicate != c.predicate || len(over.Lookups) != 1):
			t.Errorf("%s: %s, %v", over.Predicate, over.Query.Window.Tree, over.Lookups)
		}
	}
	if got := window.Query.Window.Tree.String(); got != "c0 >= v0" || window.Predicate != "f.date >= current_date()" {
		t.Errorf("the defined predicate is %s, %s now", window.Predicate, got)
	}
}

// RW-O5: what is kept of a file are the rows with every column that the table has, those that left the definition included.
func TestKept(t *testing.T) {
	p, problems := build(t, "", `CREATE STREAMING TABLE raw AS SELECT * FROM STREAM read_kafka(subscribe => 'a', format => 'json', schema => 'date DATE, v BIGINT');
CREATE STREAMING TABLE w FLOW REPLACE WHERE f.date >= current_date() BY NAME SELECT f.date, v FROM raw AS f;`)
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	stored := append(slices.Clone(p.Tables[1].Fields), batch.Field{Name: "gone", Type: batch.Of(batch.String)})
	kept, err := p.Flows[1].Window.Kept(stored)
	if err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(batch.DDL(kept.Columns), " ", kept.Reads[0].Columns, " ", kept.Window.Tree, " ", kept.Checks); got != "date DATE, v BIGINT, gone STRING [date v gone] c0 >= v0 1" {
		t.Errorf("got %s", got)
	}
}
