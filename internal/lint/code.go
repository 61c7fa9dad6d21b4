package lint

import (
	"fmt"
	"go/ast"
	"path"
	"slices"
	"strings"
)

// starters are the places that may start goroutines, each of which waits for those it started (docs/architecture.md,
// section 6). A place is a package, folder/* or a file.
var starters = []string{
	"schedule",      // one per running flow
	"flow/run.go",   // one that reads ahead
	"eval",          // its workers
	"state",         // one that syncs, one for background work
	"admin",         // the one that accepts
	"cmd/processor", // signals, progress
	"source/*",      // the inside of connectors
	"sink/*",
	"internal/*", // tests
}

// Goroutines checks that only starters start goroutines: by a go statement, or by a method called Go.
func Goroutines(t *Tree) (problems []string) {
	for _, f := range t.Go {
		if f.Test || anyMatches(starters, f.Package) || slices.Contains(starters, f.Path) {
			continue
		}
		ast.Inspect(f.AST, func(n ast.Node) bool {
			starts := false
			switch n := n.(type) {
			case *ast.GoStmt:
				starts = true
			case *ast.CallExpr:
				s, ok := n.Fun.(*ast.SelectorExpr)
				starts = ok && s.Sel.Name == "Go" && len(n.Args) == 1
			}
			if starts {
				problems = append(problems, fmt.Sprintf("%s starts a goroutine, which %s may not: be a plain call and let schedule run you, or add the place to starters in internal/lint and to section 6 of %s", t.at(n.Pos()), f.Package, architecture))
			}
			return true
		})
	}
	return problems
}

// pure are the packages whose functions take values and return values.
var pure = []string{"batch", "digest", "expect", "replaceusing", "replacewhere", "autocdc", "syntax", "eval/dialect", "timetable", "timetable/cron"}

// Purity checks that pure packages have no goroutine, lock, clock, disk, network or log.
func Purity(t *Tree) (problems []string) {
	for _, f := range t.Go {
		if f.Test || !slices.Contains(pure, f.Package) {
			continue
		}
		for _, p := range f.imports() {
			switch first, _, _ := strings.Cut(p, "/"); first {
			case "os", "net", "io", "sync", "context", "log", "database", "syscall":
				if p != "io" {
					problems = append(problems, fmt.Sprintf("%s imports %s, but %s is pure: take what it would give as an argument", f.Path, p, f.Package))
				}
			}
		}
		ast.Inspect(f.AST, func(n ast.Node) bool {
			s, ok := n.(*ast.SelectorExpr)
			if !ok {
				return true
			}
			if x, ok := s.X.(*ast.Ident); ok && x.Name == "time" && slices.Contains([]string{"Now", "Since", "Until", "Sleep", "After", "Tick", "NewTimer", "NewTicker"}, s.Sel.Name) {
				problems = append(problems, fmt.Sprintf("%s asks the clock, but %s is pure: take the time as an argument", t.at(n.Pos()), f.Package))
			}
			return true
		})
	}
	return problems
}

// Names checks names and descriptions of packages.
func Names(t *Tree) (problems []string) {
	comments := map[string][]string{}
	for _, f := range t.Go {
		if !f.Test && f.AST.Doc != nil {
			comments[f.Package] = append(comments[f.Package], f.Path)
		}
	}
	for _, pkg := range t.Packages() {
		switch strings.TrimSuffix(path.Base(pkg), "s") {
		case "util", "common", "helper", "base", "manager", "type", "misc", "shared":
			problems = append(problems, fmt.Sprintf("package %s is named after nothing: name it after what it knows, or move its parts to who uses them", pkg))
		}
		if n := len(comments[pkg]); n != 1 {
			problems = append(problems, fmt.Sprintf("package %s has %d package comments (%s), want one: what it is for, what it promises, what it does not", pkg, n, strings.Join(comments[pkg], ", ")))
		}
	}
	return problems
}

// maxLines is where a file stops fitting in a reader's head.
const maxLines = 700

// Files checks the size of files, and that nothing is left to be done in a comment.
func Files(t *Tree) (problems []string) {
	for _, f := range t.Go {
		if lines := strings.Count(f.Text, "\n"); !f.Test && lines > maxLines {
			problems = append(problems, fmt.Sprintf("%s has %d lines: a file is about one thing and has at most %d", f.Path, lines, maxLines))
		}
		for _, group := range f.AST.Comments {
			for _, c := range group.List {
				for _, word := range []string{"TO" + "DO", "FIX" + "ME"} {
					if strings.Contains(c.Text, word) {
						problems = append(problems, fmt.Sprintf("%s leaves something to be done (%s): do it, or say in words what is not promised", t.at(c.Pos()), word))
					}
				}
			}
		}
	}
	return problems
}

// workplace are words that only make sense on the machine where a change was made.
var workplace = []string{"/wo" + "rk/", "../sha" + "red/", "sha" + "red/spec", "sha" + "red/design", "/tmp/br" + "ief"}

// Words checks that no file names the place it was written at.
func Words(t *Tree) (problems []string) {
	for name, text := range t.Texts {
		for _, word := range workplace {
			if i := strings.Index(text, word); i >= 0 {
				problems = append(problems, fmt.Sprintf("%s:%d names %q, which means nothing elsewhere: name a file of this repository, or say what it says", name, 1+strings.Count(text[:i], "\n"), word))
			}
		}
	}
	return problems
}

// duckdbTests are the packages whose tests may link DuckDB: each costs 5 to 9 seconds of linking.
var duckdbTests = []string{"eval", "flow", "trial", "cmd/processor", "internal/scenario", "internal/proof", "internal/bench"}

// Links checks that no other package's test binary links DuckDB.
func Links(t *Tree) (problems []string) {
	imports := map[string][]string{} // of what is built, by package
	tests := map[string][]string{}
	for _, f := range t.Go {
		for _, p := range f.imports() {
			if pkg, ours := strings.CutPrefix(p, module); ours {
				tests[f.Package] = append(tests[f.Package], pkg)
				if !f.Test {
					imports[f.Package] = append(imports[f.Package], pkg)
				}
			}
		}
	}
	hasTests := map[string]bool{}
	for _, f := range t.Go {
		hasTests[f.Package] = hasTests[f.Package] || f.Test
	}
	for pkg := range hasTests {
		if !hasTests[pkg] || slices.Contains(duckdbTests, pkg) {
			continue
		}
		seen := map[string]bool{}
		todo := slices.Clone(tests[pkg])
		for len(todo) > 0 {
			next := todo[len(todo)-1]
			todo = todo[:len(todo)-1]
			if !seen[next] {
				seen[next] = true
				todo = append(todo, imports[next]...)
			}
		}
		if seen["eval"] {
			problems = append(problems, fmt.Sprintf("the tests of %s link DuckDB, which costs seconds in every build: test against values, or move the test to one of %s", pkg, strings.Join(duckdbTests, ", ")))
		}
	}
	return problems
}
