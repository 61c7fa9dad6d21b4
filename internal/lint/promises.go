package lint

import (
	"fmt"
	"go/ast"
	"regexp"
	"slices"
	"strings"
)

const (
	guarantees = "docs/guarantees.md"
	scenarios  = "internal/scenario/testdata/"
)

var (
	testName     = regexp.MustCompile(`\bTest[A-Z]\w*`)
	testsOf      = regexp.MustCompile("((?:`Test\\w+`(?:, | and )?)+) \\(([a-z][\\w/]*(?:, [a-z][\\w/]*)*)\\)")
	scenarioName = regexp.MustCompile("`(\\w+/\\w+\\.txt)`")
)

// Promises checks that every test and every scenario that the guarantees rest on is there, and in the package that they name.
func Promises(t *Tree) (problems []string) {
	declared := map[string][]string{} // packages, by test
	for _, f := range t.Go {
		if !f.Test {
			continue
		}
		for _, d := range f.AST.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && fn.Recv == nil {
				declared[fn.Name.Name] = append(declared[fn.Name.Name], f.Package)
			}
		}
	}
	text := t.Texts[guarantees]
	tests := testName.FindAllString(text, -1)
	if len(tests) == 0 {
		return []string{guarantees + " names no test"}
	}
	for _, test := range slices.Compact(slices.Sorted(slices.Values(tests))) {
		if declared[test] == nil {
			problems = append(problems, fmt.Sprintf("%s names %s, which is no test: name the one that checks the line, or write it", guarantees, test))
		}
	}
	for _, m := range testsOf.FindAllStringSubmatch(text, -1) {
		packages := strings.Split(m[2], ", ")
		for _, test := range testName.FindAllString(m[1], -1) {
			if where := declared[test]; where != nil && !slices.ContainsFunc(packages, func(p string) bool { return slices.Contains(where, p) }) {
				problems = append(problems, fmt.Sprintf("%s looks for %s in %s, but it is in %s", guarantees, test, m[2], strings.Join(where, ", ")))
			}
		}
	}
	for _, m := range scenarioName.FindAllStringSubmatch(text, -1) {
		if _, ok := t.Texts[scenarios+m[1]]; !ok {
			problems = append(problems, fmt.Sprintf("%s names the scenario %s, which is not below %s", guarantees, m[1], scenarios))
		}
	}
	return problems
}
