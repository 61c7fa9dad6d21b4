package eval

import (
	"testing"
	"time"

	"sluice/batch"
	"sluice/eval/dialect"
)

// batchTime is the time of every batch in these tests, unless a test is about time.
var batchTime = time.Date(2024, 2, 29, 12, 30, 0, 0, time.UTC)

// open starts an engine for one test.
func open(t testing.TB, threads int) *Engine {
	t.Helper()
	e, err := Open(Options{Threads: threads, MemoryLimit: 1 << 30})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	})
	return e
}

// prepare makes c ready for one test.
func prepare(t testing.TB, e *Engine, c *dialect.Compiled) *Statement {
	t.Helper()
	s, err := e.Prepare(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

// field is a column of a relation or of a result.
func field(name string, t batch.Type) batch.Field { return batch.Field{Name: name, Type: t} }

// read is a relation read under its own name, with all its columns.
func read(name string, fields ...batch.Field) dialect.Read {
	r := dialect.Read{Relation: &dialect.Relation{Name: name, Handle: name, Fields: fields, Stream: true}}
	for _, f := range fields {
		r.Columns = append(r.Columns, f.Name)
	}
	return r
}

// columns makes a batch of the given columns, which have one length.
func columns(fields []batch.Field, cols ...*batch.Builder) *batch.Columns {
	out := &batch.Columns{Fields: fields}
	for _, b := range cols {
		out.Cols = append(out.Cols, b.Column())
		out.Len = b.Len()
	}
	return out
}

// ints makes a BIGINT column.
func ints(values ...int64) *batch.Builder {
	b := batch.NewBuilder(batch.Of(batch.BigInt), len(values))
	for _, v := range values {
		b.AppendInt(v)
	}
	return b
}

// texts makes a STRING column.
func texts(values ...string) *batch.Builder {
	b := batch.NewBuilder(batch.Of(batch.String), len(values))
	for _, v := range values {
		b.AppendString(v)
	}
	return b
}

var (
	bigint = batch.Of(batch.BigInt)
	str    = batch.Of(batch.String)
	double = batch.Of(batch.Double)
)
