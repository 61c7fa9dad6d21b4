package catalog_test

import (
	"fmt"
	"strings"
	"testing"

	"sluice/catalog"
	"sluice/syntax"
)

// show prints a catalog: tables and sinks with what matters here, flows in their order with what they read and wait for.
func show(c *catalog.Catalog) string {
	var b strings.Builder
	for _, t := range c.Tables {
		fmt.Fprintf(&b, "table %s", t.Name)
		if t.Keyed() {
			fmt.Fprintf(&b, " keyed by (%s)", strings.Join(t.Keys(), ", "))
		}
		if !t.ResetAllowed {
			b.WriteString(" no reset")
		}
		if t.Retention != "forever" {
			fmt.Fprintf(&b, " retention %s", t.Retention)
		}
		for i, f := range t.Columns {
			sep := ":"
			if i > 0 {
				sep = ","
			}
			fmt.Fprintf(&b, "%s %s %s", sep, f.Name, f.Type)
		}
		b.WriteString("\n")
	}
	for _, s := range c.Sinks {
		fmt.Fprintf(&b, "sink %s %s\n", s.Name, s.Format)
	}
	for _, f := range c.Flows {
		fmt.Fprintf(&b, "flow %s", f.Name)
		if f.Body.Once {
			b.WriteString(" once")
		}
		if f.Body.Kind != syntax.Insert {
			fmt.Fprintf(&b, " %s", f.Body.Kind)
		}
		fmt.Fprintf(&b, " into %s", f.Target())
		for _, r := range f.Reads {
			b.WriteString("\n  reads")
			if r.Stream {
				b.WriteString(" stream")
			}
			if r.Feed {
				b.WriteString(" changes of")
			}
			fmt.Fprintf(&b, " %s", r.Title())
			if r.Function != nil {
				fmt.Fprintf(&b, " %s %s", r.Function.Source, r.Format)
				for _, o := range r.Options.All() {
					fmt.Fprintf(&b, " %s=%s", o.Name, o.Value)
				}
			}
			if r == f.Input {
				b.WriteString(" (input)")
			}
		}
		for _, d := range f.DependsOn {
			fmt.Fprintf(&b, "\n  depends on %s", d.Name)
		}
		b.WriteString("\n")
	}
	return b.String()
}

func flowQuery(t *testing.T, s syntax.Statement) *syntax.Query {
	c, ok := s.(*syntax.CreateTable)
	if !ok || c.Flow == nil {
		t.Fatalf("%T has no flow", s)
	}
	return c.Flow.Query
}
