package plan

import "sluice/batch"

// widen returns the type that holds the values of both, where the rules of D-35 know one.
func widen(a, b batch.Type) (batch.Type, bool) {
	switch {
	case a.Equal(b):
		return a, true
	case a.IsInteger() && b.IsInteger():
		return batch.Of(max(a.Kind, b.Kind)), true
	case isFloat(a) && isFloat(b):
		return batch.Of(batch.Double), true
	case a.Kind == batch.Decimal && b.Kind == batch.Decimal:
		scale := max(a.Scale, b.Scale)
		precision := max(a.Precision-a.Scale, b.Precision-b.Scale) + scale
		return batch.DecimalOf(int(precision), int(scale)), precision <= 38
	case a.Kind == batch.Date && b.Kind == batch.TimestampNTZ, a.Kind == batch.TimestampNTZ && b.Kind == batch.Date:
		return batch.Of(batch.TimestampNTZ), true
	}
	return batch.Type{}, false
}

func isFloat(t batch.Type) bool { return t.Kind == batch.Float || t.Kind == batch.Double }

// assignable reports whether a column may be written into a column of another type: Spark's store assignment (ANSI, D-47).
// Numbers go into numbers (an overflow is an error when it happens), anything but nested types and VARIANT into text, dates
// and timestamps into each other; text is never read as something else. Nested types must be the same.
func assignable(from, to batch.Type) bool {
	switch {
	case from.Equal(to):
		return true
	case from.IsNumeric():
		return to.IsNumeric() || to.Kind == batch.String
	case isTime(from):
		return isTime(to) || to.Kind == batch.String
	case from.Kind == batch.Boolean, from.Kind == batch.Binary:
		return to.Kind == batch.String
	}
	return false
}

func isTime(t batch.Type) bool {
	return t.Kind == batch.Date || t.Kind == batch.Timestamp || t.Kind == batch.TimestampNTZ
}
