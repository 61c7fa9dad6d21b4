package eval

/*
#include <stdlib.h>
#include "scan.h"
*/
import "C"

import (
	"fmt"
	"runtime"
	"runtime/cgo"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"time"
	"unsafe"

	duckdb "github.com/duckdb/duckdb-go-bindings"

	"sluice/batch"
	"sluice/eval/builtin"
	"sluice/eval/dialect"
	"sluice/fault"
	"sluice/format"
	"sluice/format/csv"
	"sluice/format/json"
)

// computing computes a function for some rows; it is used by one goroutine at a time.
type computing interface {
	// compute appends one value per row of the arguments. What it made NULL because it could not read it is counted.
	compute(args []batch.Column, out *batch.Builder) (format.Nulled, *fault.Error)
}

// newComputing makes what computes f, in the zone of the session.
func newComputing(f *dialect.Function, zone *time.Location) (computing, error) {
	options := f.Given()
	switch f.Name {
	case "from_json":
		from, err := newFrom(f, nil, zone)
		return fromJSON{from}, err
	case "from_csv":
		return newFromCSV(f, options, zone)
	case "to_csv":
		o, err := csv.ParseTo(options, zone)
		if err != nil {
			return nil, err
		}
		to, err := csv.NewTo(f.Args[0], o)
		return toCSV{to}, err
	case "to_json":
		times, zone, err := timesOf(false, options, zone)
		return toJSON{json.NewTo(f.Args[0], options["ignorenullfields"] == "false", zone, times)}, err
	case "get_json_object":
		path, ok := json.NewPath(options["path"])
		if !ok {
			return nil, fault.New(fault.InternalError, "the path %q was not checked", options["path"])
		}
		return jsonPath{path}, nil
	}
	compute, err := builtin.New(builtin.Spec{Name: f.Name, Args: f.Args, Result: f.Result, Options: options, Zone: zone})
	return pure{compute}, err
}

type jsonPath struct{ *json.Path }

func (p jsonPath) compute(args []batch.Column, out *batch.Builder) (format.Nulled, *fault.Error) {
	p.Append(&args[0], out)
	return format.Nulled{}, nil
}

// pure is a function of package builtin. Those have one argument at least.
type pure struct{ function builtin.Function }

func (p pure) compute(args []batch.Column, out *batch.Builder) (format.Nulled, *fault.Error) {
	return format.Nulled{}, p.function(args, args[0].Len, out)
}

type fromJSON struct{ *json.From }

// newFrom makes what reads the texts of a call of from_json, of which the given parts are used; nil means all.
func newFrom(f *dialect.Function, used [][]int, session *time.Location) (*json.From, error) {
	options := f.Given()
	times, zone, err := timesOf(true, options, session)
	if err != nil {
		return nil, err
	}
	return json.NewFrom(json.FromOptions{Type: f.Result, CorruptRecord: corruptRecord(f.Result, options), Zone: zone, Times: times, Used: used, FailFast: options["mode"] == "FAILFAST",
		NumbersAsStrings: options["numbers_as_strings"] == "true", TimestampUnit: format.ParseTimestampUnit(options["timestampunit"]), NoNames: options["allownonnumericnumbers"] == "false"})
}

// timesOf are the patterns that options name, and the zone.
func timesOf(reading bool, options map[string]string, session *time.Location) (format.Times, *time.Location, error) {
	value := func(name string) string { return options[strings.ToLower(name)] }
	times, err := format.ParseTimes(reading, value)
	if err != nil {
		return times, session, err
	}
	zone, err := format.ParseZone(value(format.ZoneOption), session)
	return times, zone, err
}

// corruptRecord is the index of the field for texts that cannot be read, or -1.
func corruptRecord(t batch.Type, options map[string]string) int {
	name, given := options["columnnameofcorruptrecord"]
	if !given {
		name = format.CorruptRecordOption.Default
	}
	if t.Kind != batch.Struct {
		return -1
	}
	return slices.IndexFunc(t.Fields, func(f batch.Field) bool { return f.Name == name })
}

func (f fromJSON) compute(args []batch.Column, out *batch.Builder) (format.Nulled, *fault.Error) {
	return f.Append(&args[0], out)
}

type toJSON struct{ *json.To }

func (f toJSON) compute(args []batch.Column, out *batch.Builder) (format.Nulled, *fault.Error) {
	return format.Nulled{}, f.Append(&args[0], out)
}

type fromCSV struct{ *csv.From }

func newFromCSV(f *dialect.Function, options map[string]string, zone *time.Location) (computing, error) {
	fields, err := csv.ParseFields(options, zone)
	if err != nil {
		return nil, err
	}
	from, err := csv.NewFrom(csv.FromOptions{Fields: fields, Type: f.Result, CorruptRecord: corruptRecord(f.Result, options), FailFast: options["mode"] == "FAILFAST"})
	return fromCSV{from}, err
}

func (f fromCSV) compute(args []batch.Column, out *batch.Builder) (format.Nulled, *fault.Error) {
	return f.Append(&args[0], out)
}

type toCSV struct{ *csv.To }

func (f toCSV) compute(args []batch.Column, out *batch.Builder) (format.Nulled, *fault.Error) {
	return format.Nulled{}, f.Append(&args[0], out)
}

// function is a function of a statement that DuckDB calls, from any of its threads.
type function struct {
	spec   dialect.Function
	zone   *time.Location
	budget *budget
	handle cgo.Handle

	mu     sync.Mutex
	idle   []*worker
	nulled format.Nulled // by loud calls, since take
	err    *fault.Error  // of a loud call; that memory has run out also of a quiet one, which TRY must not make NULL

	// Of a part of a document:
	document *document
	nodes    []C.sluice_node    // of the part's type
	buffers  []C.sluice_buffers // where it is read ahead: the part in the run at hand
}

// worker is the memory of one call. There are as many as DuckDB has used threads.
type worker struct {
	computing computing
	args      []output
	columns   []batch.Column
	out       batch.Builder
	budget    *budget
	buffers   []C.sluice_buffers
	pins      runtime.Pinner
}

// newFunction makes f known to DuckDB. It may be a part of one of the documents.
func (e *Engine) newFunction(spec dialect.Function, documents []*document, conn duckdb.Connection) (*function, error) {
	if err := e.register(&spec, conn); err != nil {
		return nil, err
	}
	f := &function{spec: spec, zone: e.zone, budget: e.budget}
	if spec.Document > 0 {
		f.document = documents[spec.Document-1]
		f.nodes = partNodes(&f.document.spec, spec.Path)
		f.buffers = make([]C.sluice_buffers, len(f.nodes))
	} else {
		w, err := f.worker()
		if err != nil {
			return nil, err
		}
		f.idle = append(f.idle, w)
	}
	f.handle = cgo.NewHandle(f)
	return f, nil
}

func (f *function) free() { f.handle.Delete() }

// register gives DuckDB both functions of spec's signature, once.
func (e *Engine) register(spec *dialect.Function, conn duckdb.Connection) error {
	loud, quiet := spec.External()
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, name := range []string{loud, quiet} {
		if e.functions[name] {
			continue
		}
		var types []C.duckdb_logical_type
		var nodes []C.sluice_node
		arguments := 0
		for i, t := range append(spec.Args[:len(spec.Args):len(spec.Args)], spec.Result) {
			if i == len(spec.Args) {
				arguments = len(nodes)
			}
			typ, err := logicalType(t)
			if err != nil {
				return err
			}
			types, nodes = append(types, C.duckdb_logical_type(typ.Ptr)), appendNodes(nodes, t)
		}
		text := C.CString(name)
		state := C.sluice_register_function(C.duckdb_connection(conn.Ptr), text, C.bool(name == quiet), cArray(types), C.idx_t(len(spec.Args)), cArray(nodes), C.idx_t(arguments))
		C.free(unsafe.Pointer(text))
		if state != C.DuckDBSuccess {
			return fault.New(fault.InternalError, "DuckDB does not take the function %s", spec.Name)
		}
		e.functions[name] = true
	}
	return nil
}

func (f *function) worker() (*worker, error) {
	w := &worker{budget: f.budget}
	var err error
	if w.computing, err = newComputing(&f.spec, f.zone); err != nil {
		return nil, err
	}
	nodes := 0
	for _, t := range f.spec.Args {
		w.args = append(w.args, newOutput(t, &nodes))
	}
	w.columns = make([]batch.Column, len(w.args))
	w.out.Init(f.spec.Result, 0)
	w.out.Within(w.budget.take)
	w.buffers = make([]C.sluice_buffers, len(appendNodes(nil, f.spec.Result)))
	return w, nil
}

// borrow returns a worker that nobody uses.
func (f *function) borrow() (*worker, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if n := len(f.idle); n > 0 {
		w := f.idle[n-1]
		f.idle = f.idle[:n-1]
		return w, nil
	}
	return f.worker()
}

// call computes a chunk of rows into the vector output.
func (f *function) call(quiet bool, rows int, views []C.sluice_view, result *C.sluice_node, output C.duckdb_vector) error {
	nulled, err := f.compute(rows, views, result, output)
	if quiet && !fault.Of(err, fault.OutOfMemory) {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if !quiet {
		f.nulled.Add(nulled)
	}
	if err != nil && f.err == nil {
		f.err = fault.From(err)
	}
	return err
}

func (f *function) compute(rows int, views []C.sluice_view, result *C.sluice_node, output C.duckdb_vector) (format.Nulled, error) {
	if f.document != nil {
		return f.part(&views[0], rows, output)
	}
	w, err := f.borrow()
	if err != nil {
		return format.Nulled{}, err
	}
	defer f.giveBack(w)
	return w.call(rows, views, result, output)
}

func (f *function) giveBack(w *worker) {
	f.mu.Lock()
	f.idle = append(f.idle, w)
	f.mu.Unlock()
}

func (w *worker) call(rows int, views []C.sluice_view, result *C.sluice_node, output C.duckdb_vector) (nulled format.Nulled, err error) {
	var args int64
	defer func() { err = w.settle(recover(), args, err) }()
	for i := range w.args {
		w.args[i].truncate(0)
		if err := w.args[i].append(views, 0, rows); err != nil {
			return format.Nulled{}, err
		}
		w.columns[i] = w.args[i].column()
		size := w.args[i].size()
		if !w.budget.take(size) {
			return format.Nulled{}, w.exceeded()
		}
		args += size
	}
	w.out.Reset()
	nulled, failure := w.computing.compute(w.columns, &w.out)
	if failure != nil {
		return nulled, failure
	}
	column := w.out.Column()
	defer w.pins.Unpin()
	if _, err := fillColumn(w.buffers, &column, rows, &w.pins); err != nil {
		return nulled, err
	}
	w.pins.Pin(&w.buffers[0])
	return nulled, exception(C.sluice_try_fill(output, result, &w.buffers[0], 0, C.idx_t(rows), true))
}

// keptBytes is how much memory a worker keeps for its next call, of arguments and of results.
const keptBytes = 1 << 20

// settle ends a call: memory that it should not keep it gives up, and a result that passed the budget is an error.
func (w *worker) settle(panicked any, args int64, err error) error {
	w.budget.take(-args)
	if args > keptBytes {
		for i := range w.args {
			w.args[i].free()
		}
	}
	_, exceeded := panicked.(batch.Exceeded)
	if exceeded || w.out.Held() > keptBytes {
		w.out.Free()
	}
	switch {
	case exceeded:
		return w.exceeded()
	case panicked != nil:
		panic(panicked)
	}
	return err
}

func (w *worker) exceeded() error {
	return fault.New(fault.OutOfMemory, "a function makes more of its rows than the %d bytes that there are for that", w.budget.most).WithHint("raise memory_limit")
}

// take returns what loud calls made NULL since it was last asked, and an error; both are forgotten.
func (f *function) take() (nulled format.Nulled, err *fault.Error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	nulled, err = f.nulled, f.err
	f.nulled, f.err = format.Nulled{}, nil
	return nulled, err
}

// message is what DuckDB is told. Of quiet calls nothing else is left of the error.
func (f *function) message(quiet bool, err error) string {
	if e := fault.From(err); quiet {
		return dialect.RaisedMessage(e.Code, e.Message)
	}
	return err.Error()
}

//export sluiceCall
func sluiceCall(handle C.uintptr_t, quiet C.bool, rows C.idx_t, views *C.sluice_view, nodes C.idx_t, result *C.sluice_node, output C.duckdb_vector) (message *C.char) {
	defer func() {
		if p := recover(); p != nil { // also: not a handle of ours, the SQL made it up
			message = C.CString(fmt.Sprintf("a function panicked: %v %s", p, debug.Stack()))
		}
	}()
	f := cgo.Handle(handle).Value().(*function)
	if err := f.call(bool(quiet), int(rows), unsafe.Slice(views, nodes), result, output); err != nil {
		return C.CString(f.message(bool(quiet), err))
	}
	return nil
}

// put writes a statement with the handles of its functions in place of their placeholders.
func (s *Statement) put(sql string) string {
	for i, f := range s.functions {
		sql = replaced(sql, dialect.Placeholder(i)+",", fmt.Sprintf("%d,", f.handle))
	}
	return sql
}

// replaced puts text in the place of a mark in sql, except in quotes.
func replaced(sql, mark, text string) string {
	var out strings.Builder
	for len(sql) > 0 {
		n := plainText(sql)
		out.WriteString(strings.ReplaceAll(sql[:n], mark, text))
		sql = sql[n:]
		n = quotedText(sql)
		out.WriteString(sql[:n])
		sql = sql[n:]
	}
	return out.String()
}
