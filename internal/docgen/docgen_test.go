package main

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sluice/fault"
)

// TestCurrent fails when a generated table or NOTICES is not what the code says.
func TestCurrent(t *testing.T) {
	stale, err := run("../..", true)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range stale {
		t.Errorf("%s is out of date: run make generate", name)
	}
}

// A file that is out of date is found, written, and then current; what people wrote around the table stays.
func TestRunWrites(t *testing.T) {
	root := t.TempDir()
	for name, text := range map[string]string{
		"docs/errors.md":                "# Errors\n\n<!-- generated: errors -->\nold\n<!-- end generated -->\n\nMore.\n",
		"docs/metrics.md":               "<!-- generated: metrics -->\n<!-- end generated -->",
		"docs/operations.md":            "<!-- generated: settings -->\n<!-- end generated -->",
		"metrics/testdata/manifest.txt": "sluice_x\tgauge\tflow,a\tA or b | c.\n",
		"go.mod":                        "module x\n\ngo 1.26\n",
		"cmd/processor/main.go":         "package main\n\nfunc main() {}\n",
	} {
		os.MkdirAll(filepath.Dir(filepath.Join(root, name)), 0o755)
		if err := os.WriteFile(filepath.Join(root, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for i, x := range []struct {
		check bool
		want  string
	}{{true, "docs/errors.md docs/metrics.md docs/operations.md NOTICES"}, {false, "docs/errors.md docs/metrics.md docs/operations.md NOTICES"}, {true, ""}} {
		stale, err := run(root, x.check)
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(stale, " "); got != x.want {
			t.Errorf("run %d: %q is out of date, want %q", i, got, x.want)
		}
	}
	for name, parts := range map[string][]string{
		"docs/errors.md":     {"# Errors\n\n<!-- generated: errors -->\n###", "| `INTERNAL_ERROR` |", "<!-- end generated -->\n\nMore.\n"},
		"docs/metrics.md":    {"| `sluice_x` | gauge | a, flow | A or b \\| c. |"},
		"docs/operations.md": {"| `sluice.listen` | `SLUICE_LISTEN` | `127.0.0.1:7070` |", "One of text, json."},
		"NOTICES":            {"the Go standard library", "Redistribution and use"},
	} {
		text, err := os.ReadFile(filepath.Join(root, name))
		if err != nil {
			t.Fatal(err)
		}
		for _, part := range parts {
			if !strings.Contains(string(text), part) {
				t.Errorf("%s has no %q:\n%s", name, part, text)
			}
		}
		if strings.Contains(string(text), "old") && name == "docs/errors.md" && strings.Contains(string(text), "\nold\n") {
			t.Errorf("%s still has its old table", name)
		}
	}
}

func TestFillRefuses(t *testing.T) {
	broken := errors.New("broken")
	for text, want := range map[string]string{
		"<!-- generated: errors -->\n|":                               `the table "errors" has no end`,
		"<!-- generated: errors\n<!-- end generated -->":              `the table "errors" has no end`,
		"<!-- generated: nothing -->\nx<!-- end generated --> and on": "broken",
	} {
		if _, err := fill(text, func(string) (string, error) { return "", broken }); err == nil || err.Error() != want {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
}

// Every code has a sentence that can stand in the page.
func TestSentences(t *testing.T) {
	for _, c := range fault.Catalogue() {
		if !strings.HasSuffix(c.When, ".") || strings.Contains(c.When, "\n") {
			t.Errorf("%s: %q is not one sentence with its full stop", c.Name, c.When)
		}
	}
}
