package sink

import "sluice/batch"

// ChangeColumn is the column that says what a row of a change feed means (D-43).
const ChangeColumn = "_change_type"

// FieldsWithChange puts ChangeColumn in front of fields, unless the query selects it.
func FieldsWithChange(fields []batch.Field) []batch.Field {
	for _, f := range fields {
		if f.Name == ChangeColumn {
			return fields
		}
	}
	return append([]batch.Field{{Name: ChangeColumn, Type: batch.Of(batch.String), NotNull: true}}, fields...)
}

// WithChange returns the columns of a batch for targets that take changes row by row: of a change feed they have
// ChangeColumn in front, unless the query selects it.
func (r *Rows) WithChange() batch.Columns {
	fields := FieldsWithChange(r.Columns.Fields)
	if r.Change == nil || len(fields) == len(r.Columns.Fields) {
		return r.Columns
	}
	names := batch.NewBuilder(fields[0].Type, len(r.Change))
	for _, c := range r.Change {
		names.AppendString(c.String())
	}
	out := r.Columns
	out.Fields = fields
	out.Cols = append([]batch.Column{names.Column()}, r.Columns.Cols...)
	return out
}
