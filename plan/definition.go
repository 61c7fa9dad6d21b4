package plan

import (
	"fmt"
	"slices"
	"strings"

	"sluice/batch"
	"sluice/catalog"
	"sluice/fault"
	"sluice/option"
	"sluice/syntax"
)

// Definition is what a table, a flow or a sink says, part by part, to be held against what it said before (D-62). How it is laid out
// does not show in it, nor do comments of SQL, and secrets are hidden: it is kept in the store. Columns of tables are not in
// it; the store has them.
type Definition map[string]Part

// Part is one thing that a definition says.
type Part struct {
	Text string
	Pos  fault.Pos // of the part, or of the definition
}

// Parts of definitions. Options, expectations and properties have one each, under their names behind a prefix.
const (
	PartQuery      = "query" // without the options of the source
	PartSequence   = "SEQUENCE BY"
	PartWhere      = "REPLACE WHERE"
	PartOnce       = "ONCE"
	PartByName     = "BY NAME"
	PartTarget     = "target"
	PartDependsOn  = "DEPENDS ON"
	PartComment    = "comment"
	PartSchema     = "schema"
	PartFormat     = "format"   // of a sink
	PartSchedule   = "SCHEDULE" // of a table, or TRIGGER
	PartZone       = "spark.sql.session.timeZone"
	PartInput      = "source" // its kind, and of a table its name: the positions of a flow are in it
	PrefixOption   = "option "
	PrefixCheck    = "expectation "
	PrefixProperty = "property "
	TargetTable    = "table "
	TargetSink     = "sink "
)

// Texts are the parts without their places, as the store keeps them.
func (d Definition) Texts() map[string]string {
	out := make(map[string]string, len(d))
	for name, p := range d {
		out[name] = p.Text
	}
	return out
}

// Names are the names of parts that a definition or the one before it has, sorted.
func (d Definition) Names(before map[string]string) []string {
	var out []string
	for name := range d {
		out = append(out, name)
	}
	for name := range before {
		out = append(out, name)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// definition is what a flow says.
func (p *planner) definition(f *catalog.Flow) Definition {
	d := Definition{}
	put := func(name, text string) {
		if text != "" {
			d[name] = Part{text, f.Pos}
		}
	}
	if f.Table != nil {
		put(PartTarget, TargetTable+f.Table.Name)
	} else {
		put(PartTarget, TargetSink+f.Sink.Name)
	}
	put(PartQuery, queryWithoutOptions(f))
	put(PartZone, p.Zone)
	put(PartOnce, yes(f.Body.Once))
	put(PartByName, yes(f.Body.ByName))
	for _, s := range f.Body.Sequence {
		put(PartSequence, syntax.PrintExpr(s))
	}
	if f.Body.Predicate != nil {
		put(PartWhere, syntax.PrintExpr(f.Body.Predicate))
	}
	names := flowNames(f.DependsOn)
	slices.Sort(names)
	put(PartDependsOn, strings.Join(names, ", "))
	put(PartComment, f.Comment)
	if f.Input == nil {
		return d
	}
	put(PartInput, inputText(f.Input))
	d.options(f.Input.Options, f.Pos)
	if f.Input.Schema != nil {
		delete(d, PrefixOption+PartSchema) // its text has blanks
		put(PartSchema, schemaText(f.Input.Schema, f.Input.Quoted))
	}
	return d
}

// inputText names what a flow reads as far as its positions go: topics and paths come and go within one source.
func inputText(r *catalog.Read) string {
	switch {
	case r.Table != nil && r.Feed:
		return "changes of " + r.Table.Name
	case r.Table != nil:
		return TargetTable + r.Table.Name
	}
	return r.Function.Source
}

func yes(b bool) string {
	if b {
		return "yes"
	}
	return ""
}

// options adds what was given, spelt as the option says; without a place of its own it has that of the definition.
func (d Definition) options(v option.Values, at fault.Pos) {
	for _, g := range v.All() {
		part := Part{g.Value, g.Pos}
		if spec, ok := v.Spec(g.Name); ok && spec.Kind == option.Enum {
			part.Text = v.String(g.Name)
		}
		if !part.Pos.IsValid() {
			part.Pos = at
		}
		d[PrefixOption+g.Name] = part
	}
}

// queryWithoutOptions prints a query without what its input is called with: the options are parts of their own. Of the sources of a REPLACE WHERE
// flow, which may be several, it leaves out what says nothing of the records that are read.
func queryWithoutOptions(f *catalog.Flow) string {
	if f.Input == nil {
		for _, r := range f.Reads {
			if ref, ok := r.Ref.(*syntax.TableFunc); ok {
				args := ref.Args
				ref.Args = slices.DeleteFunc(slices.Clone(args), func(a syntax.Arg) bool { return idle(r.Options, a.Key) })
				defer func() { ref.Args = args }()
			}
		}
		return syntax.PrintQuery(f.Body.Query)
	}
	switch ref := f.Input.Ref.(type) {
	case *syntax.TableFunc:
		args, with := ref.Args, ref.With
		ref.Args, ref.With = nil, nil
		defer func() { ref.Args, ref.With = args, with }()
	case *syntax.TableName:
		with := ref.With
		ref.With = nil
		defer func() { ref.With = with }()
	}
	return syntax.PrintQuery(f.Body.Query)
}

// idle reports whether an option says nothing of what is read, or is a secret.
func idle(v option.Values, name string) bool {
	spec, _ := v.Spec(name)
	return spec.Secret || spec.Edit == option.Idle
}

// schemaText is a schema of a source; names in backticks match otherwise than bare ones (D-9).
func schemaText(fields []batch.Field, quoted []bool) string {
	parts := make([]string, len(fields))
	for i, f := range fields {
		parts[i] = batch.DDL([]batch.Field{f})
		if i < len(quoted) && quoted[i] && !strings.HasPrefix(parts[i], "`") {
			parts[i] = "`" + f.Name + "`" + strings.TrimPrefix(parts[i], f.Name)
		}
	}
	return strings.Join(parts, ", ")
}

// tableDefinition is what a table says beside its columns.
func tableDefinition(t *table) Definition {
	d := Definition{}
	if t.Comment != "" {
		d[PartComment] = Part{t.Comment, t.Pos}
	}
	if t.Schedule != nil {
		d[PartSchedule] = Part{t.Schedule.String(), t.decl.Decl.Clauses.Schedule.Pos}
	}
	for _, e := range t.decl.Decl.Expectations {
		d[PrefixCheck+e.Name.Text] = Part{fmt.Sprintf("%s: %s", strings.ToUpper(e.Action), syntax.PrintExpr(e.Expr)), e.Pos}
	}
	for _, o := range t.decl.Decl.Clauses.Properties {
		if o.Secret {
			o.Value = option.Hidden
		}
		d[PrefixProperty+o.Key] = Part{o.Value, o.Pos}
	}
	return d
}

// sinkDefinition is what a sink says.
func sinkDefinition(s *Sink) Definition {
	d := Definition{PartFormat: {s.Format, s.Pos}}
	if s.Comment != "" {
		d[PartComment] = Part{s.Comment, s.Pos}
	}
	d.options(s.Options, s.Pos)
	return d
}
