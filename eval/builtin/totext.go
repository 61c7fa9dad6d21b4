package builtin

import (
	"time"
	"unicode/utf8"

	"sluice/batch"
	"sluice/fault"
	"sluice/format"
)

// newToText makes the casts to STRING that are not DuckDB's: of FLOAT and DOUBLE, and of nested types.
func newToText(s *Spec) (Function, error) {
	w := &textWriter{zone: s.Zone}
	return strict(func(args []batch.Column, i int, out *batch.Builder) *fault.Error {
		w.text = w.text[:0]
		if err := w.value(&args[0], i); err != nil {
			return err
		}
		out.AppendText(w.text)
		return nil
	}), nil
}

// textWriter writes values as Spark's cast to STRING does.
type textWriter struct {
	zone *time.Location
	text []byte
}

func (w *textWriter) value(c *batch.Column, i int) *fault.Error {
	switch c.Type.Kind {
	case batch.Float:
		w.text = format.AppendJavaFloat(w.text, float64(batch.Values[float32](c)[i]), 32)
	case batch.Double:
		w.text = format.AppendJavaFloat(w.text, batch.Values[float64](c)[i], 64)
	case batch.Date:
		w.text = format.AppendDate(w.text, batch.Values[int32](c)[i])
	case batch.Timestamp:
		at := batch.Values[int64](c)[i]
		w.time(at + offsetAt(at, w.zone))
	case batch.TimestampNTZ:
		w.time(batch.Values[int64](c)[i])
	case batch.Binary:
		if !utf8.Valid(c.Text(i)) {
			return fault.New(fault.CastInvalidInput, "the bytes are no UTF-8")
		}
		w.text = append(w.text, c.Text(i)...)
	case batch.Struct:
		w.text = append(w.text, '{')
		for f := range c.Children {
			w.separate(f > 0)
			if err := w.member(&c.Children[f], i); err != nil {
				return err
			}
		}
		w.text = append(w.text, '}')
	case batch.Array:
		return w.list(c, i, '[', ']')
	case batch.Map:
		return w.list(c, i, '{', '}')
	default:
		w.text, _ = format.AppendScalar(w.text, c, i)
	}
	return nil
}

// member is a value inside another one, where NULL is a word.
func (w *textWriter) member(c *batch.Column, i int) *fault.Error {
	if c.IsNull(i) {
		w.text = append(w.text, "null"...)
		return nil
	}
	return w.value(c, i)
}

func (w *textWriter) separate(more bool) {
	if more {
		w.text = append(w.text, ", "...)
	}
}

func (w *textWriter) list(c *batch.Column, i int, begin, end byte) *fault.Error {
	w.text = append(w.text, begin)
	for j := int(c.Offsets[i]); j < int(c.Offsets[i+1]); j++ {
		w.separate(j > int(c.Offsets[i]))
		if err := w.member(&c.Children[0], j); err != nil {
			return err
		}
		if c.Type.Kind == batch.Map {
			w.text = append(w.text, " -> "...)
			if err := w.member(&c.Children[1], j); err != nil {
				return err
			}
		}
	}
	w.text = append(w.text, end)
	return nil
}

// time writes a local time with as many digits of its fraction as it needs.
func (w *textWriter) time(local int64) {
	day, rest := split(local)
	seconds, micros := int(rest/microsPerSecond), int(rest%microsPerSecond)
	w.text = append(format.AppendDate(w.text, day), ' ')
	w.text = append(format.AppendPadded(w.text, seconds/3600, 2), ':')
	w.text = append(format.AppendPadded(w.text, seconds/60%60, 2), ':')
	w.text = format.AppendPadded(w.text, seconds%60, 2)
	if micros > 0 {
		w.text = format.AppendPadded(append(w.text, '.'), micros, 6)
		for w.text[len(w.text)-1] == '0' {
			w.text = w.text[:len(w.text)-1]
		}
	}
}
