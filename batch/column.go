package batch

import "unsafe"

// Int128 is the value of a DECIMAL of more than 18 digits, unscaled, two's complement.
type Int128 struct {
	Lo uint64
	Hi int64
}

// Bitmap has one bit per row, lowest bit of word 0 first; a set bit is a value that is present. A nil Bitmap means that
// every row has a value.
type Bitmap []uint64

// Get reports whether row i has a value.
func (b Bitmap) Get(i int) bool { return b == nil || b[i>>6]&(1<<(i&63)) != 0 }

// Clear marks row i as null. The bitmap must not be nil.
func (b Bitmap) Clear(i int) { b[i>>6] &^= 1 << (i & 63) }

// Set marks row i as present. The bitmap must not be nil.
func (b Bitmap) Set(i int) { b[i>>6] |= 1 << (i & 63) }

// FullBitmap returns a bitmap of n rows that are all present.
func FullBitmap(n int) Bitmap {
	b := make(Bitmap, (n+63)/64)
	for i := range b {
		b[i] = ^uint64(0)
	}
	return b
}

// Column is one column of a batch. Which buffers are used depends on the type:
//
//	fixed width        Fixed has Len*Width bytes, 8-byte aligned (see Values); BOOLEAN is one byte per row, 0 or 1
//	STRING, BINARY,    Offsets has Len+1 entries into Bytes
//	VARIANT
//	STRUCT             Children has one column of Len rows per field
//	ARRAY, MAP         Offsets has Len+1 entries that count rows of Children (the element; the key and the value)
//
// The content of a fixed-width or text value under a null bit is not defined, but its offsets must be valid.
type Column struct {
	Type     Type
	Len      int
	Valid    Bitmap
	Fixed    []byte
	Offsets  []uint32
	Bytes    []byte
	Children []Column
}

// Fixed is a Go type that lies in a fixed-width buffer.
type Fixed interface {
	~uint8 | ~int8 | ~int16 | ~int32 | ~int64 | ~float32 | ~float64 | Int128
}

// Values views the fixed-width buffer of c as its Go type: uint8 (BOOLEAN), int8, int16, int32 (INT, DATE), int64
// (BIGINT, timestamps, decimals up to 18 digits), float32, float64, Int128.
func Values[T Fixed](c *Column) []T {
	if c.Len == 0 {
		return nil
	}
	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(c.Fixed))), c.Len)
}

// Text returns the bytes of row i of a text column. They belong to the column.
func (c *Column) Text(i int) []byte { return c.Bytes[c.Offsets[i]:c.Offsets[i+1]] }

// Int is the value in row i of a column of any integer type, a date or a time.
func (c *Column) Int(i int) int64 {
	switch c.Type.Width() {
	case 1:
		return int64(Values[int8](c)[i])
	case 2:
		return int64(Values[int16](c)[i])
	case 4:
		return int64(Values[int32](c)[i])
	}
	return Values[int64](c)[i]
}

// IsNull reports whether row i is null.
func (c *Column) IsNull(i int) bool { return !c.Valid.Get(i) }

// AlignedBytes returns n zero bytes that start at a multiple of eight.
func AlignedBytes(n int) []byte {
	if n == 0 {
		return nil
	}
	words := make([]uint64, (n+7)/8)
	return unsafe.Slice((*byte)(unsafe.Pointer(&words[0])), len(words)*8)[:n]
}

// Columns is a batch: named columns of equal length, and where each row came from.
type Columns struct {
	Fields []Field
	Cols   []Column
	Len    int
	Pos    Positions // empty, or one entry per row
}

// Refs appends the columns to dst, for what takes a row by its columns.
func (c *Columns) Refs(dst []*Column) []*Column {
	for i := range c.Cols {
		dst = append(dst, &c.Cols[i])
	}
	return dst
}

// Positions says for each row where it was read (D-1). Split indexes the Splits of the range the rows belong to, or,
// once state has named it, the store's own list of splits. Offset is the Kafka offset, the byte offset in a file, or the
// commit of a table; Index tells apart rows of one record, and rows of one commit.
type Positions struct {
	Split  []int32
	Offset []int64
	Index  []int32
}

// Len is the number of rows that have a position.
func (p Positions) Len() int { return len(p.Offset) }

// Col returns the column of the given name, or nil. Names compare exactly.
func (c *Columns) Col(name string) *Column {
	for i := range c.Fields {
		if c.Fields[i].Name == name {
			return &c.Cols[i]
		}
	}
	return nil
}
