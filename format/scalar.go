package format

import (
	"bytes"
	"encoding/base64"
	"math"
	"strconv"
	"unicode/utf8"
	"unsafe"

	"sluice/batch"
)

// TimestampUnit is what a timestamp that is a number counts since the epoch. Nothing is guessed.
type TimestampUnit uint8

const (
	NoUnit TimestampUnit = iota // numbers are refused
	Seconds
	Milliseconds
	Microseconds
)

// TimestampUnits are the values of the option timestampUnit.
var TimestampUnits = []string{"seconds", "milliseconds", "microseconds"}

// ParseTimestampUnit reads a value of the option timestampUnit as option.Set checked it; "" is NoUnit.
func ParseTimestampUnit(s string) TimestampUnit {
	for i, name := range TimestampUnits {
		if s == name {
			return TimestampUnit(i + 1)
		}
	}
	return NoUnit
}

// Scalars turns text into values of columns. Its methods append to a builder of the type they name, or append nothing and
// return why the text is no such value: "" when there is nothing to say beyond the type. It is not safe for concurrent
// use.
type Scalars struct {
	Zone    *Zone // of timestamps without one
	Unit    TimestampUnit
	Times   Times
	Casts   *TimeParser // reads dates and times as casts do, where there is no pattern; nil for ISO 8601
	zones   *TimeParser // knows the zones of patterns
	decoded []byte
}

// Supports reports whether Append takes columns of a type.
func (s *Scalars) Supports(t batch.Type) bool {
	return !t.IsNested() && t.Kind != batch.Variant && t.Kind != batch.Void && t.Kind != batch.Interval
}

// Append reads text as a value of b's type, which is no nested one and no VARIANT: numbers by JSON's grammar, NaN and the
// infinities by name, booleans as true and false in any case, bytes as base64.
func (s *Scalars) Append(b *batch.Builder, text []byte) (why string, ok bool) {
	switch b.Type.Kind {
	case batch.String:
		if !utf8.Valid(text) {
			return "it is not UTF-8", false
		}
		b.AppendText(text)
		return "", true
	case batch.Boolean:
		v, ok := parseBool(text)
		if ok {
			b.AppendBool(v)
		}
		return "", ok
	case batch.Date:
		return s.Date(b, text)
	case batch.Timestamp, batch.TimestampNTZ:
		if s.Unit != NoUnit && IsNumber(text) {
			return s.CountedTimestamp(b, text)
		}
		return s.Timestamp(b, text)
	case batch.Binary:
		return s.Binary(b, text)
	case batch.Float, batch.Double:
		if s.NoNumber(b, text) {
			return "", true
		}
	}
	if simple(b, text) {
		return "", true
	}
	if !IsNumber(text) {
		return "", false
	}
	return s.Number(b, text)
}

// simple appends text to a numeric column when it is one of the numbers that nearly all are.
func simple(b *batch.Builder, text []byte) bool {
	digits, scale, negative, next, ok := SimpleNumber(text, 0)
	if !ok || next != len(text) {
		return false
	}
	switch b.Type.Kind {
	case batch.Double:
		v, ok := SimpleFloat(digits, scale, negative)
		if ok {
			batch.Append(b, v)
		}
		return ok
	case batch.Float:
		return false
	case batch.Decimal:
		v, ok := SimpleDecimal(b.Type, digits, scale, negative)
		if ok {
			batch.Append(b, v)
		}
		return ok
	}
	v := signed(digits, negative)
	if scale > 0 || !FitsInteger(b.Type.Kind, v) {
		return false
	}
	b.AppendInt(v)
	return true
}

func parseBool(text []byte) (v, ok bool) {
	switch len(text) {
	case 4:
		return true, equalFoldASCII(text, "true")
	case 5:
		return false, equalFoldASCII(text, "false")
	}
	return false, false
}

func equalFoldASCII(text []byte, lower string) bool {
	for i, c := range text {
		if c|0x20 != lower[i] {
			return false
		}
	}
	return true
}

// Number reads text, which IsNumber, into a column of any numeric type, exactly: nothing is rounded but to a float.
func (s *Scalars) Number(b *batch.Builder, text []byte) (why string, ok bool) {
	switch b.Type.Kind {
	case batch.Float, batch.Double:
		v, err := strconv.ParseFloat(unsafe.String(unsafe.SliceData(text), len(text)), 8*b.Type.Width())
		if err != nil {
			return "out of range", false
		}
		appendFloat(b, v)
	case batch.Decimal:
		v, ok := ParseNumber(text).Scaled(int(b.Type.Precision), int(b.Type.Scale))
		if !ok {
			return "it has more digits than the type holds, and is not rounded", false
		}
		AppendDecimalValue(b, v)
	default:
		v, ok := ParseNumber(text).Int64()
		if !ok || !FitsInteger(b.Type.Kind, v) {
			return "not a whole number in range", false
		}
		b.AppendInt(v)
	}
	return "", true
}

// FitsInteger reports whether v is in the range of an integer type.
func FitsInteger(k batch.Kind, v int64) bool {
	switch k {
	case batch.TinyInt:
		return v == int64(int8(v))
	case batch.SmallInt:
		return v == int64(int16(v))
	case batch.Int:
		return v == int64(int32(v))
	}
	return true
}

// NoNumber reads the texts NaN, Infinity and -Infinity into a FLOAT or DOUBLE column.
func (s *Scalars) NoNumber(b *batch.Builder, text []byte) bool {
	switch string(text) {
	case "NaN":
		appendFloat(b, math.NaN())
	case "Infinity":
		appendFloat(b, math.Inf(1))
	case "-Infinity":
		appendFloat(b, math.Inf(-1))
	default:
		return false
	}
	return true
}

func appendFloat(b *batch.Builder, v float64) {
	if b.Type.Kind == batch.Float {
		batch.Append(b, float32(v))
		return
	}
	batch.Append(b, v)
}

// Date reads yyyy-MM-dd, or what the pattern or a cast has.
func (s *Scalars) Date(b *batch.Builder, text []byte) (why string, ok bool) {
	if s.Times.Date != nil {
		return s.patternDate(b, text)
	}
	days, ok := ParseDate(text)
	if !ok && s.Casts != nil {
		days, ok = s.castDate(text)
	}
	if !ok {
		return "a date is yyyy-MM-dd, from 0001 to 9999", false
	}
	batch.Append(b, days)
	return "", true
}

// Timestamp reads the text of a TIMESTAMP or TIMESTAMP_NTZ (D-58).
func (s *Scalars) Timestamp(b *batch.Builder, text []byte) (why string, ok bool) {
	zone, pattern := s.Zone, s.Times.Timestamp
	if b.Type.Kind == batch.TimestampNTZ {
		zone, pattern = nil, s.Times.TimestampNTZ
	}
	if pattern != nil {
		return s.patternTimestamp(b, text, pattern, zone)
	}
	micros, ok := s.timestamp(text, zone)
	if !ok {
		if zone == nil {
			return "a timestamp without time zone is yyyy-MM-ddTHH:mm[:ss[.ffffff]], from 0001 to 9999", false
		}
		return "a timestamp is yyyy-MM-ddTHH:mm[:ss[.ffffff]] with an optional zone, from 0001 to 9999", false
	}
	batch.Append(b, micros)
	return "", true
}

// castDate reads a date as Spark's casts do, and without GMT, as Spark does with texts of old versions.
func (s *Scalars) castDate(text []byte) (days int32, ok bool) {
	year, month, day, ok := ParseDay(s.withoutGMT(text))
	return DaysOf(year, month, day), ok && year >= 0 && year <= 9999
}

func (s *Scalars) withoutGMT(text []byte) []byte {
	at := bytes.Index(text, []byte("GMT"))
	if at < 0 {
		return text
	}
	s.decoded = append(append(s.decoded[:0], text[:at]...), text[at+3:]...)
	return s.decoded
}

func (s *Scalars) timestamp(text []byte, zone *Zone) (micros int64, ok bool) {
	switch {
	case s.Casts == nil:
		return ParseTimestamp(text, zone)
	case zone == nil:
		return s.Casts.ParseLocal(text)
	}
	if micros, ok = s.Casts.Parse(text, false); !ok {
		micros, ok = s.Casts.Parse(s.withoutGMT(text), false)
	}
	return micros, ok && micros >= MinTimestamp && micros <= MaxTimestamp
}

// CountedTimestamp reads text, which IsNumber, as a count of the declared unit, exactly to the microsecond.
func (s *Scalars) CountedTimestamp(b *batch.Builder, text []byte) (why string, ok bool) {
	scale := [...]int{Seconds: 6, Milliseconds: 3, Microseconds: 0}[s.Unit]
	v, ok := ParseNumber(text).Scaled(18, scale)
	if micros := int64(v.Lo); ok && micros >= MinTimestamp && micros <= MaxTimestamp {
		batch.Append(b, micros)
		return "", true
	}
	return "as " + TimestampUnits[s.Unit-1] + " it is finer than a microsecond or outside the years 0001 to 9999", false
}

// Binary reads standard base64 with padding.
func (s *Scalars) Binary(b *batch.Builder, text []byte) (why string, ok bool) {
	var err error
	if s.decoded, err = base64.StdEncoding.Strict().AppendDecode(s.decoded[:0], text); err != nil {
		return "binary values are base64", false
	}
	b.AppendText(s.decoded)
	return "", true
}
