package lint

import (
	"fmt"
	"go/ast"
	"path"
	"regexp"
	"sort"
	"strconv"
	"strings"
)

const (
	rulesFile     = "internal/lint/rules.txt"
	elsewhereFile = "internal/lint/rules_elsewhere.txt"
	untestedFile  = "internal/lint/codes_untested.txt"
)

var ruleID = regexp.MustCompile(`\b(RU|DO|ON|FB|EX|SC)-(O?\d+b?)\b`)

// Rules checks that every rule of the specification's sections 1, 8, 9, 10 and 11 is named by a test, in its name, in a
// comment or in a file of its testdata, or stands in rules_elsewhere.txt with the reason why none carries it; not both.
func Rules(t *Tree) (problems []string) {
	rules := map[string]bool{}
	for _, l := range lines(t, rulesFile) {
		ids, err := expand(l)
		if err != nil {
			return []string{fmt.Sprintf("%s: %v", rulesFile, err)}
		}
		for _, id := range ids {
			rules[id] = true
		}
	}
	if len(rules) == 0 {
		return []string{rulesFile + " lists no rule"}
	}
	elsewhere := entries(t, elsewhereFile, &problems)
	carried := map[string]string{} // the first place by id
	for _, name := range testTexts(t) {
		for _, id := range ruleID.FindAllString(t.Texts[name], -1) {
			if carried[id] == "" {
				carried[id] = name
			}
		}
	}
	for id := range rules {
		switch {
		case carried[id] == "" && elsewhere[id] == "":
			problems = append(problems, fmt.Sprintf("rule %s is carried by no test: name it in the test that shows it, or give the reason in %s", id, elsewhereFile))
		case carried[id] != "" && elsewhere[id] != "":
			problems = append(problems, fmt.Sprintf("%s lists %s, but %s carries it: remove the line (go test ./internal/lint -prune)", elsewhereFile, id, carried[id]))
		}
	}
	for id := range elsewhere {
		if !rules[id] {
			problems = append(problems, fmt.Sprintf("%s names %s, which is no rule of %s", elsewhereFile, id, rulesFile))
		}
	}
	for id, name := range carried {
		if !rules[id] {
			problems = append(problems, fmt.Sprintf("%s names %s, which is no rule of %s: mistyped?", name, id, rulesFile))
		}
	}
	return problems
}

// expand reads "RU-01..RU-23" or "EX-11b".
func expand(line string) ([]string, error) {
	first, last, isRange := strings.Cut(line, "..")
	if !ruleID.MatchString(first) {
		return nil, fmt.Errorf("%q is no rule", line)
	}
	if !isRange {
		return []string{first}, nil
	}
	digits := func(id string) (prefix, number string) {
		i := strings.IndexAny(id, "0123456789")
		if i < 0 {
			return id, ""
		}
		return id[:i], id[i:]
	}
	prefix, from := digits(first)
	other, to := digits(last)
	low, err1 := strconv.Atoi(from)
	high, err2 := strconv.Atoi(to)
	if prefix != other || err1 != nil || err2 != nil || low > high {
		return nil, fmt.Errorf("%q is no range of rules", line)
	}
	var ids []string
	for n := low; n <= high; n++ {
		ids = append(ids, fmt.Sprintf("%s%0*d", prefix, len(from), n))
	}
	return ids, nil
}

// Codes checks that every error code is returned by something and shown by a test or a scenario, or stands in
// codes_untested.txt with a reason; that file only shrinks.
func Codes(t *Tree) (problems []string) {
	names := map[string]string{} // of the variable, by name of the code
	for _, f := range t.Go {
		if f.Package != "fault" || f.Test {
			continue
		}
		ast.Inspect(f.AST, func(n ast.Node) bool {
			v, ok := n.(*ast.ValueSpec)
			if !ok || len(v.Values) != 1 {
				return true
			}
			call, ok := v.Values[0].(*ast.CallExpr)
			if !ok || len(call.Args) == 0 {
				return true
			}
			fun, ok := call.Fun.(*ast.Ident)
			text, ok2 := call.Args[0].(*ast.BasicLit)
			if ok && ok2 && fun.Name == "define" {
				names[strings.Trim(text.Value, `"`)] = v.Names[0].Name
			}
			return true
		})
	}
	returned, shown := map[string]bool{}, map[string]bool{} // by name of the variable
	for _, f := range t.Go {
		ast.Inspect(f.AST, func(n ast.Node) bool {
			var name string
			switch n := n.(type) {
			case *ast.SelectorExpr:
				if x, ok := n.X.(*ast.Ident); ok && x.Name == "fault" {
					name = n.Sel.Name
				}
			case *ast.Ident:
				if f.Package == "fault" && !strings.HasPrefix(path.Base(f.Path), "codes_") {
					name = n.Name
				}
			}
			if f.Test {
				shown[name] = true
			} else {
				returned[name] = true
			}
			return true
		})
	}
	words := map[string]bool{}
	word := regexp.MustCompile(`\b[A-Z][A-Z0-9_.]+\b`)
	for _, name := range testTexts(t) {
		for _, w := range word.FindAllString(t.Texts[name], -1) {
			words[w] = true
		}
	}
	untested := entries(t, untestedFile, &problems)
	for code, variable := range names {
		tested := shown[variable] || words[code]
		switch {
		case !returned[variable]:
			problems = append(problems, fmt.Sprintf("nothing returns %s (fault.%s): remove it, or return it where its sentence says", code, variable))
		case !tested && untested[code] == "":
			problems = append(problems, fmt.Sprintf("no test and no scenario shows %s (fault.%s): write the one that makes a user see it", code, variable))
		case tested && untested[code] != "":
			problems = append(problems, fmt.Sprintf("%s lists %s, but a test shows it: remove the line (go test ./internal/lint -prune)", untestedFile, code))
		}
	}
	for code := range untested {
		if names[code] == "" {
			problems = append(problems, fmt.Sprintf("%s names %s, which is no code", untestedFile, code))
		}
	}
	return problems
}

// testTexts returns the names of the files that are tests or cases of tests, sorted; those of this package do not count.
func testTexts(t *Tree) (names []string) {
	for name := range t.Texts {
		if strings.HasPrefix(name, "internal/lint/") {
			continue
		}
		ext := path.Ext(name)
		cases := strings.Contains("/"+name, "/testdata/") && (ext == ".txt" || ext == ".txtar" || ext == ".sql" || ext == ".yml" || ext == ".md")
		if strings.HasSuffix(name, "_test.go") || cases {
			names = append(names, name)
		}
	}
	sort.Strings(names)
	return names
}

// lines returns the lines of a file, without empty ones and comments (#).
func lines(t *Tree, name string) (out []string) {
	for line := range strings.SplitSeq(t.Texts[name], "\n") {
		line, _, _ = strings.Cut(line, "#")
		if line = strings.TrimSpace(line); line != "" {
			out = append(out, line)
		}
	}
	return out
}

// entries reads lines of a name and a reason.
func entries(t *Tree, name string, problems *[]string) map[string]string {
	out := map[string]string{}
	for _, line := range lines(t, name) {
		id, reason, _ := strings.Cut(line, " ")
		if reason = strings.TrimSpace(reason); reason == "" {
			*problems = append(*problems, fmt.Sprintf("%s gives no reason for %s", name, id))
			reason = "none"
		}
		if out[id] != "" {
			*problems = append(*problems, fmt.Sprintf("%s has %s twice", name, id))
		}
		out[id] = reason
	}
	return out
}
