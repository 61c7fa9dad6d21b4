package eval

/*
#include <stdlib.h>
#include "scan.h"
*/
import "C"

import (
	"errors"
	"fmt"
	"runtime"
	"slices"
	"unsafe"

	duckdb "github.com/duckdb/duckdb-go-bindings"

	"sluice/batch"
	"sluice/eval/dialect"
	"sluice/fault"
)

// Statement is a query made ready: a connection of its own, a view for each relation it reads, and the prepared SQL. It
// is used by one goroutine at a time.
type Statement struct {
	engine    *Engine
	compiled  *dialect.Compiled
	conn      duckdb.Connection
	sources   []*source
	functions []*function
	documents []*document
	clock     *clock // nil unless the plain statement calls it
	plain     *prepared
	guarded   *prepared // nil until it is needed (D-49)
	tolerant  *prepared // likewise (D-15)
	pins      runtime.Pinner
	results   [2]results // used in turn
	turn      int
	runs      int // how often SQL has been run

	bound   int64 // of a result's size; 0 is none
	bounded bool  // of the run at hand
}

// ErrTooLarge is the error of a run whose result passes what Bound has set.
var ErrTooLarge = errors.New("the result is larger than its bound")

// Bound sets how large the result of a batch may be, in bytes: a query can make many rows of each. A batch of one row is not bounded.
func (s *Statement) Bound(bytes int64) { s.bound = bytes }

// Prepare makes c ready to run. An error means that dialect and DuckDB disagree, or that the query needs an engine with
// one thread and this one has more (D-22): INTERNAL_ERROR.
func (e *Engine) Prepare(c *dialect.Compiled) (*Statement, error) {
	if c.Unordered && e.threads > 1 {
		return nil, fault.New(fault.InternalError, "a query whose result depends on the order of work must run on an engine with one thread (D-22)").WithDetail("%s", c.SQL)
	}
	conn, err := e.connect()
	if err != nil {
		return nil, err
	}
	s := &Statement{engine: e, compiled: c, conn: conn}
	if err := s.prepare(); err != nil {
		s.free()
		return nil, err
	}
	e.mu.Lock()
	e.statements[s] = struct{}{}
	e.mu.Unlock()
	return s, nil
}

func (s *Statement) prepare() error {
	for _, read := range s.compiled.Reads {
		source, err := newSource(read, s.compiled.Row || len(s.compiled.Documents) > 0 && read.Relation.Stream)
		if err != nil {
			return err
		}
		s.sources = append(s.sources, source)
		view := fmt.Sprintf("CREATE TEMP VIEW %s AS SELECT * FROM %s(%d)", quoteName(read.Relation.Handle), C.SLUICE_SCAN, source.c.handle)
		if err := execute(s.conn, view); err != nil {
			return err
		}
	}
	for i := range s.results {
		s.results[i].init(s.compiled)
	}
	for _, spec := range s.compiled.Documents {
		own, err := s.engine.newDecoded(&spec)
		if err != nil {
			return err
		}
		s.documents = append(s.documents, &document{spec: spec, own: own})
	}
	for _, spec := range s.compiled.Functions {
		f, err := s.engine.newFunction(spec, s.documents, s.conn)
		if err != nil {
			return err
		}
		s.functions = append(s.functions, f)
	}
	sql, parameter := s.compiled.SQL, s.compiled.Clock
	if s.compiled.Clock && s.readsStream() {
		s.clock = newClock()
		sql, parameter = s.clock.call(sql), false
	}
	var err error
	s.plain, err = s.ready(sql, parameter, false)
	return err
}

func (s *Statement) readsStream() bool {
	return slices.ContainsFunc(s.compiled.Reads, func(r dialect.Read) bool { return r.Relation.Stream })
}

// Forget gives up the memory of results. Those that Run has returned must no longer be used.
func (s *Statement) Forget() {
	for i := range s.results {
		s.results[i].init(s.compiled)
	}
	for _, d := range s.documents {
		d.own.forget()
	}
}

// Close frees the statement and the results it has returned.
func (s *Statement) Close() {
	s.engine.mu.Lock()
	_, open := s.engine.statements[s]
	delete(s.engine.statements, s)
	s.engine.mu.Unlock()
	if open {
		s.free()
	}
}

func (s *Statement) free() {
	s.plain.free()
	s.guarded.free()
	s.tolerant.free()
	duckdb.Disconnect(&s.conn)
	s.clock.free()
	for _, f := range s.functions {
		f.free()
	}
	for _, source := range s.sources {
		source.free()
	}
	s.plain, s.guarded, s.tolerant, s.clock, s.sources, s.functions = nil, nil, nil, nil, nil, nil
}

// prepared is one of a statement's texts, ready to run. The C side keeps it in memory that DuckDB may point to.
type prepared struct {
	statement duckdb.PreparedStatement
	parameter bool // the batch time is parameter 1
	guarded   bool
	nodes     int // of all columns
	run       *C.sluice_run
}

// ready prepares sql and checks that its columns and parameters are what the compiled query promises.
func (s *Statement) ready(sql string, parameter, guarded bool) (*prepared, error) {
	p := &prepared{parameter: parameter, guarded: guarded}
	sql = s.put(sql)
	if duckdb.Prepare(s.conn, sql, &p.statement) != duckdb.StateSuccess {
		err := refused(duckdb.PrepareError(p.statement)).WithDetail("%s", sql)
		p.free()
		return nil, err
	}
	types := resultTypes(s.compiled, guarded)
	if err := p.check(types); err != nil {
		p.free()
		return nil, err.WithDetail("%s", sql)
	}
	var nodes []C.sluice_node
	for _, t := range types {
		nodes = appendNodes(nodes, t)
	}
	p.nodes = len(nodes)
	p.run = (*C.sluice_run)(calloc(1, C.sizeof_sluice_run))
	p.run.statement = C.duckdb_prepared_statement(p.statement.Ptr)
	p.run.column_count = C.idx_t(len(types))
	p.run.nodes = cArray(nodes)
	p.run.views = cArray(make([]C.sluice_view, len(nodes)))
	return p, nil
}

// check compares the statement's columns and parameters with what they must be.
func (p *prepared) check(types []batch.Type) *fault.Error {
	if have := int(duckdb.PreparedStatementColumnCount(p.statement)); have != len(types) {
		return fault.New(fault.InternalError, "a query yields %d columns, not %d", have, len(types))
	}
	for i, t := range types {
		have := duckdb.PreparedStatementColumnLogicalType(p.statement, duckdb.IdxT(i))
		if id := duckdb.GetTypeId(have); !owned(have, t) {
			name := duckdb.PreparedStatementColumnName(p.statement, duckdb.IdxT(i))
			return fault.New(fault.InternalError, "column %d of a query, %s, must be %s and is DuckDB's type %d", i+1, name, t, id)
		}
	}
	parameters := 0
	if p.parameter {
		parameters = 1
	}
	if have := int(duckdb.NParams(p.statement)); have != parameters {
		return fault.New(fault.InternalError, "a query has %d parameters, not %d", have, parameters)
	}
	return nil
}

func (p *prepared) free() {
	if p == nil {
		return
	}
	duckdb.DestroyPrepare(&p.statement)
	if p.run != nil {
		C.free(unsafe.Pointer(p.run.nodes))
		C.free(unsafe.Pointer(p.run.views))
		C.free(unsafe.Pointer(p.run))
	}
}

// resultTypes lists the types of the statement's columns: rows, sequence, checks, row number; guarded, whether each check ran.
func resultTypes(c *dialect.Compiled, guarded bool) []batch.Type {
	var types []batch.Type
	for _, f := range c.Columns {
		types = append(types, f.Type)
	}
	if c.Sequence.Kind != batch.Void {
		types = append(types, c.Sequence)
	}
	for range c.Checks {
		types = append(types, batch.Of(batch.Boolean))
	}
	if c.Row {
		types = append(types, batch.Of(batch.Int))
	}
	if guarded {
		types = append(types, slices.Repeat([]batch.Type{batch.Of(batch.Boolean)}, c.Checks)...)
	}
	return types
}
