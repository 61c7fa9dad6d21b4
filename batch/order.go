package batch

import (
	"bytes"
	"encoding/binary"
	"math"
	"slices"
)

// Keys is a column of encoded tuples: row i is Bytes[Offsets[i]:Offsets[i+1]].
type Keys struct {
	Offsets []uint32
	Bytes   []byte
}

// Len is the number of tuples.
func (k *Keys) Len() int { return max(0, len(k.Offsets)-1) }

// At returns tuple i. It belongs to k.
func (k *Keys) At(i int) []byte { return k.Bytes[k.Offsets[i]:k.Offsets[i+1]] }

// EncodeKeys encodes rows of the given columns as tuples whose bytes compare as the tuples do: column by column, null
// lowest at every depth, NaN highest, -0.0 equal to 0.0, strings by their UTF-8 bytes (D-36). Equal tuples, and only
// those, have equal bytes: a null differs from an empty string, and ('ab','c') from ('a','bc'). dst's memory
// is used again. The columns must be of one length. Those that are not Orderable have no order, and equal bytes all the
// same: a MAP is a set of entries, a VARIANT its text.
func EncodeKeys(dst *Keys, cols ...*Column) { EncodeKeysAfter(dst, 0, cols...) }

// EncodeKeysAfter is EncodeKeys with head bytes in front of every tuple, which the caller fills.
func EncodeKeysAfter(dst *Keys, head int, cols ...*Column) {
	n := 0
	if len(cols) > 0 {
		n = cols[0].Len
	}
	dst.Offsets = append(slices.Grow(dst.Offsets[:0], n+1), 0)
	b := dst.Bytes[:0]
	for i := range n {
		b = AppendKey(slices.Grow(b, head)[:len(b)+head], cols, i)
		dst.Offsets = append(dst.Offsets, uint32(len(b)))
	}
	dst.Bytes = b
}

// AppendKey appends row i of the columns to b as EncodeKeys encodes it.
func AppendKey(b []byte, cols []*Column, i int) []byte {
	for _, c := range cols {
		b = appendOrdered(b, c, i, false)
	}
	return b
}

// AppendExact appends row i of the columns to b so that rows have equal bytes if and only if nobody can tell them apart: it is AppendKey with the
// sign of a zero kept, so that -0.0 sorts below 0.0 (D-28). All NaNs are one.
func AppendExact(b []byte, cols []*Column, i int) []byte {
	for _, c := range cols {
		b = appendOrdered(b, c, i, true)
	}
	return b
}

// Markers in front of every value. Inside an array 0 ends the array, so that a prefix sorts first.
const (
	orderedEnd   = 0
	orderedNull  = 1
	orderedValue = 2
)

// appendOrdered appends a value. signed keeps -0.0 apart from 0.0.
func appendOrdered(b []byte, c *Column, i int, signed bool) []byte {
	if c.IsNull(i) {
		return append(b, orderedNull)
	}
	b = append(b, orderedValue)
	switch c.Type.Kind {
	case Boolean:
		return append(b, Values[uint8](c)[i])
	case TinyInt:
		return append(b, uint8(Values[int8](c)[i])^0x80)
	case SmallInt:
		return binary.BigEndian.AppendUint16(b, uint16(Values[int16](c)[i])^1<<15)
	case Int, Date:
		return binary.BigEndian.AppendUint32(b, uint32(Values[int32](c)[i])^1<<31)
	case BigInt, Timestamp, TimestampNTZ:
		return binary.BigEndian.AppendUint64(b, uint64(Values[int64](c)[i])^1<<63)
	case Float:
		return binary.BigEndian.AppendUint32(b, orderedFloat32(Values[float32](c)[i], signed))
	case Double:
		return binary.BigEndian.AppendUint64(b, orderedFloat64(Values[float64](c)[i], signed))
	case Decimal:
		if c.Type.Precision <= 18 {
			return binary.BigEndian.AppendUint64(b, uint64(Values[int64](c)[i])^1<<63)
		}
		v := Values[Int128](c)[i]
		b = binary.BigEndian.AppendUint64(b, uint64(v.Hi)^1<<63)
		return binary.BigEndian.AppendUint64(b, v.Lo)
	case String, Binary, Variant:
		return appendOrderedText(b, c.Text(i))
	case Struct:
		for f := range c.Children {
			b = appendOrdered(b, &c.Children[f], i, signed)
		}
		return b
	case Array:
		for j := c.Offsets[i]; j < c.Offsets[i+1]; j++ {
			b = appendOrdered(b, &c.Children[0], int(j), signed)
		}
		return append(b, orderedEnd)
	case Map:
		return appendEntries(b, c, i, signed)
	}
	panic("batch: no order for type " + c.Type.String())
}

// appendEntries writes a map's entries sorted by their bytes. Maps of a few entries, nearly all there are, allocate nothing.
func appendEntries(b []byte, c *Column, i int, signed bool) []byte {
	type entry struct{ from, to int }
	var few [16]entry
	entries, at := few[:0], len(b)
	for j := c.Offsets[i]; j < c.Offsets[i+1]; j++ {
		from := len(b)
		b = appendOrdered(appendOrdered(b, &c.Children[0], int(j), signed), &c.Children[1], int(j), signed)
		entries = append(entries, entry{from, len(b)})
	}
	end := len(b)
	slices.SortFunc(entries, func(x, y entry) int { return bytes.Compare(b[x.from:x.to], b[y.from:y.to]) })
	for _, e := range entries {
		b = append(b, b[e.from:e.to]...)
	}
	b = b[:at+copy(b[at:], b[end:])]
	return append(b, orderedEnd)
}

// appendOrderedText writes text so that no text is a prefix of another: a zero byte becomes 0 255, the end is 0 1.
func appendOrderedText(b, text []byte) []byte {
	for {
		i := bytes.IndexByte(text, 0)
		if i < 0 {
			return append(append(b, text...), 0, 1)
		}
		b = append(append(b, text[:i]...), 0, 255)
		text = text[i+1:]
	}
}

// orderedFloat64 maps floats to integers of the same order; all NaNs are one value above +Inf, the zeros are one value unless signed.
func orderedFloat64(f float64, signed bool) uint64 {
	if f != f {
		return math.MaxUint64
	}
	if f == 0 && !signed {
		f = 0 // drops the sign of -0.0
	}
	u := math.Float64bits(f)
	if u>>63 != 0 {
		return ^u
	}
	return u | 1<<63
}

func orderedFloat32(f float32, signed bool) uint32 {
	if f != f {
		return math.MaxUint32
	}
	if f == 0 && !signed {
		f = 0 // drops the sign of -0.0
	}
	u := math.Float32bits(f)
	if u>>31 != 0 {
		return ^u
	}
	return u | 1<<31
}

// NullOrNaN reports for each row whether the value, or any part of it, is null or NaN: such a value cannot be a sequence
// (D-2). A tuple is checked column by column.
func NullOrNaN(c *Column, i int) bool {
	if c.IsNull(i) {
		return true
	}
	switch c.Type.Kind {
	case Float:
		f := Values[float32](c)[i]
		return f != f
	case Double:
		f := Values[float64](c)[i]
		return f != f
	case Struct:
		for f := range c.Children {
			if NullOrNaN(&c.Children[f], i) {
				return true
			}
		}
	case Array:
		for e := c.Offsets[i]; e < c.Offsets[i+1]; e++ {
			if NullOrNaN(&c.Children[0], int(e)) {
				return true
			}
		}
	}
	return false
}
