package catalog

import (
	"strings"

	"sluice/batch"
	"sluice/fault"
	"sluice/option"
	"sluice/syntax"
	"sluice/timetable"
)

// Catalog is a pipeline's graph: what is declared, and who reads and writes what.
type Catalog struct {
	Spec       *Spec
	Connectors Connectors
	Tables     []*Table // as declared
	Sinks      []*Sink
	Flows      []*Flow // every flow after those it waits for, otherwise as declared
	Problems   fault.List
}

// Table is a streaming table.
type Table struct {
	Name         string // identity: catalog.schema.table in lower case
	Display      string // as declared
	Decl         *syntax.CreateTable
	Columns      []batch.Field // as declared; none when the flows say which there are
	Flows        []*Flow
	ResetAllowed bool   // pipelines.reset.allowed (FR-04)
	Retention    string // sluice.retention (D-16)
	Digest       bool   // sluice.digest (D-29)
	History      History
	historyAt    fault.Pos            // of its property
	Schedule     *timetable.Timetable // its SCHEDULE or TRIGGER clause; nil without one
}

// Keyed reports whether a REPLACE USING flow writes the table.
func (t *Table) Keyed() bool {
	for _, f := range t.Flows {
		if f.Body.Kind == syntax.ReplaceUsing {
			return true
		}
	}
	return false
}

// Replaced reports whether a REPLACE WHERE flow writes the table.
func (t *Table) Replaced() bool {
	for _, f := range t.Flows {
		if f.Body.Kind == syntax.ReplaceWhere {
			return true
		}
	}
	return false
}

// Keys are the key columns of a keyed table, in lower case and sorted, as its first REPLACE USING flow names them.
func (t *Table) Keys() []string {
	for _, f := range t.Flows {
		if f.Body.Kind == syntax.ReplaceUsing {
			return f.Keys()
		}
	}
	return nil
}

// Sink is an output outside.
type Sink struct {
	Name    string
	Decl    *syntax.CreateSink
	Format  string
	Options option.Values
	Flows   []*Flow
}

// Flow is one flow. Of Table and Sink one is set, unless its target is unknown.
type Flow struct {
	Name      string
	Comment   string
	Pos       fault.Pos
	Body      *syntax.FlowBody
	Table     *Table
	Sink      *Sink
	Reads     []*Read // in the order of the text
	Input     *Read   // the one of Reads whose rows the flow is about; nil when it cannot be told, and of a REPLACE WHERE flow
	DependsOn []*Flow
	Letters   *option.Values // of the sink for its dead letters; nil when there is none
	Unsound   bool           // its query should not be analysed: what it reads is not known well enough
}

// Target is how messages call what f writes.
func (f *Flow) Target() string {
	switch {
	case f.Table != nil:
		return "table " + f.Table.Display
	case f.Sink != nil:
		return "sink " + f.Sink.Name
	}
	return "an unknown target"
}

// Keys are the columns behind REPLACE USING, in lower case and sorted.
func (f *Flow) Keys() []string { return sortedLower(f.Body.Keys) }

// Upstream lists the flows that write the tables f reads, each once.
func (f *Flow) Upstream() []*Flow {
	var out []*Flow
	seen := map[*Flow]bool{}
	for _, r := range f.Reads {
		if r.Table == nil {
			continue
		}
		for _, w := range r.Table.Flows {
			if !seen[w] {
				seen[w] = true
				out = append(out, w)
			}
		}
	}
	return out
}

// Read is one table or table function in the FROM clauses of a flow's query.
type Read struct {
	Ref      syntax.TableRef
	Table    *Table    // a table of the pipeline
	Function *Function // or a source
	Stream   bool
	Feed     bool          // readChangeFeed
	Options  option.Values // the arguments of Function, or what stands behind WITH of a stream
	Format   string        // of Function; "" when records are not decoded
	Schema   []batch.Field // of Function
	Quoted   []bool        // parallel to Schema: the name was quoted and matches exactly (D-9)
	Mode     batch.Mode
	Errors   []syntax.ColumnError // columnErrors => of Function
	Problem  *fault.Error         // why neither Table nor Function is set

	refused bool // its options have problems
}

// Short reports whether a REPLACE WHERE flow may compute its window although what is read may have lost rows of it (D-11).
func (r *Read) Short() bool {
	g, ok := r.Options.Given(optAllowShort)
	return ok && r.Options.Bool(g.Name)
}

// Title is how messages call what is read. A source whose name is a secret (D-54) has none.
func (r *Read) Title() string {
	switch {
	case r.Table != nil:
		return r.Table.Display
	case r.Function != nil:
		for _, name := range r.Function.Title {
			if g, ok := r.Options.Given(name); ok && !g.Secret {
				return g.Value
			}
		}
		return r.Function.Source
	}
	return "an unknown table"
}

// builder fills a Catalog.
type builder struct {
	*Catalog
	partial bool // some statements are missing because of errors, so what cannot be found proves nothing
	tables  map[string]*Table
	sinks   map[string]*Sink
	flows   map[string]*Flow
	views   map[string]bool // declared views, by identity; they are refused, but known
	created []*syntax.CreateFlow
}

// Build makes a catalog of the statements of all definition files. partial says that some statements could not be read;
// then nothing is reported that may only be missing because of that.
func Build(spec *Spec, statements []syntax.Statement, partial bool, c Connectors) *Catalog {
	b := &builder{
		Catalog: &Catalog{Spec: spec, Connectors: c}, partial: partial,
		tables: map[string]*Table{}, sinks: map[string]*Sink{}, flows: map[string]*Flow{}, views: map[string]bool{},
	}
	for _, s := range statements {
		b.declare(s)
	}
	for _, cf := range b.created {
		b.createFlow(cf)
	}
	for _, f := range b.Flows {
		b.reads(f)
	}
	for _, f := range b.Flows {
		b.checkFlow(f)
	}
	for _, t := range b.Tables {
		b.checkTable(t)
	}
	for _, cf := range b.created {
		b.dependsOn(cf)
	}
	if len(b.Flows) == 0 && !partial {
		b.report(fault.EmptyPipeline, fault.Pos{File: spec.Path}, "the pipeline %s has no flow", spec.Name).
			WithHint("its libraries name no file with a CREATE FLOW, or a table with a query")
	}
	b.outputNames()
	b.resets()
	b.unused()
	declared := b.Flows
	if cyclic := b.order(); cyclic {
		b.cycles(declared)
	}
	return b.Catalog
}

// unused reports names of configuration that look as if Kafka's client read them. Of those options only the brokers can be given for all
// sources and sinks at once.
func (b *builder) unused() {
	for _, n := range b.Spec.Unused() {
		if b.partial || !n.OfKafka() {
			continue
		}
		e := b.report(fault.UnknownOption, n.Pos, "configuration has no option %q", n.Name)
		if near := option.Nearest(n.Name, []string{servers}); near != "" {
			e.WithHint("did you mean %q?", near)
		} else {
			e.WithHint("of Kafka's options it has %q only; give the others to the sources and sinks that are to have them", servers)
		}
	}
}

func (b *builder) report(code *fault.Code, at fault.Pos, format string, args ...any) *fault.Error {
	e := fault.New(code, format, args...).At(at)
	b.Problems = append(b.Problems, e)
	return e
}

// missing reports that something cannot be found, unless it may stand in a statement that could not be read.
func (b *builder) missing(e *fault.Error) *fault.Error {
	if !b.partial {
		b.Problems = append(b.Problems, e)
	}
	return e
}

// tableNames are the names a reader may have meant.
func (b *builder) tableNames() []string {
	var out []string
	for _, t := range b.Tables {
		out = append(out, t.Display)
	}
	return out
}

func (b *builder) flowNames() []string {
	var out []string
	for _, f := range b.Flows {
		out = append(out, f.Name)
	}
	return out
}

func key(name string) string { return strings.ToLower(name) }
