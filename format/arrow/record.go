package arrow

import (
	"math"
	"math/bits"
	"unsafe"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"sluice/batch"
	"sluice/fault"
)

// Record returns rows as a record batch of the schema of their fields. It shares their memory.
func Record(schema *arrow.Schema, rows *batch.Columns) (arrow.RecordBatch, error) {
	cols := make([]arrow.Array, len(rows.Cols))
	for i := range rows.Cols {
		data, err := dataOf(schema.Field(i).Type, &rows.Cols[i])
		if err != nil {
			return nil, err
		}
		cols[i] = array.MakeFromData(data)
	}
	return array.NewRecordBatch(schema, cols, int64(rows.Len)), nil
}

// dataOf returns a column as Arrow's buffers.
func dataOf(t arrow.DataType, c *batch.Column) (arrow.ArrayData, error) {
	valid, nulls := validity(c)
	buffers := []*memory.Buffer{valid}
	var children []arrow.ArrayData
	switch {
	case c.Type.IsText():
		offsets, err := offsets(c)
		if err != nil {
			return nil, err
		}
		buffers = append(buffers, offsets, memory.NewBufferBytes(c.Bytes))
	case c.Type.Kind == batch.Boolean:
		buffers = append(buffers, memory.NewBufferBytes(packed(batch.Values[uint8](c))))
	case c.Type.Kind == batch.Decimal && c.Type.Width() == 8:
		buffers = append(buffers, memory.NewBufferBytes(widened(batch.Values[int64](c))))
	case !c.Type.IsNested():
		buffers = append(buffers, memory.NewBufferBytes(c.Fixed))
	default:
		var err error
		if buffers, children, err = nested(t, c, buffers); err != nil {
			return nil, err
		}
	}
	return array.NewData(t, c.Len, buffers, children, nulls, 0), nil
}

// nested returns the buffers and children of a STRUCT, ARRAY or MAP column.
func nested(t arrow.DataType, c *batch.Column, buffers []*memory.Buffer) ([]*memory.Buffer, []arrow.ArrayData, error) {
	inner := t.(arrow.NestedType).Fields()
	if c.Type.Kind == batch.Map {
		inner = inner[0].Type.(*arrow.StructType).Fields() // a list of structs of key and value
	}
	children := make([]arrow.ArrayData, len(c.Children))
	for i := range c.Children {
		data, err := dataOf(inner[i].Type, &c.Children[i])
		if err != nil {
			return nil, nil, err
		}
		children[i] = data
	}
	if c.Type.Kind == batch.Struct {
		return buffers, children, nil
	}
	offsets, err := offsets(c)
	if c.Type.Kind == batch.Map {
		entries := t.(arrow.NestedType).Fields()[0].Type
		children = []arrow.ArrayData{array.NewData(entries, c.Children[0].Len, []*memory.Buffer{nil}, children, 0, 0)}
	}
	return append(buffers, offsets), children, err
}

// validity returns the bitmap, which has the same layout on both sides, and the number of nulls.
func validity(c *batch.Column) (*memory.Buffer, int) {
	if c.Valid == nil || c.Len == 0 {
		return nil, 0
	}
	words := c.Valid[:(c.Len+63)/64]
	present := 0
	for i, w := range words {
		if i == len(words)-1 && c.Len%64 != 0 {
			w &= 1<<(c.Len%64) - 1 // bits behind the last row mean nothing
		}
		present += bits.OnesCount64(w)
	}
	return memory.NewBufferBytes(bytesOf(words)), c.Len - present
}

// offsets returns the offsets, which Arrow reads as signed.
func offsets(c *batch.Column) (*memory.Buffer, error) {
	if c.Len == 0 {
		return memory.NewBufferBytes(make([]byte, 4)), nil
	}
	if c.Offsets[c.Len] > math.MaxInt32 {
		return nil, fault.New(fault.CannotEncode, "a column of type %s has more than 2 GiB in one batch", c.Type).WithHint("lower the size of batches")
	}
	return memory.NewBufferBytes(bytesOf(c.Offsets[:c.Len+1])), nil
}

func bytesOf[T uint32 | uint64 | batch.Int128](s []T) []byte {
	var one T
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(s))), len(s)*int(unsafe.Sizeof(one)))
}

// packed turns a byte per row into a bit per row.
func packed(values []uint8) []byte {
	out := make([]byte, (len(values)+7)/8)
	for i, v := range values {
		out[i/8] |= v & 1 << (i % 8)
	}
	return out
}

func widened(values []int64) []byte {
	out := make([]batch.Int128, len(values))
	for i, v := range values {
		out[i] = batch.Int128{Lo: uint64(v), Hi: v >> 63}
	}
	return bytesOf(out)
}
