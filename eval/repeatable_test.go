package eval

import (
	"math"
	"math/rand/v2"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"sluice/batch"
)

// grouping are calls of every function that makes one value of many rows, over the columns of pairsOf(DOUBLE), by name.
var grouping = map[string][]string{
	"count": {"count(*)", "count(a)", "count(DISTINCT a, b)"}, "count_if": {"count_if(a < b)"}, "sum": {"sum(a)", "sum(i)", "sum(CAST(i AS DECIMAL(20,2)))"},
	"avg": {"avg(a)", "avg(CAST(i AS DECIMAL(20,2)))"}, "min": {"min(a)", "min(CAST(a AS FLOAT))"}, "max": {"max(a)"}, "min_by": {"min_by(i, a)"}, "max_by": {"max_by(i, a)"},
	"first": {"first(a)"}, "last": {"last(a)"}, "collect_list": {"collect_list(i)"}, "bool_and": {"bool_and(a < 3)"}, "bool_or": {"bool_or(a < 3)"},
	"stddev": {"stddev(a)"}, "stddev_pop": {"stddev_pop(a)"}, "variance": {"variance(a)"}, "var_pop": {"var_pop(a)"},
	"median": {"median(a)", "median(i)"}, "percentile": {"percentile(a, 0.3)"}, "collect_set": {"collect_set(i)"},
	"listagg": {"listagg(CAST(i AS STRING), ',') WITHIN GROUP (ORDER BY b)"}, "bit_and": {"bit_and(i)"}, "bit_or": {"bit_or(i)"}, "bit_xor": {"bit_xor(i)"},
	"row_number": nil, "rank": nil, "dense_rank": nil, "percent_rank": nil, "cume_dist": nil, "ntile": {"ntile(3)"}, "lag": {"lag(a)"}, "lead": {"lead(a)"},
}

// overGroups are the queries with the calls of grouping.
func overGroups(t *testing.T) (out []string) {
	page, err := os.ReadFile("../docs/sql.md")
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, title := range []string{"Aggregates", "Windows"} {
		_, section, ok := strings.Cut(string(page), "\n### "+title+"\n")
		if !ok {
			t.Fatalf("docs/sql.md has no section %s", title)
		}
		section, _, _ = strings.Cut(section, "\n### ")
		for _, m := range regexp.MustCompile("(?m)^\\| `([a-z_]+)\\(").FindAllStringSubmatch(section, -1) {
			name := m[1]
			found++
			calls, ok := grouping[name]
			if !ok {
				t.Errorf("%s is not among the functions of this test", name)
			}
			if calls == nil {
				calls = []string{name + "()"}
			}
			for _, call := range calls {
				if title == "Aggregates" {
					out = append(out, "SELECT i % 3 AS g, "+call+" AS v FROM t GROUP BY i % 3")
				}
				out = append(out, "SELECT i, b, "+call+" OVER (PARTITION BY i % 3 ORDER BY b) AS v FROM t")
			}
		}
	}
	if found < 25 {
		t.Fatalf("docs/sql.md names only %d functions over many rows", found)
	}
	return append(out, "SELECT a, b FROM t LIMIT 3", "SELECT a FROM t ORDER BY b LIMIT 3", "SELECT DISTINCT a FROM t", "SELECT a, count(*) AS n FROM t GROUP BY a",
		"SELECT sum(s) AS s FROM (SELECT b, sum(a) AS s FROM t GROUP BY b)", "SELECT i, sum(a) OVER (PARTITION BY i % 3 ORDER BY b ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) AS s FROM t",
		"WITH w AS (SELECT i, row_number() OVER (ORDER BY b) AS n FROM t) SELECT i FROM w WHERE n = 1", "SELECT x.i, (SELECT avg(a) FROM t) AS s FROM t AS x",
		"SELECT a FROM t UNION SELECT b FROM t", "SELECT a FROM t EXCEPT SELECT b FROM t WHERE i > 5")
}

// tenths are rows of t whose sums depend on their order: hardly one of the values is exact in binary, some are equal, and there are nulls, NaN and both
// zeros. With zeros there is hardly anything else.
func tenths(n int, zeros bool) *batch.Columns {
	r := rand.New(rand.NewPCG(1, 22))
	i, a, b := ints(), batch.NewBuilder(double, n), batch.NewBuilder(double, n)
	for row := range n {
		i.AppendInt(int64(row))
		for _, c := range []*batch.Builder{a, b} {
			switch k := r.IntN(40); {
			case k == 0:
				c.AppendNull()
			case k == 1 && row%3 == 0: // not in every group: its sum is NaN
				batch.Append(c, math.NaN())
			case k < 4 || zeros:
				batch.Append(c, math.Copysign(0, float64(k%2)-0.5))
			default:
				batch.Append(c, float64(r.IntN(400))/10)
			}
		}
	}
	return columns(pairsOf(double).fields(), i, a, b)
}

// D-22: a query whose result is another one when rows come in another order is known as such, so that it runs on one thread, over rows in the order of
// their arrival; on more threads the engine refuses it (TestDisagreementIsAnInternalError). All others run on every core.
func TestWhatDependsOnOrderIsKnown(t *testing.T) {
	e, p := open(t, 1), pairsOf(double)
	differs := func(sql string, rows *batch.Columns) bool {
		var first []string
		for seed := range uint64(4) {
			shuffled := rows.Take(permutation(rows.Len, seed))
			got := p.query(t, e, &shuffled, sql)
			lines := bitsOf(&got)
			if seed == 0 {
				first = lines
			} else if !slices.Equal(first, lines) {
				return true
			}
		}
		return false
	}
	marked, depends := 0, 0
	for _, sql := range overGroups(t) {
		c, problems := p.compile(sql)
		if len(problems) > 0 {
			if strings.Contains(sql, " OVER (PARTITION") { // some are no window functions
				continue
			}
			t.Errorf("%s: %v", sql, problems)
			continue
		}
		different := differs(sql, tenths(600, false)) || differs(sql, tenths(600, true))
		if c.Unordered {
			marked++
		}
		if different {
			depends++
		}
		if different && !c.Unordered {
			t.Errorf("%s: the result depends on the order of the rows, and nobody knows", sql)
		}
	}
	if marked < 20 || depends < 15 {
		t.Errorf("%d queries are known to depend on order, and %d do: the rows of this test do not show much", marked, depends)
	}
}

func permutation(n int, seed uint64) []int32 {
	out := make([]int32, n)
	for i := range out {
		out[i] = int32(i)
	}
	if seed > 0 {
		rand.New(rand.NewPCG(seed, 3)).Shuffle(n, func(i, j int) { out[i], out[j] = out[j], out[i] })
	}
	return out
}

// bitsOf are rows as lines, sorted, with the sign of zeros and all digits of numbers.
func bitsOf(rows *batch.Columns) (lines []string) {
	for i := range rows.Len {
		var line strings.Builder
		for c := range rows.Cols {
			line.WriteString(show(&rows.Cols[c], i) + "|")
		}
		lines = append(lines, line.String())
	}
	slices.Sort(lines)
	return lines
}
