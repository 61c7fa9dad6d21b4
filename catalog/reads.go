package catalog

import (
	"maps"
	"slices"
	"strings"

	"sluice/batch"
	"sluice/fault"
	"sluice/option"
	"sluice/syntax"
)

// reads finds what the FROM clauses of a flow's query name.
func (b *builder) reads(f *Flow) {
	if f.Body.Query == nil {
		f.Unsound = true
		return
	}
	for _, ref := range syntax.Tables(f.Body.Query) {
		r := &Read{Ref: ref}
		switch ref := ref.(type) {
		case *syntax.TableName:
			b.readTable(f, r, ref)
		case *syntax.TableFunc:
			b.readFunction(f, r, ref)
		}
		f.Unsound = f.Unsound || r.Problem != nil
		f.Reads = append(f.Reads, r)
	}
}

func (b *builder) readTable(f *Flow, r *Read, ref *syntax.TableName) {
	r.Stream = ref.Stream
	if ref.Version != nil || ref.Timestamp != nil {
		b.report(fault.NoTimeTravel, ref.Pos, "%s is read as of an earlier state", Show(ref.Name)).WithHint("leave AS OF out")
	}
	id := b.Spec.identity(ref.Name)
	if r.Table = b.tables[id]; r.Table == nil {
		r.Problem = b.noTable(f, ref, id)
		return
	}
	b.streamOptions(r, ref)
}

// noTable explains why a table cannot be read.
func (b *builder) noTable(f *Flow, ref *syntax.TableName, id string) *fault.Error {
	name := Show(ref.Name)
	e := fault.New(fault.TableNotFound, "the flow %s reads %s, but the pipeline declares no table of that name", f.Name, name).At(ref.Pos)
	if b.views[id] {
		return e // the view itself has been refused
	}
	if len(ref.Name.Parts) == 1 && b.sinks[key(name)] != nil {
		return b.missing(e.WithHint("%s is a sink, and sinks cannot be read", name))
	}
	if _, ok := b.Connectors.Functions[key(name)]; ok {
		return b.missing(e.WithHint("%s is a function: write %s(...)", name, name))
	}
	return b.missing(suggest(e, last(ref.Name).Text, b.tableNames(), "a flow reads tables of its own pipeline, and sources with read_kafka and read_files"))
}

// streamOptions reads what stands behind WITH.
func (b *builder) streamOptions(r *Read, ref *syntax.TableName) {
	args, set := given(ref.With), streamOptions
	if !r.Stream {
		for _, a := range args {
			if !strings.EqualFold(a.Name, optAllowShort) {
				b.report(fault.UnknownOption, a.Pos, "%s is not read as a stream, so it has no option %q", r.Table.Display, a.Name).WithHint("write STREAM(%s) WITH (...)", r.Table.Display)
				return
			}
		}
		set = tableOptions
	}
	if asksForLetters(args) {
		set = union(set, b.letterOptions())
	}
	name := r.Table.Display
	if r.Stream {
		name = "STREAM(" + name + ")"
	}
	values, problems := set.Parse(name, args, ref.Pos)
	b.Problems = append(b.Problems, problems...)
	r.Options, r.refused = values, len(problems) > 0
	if !r.Stream {
		return
	}
	r.Feed = values.Bool(optReadChangeFeed)
	r.Mode = modeOf(values)
	if r.Feed && values.Bool(optSkipChangeCommits) {
		g, _ := values.Given(optSkipChangeCommits)
		b.report(fault.InvalidOption, g.Pos, "readChangeFeed reads every change and skipChangeCommits leaves them out").WithHint("choose one")
	}
}

// QuarantineSuffix is what the table that shows records in quarantine has behind the name of the target (D-15).
const QuarantineSuffix = "__quarantine"

func modeOf(values option.Values) batch.Mode {
	m, _ := batch.ParseMode(values.String(argMode))
	return m
}

func (b *builder) readFunction(f *Flow, r *Read, ref *syntax.TableFunc) {
	r.Stream = ref.Stream
	name := key(Show(ref.Name))
	fn, ok := b.Connectors.Functions[name]
	if !ok {
		names := slices.Sorted(maps.Keys(b.Connectors.Functions))
		r.Problem = b.report(fault.FunctionNotFound, ref.Pos, "no table function %s", Show(ref.Name))
		suggest(r.Problem, name, names, "the table functions are "+strings.Join(names, ", "))
		return
	}
	r.Function = &fn
	args := b.arguments(&fn, name, ref)
	r.Format = formatOf(args)
	set := fn.arguments(r.Format)
	if _, known := fn.Formats[r.Format]; r.Format != "" && !known {
		for _, format := range fn.Formats { // so that only the format is reported
			set = union(set, format.Options)
		}
	}
	if asksForLetters(args) {
		set = union(set, b.letterOptions())
	}
	values, problems := set.Parse(name, args, ref.Pos)
	r.Options = values
	r.Mode = modeOf(values)
	if len(problems) == 0 {
		if fn.Check != nil {
			problems = fn.Check(values, Use{ref.Pos, r.Stream, b.Spec.Servers()})
		}
		if check := fn.Formats[r.Format].Check; check != nil {
			problems = append(problems, check(values, ref.Pos)...)
		}
	}
	r.refused = len(problems) > 0
	b.Problems = append(b.Problems, problems...)
	b.schema(f, r, name)
}

// formatOf is the format among the arguments, in lower case.
func formatOf(args []option.Given) string {
	for _, a := range args {
		if strings.EqualFold(a.Name, argFormat) {
			return key(a.Value)
		}
	}
	return ""
}

// arguments are the literals a function is called with, and those behind WITH of a stream.
func (b *builder) arguments(fn *Function, name string, ref *syntax.TableFunc) []option.Given {
	var out []option.Given
	position := 0
	for _, a := range ref.Args {
		if a.Key == "" {
			if position == len(fn.Positional) {
				b.report(fault.UnknownOption, a.Pos, "%s has too many arguments without a name", name).WithHint("write option => value")
				continue
			}
			a.Key = fn.Positional[position]
			position++
		}
		literal, ok := a.Value.(*syntax.Literal)
		if !ok || literal.Kind == syntax.NullLiteral {
			b.report(fault.InvalidOption, a.Value.Position(), "option %q of %s is not a literal", a.Key, name)
			continue
		}
		value := literal.Text
		if literal.Kind == syntax.BoolLiteral {
			value = strings.ToLower(value)
		}
		out = append(out, option.Given{Name: a.Key, Value: value, Secret: literal.Secret, Pos: a.Pos})
	}
	return append(out, given(ref.With)...)
}

// schema reads schema => and checks it against format =>.
func (b *builder) schema(f *Flow, r *Read, name string) {
	g, ok := r.Options.Given(argSchema)
	if e, given := r.Options.Given(argErrors); given && r.Format == "" {
		b.report(fault.InvalidOption, e.Pos, "option \"columnErrors\" of %s is for values that are decoded", name).WithHint("add format => 'json' and a schema")
	}
	if !ok {
		f.Unsound = f.Unsound || r.Format != "" || len(r.Function.Raw) == 0
		return
	}
	if r.Format == "" && len(r.Function.Raw) > 0 {
		b.report(fault.MissingOption, g.Pos, "%s has a schema, but no format that decodes the value", name).WithHint("add format => 'json'")
	}
	at := textPos(r.Ref, g)
	columns, problems := syntax.ParseSchema(g.Value, at)
	fields, more := syntax.Fields(columns)
	problems = append(problems, more...)
	for _, c := range columns {
		if strings.EqualFold(c.Name.Text, "_metadata") && len(r.Function.Metadata) > 0 {
			problems = append(problems, fault.New(fault.ReservedColumn, "the column name _metadata is reserved in a schema").At(c.Pos))
		}
		r.Quoted = append(r.Quoted, c.Name.Quoted)
	}
	for _, field := range fields {
		if field.Name == corruptRecord(r.Options) && field.Type.Kind != batch.String && field.Type.Kind != batch.Binary {
			problems = append(problems, fault.New(fault.CorruptRecordType, "%s is %s", field.Name, field.Type).At(at).WithHint("it holds the record as it came: declare it BINARY, or STRING for its text"))
		}
	}
	if rescued, ok := r.Options.Given("rescuedDataColumn"); ok {
		fields, problems = r.addRescued(fields, rescued, problems)
	}
	r.Schema = fields
	problems = append(problems, r.columnErrors()...)
	b.Problems = append(b.Problems, problems...)
	f.Unsound = f.Unsound || len(problems) > 0 || len(fields) == 0
}

// addRescued adds the column for rescued data to a schema that does not have it.
func (r *Read) addRescued(fields []batch.Field, name option.Given, problems fault.List) ([]batch.Field, fault.List) {
	at := slices.IndexFunc(fields, func(f batch.Field) bool { return strings.EqualFold(f.Name, name.Value) })
	switch {
	case name.Secret: // D-54: the name of a column is seen everywhere
		problems = append(problems, fault.New(fault.InvalidOption, "option \"rescuedDataColumn\": the name of a column cannot come from the environment, since such values are kept secret").At(name.Pos))
	case at < 0:
		r.Quoted = append(r.Quoted, false)
		fields = append(fields, batch.Field{Name: name.Value, Type: batch.Of(batch.String)})
	case fields[at].Name != name.Value || name.Value == corruptRecord(r.Options):
		problems = append(problems, fault.New(fault.InvalidOption, "option \"rescuedDataColumn\": the schema has the column %s for something else", batch.QuoteName(fields[at].Name)).At(name.Pos).WithHint("give it another name"))
	case fields[at].Type.Kind != batch.String:
		problems = append(problems, fault.New(fault.CorruptRecordType, "%s is %s", name.Value, fields[at].Type).At(name.Pos).WithHint("it holds rescued data: declare it STRING, or leave it out of the schema"))
	}
	return fields, problems
}

// corruptRecord is the column that takes the raw text of bad records (D-15).
func corruptRecord(v option.Values) string {
	if g, ok := v.Given("columnNameOfCorruptRecord"); ok {
		return g.Value
	}
	return "_corrupt_record"
}

// textPos is where the text of an argument begins, so that problems inside a schema have their own place.
func textPos(ref syntax.TableRef, g option.Given) fault.Pos {
	if f, ok := ref.(*syntax.TableFunc); ok {
		for _, a := range f.Args {
			if l, ok := a.Value.(*syntax.Literal); ok && a.Pos == g.Pos {
				return l.TextPos
			}
		}
	}
	return g.Pos
}

func sortedLower(names []syntax.Ident) []string {
	out := make([]string, len(names))
	for i, n := range names {
		out[i] = key(n.Text)
	}
	slices.Sort(out)
	return out
}
