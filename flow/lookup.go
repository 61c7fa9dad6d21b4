package flow

import (
	"slices"
	"strings"

	"sluice/batch"
	"sluice/eval"
	"sluice/fault"
	"sluice/plan"
	"sluice/state"
)

// lookUp is a table of the snapshot as the input of a query. A table that has other columns than its definition, since the full refresh that is
// ordered is not done yet, cannot be one. Files to skip are not read.
func lookUp(s *state.Snapshot, l plan.Lookup, columns []string, skip map[state.FileID]bool) eval.Input {
	return eval.Input{Open: func() (eval.Scan, error) {
		info, err := s.Table(l.Table.Name)
		if err != nil {
			return nil, err
		}
		if info != nil && info.Renewing {
			for _, name := range columns {
				if !sameColumn(info.Fields, l.Table.Fields, name) {
					return nil, fault.New(fault.FullRefreshOrdered, "table %s is to be fully refreshed, and does not have the column %s as it is defined before that", l.Table.Display, batch.QuoteName(name)).
						WithHint("refresh %s too", l.Table.Display)
				}
			}
		}
		return s.ScanBut(l.Table.Name, columns, skip)
	}}
}

// sameColumn reports whether two tables have a column of a name with one type.
func sameColumn(a, b []batch.Field, name string) bool {
	named := func(f batch.Field) bool { return strings.EqualFold(f.Name, name) }
	i, j := slices.IndexFunc(a, named), slices.IndexFunc(b, named)
	return i >= 0 && j >= 0 && a[i].Type.Equal(b[j].Type)
}
