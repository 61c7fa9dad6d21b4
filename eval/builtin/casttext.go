package builtin

import (
	"math"
	"unsafe"

	"sluice/batch"
	"sluice/fault"
	"sluice/format"
)

// Casts from STRING, as Java and Spark read texts. What is no value of the type is an error, or NULL with the option "try".
var casts = map[string]func(*Spec) (Function, error){"cast_text": newCastText, "to_text": newToText}

func newCastText(s *Spec) (Function, error) {
	switch s.Result.Kind {
	case batch.Boolean:
		return castingTexts(s, parseBoolean), nil
	case batch.TinyInt:
		return castingTexts(s, parseInteger[int8]), nil
	case batch.SmallInt:
		return castingTexts(s, parseInteger[int16]), nil
	case batch.Int:
		return castingTexts(s, parseInteger[int32]), nil
	case batch.BigInt:
		return castingTexts(s, parseInteger[int64]), nil
	case batch.Float:
		return castingTexts(s, func(text []byte) (float32, *fault.Code) { v, code := parseFloat(text, 32); return float32(v), code }), nil
	case batch.Double:
		return castingTexts(s, func(text []byte) (float64, *fault.Code) { return parseFloat(text, 64) }), nil
	case batch.Decimal:
		precision, scale := int(s.Result.Precision), int(s.Result.Scale)
		if precision > 18 {
			return castingTexts(s, func(text []byte) (batch.Int128, *fault.Code) { return format.ParseDecimal(text, precision, scale) }), nil
		}
		return castingTexts(s, func(text []byte) (int64, *fault.Code) {
			v, code := format.ParseDecimal(text, precision, scale)
			return int64(v.Lo), code
		}), nil
	}
	return newCastTime(s)
}

// castingTexts makes a function out of what reads one text, and says why it cannot.
func castingTexts[T batch.Fixed](s *Spec, parse func(text []byte) (T, *fault.Code)) Function {
	try := s.Options["try"] == "true"
	return func(args []batch.Column, rows int, out *batch.Builder) *fault.Error {
		texts := &args[0]
		for i := range rows {
			if texts.IsNull(i) {
				out.AppendNull()
				continue
			}
			switch v, code := parse(texts.Text(i)); {
			case code == nil:
				batch.Append(out, v)
			case try:
				out.AppendNull()
			case code == fault.NumericOutOfRange:
				return fault.New(code, "the value '%s' has too many digits for %s", fault.Payload(texts.Text(i)), s.Result)
			default:
				return fault.New(code, "the value '%s' of the type STRING cannot be cast to %s", fault.Payload(texts.Text(i)), s.Result)
			}
		}
		return nil
	}
}

// parseBoolean takes the words for true and false, in letters of any case.
func parseBoolean(text []byte) (uint8, *fault.Code) {
	text = format.Trim(text)
	var memory [5]byte
	if len(text) > len(memory) {
		return 0, fault.CastInvalidInput
	}
	word, _ := asciiLower(memory[:0], text)
	switch string(word) {
	case "t", "true", "y", "yes", "1":
		return 1, nil
	case "f", "false", "n", "no", "0":
		return 0, nil
	}
	return 0, fault.CastInvalidInput
}

// ParseInteger reads digits with a sign, and blanks around them.
func ParseInteger(text []byte, kind batch.Kind) (int64, bool) {
	v, code := parseInteger[int64](text)
	return v, code == nil && format.FitsInteger(kind, v)
}

func parseInteger[T int8 | int16 | int32 | int64](text []byte) (T, *fault.Code) {
	text = format.Trim(text)
	negative := false
	if len(text) > 0 && (text[0] == '-' || text[0] == '+') {
		negative = text[0] == '-'
		text = text[1:]
	}
	if len(text) == 0 {
		return 0, fault.CastInvalidInput
	}
	limit := uint64(1)<<(8*unsafe.Sizeof(T(0))-1) - 1
	if negative {
		limit++
	}
	n := uint64(0)
	for _, c := range text {
		d := uint64(c - '0')
		if d > 9 || n > (limit-d)/10 {
			return 0, fault.CastInvalidInput
		}
		n = n*10 + d
	}
	if negative {
		return T(-int64(n)), nil
	}
	return T(n), nil
}

// parseFloat takes what Java's Double.parseDouble takes, and the words of Spark's for NaN and infinity.
func parseFloat(text []byte, size int) (float64, *fault.Code) {
	if v, ok := format.JavaFloat(text, size); ok {
		return v, nil
	}
	text = format.TrimJava(text)
	var memory [9]byte
	if len(text) > len(memory) {
		return 0, fault.CastInvalidInput
	}
	word, _ := asciiLower(memory[:0], text)
	switch string(word) {
	case "inf", "+inf", "infinity", "+infinity":
		return math.Inf(1), nil
	case "-inf", "-infinity":
		return math.Inf(-1), nil
	case "nan":
		return math.NaN(), nil
	}
	return 0, fault.CastInvalidInput
}
