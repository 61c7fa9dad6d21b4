package dialect

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sluice/fault"
	"sluice/syntax"
)

// rewriting reports whether -rewrite was given, a flag that datadriven defines: write the files in testdata anew.
func rewriting() bool { return flag.Lookup("rewrite").Value.String() == "true" }

// golden is a block of testdata/spark/*.txt: a query, and what Spark makes of it (golden.py says how to read it).
type golden struct {
	query   string
	types   string
	invalid string // error of analysis
	failure string // error of evaluation
	refused string // code with which this package refuses a query of Spark's
	lines   []string
}

func readGoldens(t *testing.T, path string) (zone string, blocks []golden) {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	zone = "UTC"
	for block := range strings.SplitSeq(strings.Trim(string(content), "\n"), "\n\n") {
		lines := strings.Split(block, "\n")
		if z, ok := strings.CutPrefix(lines[0], "# zone: "); ok {
			zone = z
			continue
		}
		g := golden{query: lines[0], lines: lines}
		for _, line := range lines[1:] {
			mark, rest, _ := strings.Cut(line, " ")
			switch mark {
			case ":":
				g.types = rest
			case "!!":
				g.invalid = rest
			case "!":
				g.failure = rest
			case "refused":
				g.refused = rest
			}
		}
		blocks = append(blocks, g)
	}
	return zone, blocks
}

// D-19, D-47: a query of Spark's has Spark's types, a query that Spark does not take is refused for the same reason, and what this
// package refuses although Spark takes it stands in the file. eval's tests compare the values.
func TestSpark(t *testing.T) {
	files, _ := filepath.Glob("testdata/spark/*.txt")
	if len(files) == 0 {
		t.Fatal("no goldens")
	}
	for _, path := range files {
		t.Run(filepath.Base(path), func(t *testing.T) {
			zone, blocks := readGoldens(t, path)
			var out []string
			for _, g := range blocks {
				lines := g.check(t, zone)
				out = append(out, strings.Join(lines, "\n"))
			}
			if rewriting() {
				if zone != "UTC" {
					out = append([]string{"# zone: " + zone}, out...)
				}
				if err := os.WriteFile(path, []byte(strings.Join(out, "\n\n")+"\n"), 0o644); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

// check compares, and returns the block as it should stand in the file.
func (g golden) check(t *testing.T, zone string) []string {
	t.Helper()
	lines := g.lines[:0:0]
	for _, line := range g.lines {
		if !strings.HasPrefix(line, "refused ") {
			lines = append(lines, line)
		}
	}
	types, code := analysed(g.query, zone)
	want := g.refused
	if rewriting() {
		want = ""
	}
	switch {
	case code == "" && want != "":
		t.Errorf("%s\n is not refused any more", g.query)
	case code == "" && g.invalid != "":
		t.Errorf("%s\n is taken; Spark says %s", g.query, g.invalid)
	case code == "" && types != g.types:
		t.Errorf("%s\n has types %s; Spark says %s", g.query, types, g.types)
	case code == "" || family(code) == family(g.invalid) || family(code) == family(g.failure):
		// as Spark
	case rewriting():
		lines = append(lines, "refused "+code)
	case code != want:
		t.Errorf("%s\n is refused as %s, not %q", g.query, code, want)
	}
	return lines
}

// family is a code without what stands behind its first dot: Spark's finer codes are not all kept apart here.
func family(code string) string {
	f, _, _ := strings.Cut(code, ".")
	if f == "" {
		return "none"
	}
	return f
}

func analysed(query, zone string) (types, code string) {
	q, problems := syntax.ParseQuery("q.sql", query)
	if len(problems) > 0 {
		return "", problems[0].Code.Name
	}
	a, problems := Analyse(q, noTables{}, Options{Zone: zone})
	if len(problems) > 0 {
		return "", problems[0].Code.Name
	}
	var p Projection
	var names []string
	for i, f := range a.Output {
		p.Columns = append(p.Columns, Target{Field: f, From: i})
		names = append(names, f.Type.String())
	}
	if _, problems := a.Compile(p); len(problems) > 0 {
		return "", problems[0].Code.Name
	}
	return strings.Join(names, ", "), ""
}

// noTables is a scope without tables.
type noTables struct{}

func (noTables) Relation(ref syntax.TableRef) (*Relation, *fault.Error) {
	return nil, fault.New(fault.TableNotFound, "there are no tables").At(ref.Position())
}
