// Package parquettest reads Parquet files back for tests, with the types they are known to have.
package parquettest

import (
	"bytes"
	"encoding/binary"
	"testing"

	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/file"

	"sluice/batch"
)

// Read returns the rows of a file whose columns are fields.
func Read(t testing.TB, data []byte, fields []batch.Field) batch.Columns {
	t.Helper()
	r, err := file.NewParquetReader(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	for i, f := range fields {
		if got := r.MetaData().Schema.Root().Field(i).Name(); got != f.Name || r.MetaData().Schema.Root().NumFields() != len(fields) {
			t.Fatalf("field %d of %d is %s, want %s of %d", i, r.MetaData().Schema.Root().NumFields(), got, f.Name, len(fields))
		}
	}
	built := make([]batch.Builder, len(fields))
	out := batch.Columns{Fields: fields}
	for i, f := range fields {
		built[i].Init(f.Type, 0)
	}
	for g := range r.NumRowGroups() {
		group := r.RowGroup(g)
		var leaves []*leaf
		for c := range group.NumColumns() {
			leaves = append(leaves, readLeaf(t, group, c))
		}
		for range group.NumRows() {
			rest := leaves
			for i, f := range fields {
				n := countLeaves(f.Type)
				assemble(&built[i], f.NotNull, rest[:n], 0, 0)
				rest = rest[n:]
			}
			out.Len++
		}
	}
	for i := range built {
		out.Cols = append(out.Cols, built[i].Column())
	}
	return out
}

func countLeaves(t batch.Type) (n int) {
	if !t.IsNested() {
		return 1
	}
	for _, f := range t.Fields {
		n += countLeaves(f.Type)
	}
	return n
}

// leaf is the content of one column chunk, and how far it has been used.
type leaf struct {
	def, rep  []int16
	at, value int
	values    []func(b *batch.Builder)
}

func readLeaf(t testing.TB, group *file.RowGroupReader, c int) *leaf {
	t.Helper()
	column, err := group.Column(c)
	if err != nil {
		t.Fatal(err)
	}
	chunk, err := group.MetaData().ColumnChunk(c)
	if err != nil {
		t.Fatal(err)
	}
	n := chunk.NumValues()
	l := &leaf{def: make([]int16, n), rep: make([]int16, n)}
	switch r := column.(type) {
	case *file.BooleanColumnChunkReader:
		readAll(t, l, r.ReadBatch, func(b *batch.Builder, v bool) { b.AppendBool(v) })
	case *file.Int32ColumnChunkReader:
		readAll(t, l, r.ReadBatch, func(b *batch.Builder, v int32) { b.AppendInt(int64(v)) })
	case *file.Int64ColumnChunkReader:
		readAll(t, l, r.ReadBatch, func(b *batch.Builder, v int64) { b.AppendInt(v) })
	case *file.Float32ColumnChunkReader:
		readAll(t, l, r.ReadBatch, func(b *batch.Builder, v float32) { batch.Append(b, v) })
	case *file.Float64ColumnChunkReader:
		readAll(t, l, r.ReadBatch, func(b *batch.Builder, v float64) { batch.Append(b, v) })
	case *file.ByteArrayColumnChunkReader:
		readAll(t, l, r.ReadBatch, func(b *batch.Builder, v parquet.ByteArray) { b.AppendText(v) })
	case *file.FixedLenByteArrayColumnChunkReader:
		readAll(t, l, r.ReadBatch, func(b *batch.Builder, v parquet.FixedLenByteArray) {
			batch.Append(b, batch.Int128{Lo: binary.BigEndian.Uint64(v[8:]), Hi: int64(binary.BigEndian.Uint64(v))})
		})
	default:
		t.Fatalf("a column chunk of type %s", column.Type())
	}
	return l
}

func readAll[T any](t testing.TB, l *leaf, read func(int64, []T, []int16, []int16) (int64, int, error), add func(*batch.Builder, T)) {
	t.Helper()
	levels := len(l.def)
	values := make([]T, levels)
	for done, have := int64(0), 0; done < int64(levels); {
		n, m, err := read(int64(levels)-done, values[have:], l.def[done:], l.rep[done:])
		if err != nil || n == 0 {
			t.Fatalf("%d levels of %d: %v", done, levels, err)
		}
		done, have = done+n, have+m
		values, l.values = values[:levels], l.values[:0]
		for _, v := range values[:have] {
			l.values = append(l.values, func(b *batch.Builder) { add(b, v) })
		}
	}
}

func (l *leaf) skip() { l.at++ }

// assemble puts one row together from the levels of its leaves.
func assemble(b *batch.Builder, notNull bool, leaves []*leaf, def, rep int16) {
	skip := func() {
		for _, l := range leaves {
			l.skip()
		}
	}
	if !notNull {
		if leaves[0].def[leaves[0].at] == def {
			skip()
			b.AppendNull()
			return
		}
		def++
	}
	children := func() {
		rest := leaves
		for i, f := range b.Type.Fields {
			n := countLeaves(f.Type)
			assemble(b.Child(i), f.NotNull || b.Type.Kind == batch.Map && i == 0, rest[:n], def, rep)
			rest = rest[n:]
		}
	}
	switch b.Type.Kind {
	case batch.Struct:
		children()
	case batch.Array, batch.Map:
		if leaves[0].def[leaves[0].at] == def {
			skip()
			break
		}
		def, rep = def+1, rep+1
		children()
		for l := leaves[0]; l.at < len(l.rep) && l.rep[l.at] == rep; {
			children()
		}
	default:
		l := leaves[0]
		l.values[l.value](b)
		l.value++
		l.at++
		return
	}
	b.AppendNested()
}
