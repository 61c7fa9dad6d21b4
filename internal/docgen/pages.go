package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"sluice/catalog"
	"sluice/fault"
	"sluice/option"
)

// tables are the generated tables by name.
var tables = map[string]func(root string) (string, error){
	"errors":   func(string) (string, error) { return errorTables(fault.Catalogue()), nil },
	"metrics":  metricTable,
	"settings": func(string) (string, error) { return settingTable(catalog.Settings), nil },
}

const (
	begin = "<!-- generated: "
	end   = "<!-- end generated -->"
)

// pages returns every page of docs with its tables filled in. A table that no page shows is an error.
func pages(root string) ([]file, error) {
	names, err := filepath.Glob(filepath.Join(root, "docs", "*.md"))
	if err != nil {
		return nil, err
	}
	var out []file
	shown := map[string]bool{}
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			return nil, err
		}
		filled, err := fill(string(text), func(table string) (string, error) {
			shown[table] = true
			make := tables[table]
			if make == nil {
				return "", fmt.Errorf("there is no table %q", table)
			}
			return make(root)
		})
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		out = append(out, file{"docs/" + filepath.Base(name), filled})
	}
	for table := range tables {
		if !shown[table] {
			return nil, fmt.Errorf("no page shows the table %q", table)
		}
	}
	return out, nil
}

// fill replaces what stands between the marks.
func fill(text string, table func(name string) (string, error)) (string, error) {
	var out strings.Builder
	for {
		before, rest, found := strings.Cut(text, begin)
		out.WriteString(before)
		if !found {
			return out.String(), nil
		}
		name, rest, closed := strings.Cut(rest, " -->\n")
		_, after, ended := strings.Cut(rest, end)
		if !closed || !ended {
			return "", fmt.Errorf("the table %q has no end", strings.SplitN(name, "\n", 2)[0])
		}
		content, err := table(name)
		if err != nil {
			return "", err
		}
		fmt.Fprintf(&out, "%s%s -->\n%s%s", begin, name, content, end)
		text = after
	}
}

// errorTables is one table of codes per class.
func errorTables(codes []*fault.Code) string {
	var out strings.Builder
	for _, class := range []struct {
		class fault.Class
		title string
	}{
		{fault.User, "A definition or a command is wrong (user)"},
		{fault.Data, "A record is wrong (data)"},
		{fault.External, "Something outside does not do its part (external)"},
		{fault.Internal, "Sluice is wrong (internal)"},
	} {
		fmt.Fprintf(&out, "### %s\n\n| code | when | tried again |\n|---|---|---|\n", class.title)
		for _, c := range codes {
			if c.Class == class.class {
				fmt.Fprintf(&out, "| `%s` | %s | %s |\n", c.Name, cell(c.When), c.Retry)
			}
		}
		out.WriteString("\n")
	}
	return out.String()
}

// metricTable is the manifest that the tests of metrics check.
func metricTable(root string) (string, error) {
	manifest, err := os.ReadFile(filepath.Join(root, "metrics", "testdata", "manifest.txt"))
	if err != nil {
		return "", err
	}
	var out strings.Builder
	out.WriteString("| name | type | labels | meaning |\n|---|---|---|---|\n")
	for line := range strings.Lines(string(manifest)) {
		parts := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		if len(parts) != 4 {
			return "", fmt.Errorf("manifest: %q has not four parts", line)
		}
		labels := strings.Split(parts[2], ",")
		slices.Sort(labels)
		fmt.Fprintf(&out, "| `%s` | %s | %s | %s |\n", parts[0], parts[1], strings.Join(labels, ", "), cell(parts[3]))
	}
	return out.String(), nil
}

// ruleID is how a doc sentence names the rule it follows; that is for those who read the code.
var ruleID = regexp.MustCompile(` \([A-Z]{1,2}-O?\d+\)`)

// settingTable lists the keys of configuration that Sluice reads.
func settingTable(settings option.Set) string {
	var out strings.Builder
	out.WriteString("| setting | environment | default | meaning |\n|---|---|---|---|\n")
	for _, s := range settings {
		env, preset := "", "none"
		if name := catalog.EnvName(s.Name); name != "" {
			env = "`" + name + "`"
		}
		if s.Default != "" {
			preset = "`" + s.Default + "`"
		}
		meaning := ruleID.ReplaceAllString(s.Doc, "")
		if len(s.Values) > 0 {
			meaning += " One of " + strings.Join(s.Values, ", ") + "."
		}
		fmt.Fprintf(&out, "| `%s` | %s | %s | %s |\n", s.Name, env, preset, cell(meaning))
	}
	return out.String()
}

// cell is text as it may stand in a table.
func cell(text string) string { return strings.ReplaceAll(text, "|", "\\|") }
