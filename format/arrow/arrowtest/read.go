// Package arrowtest reads Arrow IPC streams back for tests, with the types they are known to have.
package arrowtest

import (
	"io"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"

	"sluice/batch"
)

// Read returns the rows of a stream whose columns are fields.
func Read(t testing.TB, in io.Reader, fields []batch.Field) batch.Columns {
	t.Helper()
	r, err := ipc.NewReader(in)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Release()
	out := batch.Columns{Fields: fields}
	built := make([]batch.Builder, len(fields))
	for i, f := range fields {
		built[i].Init(f.Type, 0)
		if got := r.Schema().Field(i); got.Name != f.Name || got.Nullable == f.NotNull || r.Schema().NumFields() != len(fields) {
			t.Fatalf("field %d of %d is %s, want %s", i, r.Schema().NumFields(), got, f.Name)
		}
	}
	for r.Next() {
		record := r.RecordBatch()
		for c, a := range record.Columns() {
			for i := range a.Len() {
				add(t, &built[c], a, i)
			}
		}
		out.Len += int(record.NumRows())
	}
	if r.Err() != nil {
		t.Fatal(r.Err())
	}
	for i := range built {
		out.Cols = append(out.Cols, built[i].Column())
	}
	return out
}

func add(t testing.TB, b *batch.Builder, a arrow.Array, i int) {
	if a.IsNull(i) {
		b.AppendNull()
		return
	}
	switch a := a.(type) {
	case *array.Boolean:
		b.AppendBool(a.Value(i))
	case *array.Int8:
		batch.Append(b, a.Value(i))
	case *array.Int16:
		batch.Append(b, a.Value(i))
	case *array.Int32:
		batch.Append(b, a.Value(i))
	case *array.Int64:
		batch.Append(b, a.Value(i))
	case *array.Float32:
		batch.Append(b, a.Value(i))
	case *array.Float64:
		batch.Append(b, a.Value(i))
	case *array.Decimal128:
		v := a.Value(i)
		if b.Type.Width() == 8 {
			batch.Append(b, int64(v.LowBits()))
		} else {
			batch.Append(b, batch.Int128{Lo: v.LowBits(), Hi: v.HighBits()})
		}
	case *array.Date32:
		batch.Append(b, int32(a.Value(i)))
	case *array.Timestamp:
		batch.Append(b, int64(a.Value(i)))
	case *array.String:
		b.AppendString(a.Value(i))
	case *array.Binary:
		b.AppendText(a.Value(i))
	case array.ExtensionArray:
		add(t, b, a.Storage(), i)
	default:
		addNested(t, b, a, i)
	}
}

func addNested(t testing.TB, b *batch.Builder, a arrow.Array, i int) {
	switch a := a.(type) {
	case *array.Struct:
		for f := range a.NumField() {
			add(t, b.Child(f), a.Field(f), i)
		}
	case *array.Map: // before List, which it embeds
		from, to := a.ValueOffsets(i)
		for j := from; j < to; j++ {
			add(t, b.Child(0), a.Keys(), int(j))
			add(t, b.Child(1), a.Items(), int(j))
		}
	case *array.List:
		from, to := a.ValueOffsets(i)
		for j := from; j < to; j++ {
			add(t, b.Child(0), a.ListValues(), int(j))
		}
	default:
		t.Fatalf("an array of type %s", a.DataType())
	}
	b.AppendNested()
}
