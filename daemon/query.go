package daemon

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"sluice/admin"
	"sluice/batch"
	"sluice/eval"
	"sluice/eval/dialect"
	"sluice/fault"
	formatjson "sluice/format/json"
	"sluice/option"
	"sluice/state"
	"sluice/syntax"
)

// tableScope finds the tables of a store for a query, and notes which ones it reads.
type tableScope struct {
	tables     []state.TableInfo
	quarantine int                          // so many of tables, the last ones, show what is in quarantine
	read       map[string]string            // handle to table name
	past       map[string]*syntax.TableName // likewise, of tables that are read as they were
	versions   map[string]int64             // of those, found by travel
}

// newTableScope makes the scope of all tables of a store, those of records in quarantine included (D-15).
func newTableScope(store *state.Store) (*tableScope, error) {
	tables, err := store.Tables()
	if err != nil {
		return nil, err
	}
	quarantines, err := store.Quarantines()
	return &tableScope{tables: append(tables, quarantines...), quarantine: len(quarantines), read: map[string]string{},
		past: map[string]*syntax.TableName{}, versions: map[string]int64{}}, err
}

// quarantined reports whether a table shows what is in quarantine.
func (s *tableScope) quarantined(name string) bool {
	return slices.ContainsFunc(s.tables[len(s.tables)-s.quarantine:], func(t state.TableInfo) bool { return t.Name == name })
}

// open returns what opens the rows of what a query reads.
func (s *tableScope) open(snapshot *state.Snapshot, r dialect.Read) func() (eval.Scan, error) {
	name := s.read[r.Relation.Handle]
	version, past := s.versions[r.Relation.Handle]
	switch {
	case s.quarantined(name):
		return func() (eval.Scan, error) { return snapshot.ScanQuarantine(name, r.Columns) }
	case past:
		return func() (eval.Scan, error) { return snapshot.ScanAt(name, version, r.Columns) }
	}
	return func() (eval.Scan, error) { return snapshot.Scan(name, r.Columns, 0, 1) }
}

// Relation implements dialect.Scope.
func (s *tableScope) Relation(ref syntax.TableRef) (*dialect.Relation, *fault.Error) {
	t, ok := ref.(*syntax.TableName)
	if !ok {
		return nil, fault.New(fault.TableNotFound, "a query reads tables of the pipeline, not functions").At(ref.Position())
	}
	if t.Stream {
		return nil, fault.New(fault.BadRequest, "a query reads tables as they are, without STREAM").At(t.Pos)
	}
	info, err := s.find(t.Name)
	if err != nil {
		return nil, err
	}
	handle := fmt.Sprintf("_rel_%d", len(s.read))
	s.read[handle] = info.Name
	if err := s.asOf(handle, t, info); err != nil {
		return nil, err
	}
	return &dialect.Relation{Name: info.Name, Handle: handle, Fields: info.Fields}, nil
}

// find returns the one table whose name ends with the parts given.
func (s *tableScope) find(n syntax.Name) (*state.TableInfo, *fault.Error) {
	parts := make([]string, len(n.Parts))
	for i, p := range n.Parts {
		parts[i] = strings.ToLower(p.Text)
	}
	suffix := strings.Join(parts, ".")
	var found []*state.TableInfo
	var names []string
	for i := range s.tables {
		t := &s.tables[i]
		names = append(names, t.Name[strings.LastIndexByte(t.Name, '.')+1:])
		if t.Name == suffix {
			return t, nil
		}
		if strings.HasSuffix(t.Name, "."+suffix) {
			found = append(found, t)
		}
	}
	if len(found) == 1 {
		return found[0], nil
	}
	e := fault.New(fault.TableNotFound, "there is no table %s", suffix).At(n.Pos)
	switch near := option.Nearest(parts[len(parts)-1], names); {
	case len(found) > 1:
		e = fault.New(fault.TableNotFound, "several tables are called %s", suffix).At(n.Pos).WithHint("name it with its schema")
	case near != "":
		e.WithHint("did you mean %q?", near)
	case len(names) > 0:
		e.WithHint("the tables are %s", strings.Join(names, ", "))
	}
	return nil, e
}

// queryFile is how positions in the text of a query name it.
const queryFile = "query"

// Query runs one SELECT over the tables of a store as of now. Queries whose result depends on the order of work run on
// the engine with one thread (D-22).
func Query(ctx context.Context, store *state.Store, ordered, parallel *eval.Engine, zone, sql string) (admin.Rows, error) {
	q, problems := syntax.ParseQuery(queryFile, sql)
	if err := problems.Err(); err != nil {
		return nil, err
	}
	return selectRows(ctx, store, ordered, parallel, zone, q)
}

// selectRows runs a query.
func selectRows(ctx context.Context, store *state.Store, ordered, parallel *eval.Engine, zone string, q *syntax.Query) (admin.Rows, error) {
	scope, err := newTableScope(store)
	if err != nil {
		return nil, err
	}
	analysis, problems := dialect.Analyse(q, scope, dialect.Options{Zone: zone})
	if err := problems.Err(); err != nil {
		return nil, err
	}
	var p dialect.Projection
	for i, f := range analysis.Output {
		p.Columns = append(p.Columns, dialect.Target{Field: f, From: i})
	}
	compiled, problems := analysis.Compile(p)
	if err := problems.Err(); err != nil {
		return nil, err
	}
	engine := parallel
	if compiled.Unordered {
		engine = ordered
	}
	snapshot, at := store.Snapshot(), time.Now().UTC().Truncate(time.Microsecond)
	if err := scope.travel(ctx, snapshot, ordered, zone, at); err != nil {
		return nil, errors.Join(err, snapshot.Close())
	}
	inputs := make([]eval.Input, len(compiled.Reads))
	for i, r := range compiled.Reads {
		inputs[i] = eval.Input{Open: scope.open(snapshot, r)}
	}
	rows, err := engine.Query(ctx, compiled, inputs, at)
	if err != nil {
		return nil, errors.Join(err, snapshot.Close())
	}
	return newQueryRows(rows, snapshot, compiled.Columns), nil
}

// queryRows is a query's result as JSON arrays.
type queryRows struct {
	rows     *eval.Rows
	snapshot *state.Snapshot
	columns  []admin.Column
	encoder  *arrayEncoder
}

func newQueryRows(rows *eval.Rows, snapshot *state.Snapshot, fields []batch.Field) *queryRows {
	r := &queryRows{rows: rows, snapshot: snapshot, encoder: newArrayEncoder(fields)}
	for _, f := range fields {
		r.columns = append(r.columns, admin.Column{Name: f.Name, Type: f.Type.String()})
	}
	return r
}

func (r *queryRows) Columns() []admin.Column { return r.columns }

func (r *queryRows) Next(context.Context) ([]byte, int, error) {
	rows, err := r.rows.Next()
	if err != nil {
		return nil, 0, err
	}
	if rows.Len == 0 {
		return nil, 0, io.EOF
	}
	lines, err := r.encoder.encode(rows)
	return lines, rows.Len, err
}

func (r *queryRows) Close() error { return errors.Join(r.rows.Close(), r.snapshot.Close()) }

// arrayEncoder writes rows as JSON arrays, by the encoder of the JSON format: every value looks as in a sink. Columns are
// renamed to their numbers for it, since a query may have two of one name.
type arrayEncoder struct {
	fields []batch.Field
	encode func(batch.Columns) ([]byte, error)
}

func newArrayEncoder(fields []batch.Field) *arrayEncoder {
	numbered := make([]batch.Field, len(fields))
	for i, f := range fields {
		numbered[i] = batch.Field{Name: fmt.Sprint(i), Type: f.Type}
	}
	objects := formatjson.NewEncoder(numbered, formatjson.EncodeOptions{Lines: true})
	return &arrayEncoder{fields: numbered, encode: func(rows batch.Columns) ([]byte, error) {
		rows.Fields = numbered
		text, _, err := objects.Encode(nil, nil, &rows, 0, rows.Len)
		if err != nil {
			return nil, err
		}
		var out []byte
		for line := range strings.Lines(string(text)) {
			var object map[string]json.RawMessage
			if err := json.Unmarshal([]byte(line), &object); err != nil {
				return nil, err
			}
			out = append(out, '[')
			for i := range numbered {
				if i > 0 {
					out = append(out, ',')
				}
				if v, ok := object[numbered[i].Name]; ok {
					out = append(out, v...)
				} else {
					out = append(out, "null"...)
				}
			}
			out = append(out, "]\n"...)
		}
		return out, nil
	}}
}

// showRow is a record for a message.
func showRow(rows batch.Columns, row int) string {
	text, _, err := formatjson.NewEncoder(rows.Fields, formatjson.EncodeOptions{}).Encode(nil, nil, &rows, row, row+1)
	if err != nil {
		return ""
	}
	return string(text)
}
