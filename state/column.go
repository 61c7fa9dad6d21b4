package state

import (
	"encoding/binary"
	"unsafe"

	"sluice/batch"
)

// A column in a chunk is a byte, 1 when a bitmap follows, the bitmap (one bit per row, lowest first, set where there is a
// value), and by type:
//
//	fixed width              the values as they lie in memory, little-endian
//	STRING, BINARY, VARIANT  the end of each text, u32, then the bytes
//	STRUCT                   the columns of its fields
//	ARRAY, MAP               the end of each row's elements, u32, then the columns of its elements

// appendColumn writes rows from..to-1 of c.
func appendColumn(dst []byte, c *batch.Column, from, to int) []byte {
	dst = appendBitmap(dst, c.Valid, from, to)
	if w := c.Type.Width(); w > 0 {
		return append(dst, c.Fixed[from*w:to*w]...)
	}
	if c.Type.Kind == batch.Struct {
		for f := range c.Children {
			dst = appendColumn(dst, &c.Children[f], from, to)
		}
		return dst
	}
	dst = appendEnds(dst, c.Offsets, from, to)
	first, last := int(c.Offsets[from]), int(c.Offsets[to])
	if c.Type.IsText() {
		return append(dst, c.Bytes[first:last]...)
	}
	for f := range c.Children {
		dst = appendColumn(dst, &c.Children[f], first, last)
	}
	return dst
}

func appendBitmap(dst []byte, valid batch.Bitmap, from, to int) []byte {
	if valid == nil {
		return append(dst, 0)
	}
	dst = append(dst, 1)
	at := len(dst)
	for range (to - from + 7) / 8 {
		dst = append(dst, 0)
	}
	for i := from; i < to; i++ {
		if valid.Get(i) {
			dst[at+(i-from)/8] |= 1 << ((i - from) % 8)
		}
	}
	return dst
}

func appendEnds(dst []byte, offsets []uint32, from, to int) []byte {
	for i := from; i < to; i++ {
		dst = binary.LittleEndian.AppendUint32(dst, offsets[i+1]-offsets[from])
	}
	return dst
}

// columnBuffer grows a column from parts of encoded ones.
type columnBuffer struct{ batch.Column }

func (d *columnBuffer) init(t batch.Type) {
	d.Column = batch.Column{Type: t}
	if t.Kind != batch.Struct && t.Width() == 0 {
		d.Offsets = []uint32{0}
	}
	if t.IsNested() {
		d.Children = make([]batch.Column, len(t.Fields))
		for f := range t.Fields {
			var child columnBuffer
			child.init(t.Fields[f].Type)
			d.Children[f] = child.Column
		}
	}
}

// child views a child column as a buffer.
func (d *columnBuffer) child(f int) *columnBuffer {
	return (*columnBuffer)(unsafe.Pointer(&d.Children[f]))
}

// read takes an encoded column of n rows off r and appends its rows from..to-1.
func (d *columnBuffer) read(r *reader, n, from, to int) {
	d.readBitmap(r, n, from, to)
	if w := d.Type.Width(); w > 0 {
		if b := r.take(n * w); b != nil {
			d.Fixed = appendAligned(d.Fixed, b[from*w:to*w])
		}
	} else if d.Type.Kind == batch.Struct {
		for f := range d.Children {
			d.child(f).read(r, n, from, to)
		}
	} else {
		d.readElements(r, n, from, to)
	}
	d.Len += to - from
}

// readElements reads what has offsets: texts, arrays and maps.
func (d *columnBuffer) readElements(r *reader, n, from, to int) {
	ends := r.take(4 * n)
	if ends == nil && n > 0 {
		return
	}
	end := func(i int) int {
		if i == 0 {
			return 0
		}
		return int(binary.LittleEndian.Uint32(ends[4*(i-1):]))
	}
	total, first, last := end(n), end(from), end(to)
	base := d.Offsets[len(d.Offsets)-1]
	for i, was := from, first; i < to; i++ {
		e := end(i + 1)
		if e < was || e > total {
			r.fail()
			return
		}
		was = e
		d.Offsets = append(d.Offsets, base+uint32(e-first))
	}
	if d.Type.IsText() {
		if b := r.take(total); b != nil && first <= last {
			d.Bytes = append(d.Bytes, b[first:last]...)
		}
		return
	}
	for f := range d.Children {
		d.child(f).read(r, total, first, last)
	}
}

func (d *columnBuffer) readBitmap(r *reader, n, from, to int) {
	has := r.byte()
	if has == 0 {
		for i := 0; d.Valid != nil && i < to-from; i++ {
			d.mark(d.Len+i, true)
		}
		return
	}
	bits := r.take((n + 7) / 8)
	if bits == nil {
		return
	}
	if d.Valid == nil {
		d.Valid = batch.FullBitmap(d.Len)
	}
	for i := from; i < to; i++ {
		d.mark(d.Len+i-from, bits[i/8]&(1<<(i%8)) != 0)
	}
}

// mark sets the bit of row i, the one after the last.
func (d *columnBuffer) mark(i int, present bool) {
	if i&63 == 0 {
		d.Valid = append(d.Valid, 0)
	}
	if present {
		d.Valid.Set(i)
	} else {
		d.Valid.Clear(i)
	}
}

// nulls appends n nulls.
func (d *columnBuffer) nulls(n int) {
	if n == 0 {
		return
	}
	if d.Valid == nil {
		d.Valid = batch.FullBitmap(d.Len)
	}
	for i := range n {
		d.mark(d.Len+i, false)
	}
	switch w := d.Type.Width(); {
	case w > 0:
		d.Fixed = appendAligned(d.Fixed, make([]byte, n*w))
	case d.Type.Kind == batch.Struct:
		for f := range d.Children {
			d.child(f).nulls(n)
		}
	default:
		for range n {
			d.Offsets = append(d.Offsets, d.Offsets[len(d.Offsets)-1])
		}
	}
	d.Len += n
}

// appendAligned is append for bytes that must begin at a multiple of eight.
func appendAligned(dst, src []byte) []byte {
	if n := len(dst) + len(src); n > cap(dst) {
		grown := batch.AlignedBytes(max(n, 2*len(dst)))
		copy(grown, dst)
		dst = grown[:len(dst)]
	}
	return append(dst, src...)
}
