package lint

import (
	"fmt"
	"strings"
)

const (
	architecture = "docs/architecture.md"
	dependencies = "docs/dependencies.md"
)

// Arrows checks the imports among our own packages against the table of docs/architecture.md, section 3. Tests may import
// what they like: arrows are about what is built.
func Arrows(t *Tree) (problems []string) {
	rows, err := t.table(architecture, "package")
	if err != nil {
		return []string{err.Error()}
	}
	type row struct{ names, may []string }
	var arrows []row
	for _, cells := range rows {
		arrows = append(arrows, row{list(cells[0]), list(cells[len(cells)-1])})
	}
	// The most exact row wins: source/kafka/client before source/*.
	find := func(pkg string) *row {
		var best *row
		length := -1
		for i := range arrows {
			for _, name := range arrows[i].names {
				if matches(name, pkg) && len(name) > length {
					best, length = &arrows[i], len(name)
				}
			}
		}
		return best
	}
	packages := t.Packages()
	for _, pkg := range packages {
		if find(pkg) == nil {
			problems = append(problems, fmt.Sprintf("package %s has no row in the table of %s: add one that says what it is for and what it may import", pkg, architecture))
		}
	}
	for _, r := range arrows {
		for _, name := range r.names {
			if !exists(packages, name) {
				problems = append(problems, fmt.Sprintf("the table of %s has a row for %s, which does not exist: remove it; a room gets its row with its first code", architecture, name))
			}
		}
		for _, name := range r.may {
			if name != "all" && !exists(packages, name) {
				problems = append(problems, fmt.Sprintf("the table of %s allows %s to import %s, which does not exist: remove that", architecture, strings.Join(r.names, ", "), name))
			}
		}
	}
	for _, f := range t.Go {
		r := find(f.Package)
		if f.Test || r == nil || anyMatches(r.may, "all") {
			continue
		}
		for _, path := range f.imports() {
			pkg, ours := strings.CutPrefix(path, module)
			if !ours || anyMatches(r.may, pkg) || strings.HasPrefix(pkg, f.Package+"/") && strings.Count(f.Package, "/") > 0 {
				continue // a connector may be split into packages below its own
			}
			problems = append(problems, fmt.Sprintf("%s imports %s, but %s may import %s only: pass what is needed in as a value or a function, declare a small interface in %s, or change the table of %s in the same commit and say why",
				f.Path, pkg, f.Package, strings.Join(r.may, ", "), f.Package, architecture))
		}
	}
	return problems
}

func exists(packages []string, pattern string) bool {
	for _, pkg := range packages {
		if matches(pattern, pkg) {
			return true
		}
	}
	return false
}

// Owners checks who imports which module against the table of docs/dependencies.md, and that table against go.mod.
func Owners(t *Tree) (problems []string) {
	rows, err := t.table(dependencies, "module")
	if err != nil {
		return []string{err.Error()}
	}
	type owner struct {
		module, version   string
		used, usedInTests []string
		seen              bool
	}
	var owners []*owner
	for _, cells := range rows {
		if len(cells) < 6 {
			problems = append(problems, fmt.Sprintf("%s: the row of %s has not its six cells: module, version, licence, used by, in tests by, why", dependencies, cells[0]))
			continue
		}
		owners = append(owners, &owner{module: cells[0], version: cells[1], used: list(cells[3]), usedInTests: list(cells[4])})
	}
	find := func(path string) (best *owner) {
		for _, o := range owners {
			if (path == o.module || strings.HasPrefix(path, o.module+"/")) && (best == nil || len(o.module) > len(best.module)) {
				best = o
			}
		}
		return best
	}
	for _, f := range t.Go {
		for _, path := range f.imports() {
			if first, _, _ := strings.Cut(path, "/"); !strings.Contains(first, ".") {
				continue // ours or the standard library
			}
			o := find(path)
			if o == nil {
				problems = append(problems, fmt.Sprintf("%s imports %s, which has no row in %s: can it be done without? If not, add the row with version, licence and reason", f.Path, path, dependencies))
				continue
			}
			o.seen = true
			if anyMatches(o.used, f.Package) || f.Test && anyMatches(o.usedInTests, f.Package) || f.Test && anyMatches(o.usedInTests, "all") {
				continue
			}
			problems = append(problems, fmt.Sprintf("%s imports %s, which belongs to %s: ask the owner for what is needed, or change the table of %s in the same commit and say why",
				f.Path, path, strings.Join(append(o.used, o.usedInTests...), ", "), dependencies))
		}
	}
	for _, o := range owners {
		if !o.seen {
			problems = append(problems, fmt.Sprintf("%s has a row for %s, which nothing imports: remove it", dependencies, o.module))
		}
		if !strings.Contains(t.Texts["go.mod"], "\t"+o.module+" "+o.version+"\n") && !strings.Contains(t.Texts["go.mod"], "\t"+o.module+" "+o.version+" //") {
			problems = append(problems, fmt.Sprintf("%s says %s %s, but go.mod does not: write the version of go.mod", dependencies, o.module, o.version))
		}
	}
	return problems
}
