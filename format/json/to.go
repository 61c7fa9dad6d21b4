package json

import (
	"bytes"
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

// NewTo makes to_json for values of a type; zone is that of the session, and times are patterns.
func NewTo(t batch.Type, keepNulls bool, zone *time.Location, times format.Times) *To {
	return &To{w: writer{spark: true, skipNulls: !keepNulls, zone: zone, times: times}, shape: shapeOf(t.Fields)}
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
	w.memory = w.memory[:0]
	if c.Type.Kind == batch.Timestamp {
		_, seconds := time.UnixMicro(micros).In(w.zone).Zone()
		micros += int64(seconds) * 1e6
		w.memory = format.AppendOffset(w.memory, seconds)
	}
	dst = append(dst, '"')
	start := len(dst)
	dst = format.AppendTimestamp(dst, micros)
	if point := bytes.IndexByte(dst[start:], '.'); point >= 0 {
		dst = dst[:start+point+4]
	} else {
		dst = append(dst, ".000"...)
	}
	return append(append(dst, w.memory...), '"')
}

// patterned writes a date or time by a pattern.
func (w *writer) patterned(dst []byte, c *batch.Column, i int, p format.TimePattern) []byte {
	local, offset := int64(0), int64(0)
	switch c.Type.Kind {
	case batch.Date:
		local = int64(batch.Values[int32](c)[i]) * 86_400_000_000
	case batch.Timestamp:
		local = batch.Values[int64](c)[i]
		_, seconds := time.UnixMicro(local).In(w.zone).Zone()
		offset = int64(seconds) * 1_000_000
	default:
		local = batch.Values[int64](c)[i]
	}
	w.memory = p.Write(w.memory[:0], local+offset, offset, w.zone)
	return format.AppendJSONString(dst, w.memory)
}

// pattern is that of a type, or nil.
func (w *writer) pattern(t batch.Type) format.TimePattern {
	switch t.Kind {
	case batch.Date:
		return w.times.Date
	case batch.Timestamp:
		return w.times.Timestamp
	}
	return w.times.TimestampNTZ
}
