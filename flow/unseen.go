package flow

import (
	"fmt"
	"strings"

	"sluice/fault"
	"sluice/format"
)

// enoughRecords is how many records have to lack a column before somebody is told. A flow that reads all there is in its first run has
// enough with those.
const enoughRecords = 1000

// notSeen tells, once, of the columns that the first records did not have. It belongs to the goroutine that reads.
func (f *Flow) notSeen(r *read) *fault.Error {
	if f.unseen == nil {
		return nil
	}
	f.looked += r.rng.Records()
	if f.looked == 0 || f.looked < enoughRecords && !(r.end && f.fresh) {
		return nil
	}
	columns := f.unseen()
	f.unseen = nil
	return lacking(f.looked, f.plan.Input.Name, columns)
}

// lacking is what is told of columns that the first n records of a source did not have; nil when they had all.
func lacking(n int64, name string, columns []format.Unseen) *fault.Error {
	if len(columns) == 0 || n == 0 {
		return nil
	}
	var paths, hints []string
	for _, c := range columns {
		paths = append(paths, c.Path)
		if c.Near != "" {
			hints = append(hints, fmt.Sprintf("is %s the field %q?", c.Path, c.Near))
		}
	}
	if hints == nil {
		hints = []string{"names match without case, and exactly in backticks"}
	}
	return fault.New(fault.ColumnNotSeen, "the first %d records of %s have no field for %s: NULL in every row", n, name, strings.Join(paths, ", ")).
		WithHint("%s", strings.Join(hints, " "))
}
