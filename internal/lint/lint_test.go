package lint

import (
	"fmt"
	"strings"
	"testing"
	"testing/fstest"
)

var checks = map[string]func(*Tree) []string{
	"arrows": Arrows, "owners": Owners, "goroutines": Goroutines, "purity": Purity, "names": Names, "files": Files,
	"words": Words, "links": Links, "rules": Rules, "codes": Codes, "promises": Promises,
}

// house is a tree without a problem, a map from path to text; each case of TestChecks changes some of its files.
func house() map[string]string {
	return map[string]string{
		"go.mod":                             "module sluice\n\nrequire (\n\texample.org/store v1.2.3\n)\n",
		"docs/architecture.md":               "| package | in one sentence | may import (of ours) |\n|---|---|---|\n| `fault`, batch | leaves | nothing |\n| state | the store | batch, fault |\n| source/* | inputs | batch |\n| eval | SQL | batch |\n\nMore.\n",
		"docs/dependencies.md":               "| module | version | licence | used by | in tests by | why |\n|---|---|---|---|---|---|\n| example.org/store | v1.2.3 | MIT | state | batch | it stores |\n",
		"docs/guarantees.md":                 "Kept: `TestRU_02` (batch, state), see `a/b.txt`.\n",
		"internal/scenario/testdata/a/b.txt": "run\n",
		"fault/fault.go":                     "// Package fault is about errors.\npackage fault\n\nvar Broken = define(\"BROKEN\")\n",
		"batch/batch.go":                     "// Package batch is about columns.\npackage batch\n",
		"eval/eval.go":                       "// Package eval runs SQL.\npackage eval\n\nimport \"sluice/batch\"\n",
		"state/state.go":                     "// Package state keeps.\npackage state\n\nimport (\n\t\"example.org/store/part\"\n\t\"sluice/fault\"\n)\n\nfunc f() { go g(fault.Broken) }\n",
		"state/state_test.go":                "package state\n\n// RU-01, RU-2b.\nfunc TestRU_02() { fault.Broken() }\n",
		"source/kafka/kafka.go":              "// Package kafka reads.\npackage kafka\n\nimport \"sluice/source/kafka/client\"\n",
		"source/kafka/client/client.go":      "// Package client connects.\npackage client\n",
		"internal/lint/rules.txt":            "RU-01..RU-03\nRU-2b # one more\n",
		"internal/lint/rules_elsewhere.txt":  "RU-03 Python only\n",
		"batch/testdata/cases.txt":           "RU-02\n",
	}
}

// TestChecks shows each check a tree that breaks it.
func TestChecks(t *testing.T) {
	for _, c := range []struct {
		check  string
		change map[string]string // path to text; "" removes the file; "+x" appends x
		want   string            // part of the only problem; "" for none
	}{
		{"arrows", nil, ""},
		{"arrows", map[string]string{"eval/x.go": "package eval\n\nimport \"sluice/state\"\n"}, "eval/x.go imports state, but eval may import batch only"},
		{"arrows", map[string]string{"eval/x_test.go": "package eval\n\nimport \"sluice/state\"\n"}, ""},
		{"arrows", map[string]string{"source/kafka/x.go": "package kafka\n\nimport \"sluice/state\"\n"}, "source/kafka/x.go imports state"},
		{"arrows", map[string]string{"sink/sink.go": "package sink\n"}, "package sink has no row"},
		{"arrows", map[string]string{"eval/eval.go": ""}, "has a row for eval, which does not exist"},
		{"arrows", map[string]string{"docs/architecture.md": "+"}, ""},
		{"arrows", map[string]string{"docs/architecture.md": "nothing here"}, "no table"},
		{"owners", nil, ""},
		{"owners", map[string]string{"eval/x.go": "package eval\n\nimport \"example.org/store\"\n"}, "eval/x.go imports example.org/store, which belongs to state"},
		{"owners", map[string]string{"batch/x_test.go": "package batch\n\nimport \"example.org/store\"\n"}, ""},
		{"owners", map[string]string{"batch/x.go": "package batch\n\nimport \"example.org/store\"\n"}, "batch/x.go imports"},
		{"owners", map[string]string{"state/x.go": "package state\n\nimport \"example.org/storage\"\n"}, "example.org/storage, which has no row"},
		{"owners", map[string]string{"state/state.go": "// Package state keeps.\npackage state\n"}, "which nothing imports"},
		{"owners", map[string]string{"go.mod": "module sluice\n\nrequire (\n\texample.org/store v1.2.4\n)\n"}, "go.mod does not"},
		{"goroutines", nil, ""},
		{"goroutines", map[string]string{"batch/x.go": "package batch\n\nfunc f() { go g() }\n"}, "batch/x.go:3 starts a goroutine"},
		{"goroutines", map[string]string{"batch/x.go": "package batch\n\nfunc f() { group.Go(g) }\n"}, "batch/x.go:3 starts a goroutine"},
		{"goroutines", map[string]string{"batch/x_test.go": "package batch\n\nfunc f() { go g() }\n"}, ""},
		{"promises", nil, ""},
		{"promises", map[string]string{"docs/guarantees.md": ""}, "names no test"},
		{"promises", map[string]string{"docs/guarantees.md": "+It is (TestRU_03).\n"}, "names TestRU_03, which is no test"},
		{"promises", map[string]string{"docs/guarantees.md": "`TestRU_02` (batch)\n"}, "looks for TestRU_02 in batch, but it is in state"},
		{"promises", map[string]string{"internal/scenario/testdata/a/b.txt": ""}, "names the scenario a/b.txt"},
		{"purity", nil, ""},
		{"purity", map[string]string{"batch/x.go": "package batch\n\nimport \"os\"\n"}, "batch/x.go imports os"},
		{"purity", map[string]string{"batch/x.go": "package batch\n\nimport \"sync/atomic\"\n"}, "imports sync/atomic"},
		{"purity", map[string]string{"batch/x.go": "package batch\n\nvar x = time.Now()\n"}, "batch/x.go:3 asks the clock"},
		{"purity", map[string]string{"batch/x.go": "package batch\n\nvar x = time.UnixMicro(3)\n"}, ""},
		{"names", nil, ""},
		{"names", map[string]string{"state/utils/x.go": "// Package utils is about nothing.\npackage utils\n"}, "state/utils is named after nothing"},
		{"names", map[string]string{"state/x.go": "// Package state again.\npackage state\n"}, "state has 2 package comments"},
		{"names", map[string]string{"batch/batch.go": "package batch\n"}, "batch has 0 package comments"},
		{"names", map[string]string{"batch/x_test.go": "// Package batch in a test.\npackage batch\n"}, ""},
		{"files", nil, ""},
		{"files", map[string]string{"batch/x.go": "package batch\n" + strings.Repeat("\n", maxLines)}, "batch/x.go has 701 lines"},
		{"files", map[string]string{"batch/x.go": "package batch\n\n// TO" + "DO: more\n"}, "batch/x.go:3 leaves something"},
		{"files", map[string]string{"batch/x.go": "package batch\n\nvar x = \"TO" + "DO\"\n"}, ""},
		{"words", nil, ""},
		{"words", map[string]string{"README.md": "one\nsee /wo" + "rk/main\n"}, "README.md:2 names"},
		{"links", nil, ""},
		{"links", map[string]string{"state/x.go": "package state\n\nimport \"sluice/eval\"\n"}, "the tests of state link DuckDB"},
		{"links", map[string]string{"batch/x_test.go": "package batch\n\nimport \"sluice/eval\"\n"}, "the tests of batch link DuckDB"},
		{"links", map[string]string{"eval/x_test.go": "package eval\n\nimport \"sluice/eval\"\n"}, ""},
		{"rules", nil, ""},
		{"rules", map[string]string{"batch/testdata/cases.txt": ""}, "rule RU-02 is carried by no test"},
		{"rules", map[string]string{"batch/testdata/cases.txt": "RU-02 RU-03\n"}, "internal/lint/rules_elsewhere.txt lists RU-03, but batch/testdata/cases.txt carries it"},
		{"rules", map[string]string{"batch/testdata/cases.txt": "RU-02 RU-04\n"}, "batch/testdata/cases.txt names RU-04"},
		{"rules", map[string]string{"internal/lint/rules_elsewhere.txt": "+DO-01 no\n"}, "names DO-01, which is no rule"},
		{"rules", map[string]string{"internal/lint/rules_elsewhere.txt": "RU-03\n"}, "gives no reason for RU-03"},
		{"rules", map[string]string{"internal/lint/rules.txt": "RU-03..DO-01\n"}, "no range"},
		{"codes", nil, ""},
		{"codes", map[string]string{"state/state_test.go": "package state\n"}, "no test and no scenario shows BROKEN"},
		{"codes", map[string]string{"state/state_test.go": "package state\n", "batch/testdata/cases.txt": "a.sql:1:2: BROKEN: oh\n"}, ""},
		{"codes", map[string]string{"state/state_test.go": "package state\n", "batch/testdata/cases.txt": "UNBROKEN BROKEN_DOWN\n"}, "no test and no scenario shows BROKEN"},
		{"codes", map[string]string{"state/state_test.go": "package state\n", "internal/lint/codes_untested.txt": "BROKEN needs a broken disk\n"}, ""},
		{"codes", map[string]string{"internal/lint/codes_untested.txt": "BROKEN needs a broken disk\n"}, "but a test shows it"},
		{"codes", map[string]string{"internal/lint/codes_untested.txt": "WHOLE nothing\n"}, "WHOLE, which is no code"},
		{"codes", map[string]string{"fault/codes_x.go": "package fault\n\nvar Lost = define(\"LOST\")\n"}, "nothing returns LOST"},
	} {
		files := house()
		for name, text := range c.change {
			if more, ok := strings.CutPrefix(text, "+"); ok {
				text = files[name] + more
			}
			files[name] = text
		}
		root := fstest.MapFS{}
		for name, text := range files {
			if text != "" {
				root[name] = &fstest.MapFile{Data: []byte(text)}
			}
		}
		tree, err := Load(root)
		if err != nil {
			t.Fatal(err)
		}
		got := checks[c.check](tree)
		if c.want == "" && len(got) > 0 || c.want != "" && (len(got) != 1 || !strings.Contains(got[0], c.want)) {
			t.Errorf("%s with %s:\ngot  %s\nwant %s", c.check, fmt.Sprint(c.change), strings.Join(got, "\n     "), c.want)
		}
	}
}

// Build output, other people's folders and bytes that are no text are not read.
func TestLoadSkips(t *testing.T) {
	tree, err := Load(fstest.MapFS{
		"bin/x.go":            {Data: []byte("no Go at all")},
		".git/x.go":           {Data: []byte("no Go at all")},
		"batch/testdata/x.go": {Data: []byte("no Go at all")},
		"batch/x.bin":         {Data: []byte{0xff, 0xfe}},
		"batch/x.go":          {Data: []byte("package batch\n")},
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(tree.Go) != 1 || len(tree.Texts) != 2 {
		t.Errorf("read %d Go files and %d texts, want 1 and 2", len(tree.Go), len(tree.Texts))
	}
}
