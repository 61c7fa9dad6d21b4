package eval

import (
	"math"
	"os"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"

	"sluice/batch"
	"sluice/syntax"
)

// D-19: what docs/sql.md calls exact is compared digit for digit, with the sign of zero. A DOUBLE that comes from a function of
// which the page says that it is exact within units in the last place may be the next one to Spark's: libraries of such
// functions differ from machine to machine.

// inexact gives the functions that the page calls so, in lower case.
var inexact = sync.OnceValues(func() (map[string]bool, error) {
	page, err := os.ReadFile("../docs/sql.md")
	found := map[string]bool{}
	for _, row := range regexp.MustCompile("(?m)^\\| `(\\w+)\\(.*\\)`(?:, also (.*))? \\| .*units? in the last place").FindAllStringSubmatch(string(page), -1) {
		found[row[1]] = true
		for name := range strings.FieldsFuncSeq(row[2], func(r rune) bool { return r == ',' || r == ' ' }) {
			found[name] = true
		}
	}
	return found, err
})

// nearColumns says for each column of a query whether it is a DOUBLE whose expression in the select list calls such a function.
func nearColumns(t *testing.T, q *syntax.Query, output []batch.Field) []bool {
	t.Helper()
	functions, err := inexact()
	if err != nil || !functions["exp"] || !functions["pow"] || !functions["variance"] || functions["sqrt"] {
		t.Fatalf("the page has %v: %v", functions, err)
	}
	near := make([]bool, len(output))
	s, ok := q.Body.(*syntax.Select)
	if !ok || len(s.Items) != len(output) { // with a star
		return near
	}
	for i, item := range s.Items {
		syntax.Inspect(item.Expr, func(node any) bool {
			if f, ok := node.(*syntax.Func); ok && functions[strings.ToLower(f.Name.Parts[0].Text)] {
				near[i] = output[i].Type.Kind == batch.Double
			}
			return true
		})
	}
	return near
}

// sameRows compares the texts of rows.
func sameRows(got, want []string, near []bool) bool {
	if len(got) != len(want) {
		return false
	}
	for i := range got {
		if got[i] == want[i] {
			continue
		}
		g, w := strings.Split(got[i], " | "), strings.Split(want[i], " | ")
		if len(g) != len(near) || len(w) != len(near) {
			return false
		}
		for j := range g {
			if g[j] != w[j] && !(near[j] && neighbours(g[j], w[j])) {
				return false
			}
		}
	}
	return true
}

// neighbours reports whether there is no DOUBLE between two texts of different ones.
func neighbours(a, b string) bool {
	x, err := strconv.ParseFloat(a, 64)
	y, err2 := strconv.ParseFloat(b, 64)
	return err == nil && err2 == nil && x != y && math.Nextafter(x, y) == y // 0.0 and -0.0 are equal, and differ
}

// A comparison that takes everything would be no test of anything.
func TestSparkComparison(t *testing.T) {
	for _, c := range []struct {
		got, want string
		near      []bool
		same      bool
	}{
		{`1 | "a | b"`, `1 | "a | b"`, []bool{false, false}, true},
		{"2.718281828459045", "2.7182818284590455", []bool{true}, true},
		{"2.718281828459045", "2.7182818284590455", []bool{false}, false},
		{"1.0 | 2.718281828459045", "1.0 | 2.7182818284590455", []bool{true, false}, false},
		{"2.718281828459045", "2.718281828459046", []bool{true}, false},
		{"0.0", "-0.0", []bool{true}, false},
		{"0.0", "5e-324", []bool{true}, true},
		{"1.5", "1.500", []bool{true}, false},
		{"1", "1.0", []bool{true}, false},
		{"NaN", "NULL", []bool{true}, false},
		{"NaN", "Infinity", []bool{true}, false},
		{"12345678901234567890123999.13", "12345678901234567890123456.12", []bool{false}, false},
	} {
		if got := sameRows([]string{c.got}, []string{c.want}, c.near); got != c.same {
			t.Errorf("%s beside %s with %v: %v", c.got, c.want, c.near, got)
		}
	}
	if sameRows([]string{"1"}, nil, []bool{false}) || sameRows(nil, []string{"1"}, []bool{false}) {
		t.Error("rows that are missing")
	}
}
