package trial

import (
	stdjson "encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/goccy/go-yaml/ast"

	"sluice/batch"
	"sluice/fault"
	"sluice/format"
	"sluice/format/json"
	"sluice/option"
	"sluice/plan"
	"sluice/strictyaml"
)

// expected is what a test file expects, as written.
type expected struct {
	tables, sinks []expectedRows
	failures      []expectedFailure
}

// expectedRows are the rows of a table or sink.
type expectedRows struct {
	name string
	at   fault.Pos
	rows []expectedRow
}

type expectedRow struct {
	at      fault.Pos
	columns []strictyaml.Entry
	text    string // as a JSON object
}

type expectedFailure struct {
	flow, code string
	at         fault.Pos
}

func (r *testReader) expected(e strictyaml.Entry) *expected {
	out := &expected{}
	fields := r.fields(e.Value, "expect", expectKeys)
	for key, into := range map[string]*[]expectedRows{"tables": &out.tables, "sinks": &out.sinks} {
		if e, ok := fields[key]; ok {
			for _, of := range r.mapping(e.Value, key) {
				*into = append(*into, r.rows(of))
			}
		}
	}
	if e, ok := fields["failures"]; ok {
		for _, f := range r.mapping(e.Value, "failures") {
			out.failures = append(out.failures, expectedFailure{f.Key, r.text(f.Value, "the code"), f.Pos})
		}
	}
	return out
}

func (r *testReader) rows(e strictyaml.Entry) expectedRows {
	out := expectedRows{name: e.Key, at: e.Pos}
	for _, n := range r.List(e.Value, "the rows of "+e.Key) {
		row := expectedRow{at: r.Pos(n), columns: r.mapping(n, "a row"), text: r.json(n)}
		if len(row.columns) > 0 {
			out.rows = append(out.rows, row)
		} else if _, ok := n.(*ast.MappingNode); ok {
			r.report(row.at, "a row names no column")
		}
	}
	return out
}

// Expect is what shall come out of the reference run of a pipeline.
type Expect struct {
	tables   []wanted
	sinks    []wanted
	failures map[string]string // code by flow
}

// wanted are rows, as text and how often, of the columns that are compared.
type wanted struct {
	name    string       // of a table; of a sink as sinkName gives it
	table   string       // its identity
	flows   []*plan.Flow // into a sink
	columns []batch.Field
	rows    map[string]int
}

// binder finds what an expectation means in a pipeline.
type binder struct {
	file     string
	plan     *plan.Pipeline
	problems fault.List
}

func (b *binder) report(at fault.Pos, format string, args ...any) *fault.Error {
	e := fault.New(fault.TestFileInvalid, format, args...).At(at)
	b.problems = append(b.problems, e)
	return e
}

// unknown reports a name that the pipeline does not have.
func (b *binder) unknown(at fault.Pos, what, name string, names []string) {
	e := b.report(at, "the pipeline has no %s %q", what, name)
	if near := option.Nearest(name, names); near != "" {
		e.WithHint("did you mean %q?", near)
	} else if len(names) > 0 {
		e.WithHint("it has %s", strings.Join(names, ", "))
	}
}

func (b *binder) bind(x *expected) *Expect {
	out := &Expect{failures: map[string]string{}}
	for _, t := range x.tables {
		if table := b.table(t); table != nil {
			w := b.wanted(t, table.Fields)
			w.name, w.table = table.Display, table.Name
			out.tables = append(out.tables, w)
		}
	}
	for _, s := range x.sinks {
		if flows := b.sink(s); len(flows) > 0 {
			w := b.wanted(s, flows[0].Query.Columns)
			w.name, w.flows = s.name, flows
			out.sinks = append(out.sinks, w)
		}
	}
	for _, f := range x.failures {
		b.failure(f, out.failures)
	}
	return out
}

func (b *binder) table(t expectedRows) *plan.Table {
	var names []string
	var found *plan.Table
	name := strings.ToLower(t.name)
	for _, table := range b.plan.Tables {
		names = append(names, table.Display)
		if table.Name == name || strings.HasSuffix(table.Name, "."+name) {
			found = table
		}
	}
	if found == nil {
		b.unknown(t.at, "table", t.name, names)
	}
	return found
}

// sink finds the flows into a sink, or the flow of that name.
func (b *binder) sink(s expectedRows) (flows []*plan.Flow) {
	var names []string
	for _, f := range b.plan.Flows {
		if f.Sink == nil {
			continue
		}
		names = append(names, f.Sink.Name)
		if f.Name == s.name {
			return []*plan.Flow{f}
		}
		if f.Sink.Name == s.name {
			flows = append(flows, f)
		}
	}
	if len(flows) == 0 {
		b.unknown(s.at, "sink", s.name, names)
	}
	for _, f := range flows {
		if batch.DDL(f.Query.Columns) != batch.DDL(flows[0].Query.Columns) {
			b.report(s.at, "flows write different columns to the sink %s", s.name).WithHint("name the flow instead: %s", f.Name)
			return nil
		}
	}
	return flows
}

func (b *binder) failure(f expectedFailure, into map[string]string) {
	var names []string
	for _, flow := range b.plan.Flows {
		names = append(names, flow.Name)
	}
	if !slices.Contains(names, f.flow) {
		b.unknown(f.at, "flow", f.flow, names)
	}
	var codes []string
	for _, c := range fault.Catalogue() {
		codes = append(codes, c.Name)
	}
	if !slices.Contains(codes, f.code) {
		e := b.report(f.at, "there is no error code %q", f.code)
		if near := option.Nearest(f.code, codes); near != "" {
			e.WithHint("did you mean %q?", near)
		}
	}
	into[f.flow] = f.code
}

// wanted reads rows as values of their columns, so that they are compared as values, whatever they look like.
func (b *binder) wanted(x expectedRows, fields []batch.Field) wanted {
	w := wanted{columns: b.columns(x, fields), rows: map[string]int{}}
	before := len(b.problems)
	for _, row := range x.rows {
		b.complete(x.rows[0], row)
	}
	if len(b.problems) > before || len(w.columns) == 0 {
		return w
	}
	values := make([][]byte, len(x.rows))
	for i, row := range x.rows {
		values[i] = []byte(row.text)
	}
	for _, line := range b.decode(x, w.columns, values) {
		w.rows[line]++
	}
	return w
}

// columns are those of a table that the first row names, in the order of the table; all for a table that is to be empty.
func (b *binder) columns(x expectedRows, fields []batch.Field) (out []batch.Field) {
	if len(x.rows) == 0 {
		return fields
	}
	named := map[string]bool{}
	var names []string
	for _, f := range fields {
		names = append(names, f.Name)
	}
	for _, c := range x.rows[0].columns {
		named[strings.ToLower(c.Key)] = true
		if !slices.ContainsFunc(names, func(name string) bool { return strings.EqualFold(name, c.Key) }) {
			b.unknownColumn(c, x.name, names)
		}
	}
	for _, f := range fields {
		if named[strings.ToLower(f.Name)] {
			f.NotNull = false
			out = append(out, f)
		}
	}
	return out
}

func (b *binder) unknownColumn(c strictyaml.Entry, table string, names []string) {
	e := b.report(c.Pos, "%s has no column %q", table, c.Key)
	if near := option.Nearest(c.Key, names); near != "" {
		e.WithHint("did you mean %q?", near)
	} else {
		e.WithHint("its columns are %s", strings.Join(names, ", "))
	}
}

// complete checks that a row names the columns that the first one names.
func (b *binder) complete(first, row expectedRow) {
	has := func(row expectedRow, name string) bool {
		return slices.ContainsFunc(row.columns, func(c strictyaml.Entry) bool { return strings.EqualFold(c.Key, name) })
	}
	for _, c := range first.columns {
		if !has(row, c.Key) {
			b.report(row.at, "the row has no %s, and the first row has", c.Key).WithHint("write %s: null if it is NULL", c.Key)
		}
	}
	for _, c := range row.columns {
		if !has(first, c.Key) {
			b.report(c.Pos, "the row has a %s, and the first row has not", c.Key).WithHint("name the same columns in every row")
		}
	}
}

// decode reads rows by the JSON format, and writes them as texts does.
func (b *binder) decode(x expectedRows, columns []batch.Field, values [][]byte) []string {
	zone, err := time.LoadLocation(b.plan.Zone)
	options, problems := json.ReadOptions().Parse("expect", nil, x.at)
	if err != nil || len(problems) > 0 {
		b.report(x.at, "rows cannot be read: %v %v", err, problems)
		return nil
	}
	reader, err := json.Open(format.Reading{Schema: columns, Columns: columns, Mode: batch.FailFast, Zone: zone, Options: options})
	if err != nil {
		b.problems = append(b.problems, fault.From(err))
		return nil
	}
	builders := make([]batch.Builder, len(columns))
	for i, c := range columns {
		builders[i].Init(c.Type, len(values))
	}
	for _, bad := range reader.Decoder.Decode(values, builders) {
		b.report(x.rows[bad.Index].at, "%s cannot have this row: %s", x.name, bad.Err.Message)
	}
	rows := batch.Columns{Fields: columns, Len: builders[0].Len()}
	for i := range builders {
		rows.Cols = append(rows.Cols, builders[i].Column())
	}
	lines, err := texts(&rows)
	if err != nil {
		b.problems = append(b.problems, fault.From(err))
	}
	return lines
}

// check compares the reference run with what was expected of it.
func (x *Expect) check(ref *outcome) (out []Difference, err error) {
	if x == nil {
		return nil, nil
	}
	for _, f := range ref.world.plan.Flows {
		want, failed := x.failures[f.Name], ref.failed[f.Name]
		switch {
		case failed != nil && failed.Code.Name != want:
			out = append(out, Difference{Kind: "flow", Name: f.Name, Detail: fmt.Sprintf("failed: %v", failed)})
		case failed == nil && want != "":
			out = append(out, Difference{Kind: "flow", Name: f.Name, Detail: fmt.Sprintf("did not fail, %s was expected", want)})
		}
	}
	for _, w := range x.tables {
		var names []string
		for _, c := range w.columns {
			names = append(names, c.Name)
		}
		got, err := ref.rows(w.table, names)
		if err != nil {
			return nil, err
		}
		if d := between("table", w.name, w.rows, got); d != nil {
			out = append(out, *d)
		}
	}
	for _, w := range x.sinks {
		got, err := w.written(ref)
		if err != nil {
			return nil, err
		}
		if d := between("sink", w.name, w.rows, got); d != nil {
			out = append(out, *d)
		}
	}
	return out, nil
}

// written is what flows have written to a sink, of the columns that are compared.
func (w *wanted) written(ref *outcome) (map[string]int, error) {
	rows := map[string]int{}
	for _, f := range w.flows {
		for row, n := range ref.sinks[f.Name].rows {
			narrow, err := narrowed(row, f.Query.Columns, w.columns)
			if err != nil {
				return nil, err
			}
			rows[narrow] += n
		}
	}
	return rows, nil
}

// narrowed is a row, written as texts does, with some of its columns only.
func narrowed(row string, fields, columns []batch.Field) (string, error) {
	if len(columns) == len(fields) {
		return row, nil
	}
	var members map[string]stdjson.RawMessage
	if err := stdjson.Unmarshal([]byte(row), &members); err != nil {
		return "", err
	}
	parts := make([]string, len(columns))
	for i, c := range columns {
		parts[i] = quote(c.Name) + ":" + string(members[c.Name])
	}
	return "{" + strings.Join(parts, ",") + "}", nil
}
