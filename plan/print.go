package plan

import (
	"fmt"
	"path/filepath"
	"strings"

	"sluice/batch"
	"sluice/catalog"
)

// String prints the plan for people and for tests. It has no secret, no absolute path and no generated SQL.
func (p *Pipeline) String() string {
	var b strings.Builder
	mode := "triggered"
	if p.Continuous {
		mode = "continuous"
	}
	fmt.Fprintf(&b, "pipeline %s: %s, zone %s, storage %s", p.Name, mode, p.Zone, p.relative(p.Storage))
	if len(p.Features) > 0 {
		fmt.Fprintf(&b, ", features %s", strings.Join(p.Features, ", "))
	}
	b.WriteString("\n")
	for _, t := range p.Tables {
		t.print(&b)
	}
	for _, s := range p.Sinks {
		s.print(&b)
	}
	for _, f := range p.Flows {
		f.print(&b)
	}
	for _, w := range p.Warnings {
		fmt.Fprintf(&b, "warning %s: %s\n", w.Pos, w.Text)
	}
	return b.String()
}

func (p *Pipeline) relative(path string) string {
	if rel, err := filepath.Rel(p.Dir, path); err == nil && !strings.HasPrefix(rel, "..") {
		return rel
	}
	return path
}

func (t *Table) print(b *strings.Builder) {
	fmt.Fprintf(b, "table %s", t.Name)
	switch {
	case t.Replaced:
		b.WriteString(": replaced where a predicate holds")
	case t.Keys == nil:
		b.WriteString(": append")
	default:
		keys := make([]string, len(t.Keys))
		for i, k := range t.Keys {
			keys[i] = t.Fields[k].Name
		}
		fmt.Fprintf(b, ": keyed by (%s), sequence %s", strings.Join(keys, ", "), t.Sequence)
	}
	if t.Feed {
		b.WriteString(", change feed")
	}
	if !t.ResetAllowed {
		b.WriteString(", no reset")
	}
	if t.Retention != "forever" {
		fmt.Fprintf(b, ", retention %s", t.Retention)
	}
	if t.History != (catalog.History{}) {
		fmt.Fprintf(b, ", history %s", t.History)
	}
	if t.Digest {
		b.WriteString(", digest")
	}
	if t.Schedule != nil {
		fmt.Fprintf(b, ", %s", t.Schedule)
	}
	fmt.Fprintf(b, "\n  %s\n", batch.DDL(t.Fields))
}

func (s *Sink) print(b *strings.Builder) {
	fmt.Fprintf(b, "sink %s: %s\n", s.Name, s.Format)
	for _, o := range s.Options.All() {
		fmt.Fprintf(b, "  %s = %s\n", o.Name, o.Value)
	}
}

func (f *Flow) print(b *strings.Builder) {
	fmt.Fprintf(b, "flow %s", f.Name)
	if f.Once {
		b.WriteString(" once")
	}
	if f.Table != nil {
		fmt.Fprintf(b, " into table %s", f.Table.Name)
	} else {
		fmt.Fprintf(b, " into sink %s", f.Sink.Name)
	}
	if len(f.DependsOn) > 0 {
		fmt.Fprintf(b, ", depends on %s", strings.Join(f.DependsOn, ", "))
	}
	if len(f.Upstream) > 0 {
		fmt.Fprintf(b, ", after %s", strings.Join(f.Upstream, ", "))
	}
	b.WriteString("\n")
	verb := "joins"
	if f.Window != nil {
		verb = "reads"
		fmt.Fprintf(b, "  replaces where %s\n", f.Window.Predicate)
	}
	for _, in := range f.Inputs() {
		in.print(b)
	}
	for _, d := range f.Query.Documents {
		fmt.Fprintf(b, "  decodes %s\n", d)
	}
	for _, l := range f.Lookups {
		fmt.Fprintf(b, "  "+verb+" %s: %s\n", l.Table.Name, strings.Join(f.Query.Reads[l.Read].Columns, ", "))
	}
	fmt.Fprintf(b, "  writes %s\n", batch.DDL(f.Query.Columns))
	if f.Query.Sequence.Kind != batch.Void {
		fmt.Fprintf(b, "  sequence %s\n", f.Query.Sequence)
	}
	for _, c := range f.Checks {
		fmt.Fprintf(b, "  expects %s, else %s: %s\n", c.Name, c.Action, c.SQL)
	}
}

func (in *Input) print(b *strings.Builder) {
	end := "to its end"
	if in.Stream {
		end = "as a stream"
	}
	fmt.Fprintf(b, "  reads %s %s %s, %s", in.Kind, in.Name, end, in.Mode)
	if in.Format != "" {
		fmt.Fprintf(b, ", %s", in.Format)
	}
	if in.InsertsOnly {
		b.WriteString(", inserts only")
	}
	b.WriteString(":")
	for i, c := range in.Columns {
		if i > 0 {
			b.WriteString(",")
		}
		fmt.Fprintf(b, " %s %s", batch.QuoteName(c.Field.Name), c.Field.Type)
		if c.Meta != "" && c.Meta != c.Field.Name {
			fmt.Fprintf(b, " (%s)", c.Meta)
		}
	}
	b.WriteString("\n")
}
