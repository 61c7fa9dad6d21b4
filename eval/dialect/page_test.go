package dialect

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"sort"
	"strings"
	"testing"

	"sluice/batch"
	"sluice/fault"
	"sluice/syntax"
)

const page = "../../docs/sql.md"

// TestPage compares the functions of docs/sql.md with the allowlist, and writes them there with -rewrite.
func TestPage(t *testing.T) {
	content, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	const begin, end = "-rewrite -->\n", "<!-- end -->"
	head, rest, ok := strings.Cut(string(content), begin)
	body, tail, closed := strings.Cut(rest, end)
	if !ok || !closed {
		t.Fatalf("%s has no place for the functions", page)
	}
	if want := functionTables(); body != want && rewriting() {
		if err := os.WriteFile(page, []byte(head+begin+want+end+tail), 0o644); err != nil {
			t.Fatal(err)
		}
	} else if body != want {
		t.Errorf("%s does not list the functions as they are; run this test with -rewrite", page)
	}
}

func functionTables() string {
	var b strings.Builder
	for _, s := range catalogue {
		fmt.Fprintf(&b, "\n### %s\n\n| function | |\n|---|---|\n", s.title)
		for _, fn := range s.functions {
			names := strings.Fields(fn.name)
			line := fmt.Sprintf("`%s(%s)`", names[0], fn.args)
			if len(names) > 1 {
				line += ", also " + strings.Join(names[1:], ", ")
			}
			fmt.Fprintf(&b, "| %s | %s |\n", strings.ReplaceAll(line, "|", `\|`), fn.exact)
		}
	}
	var names []string
	for name := range refused {
		names = append(names, name)
	}
	sort.Strings(names)
	b.WriteString("\n### Refused by name\n\n| function | instead |\n|---|---|\n")
	for _, name := range names {
		fmt.Fprintf(&b, "| `%s` | %s |\n", name, refused[name])
	}
	return b.String() + "\n"
}

// The examples of the page's table of operators are taken, over the table that the page names.
func TestPageOperators(t *testing.T) {
	content, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(content), "\n## Operators\n")
	section, _, _ = strings.Cut(section, "\n## ")
	columns := regexp.MustCompile("`t \\((.*)\\)`").FindStringSubmatch(section)
	if columns == nil {
		t.Fatal("the page does not say what its examples are over")
	}
	examples := 0
	for line := range strings.SplitSeq(section, "\n") {
		cell := regexp.MustCompile("^\\| `(.*?)` \\|").FindStringSubmatch(line)
		if cell == nil {
			continue
		}
		examples++
		text := "SELECT " + strings.ReplaceAll(cell[1], `\|`, "|") + " FROM t"
		q, problems := syntax.ParseQuery("sql.md", text)
		if len(problems) == 0 {
			_, problems = Analyse(q, oneTable(fields(columns[1])), Options{})
		}
		if len(problems) > 0 {
			t.Errorf("%s: %v", text, problems)
		}
	}
	if examples < 30 {
		t.Errorf("only %d examples were found", examples)
	}
}

type oneTable []batch.Field

func (o oneTable) Relation(syntax.TableRef) (*Relation, *fault.Error) {
	return &Relation{Name: "t", Handle: "t", Fields: o}, nil
}

// Every function says what it takes and how exact it is, and no name stands twice or is refused as well.
func TestAllowlist(t *testing.T) {
	seen := map[string]bool{}
	for _, s := range catalogue {
		for _, fn := range s.functions {
			if fn.exact == "" || fn.bind == nil || fn.max >= 0 && fn.max < fn.min || (fn.args == "") != (fn.max == 0) {
				t.Errorf("%s is not described", fn.name)
			}
			for _, name := range strings.Fields(fn.name) {
				if seen[name] || refused[name] != "" {
					t.Errorf("%s stands twice", name)
				}
				seen[name] = true
			}
		}
	}
}

// D-19: a function without a golden is not supported. Those that give the time or chance have none.
func TestEveryFunctionHasAGolden(t *testing.T) {
	var all strings.Builder
	files, _ := filepath.Glob("testdata/spark/*.txt")
	for _, path := range files {
		content, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		all.Write(content)
	}
	called := map[string]bool{}
	for _, call := range regexp.MustCompile(`\w+\(`).FindAllString(strings.ToLower(all.String()), -1) {
		called[strings.TrimSuffix(call, "(")] = true
	}
	for name, fn := range functions {
		if fn.kind == clock || name == "rand" || name == "random" || name == "uuid" {
			continue
		}
		if !called[name] {
			t.Errorf("%s has no golden", name)
		}
	}
}
