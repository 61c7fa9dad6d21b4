package batch

import "unsafe"

// Builder makes a Column row by row. It is a plain struct, so the calls inline; its memory is kept by Reset and given
// away by Column until then. The zero Builder with Type set is ready.
type Builder struct {
	Type     Type
	n        int
	valid    Bitmap // nil until the first null
	fixed    []byte
	offsets  []uint32
	bytes    []byte
	children []Builder
	budget   Budget // nil: without a bound
	held     int64  // of the budget, by b itself
}

// NewBuilder returns a builder for t with room for n rows.
func NewBuilder(t Type, n int) *Builder {
	b := &Builder{}
	b.Init(t, n)
	return b
}

// Init makes b a builder for t with room for n rows, dropping what it held.
func (b *Builder) Init(t Type, n int) {
	*b = Builder{Type: t}
	if w := t.Width(); w > 0 {
		b.fixed = AlignedBytes(n * w)
	}
	if t.IsText() || t.Kind == Array || t.Kind == Map {
		b.offsets = append(make([]uint32, 0, n+1), 0)
	}
	if t.IsNested() {
		b.children = make([]Builder, len(t.Fields))
		for i, f := range t.Fields {
			b.children[i].Init(f.Type, n)
		}
	}
}

// Len is the number of rows appended.
func (b *Builder) Len() int { return b.n }

// Reset forgets the rows and keeps the memory. Columns taken before must no longer be used.
func (b *Builder) Reset() {
	b.n, b.valid, b.bytes = 0, nil, b.bytes[:0]
	if b.offsets != nil {
		b.offsets = b.offsets[:1]
	}
	for i := range b.children {
		b.children[i].Reset()
	}
}

// Column returns the rows so far. It shares memory with b: it is valid until Reset, or for ever when b is dropped.
func (b *Builder) Column() Column {
	c := Column{Type: b.Type, Len: b.n, Valid: b.valid, Offsets: b.offsets, Bytes: b.bytes}
	if w := b.Type.Width(); w > 0 {
		c.Fixed = b.fixed[:b.n*w]
	}
	if b.children != nil {
		c.Children = make([]Column, len(b.children))
		for i := range b.children {
			c.Children[i] = b.children[i].Column()
		}
	}
	return c
}

// present extends the bitmap, if there is one, by a present row.
func (b *Builder) present() {
	if b.valid != nil {
		if b.n&63 == 0 {
			b.valid = append(b.valid, 0)
		}
		b.valid.Set(b.n)
	}
	b.n++
}

// Append appends one fixed-width value. T must be the Go type of b.Type (see Values).
func Append[T Fixed](b *Builder, v T) {
	w := int(unsafe.Sizeof(v))
	at := b.n * w
	if at+w > len(b.fixed) {
		b.grow(at, w)
	}
	*(*T)(unsafe.Pointer(&b.fixed[at])) = v
	b.present()
}

// grow makes room for values of width w behind at bytes.
func (b *Builder) grow(at, w int) {
	size := max(2*len(b.fixed), 64*w)
	b.hold(int64(size - len(b.fixed)))
	grown := AlignedBytes(size)
	copy(grown, b.fixed[:at])
	b.fixed = grown
}

// AppendBool appends a BOOLEAN.
func (b *Builder) AppendBool(v bool) {
	var x uint8
	if v {
		x = 1
	}
	Append(b, x)
}

// AppendInt appends v to a column of any integer type, DATE, a timestamp or a DECIMAL; v must fit.
func (b *Builder) AppendInt(v int64) {
	switch b.Type.Width() {
	case 1:
		Append(b, int8(v))
	case 2:
		Append(b, int16(v))
	case 4:
		Append(b, int32(v))
	case 8:
		Append(b, v)
	case 16:
		Append(b, Int128{uint64(v), v >> 63})
	}
}

// AppendText appends a copy of v to a text column.
func (b *Builder) AppendText(v []byte) {
	if b.budget != nil {
		b.room(len(v))
	}
	b.bytes = append(b.bytes, v...)
	b.offsets = append(b.offsets, uint32(len(b.bytes)))
	b.present()
}

// AppendString appends v to a text column.
func (b *Builder) AppendString(v string) {
	if b.budget != nil {
		b.room(len(v))
	}
	b.bytes = append(b.bytes, v...)
	b.offsets = append(b.offsets, uint32(len(b.bytes)))
	b.present()
}

// Child returns the builder of a child column. A STRUCT row is one row in every child and then AppendNested; an ARRAY or
// MAP row is any number of rows in every child and then AppendNested.
func (b *Builder) Child(i int) *Builder { return &b.children[i] }

// AppendNested closes a row of a nested column whose children have been appended.
func (b *Builder) AppendNested() {
	if b.offsets != nil {
		b.Room(0)
		b.offsets = append(b.offsets, uint32(b.children[0].n))
	}
	b.present()
}

// AppendNull appends a null row; children of a STRUCT get a null row too.
func (b *Builder) AppendNull() {
	if b.valid == nil {
		b.valid = FullBitmap(b.n)
	}
	if b.n&63 == 0 {
		b.valid = append(b.valid, 0)
	}
	if w := b.Type.Width(); w > 0 {
		at := b.n * w
		if at+w > len(b.fixed) {
			b.grow(at, w)
		}
		clear(b.fixed[at : at+w])
	}
	b.Room(0)
	switch {
	case b.Type.IsText():
		b.offsets = append(b.offsets, uint32(len(b.bytes)))
	case b.offsets != nil:
		b.offsets = append(b.offsets, uint32(b.children[0].n))
	default:
		for i := range b.children {
			b.children[i].AppendNull()
		}
	}
	b.valid.Clear(b.n)
	b.n++
}

// Truncate drops the rows from n on, and with n equal to Len what has been appended to the children since the last whole
// row. It is how a decoder takes back a half-written record.
func (b *Builder) Truncate(n int) {
	if n > b.n {
		return
	}
	b.n = n
	if b.valid != nil {
		b.valid = b.valid[:(n+63)/64]
	}
	if b.offsets != nil {
		b.offsets = b.offsets[:n+1]
	}
	switch {
	case b.Type.IsText():
		b.bytes = b.bytes[:b.offsets[n]]
	case b.offsets != nil:
		for i := range b.children {
			b.children[i].Truncate(int(b.offsets[n]))
		}
	default:
		for i := range b.children {
			b.children[i].Truncate(n)
		}
	}
}

// AppendFrom appends row i of c, which must have the same type.
func (b *Builder) AppendFrom(c *Column, i int) {
	if c.IsNull(i) {
		b.AppendNull()
		return
	}
	switch {
	case b.Type.IsText():
		b.AppendText(c.Text(i))
	case b.Type.Kind == Struct:
		for f := range b.children {
			b.children[f].AppendFrom(&c.Children[f], i)
		}
		b.AppendNested()
	case b.Type.IsNested():
		for f := range b.children {
			for j := c.Offsets[i]; j < c.Offsets[i+1]; j++ {
				b.children[f].AppendFrom(&c.Children[f], int(j))
			}
		}
		b.AppendNested()
	default:
		switch b.Type.Width() {
		case 1:
			Append(b, Values[uint8](c)[i])
		case 2:
			Append(b, Values[int16](c)[i])
		case 4:
			Append(b, Values[int32](c)[i])
		case 8:
			Append(b, Values[int64](c)[i])
		case 16:
			Append(b, Values[Int128](c)[i])
		}
	}
}

// Take returns the rows of c that index names, in that order. Positions go along.
func (c *Columns) Take(index []int32) Columns {
	out := Columns{Fields: c.Fields, Cols: make([]Column, len(c.Cols)), Len: len(index)}
	for f := range c.Cols {
		out.Cols[f] = c.Cols[f].Take(index)
	}
	out.Pos = c.Pos.Take(index)
	return out
}

// Take returns the rows of c that index names, in that order.
func (c *Column) Take(index []int32) Column {
	b := NewBuilder(c.Type, len(index))
	for _, i := range index {
		b.AppendFrom(c, int(i))
	}
	return b.Column()
}

// Take returns the positions that index names, or none when p is empty.
func (p Positions) Take(index []int32) Positions {
	if p.Len() == 0 {
		return Positions{}
	}
	out := Positions{make([]int32, len(index)), make([]int64, len(index)), make([]int32, len(index))}
	for to, from := range index {
		out.Split[to], out.Offset[to], out.Index[to] = p.Split[from], p.Offset[from], p.Index[from]
	}
	return out
}
