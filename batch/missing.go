package batch

import (
	"iter"
	"slices"
)

// Demands reports whether a column or any part of it is declared NOT NULL.
func (f Field) Demands() bool {
	if f.NotNull {
		return true
	}
	for _, part := range f.Type.Fields {
		if part.Demands() {
			return true
		}
	}
	return false
}

// Missing finds a value in row i that is null though it is declared NOT NULL, and returns its path (a.b for a member), or
// "" when there is none.
func Missing(f Field, c *Column, i int) string {
	if c.IsNull(i) {
		if f.NotNull {
			return QuoteName(f.Name)
		}
		return "" // what is not there has no parts
	}
	from, to := i, i+1
	if f.Type.Kind == Array || f.Type.Kind == Map {
		from, to = int(c.Offsets[i]), int(c.Offsets[i+1])
	}
	for p, part := range f.Type.Fields {
		if !part.Demands() {
			continue
		}
		for at := from; at < to; at++ {
			if path := Missing(part, &c.Children[p], at); path != "" {
				return QuoteName(f.Name) + "." + path
			}
		}
	}
	return ""
}

// AllMissing finds what rows do not have although the fields of their columns demand it, column by column: the row, and the path of the value.
func AllMissing(fields []Field, rows *Columns) iter.Seq2[int, string] {
	return func(yield func(int, string) bool) {
		for c, field := range fields {
			column := &rows.Cols[c]
			if !field.Demands() || column.Valid == nil && !field.Type.IsNested() {
				continue
			}
			for i := range rows.Len {
				if path := Missing(field, column, i); path != "" && !yield(i, path) {
					return
				}
			}
		}
	}
}

// Nullable are the fields as those who read a table have to take them: rows from before an edit may have nothing where the definition says
// NOT NULL now, at any depth (D-35).
func Nullable(fields []Field) []Field {
	out := slices.Clone(fields)
	for i := range out {
		out[i].NotNull = false
		out[i].Type.Fields = Nullable(out[i].Type.Fields)
	}
	return out
}
