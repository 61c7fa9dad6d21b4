package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"sluice/fault"
)

// documents are the pages that show commands.
func documents(t *testing.T) map[string]string {
	t.Helper()
	out := map[string]string{}
	for _, pattern := range []string{"*.md", "docs/*.md", "examples/*/README.md"} {
		paths, err := filepath.Glob(filepath.Join("..", "..", pattern))
		if err != nil || len(paths) == 0 {
			t.Fatalf("%s: %v", pattern, err)
		}
		for _, path := range paths {
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			out[path] = string(text)
		}
	}
	return out
}

// A command in a document has a verb that exists, flags that it takes and as many arguments as it wants.
func TestDocumentedCommandsExist(t *testing.T) {
	line := regexp.MustCompile(`(?m)(?:^|[\s/` + "`" + `])processor((?: +(?:"[^"\n]*"|'[^'\n]*'|[^\s` + "`" + `"'#|;&)>]+))+)`)
	word := regexp.MustCompile(`"[^"]*"|'[^']*'|\S+`)
	prose := regexp.MustCompile(`^[a-z-]+$`)
	seen := 0
	for path, text := range documents(t) {
		for _, found := range line.FindAllStringSubmatch(text, -1) {
			args := word.FindAllString(found[1], -1)
			for i := range args {
				args[i] = strings.Trim(args[i], `"'`)
			}
			a := &app{}
			c, rest, err := a.root().Find(args)
			if err != nil || !c.HasParent() {
				if prose.MatchString(args[0]) && !strings.Contains(text, "`processor "+args[0]) && !strings.Contains(text, "\nprocessor "+args[0]) {
					continue // the word in a sentence
				}
				t.Errorf("%s: %s: no such verb", path, strings.TrimSpace(found[0]))
				continue
			}
			seen++
			if slices.Contains(rest, "--help") {
				continue
			}
			if err := c.ParseFlags(rest); err != nil {
				t.Errorf("%s: %s: %v", path, strings.TrimSpace(found[0]), err)
				continue
			}
			if given := c.Flags().Args(); len(given) > 0 || strings.Contains(found[0], "\n") {
				if err := c.Args(c, given); err != nil {
					t.Errorf("%s: %s: %v", path, strings.TrimSpace(found[0]), err)
				}
			}
		}
	}
	if seen < 40 {
		t.Errorf("only %d commands were found", seen)
	}
}

// An error code in a document is one that exists.
func TestDocumentedCodesExist(t *testing.T) {
	exist := map[string]bool{}
	for _, c := range fault.Catalogue() {
		exist[c.Name] = true
	}
	seen := 0
	for path, text := range documents(t) {
		if !strings.HasSuffix(path, "operations.md") && !strings.HasSuffix(path, "guarantees.md") {
			continue
		}
		for _, name := range regexp.MustCompile(`\b(?:STORE|SINK|KAFKA|POSTGRES|EXEC|PIPELINE|QUERY|KEY|SEQUENCING|TABLE|COLUMN|TOPIC|LISTEN|INVALID|NO_LONGER|MALFORMED|EXPECTATION)_[A-Z_]+\b`).FindAllString(text, -1) {
			seen++
			if !exist[name] {
				t.Errorf("%s names %s, which is no code", path, name)
			}
		}
	}
	if seen < 20 {
		t.Errorf("only %d codes were found", seen)
	}
}

// The patterns of REPLACE WHERE in docs/sql.md are scenarios, all that docs name.
func TestDocumentedPatternsExist(t *testing.T) {
	text, err := os.ReadFile("../../docs/sql.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(text), "| pattern | file |")
	section, _, _ = strings.Cut(section, "\n\n")
	files := regexp.MustCompile("`([a-z_]+\\.txt)`").FindAllStringSubmatch(section, -1)
	for _, f := range files {
		if _, err := os.Stat(filepath.Join("../../internal/scenario/testdata/replace_where", f[1])); err != nil {
			t.Error(err)
		}
	}
	if len(files) < 8 {
		t.Errorf("only %d files are named", len(files))
	}
}
