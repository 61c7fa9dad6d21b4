package catalog_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"sluice/catalog"
	"sluice/catalog/catalogtest"
	"sluice/fault"
)

// environment is what ${env:...} and SLUICE_* see in tests.
func environment(name string) (string, bool) {
	value, ok := map[string]string{"TOKEN": "s3cret", "DIR": "/data", "TOPIC": "ticks"}[name]
	return value, ok
}

// spec makes the spec file of a test: a fixed head, and the arguments of its command as further lines.
func spec(t *testing.T, d *datadriven.TestData) *catalog.Spec {
	text := "name: p\nstorage: state\nlibraries:\n  - glob: {include: a.sql}\nconfiguration:\n  kafka.bootstrap.servers: b:9092\n  topic: ticks\n  token: ${env:TOKEN}\n"
	for _, arg := range d.CmdArgs {
		if len(arg.Vals) == 0 {
			text += arg.Key + ": true\n"
		} else {
			text += fmt.Sprintf("%s: [%s]\n", arg.Key, strings.Join(arg.Vals, ", "))
		}
	}
	s, problems := catalog.ParseSpec("pipeline.yml", text, catalog.Overrides{Env: environment})
	if len(problems) > 0 {
		t.Fatalf("%s: %v", d.Pos, problems)
	}
	return s
}

// TestCatalog runs the files of testdata/catalog. The command is
//
//	catalog [continuous] [features=(name)]
//
// with the text of a definition file; the result is the catalog, or every problem.
func TestCatalog(t *testing.T) {
	datadriven.Walk(t, "testdata/catalog", func(t *testing.T, path string) {
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			s := spec(t, d)
			statements, problems := s.Parse([]catalog.File{{Name: "a.sql", Text: d.Input}})
			c := catalog.Build(s, statements, len(problems) > 0, catalogtest.Connectors())
			if problems = append(problems, c.Problems...); len(problems) > 0 {
				return listed(problems)
			}
			return show(c)
		})
	})
}

func listed(problems fault.List) string {
	problems.Sort()
	return problems.Error() + "\n"
}
