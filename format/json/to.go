package json

import (
	"bytes"
	"math"
	"strconv"
	"time"

	"sluice/batch"
	"sluice/fault"
	"sluice/format"
)

// To computes to_json(x): the JSON that Spark writes for a value. It differs from what an encoder writes for a sink: members
// that are NULL are left out, times have three digits behind the point (what is below is cut off), a TIMESTAMP stands in
// the zone of the session, and numbers with a point are written as Java does.
type To struct {
	w     writer
	shape shape
	text  []byte
}

// NewTo makes to_json for values of a type; zone is that of the session.
func NewTo(t batch.Type, keepNulls bool, zone *time.Location) *To {
	return &To{w: writer{spark: true, skipNulls: !keepNulls, zone: zone}, shape: shapeOf(t.Fields)}
}

// Append appends the text of each value, NULL for NULL.
func (t *To) Append(values *batch.Column, out *batch.Builder) *fault.Error {
	for i := range values.Len {
		if values.IsNull(i) {
			out.AppendNull()
			continue
		}
		t.text = t.w.value(t.text[:0], values, i, &t.shape)
		if err := t.w.err; err != nil {
			t.w.err = nil
			return fault.From(err)
		}
		out.AppendText(t.text)
	}
	return nil
}

// present writes an object with the members that are not NULL.
func (w *writer) present(dst []byte, c *batch.Column, i int, s *shape) []byte {
	start := len(dst)
	for f := range c.Children {
		if c.Children[f].IsNull(i) {
			continue
		}
		dst = append(dst, s.names[f]...)
		if at := len(dst) - len(s.names[f]); at == start {
			dst[at] = '{'
		} else {
			dst[at] = ','
		}
		dst = w.value(dst, &c.Children[f], i, &s.members[f])
	}
	if len(dst) == start {
		dst = append(dst, '{')
	}
	return append(dst, '}')
}

// millis writes a time as yyyy-MM-dd'T'HH:mm:ss.SSS, with the offset of the zone where it is an instant.
func (w *writer) millis(dst []byte, c *batch.Column, i int) []byte {
	micros := batch.Values[int64](c)[i]
	offset := ""
	if c.Type.Kind == batch.Timestamp {
		_, seconds := time.UnixMicro(micros).In(w.zone).Zone()
		micros += int64(seconds) * 1e6
		offset = offsetText(seconds)
	}
	dst = append(dst, '"')
	start := len(dst)
	dst = format.AppendTimestamp(dst, micros)
	if point := bytes.IndexByte(dst[start:], '.'); point >= 0 {
		dst = dst[:start+point+4]
	} else {
		dst = append(dst, ".000"...)
	}
	return append(append(dst, offset...), '"')
}

// offsetText writes seconds east of Greenwich as Java's XXX does: Z, or +hh:mm.
func offsetText(seconds int) string {
	if seconds == 0 {
		return "Z"
	}
	return time.Unix(0, 0).In(time.FixedZone("", seconds)).Format("-07:00")
}

// appendJava writes a number as Java's Double.toString or Float.toString does: at least one digit behind the point, and an
// exponent below 0.001 and from ten million on.
func appendJava(dst []byte, v float64, bits int) []byte {
	if a := math.Abs(v); a == 0 || a >= 1e-3 && a < 1e7 {
		start := len(dst)
		if dst = strconv.AppendFloat(dst, v, 'f', -1, bits); bytes.IndexByte(dst[start:], '.') < 0 {
			dst = append(dst, ".0"...)
		}
		return dst
	}
	start := len(dst)
	dst = strconv.AppendFloat(dst, v, 'e', -1, bits) // d.ddde+dd
	text := string(dst[start:])
	mantissa, exponent, _ := bytes.Cut([]byte(text), []byte("e"))
	dst = append(dst[:start], mantissa...)
	if bytes.IndexByte(mantissa, '.') < 0 {
		dst = append(dst, ".0"...)
	}
	n, _ := strconv.Atoi(string(exponent)) // strconv wrote it
	return strconv.AppendInt(append(dst, 'E'), int64(n), 10)
}
