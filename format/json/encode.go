package json

import (
	"encoding/base64"
	"math"
	"strconv"
	"unicode/utf8"

	"sluice/batch"
	"sluice/fault"
	"sluice/format"
)

// EncodeOptions say how records are written.
type EncodeOptions struct {
	// Lines ends every record with a newline (NDJSON). Without it records follow each other bare, for formats that
	// frame them, such as Kafka values.
	Lines bool
	// BigIntAsText writes BIGINT as text, for readers that take every number for a double.
	BigIntAsText bool
}

// NewEncoder returns an encoder of rows with the given fields: one object per row, members in the order of the fields,
// nulls written as null.
func NewEncoder(fields []batch.Field, o EncodeOptions) format.Encoder {
	e := &encoder{lines: o.Lines, shape: shapeOf(fields)}
	e.bigIntAsText = o.BigIntAsText
	return e
}

type encoder struct {
	writer
	shape shape
	lines bool
}

func (e *encoder) Encode(dst []byte, ends []int, rows *batch.Columns, from, to int) ([]byte, []int, error) {
	for i := from; i < to; i++ {
		for c := range rows.Cols {
			dst = append(dst, e.shape.names[c]...)
			dst = e.value(dst, &rows.Cols[c], i, &e.shape.members[c])
		}
		if len(rows.Cols) == 0 {
			dst = append(dst, '{')
		}
		dst = append(dst, '}')
		if e.lines {
			dst = append(dst, '\n')
		}
		ends = append(ends, len(dst))
		if e.err != nil {
			err := e.err
			e.err = nil
			return dst, ends, err
		}
	}
	return dst, ends, nil
}

// shape holds what stands in front of each member of an object, and the shapes of the members' types.
type shape struct {
	names   [][]byte // {"a": and ,"b":
	members []shape
}

func shapeOf(fields []batch.Field) shape {
	s := shape{make([][]byte, len(fields)), make([]shape, len(fields))}
	for i, f := range fields {
		start := byte(',')
		if i == 0 {
			start = '{'
		}
		s.names[i] = append(appendString([]byte{start}, []byte(f.Name)), ':')
		s.members[i] = shapeOf(f.Type.Fields)
	}
	return s
}

// writer appends values. err is the first value that has no form in JSON.
type writer struct {
	bigIntAsText bool
	err          error
}

func (w *writer) value(dst []byte, c *batch.Column, i int, s *shape) []byte {
	if c.IsNull(i) {
		return append(dst, "null"...)
	}
	switch c.Type.Kind {
	case batch.Boolean:
		return strconv.AppendBool(dst, batch.Values[uint8](c)[i] != 0)
	case batch.TinyInt:
		return strconv.AppendInt(dst, int64(batch.Values[int8](c)[i]), 10)
	case batch.SmallInt:
		return strconv.AppendInt(dst, int64(batch.Values[int16](c)[i]), 10)
	case batch.Int:
		return strconv.AppendInt(dst, int64(batch.Values[int32](c)[i]), 10)
	case batch.BigInt:
		if w.bigIntAsText {
			return append(strconv.AppendInt(append(dst, '"'), batch.Values[int64](c)[i], 10), '"')
		}
		return strconv.AppendInt(dst, batch.Values[int64](c)[i], 10)
	case batch.Float:
		return appendFloat(dst, float64(batch.Values[float32](c)[i]), 32)
	case batch.Double:
		return appendFloat(dst, batch.Values[float64](c)[i], 64)
	case batch.Decimal:
		return format.AppendDecimal(dst, format.DecimalAt(c, i), int(c.Type.Scale))
	case batch.Date:
		return append(format.AppendDate(append(dst, '"'), batch.Values[int32](c)[i]), '"')
	case batch.Timestamp:
		return append(format.AppendTimestamp(append(dst, '"'), batch.Values[int64](c)[i]), 'Z', '"')
	case batch.TimestampNTZ:
		return append(format.AppendTimestamp(append(dst, '"'), batch.Values[int64](c)[i]), '"')
	case batch.String:
		if text := c.Text(i); utf8.Valid(text) {
			return appendString(dst, text)
		}
		return w.fail(dst, fault.New(fault.CannotEncode, "a STRING value is not UTF-8 and has no form in JSON").WithDetail("%.64q", c.Text(i)))
	case batch.Binary:
		return append(base64.StdEncoding.AppendEncode(append(dst, '"'), c.Text(i)), '"')
	case batch.Variant:
		return append(dst, c.Text(i)...)
	case batch.Struct:
		return w.structure(dst, c, i, s)
	case batch.Array:
		return w.array(dst, c, i, s)
	case batch.Map:
		return w.mapping(dst, c, i, s)
	}
	return w.fail(dst, fault.New(fault.CannotEncode, "a value of type %s has no form in JSON", c.Type))
}

func (w *writer) fail(dst []byte, err error) []byte {
	if w.err == nil {
		w.err = err
	}
	return append(dst, "null"...)
}

func (w *writer) structure(dst []byte, c *batch.Column, i int, s *shape) []byte {
	if len(c.Children) == 0 {
		return append(dst, '{', '}')
	}
	for f := range c.Children {
		dst = append(dst, s.names[f]...)
		dst = w.value(dst, &c.Children[f], i, &s.members[f])
	}
	return append(dst, '}')
}

func (w *writer) array(dst []byte, c *batch.Column, i int, s *shape) []byte {
	dst = append(dst, '[')
	for j := c.Offsets[i]; j < c.Offsets[i+1]; j++ {
		if j > c.Offsets[i] {
			dst = append(dst, ',')
		}
		dst = w.value(dst, &c.Children[0], int(j), &s.members[0])
	}
	return append(dst, ']')
}

// mapping writes a MAP as an object. Keys that are not text are written as text, as JSON wants it.
func (w *writer) mapping(dst []byte, c *batch.Column, i int, s *shape) []byte {
	dst = append(dst, '{')
	for j := c.Offsets[i]; j < c.Offsets[i+1]; j++ {
		if j > c.Offsets[i] {
			dst = append(dst, ',')
		}
		start := len(dst)
		dst = w.value(dst, &c.Children[0], int(j), &s.members[0])
		if dst[start] != '"' {
			text := string(dst[start:])
			dst = appendString(dst[:start], []byte(text))
		}
		dst = append(dst, ':')
		dst = w.value(dst, &c.Children[1], int(j), &s.members[1])
	}
	return append(dst, '}')
}

// appendFloat writes the shortest text that reads back as the same float, with a point or an exponent, so that a reader
// that guesses types takes it for a float and -0.0 keeps its sign.
func appendFloat(dst []byte, f float64, bits int) []byte {
	switch {
	case f != f:
		return append(dst, `"NaN"`...)
	case math.IsInf(f, 1):
		return append(dst, `"Infinity"`...)
	case math.IsInf(f, -1):
		return append(dst, `"-Infinity"`...)
	}
	form := byte('f')
	if a := math.Abs(f); a != 0 && (a < 1e-6 || a >= 1e21) {
		form = 'e'
	}
	start := len(dst)
	dst = strconv.AppendFloat(dst, f, form, -1, bits)
	if form == 'e' {
		return dst
	}
	for _, c := range dst[start:] {
		if c == '.' {
			return dst
		}
	}
	return append(dst, '.', '0')
}

const hex = "0123456789abcdef"

// appendString writes valid UTF-8 as a JSON string; only quotes, backslashes and control characters are escaped.
func appendString(dst, text []byte) []byte {
	dst = append(dst, '"')
	start := 0
	for i, c := range text {
		if c >= ' ' && c != '"' && c != '\\' {
			continue
		}
		dst = append(dst, text[start:i]...)
		start = i + 1
		switch c {
		case '"', '\\':
			dst = append(dst, '\\', c)
		case '\n':
			dst = append(dst, '\\', 'n')
		case '\r':
			dst = append(dst, '\\', 'r')
		case '\t':
			dst = append(dst, '\\', 't')
		default:
			dst = append(dst, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
		}
	}
	return append(append(dst, text[start:]...), '"')
}
