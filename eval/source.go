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
	"sync"
	"unsafe"

	duckdb "github.com/duckdb/duckdb-go-bindings"

	"sluice/batch"
	"sluice/eval/dialect"
	"sluice/fault"
)

// Input is the rows of one relation: either a batch, or a scan. A batch is read in place; it must not change until the
// call returns. Its columns are found by name, and their types must be the relation's. Rows are numbered from 0 (_row);
// neither may have more than 2^31 of them where their numbers are asked for.
type Input struct {
	Batch *batch.Columns
	Open  func() (Scan, error) // called once for each time the query reads the relation (a self join reads it twice)
	// Documents of the batch that the statement's Decoder has read ahead; without them the statement reads them itself.
	Documents *Documents
}

// Scan brings the rows of a relation piece by piece. It is used from one thread at a time, which need not be the caller's
// when the engine has more than one.
type Scan interface {
	// Next returns the next rows, none at the end. eval passes 0 for max: the scan chooses how many. The rows must stay as
	// they are until the next call.
	Next(max int) (batch.Columns, error)
	// Close is called exactly once, also when the scan has not been read to its end.
	Close() error
}

// source is the Go side of a sluice_source: what DuckDB scans for one relation of a statement.
type source struct {
	c      *C.sluice_source
	fields []batch.Field // the columns of the relation that are read, without _row
	places places        // of the fields in batches
	plans  int           // how often DuckDB has planned a query over it: once, if all is well

	input Input // of the run at hand
	mu    sync.Mutex
	err   error // why a scan of the run at hand failed
}

// places says where each field of a source was in the last batch. Batches of one origin look alike.
type places []int

// Cardinalities that DuckDB's planner works with. A stream counts as the larger side, so that a join hashes the table
// and keeps the order of the stream's rows.
const (
	streamRows = 1 << 30
	tableRows  = 1 << 20
)

func newSource(read dialect.Read, withRow bool) (*source, error) {
	fields, err := readFields(read)
	if err != nil {
		return nil, err
	}
	s := &source{fields: fields, places: make(places, len(fields)), c: (*C.sluice_source)(calloc(1, C.sizeof_sluice_source))}
	s.c.cardinality = tableRows
	if read.Relation.Stream {
		s.c.cardinality = streamRows
	}
	s.c.handle = C.uintptr_t(cgo.NewHandle(s))
	if err := s.describe(read.Relation, withRow); err != nil {
		s.free()
		return nil, err
	}
	return s, nil
}

// describe tells DuckDB's side the names, types and layout of the columns.
func (s *source) describe(relation *dialect.Relation, withRow bool) error {
	var nodes []C.sluice_node
	var roots []C.idx_t
	var names []*C.char
	var types []C.duckdb_logical_type
	add := func(name string, t duckdb.LogicalType) {
		names = append(names, C.CString(name))
		types = append(types, C.duckdb_logical_type(t.Ptr))
	}
	defer func() { // what has been made is handed over even after an error, for free to find
		s.c.column_count, s.c.node_count = C.idx_t(len(names)), C.idx_t(len(nodes))
		s.c.names, s.c.types, s.c.nodes, s.c.roots = cArray(names), cArray(types), cArray(nodes), cArray(roots)
		s.c.buffers = cArray(make([]C.sluice_buffers, len(nodes)))
	}()
	for _, f := range s.fields {
		t, err := logicalType(f.Type)
		if err != nil {
			return err
		}
		add(relation.Identifier(f.Name), t)
		roots = append(roots, C.idx_t(len(nodes)))
		nodes = appendNodes(nodes, f.Type)
	}
	if withRow || len(s.fields) == 0 { // a table function without columns does not exist
		add(rowColumn, duckdb.CreateLogicalType(duckdb.TypeInteger))
		roots = append(roots, C.idx_t(len(nodes)))
		nodes = append(nodes, C.sluice_node{layout: C.SLUICE_ROW, size: 1})
	}
	return nil
}

func (s *source) free() {
	cgo.Handle(s.c.handle).Delete()
	for _, name := range unsafe.Slice(s.c.names, s.c.column_count) {
		C.free(unsafe.Pointer(name))
	}
	for _, t := range unsafe.Slice(s.c.types, s.c.column_count) {
		duckdb.DestroyLogicalType(&duckdb.LogicalType{Ptr: unsafe.Pointer(t)})
	}
	for _, p := range []unsafe.Pointer{unsafe.Pointer(s.c.names), unsafe.Pointer(s.c.types), unsafe.Pointer(s.c.nodes),
		unsafe.Pointer(s.c.roots), unsafe.Pointer(s.c.buffers), unsafe.Pointer(s.c)} {
		C.free(p)
	}
}

// readFields finds the fields of the columns that are read: members of a hidden struct stand as "_metadata.x".
func readFields(read dialect.Read) ([]batch.Field, error) {
	known := map[string]batch.Field{}
	for _, f := range read.Relation.Fields {
		known[f.Name] = f
	}
	for _, f := range read.Relation.Hidden {
		known[f.Name] = f
		for _, m := range f.Type.Fields {
			known[f.Name+"."+m.Name] = batch.Field{Name: f.Name + "." + m.Name, Type: m.Type}
		}
	}
	fields := make([]batch.Field, len(read.Columns))
	for i, name := range read.Columns {
		f, ok := known[name]
		if !ok {
			return nil, fault.New(fault.InternalError, "%s has no column %s", read.Relation.Name, name)
		}
		fields[i] = f
	}
	return fields, nil
}

// set makes in the input of the next run, and pins it.
func (s *source) set(in Input, pins *runtime.Pinner) error {
	s.input, s.err = in, nil
	s.c.pulled = C.bool(in.Batch == nil)
	if in.Batch == nil {
		if in.Open == nil {
			return fault.New(fault.InternalError, "an input is neither a batch nor a scan")
		}
		return nil
	}
	s.limit(0, in.Batch.Len)
	return s.fill(s.c.buffers, in.Batch, s.places, pins)
}

// unset forgets the input, so that nothing of a run outlives it.
func (s *source) unset() { s.input = Input{} }

// limit lets DuckDB see the rows of the batch from first up to end only.
func (s *source) limit(first, end int) { s.c.first, s.c.end = C.idx_t(first), C.idx_t(end) }

// fill points the buffers at the columns of rows.
func (s *source) fill(buffers *C.sluice_buffers, rows *batch.Columns, at places, pins *runtime.Pinner) error {
	if rows.Len == 0 {
		return nil // nothing will be read, and an empty batch may be without columns
	}
	out := unsafe.Slice(buffers, s.c.node_count)
	for i := range s.fields {
		column, err := at.find(i, &s.fields[i], rows)
		if err != nil {
			return err
		}
		if out, err = fillColumn(out, column, rows.Len, pins); err != nil {
			return fmt.Errorf("column %s: %w", s.fields[i].Name, err)
		}
	}
	return nil
}

// find returns the column of field i.
func (at places) find(i int, f *batch.Field, rows *batch.Columns) (*batch.Column, error) {
	if p := at[i]; p >= len(rows.Fields) || rows.Fields[p].Name != f.Name {
		for p = 0; p < len(rows.Fields) && rows.Fields[p].Name != f.Name; p++ {
		}
		if p == len(rows.Fields) {
			return nil, fault.New(fault.InternalError, "the rows to evaluate have no column %s", f.Name)
		}
		at[i] = p
	}
	column := &rows.Cols[at[i]]
	if !column.Type.Equal(f.Type) {
		return nil, fault.New(fault.InternalError, "column %s to evaluate is %s, not %s", f.Name, column.Type, f.Type)
	}
	return column, nil
}

// fillColumn points the first buffers of out at column and its children, and returns the others. C trusts them, so their
// sizes are checked here.
func fillColumn(out []C.sluice_buffers, column *batch.Column, rows int, pins *runtime.Pinner) ([]C.sluice_buffers, error) {
	children, ok := childRows(column, rows)
	if !ok {
		return nil, fault.New(fault.InternalError, "buffers do not hold %d rows of %s", rows, column.Type)
	}
	out[0] = C.sluice_buffers{
		fixed:   pin(column.Fixed, pins),
		valid:   pin(column.Valid, pins),
		offsets: pin(column.Offsets, pins),
		bytes:   pin(column.Bytes, pins),
	}
	out = out[1:]
	for i := range column.Children {
		var err error
		if out, err = fillColumn(out, &column.Children[i], children, pins); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// childRows returns how many rows the children of column must have, and whether its own buffers hold the given rows.
func childRows(column *batch.Column, rows int) (children int, ok bool) {
	if column.Len < rows || column.Valid != nil && len(column.Valid) < (rows+63)/64 {
		return 0, false
	}
	if t := column.Type; t.IsNested() && len(column.Children) != len(t.Fields) {
		return 0, false
	}
	switch column.Type.Kind {
	case batch.Struct:
		return rows, true
	case batch.Array, batch.Map:
		if len(column.Offsets) <= rows {
			return 0, false
		}
		return int(column.Offsets[rows]), true
	case batch.String, batch.Binary, batch.Variant:
		return 0, len(column.Offsets) > rows && int(column.Offsets[rows]) <= len(column.Bytes)
	}
	return 0, len(column.Fixed) >= rows*column.Type.Width()
}

// pin keeps s where it is and returns its address, 0 for none.
func pin[T any](s []T, pins *runtime.Pinner) C.uintptr_t {
	if len(s) == 0 {
		return 0
	}
	p := unsafe.SliceData(s)
	pins.Pin(p)
	return C.uintptr_t(uintptr(unsafe.Pointer(p)))
}
