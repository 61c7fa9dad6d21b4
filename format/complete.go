package format

import (
	"sluice/batch"
	"sluice/fault"
)

// Complete checks that no value is null that is declared NOT NULL. Formats that write such a column without a place for
// nulls would make a value up.
func Complete(rows *batch.Columns) error {
	for c, f := range rows.Fields {
		if !f.Demands() || rows.Cols[c].Valid == nil && !f.Type.IsNested() {
			continue
		}
		for i := range rows.Len {
			if path := batch.Missing(f, &rows.Cols[c], i); path != "" {
				return fault.New(fault.CannotEncode, "%s is NOT NULL and has no value in row %d of the batch", path, i)
			}
		}
	}
	return nil
}
