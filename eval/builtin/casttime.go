package builtin

import (
	"sluice/batch"
	"sluice/fault"
	"sluice/format"
)

// newCastTime makes the casts from STRING to DATE, TIMESTAMP and TIMESTAMP_NTZ.
func newCastTime(s *Spec) (Function, error) {
	switch s.Result.Kind {
	case batch.Date:
		return castingTexts(s, func(text []byte) (int32, *fault.Code) {
			year, month, day, ok := format.ParseDay(text)
			if !ok || year < 0 || year > 9999 {
				return 0, fault.CastInvalidInput
			}
			return format.DaysOf(year, month, day), nil
		}), nil
	case batch.Timestamp, batch.TimestampNTZ:
		parser, local := format.NewTimeParser(s.Zone), s.Result.Kind == batch.TimestampNTZ
		return castingTexts(s, func(text []byte) (int64, *fault.Code) {
			at, ok := parser.Parse(text, local)
			if !ok {
				return 0, fault.CastInvalidInput
			}
			return at, nil
		}), nil
	}
	return nil, fault.New(fault.InternalError, "a text is cast to %s", s.Result)
}
