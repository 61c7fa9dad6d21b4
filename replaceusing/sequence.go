package replaceusing

import "sluice/batch"

// BadSequences appends the rows whose sequence cannot be compared: it is null or NaN, or a field of it is (D-2). Such rows
// fall under the flow's policy for bad records with the code REPLACE_USING_NULL_SEQUENCE.
func BadSequences(rows []int32, sequence *batch.Column) []int32 {
	if sequence.Valid == nil && !mayBeNaN(sequence.Type) {
		return rows
	}
	for i := range sequence.Len {
		if batch.NullOrNaN(sequence, i) {
			rows = append(rows, int32(i))
		}
	}
	return rows
}

// mayBeNaN reports whether values of t without an outer null can still be bad: floats, and structs by their fields.
func mayBeNaN(t batch.Type) bool {
	return t.Kind == batch.Float || t.Kind == batch.Double || t.Kind == batch.Struct
}
