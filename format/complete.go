package format

import (
	"sluice/batch"
	"sluice/fault"
)

// Complete checks that no value is null that is declared NOT NULL. Formats that write such a column without a place for
// nulls would make a value up.
func Complete(rows *batch.Columns) error {
	for row, path := range batch.AllMissing(rows.Fields, rows) {
		return fault.New(fault.CannotEncode, "%s is NOT NULL and has no value in row %d of the batch", path, row)
	}
	return nil
}
