package builtin

import (
	"sluice/batch"
	"sluice/fault"
	"sluice/format"
)

// newParseTime reads texts by the option "pattern": as instants if it has an offset, else as local times. What is not written
// so is an error, or NULL with the option "try".
func newParseTime(s *Spec) (Function, error) {
	pattern, err := format.ParseTimePattern(s.Options["pattern"])
	try, zones := s.Options["try"] == "true", format.NewTimeParser(s.Zone)
	return strict(func(args []batch.Column, i int, out *batch.Builder) *fault.Error {
		text := args[0].Text(i)
		at, ok := pattern.Read(text, zones)
		switch {
		case ok:
			batch.Append(out, at)
		case try:
			out.AppendNull()
		default:
			return fault.New(fault.CannotParseTime, "the text %s is not written as %s", fault.Payload(string(text)), s.Options["pattern"])
		}
		return nil
	}), err
}

// newFormatTime writes times by the option "pattern": instants if it has an offset, else local times.
func newFormatTime(s *Spec) (Function, error) {
	pattern, err := format.ParseTimePattern(s.Options["pattern"])
	zoned := pattern.HasOffset()
	var memory []byte
	return strict(func(args []batch.Column, i int, out *batch.Builder) *fault.Error {
		at, offset := int64At(&args[0], i), int64(0)
		if zoned {
			offset = offsetAt(at, s.Zone)
		}
		memory = pattern.Write(memory[:0], at+offset, offset, s.Zone)
		out.AppendText(memory)
		return nil
	}), err
}
