package json

import (
	"math"
	"time"
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
		s.names[i] = append(format.AppendJSONString([]byte{start}, []byte(f.Name)), ':')
		s.members[i] = shapeOf(f.Type.Fields)
	}
	return s
}

// writer appends values. err is the first value that has no form in JSON.
type writer struct {
	bigIntAsText bool
	spark        bool           // values are written as to_json writes them: see To
	skipNulls    bool           // spark: members of objects that are null are left out
	zone         *time.Location // spark: of TIMESTAMP
	times        format.Times   // spark: patterns
	memory       []byte         // spark: a text by a pattern, or an offset
	err          error
}

func (w *writer) value(dst []byte, c *batch.Column, i int, s *shape) []byte {
	if c.IsNull(i) {
		return append(dst, "null"...)
	}
	switch c.Type.Kind {
	case batch.BigInt:
		if w.bigIntAsText {
			return w.quoted(dst, c, i)
		}
	case batch.Timestamp, batch.TimestampNTZ, batch.Date:
		switch p := w.pattern(c.Type); {
		case p != nil:
			return w.patterned(dst, c, i, p)
		case w.spark && c.Type.Kind != batch.Date:
			return w.millis(dst, c, i)
		}
		return w.quoted(dst, c, i)
	case batch.Float:
		return w.float(dst, c, i, float64(batch.Values[float32](c)[i]))
	case batch.Double:
		return w.float(dst, c, i, batch.Values[float64](c)[i])
	case batch.Binary:
		return w.quoted(dst, c, i)
	case batch.String:
		if text := c.Text(i); utf8.Valid(text) {
			return format.AppendJSONString(dst, text)
		}
		return w.fail(dst, fault.New(fault.CannotEncode, "a STRING value is not UTF-8 and has no form in JSON").WithDetail("%.64q", fault.Payload(c.Text(i))))
	case batch.Variant:
		return append(dst, c.Text(i)...)
	case batch.Struct:
		return w.structure(dst, c, i, s)
	case batch.Array:
		return w.array(dst, c, i, s)
	case batch.Map:
		return w.mapping(dst, c, i, s)
	}
	dst, ok := format.AppendScalar(dst, c, i)
	if !ok {
		return w.fail(dst, fault.New(fault.CannotEncode, "a value of type %s has no form in JSON", c.Type))
	}
	return dst
}

// quoted writes a value whose text needs no escapes as a string.
func (w *writer) quoted(dst []byte, c *batch.Column, i int) []byte {
	dst, _ = format.AppendScalar(append(dst, '"'), c, i)
	return append(dst, '"')
}

// float writes a number, or the text for what JSON has no number for.
func (w *writer) float(dst []byte, c *batch.Column, i int, v float64) []byte {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return w.quoted(dst, c, i)
	}
	if w.spark {
		return format.AppendJavaFloat(dst, v, 8*c.Type.Width())
	}
	dst, _ = format.AppendScalar(dst, c, i)
	return dst
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
	if w.skipNulls {
		return w.present(dst, c, i, s)
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
			dst = format.AppendJSONString(dst[:start], []byte(text))
		}
		dst = append(dst, ':')
		dst = w.value(dst, &c.Children[1], int(j), &s.members[1])
	}
	return append(dst, '}')
}
