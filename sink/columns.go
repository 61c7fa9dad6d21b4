package sink

import (
	"strings"

	"sluice/batch"
	"sluice/fault"
)

// Columns finds the columns that an option of a sink names among those of its rows: the exact name, else the only one that
// matches without case (D-9).
func Columns(option string, names []string, fields []batch.Field) ([]int, error) {
	var out []int
	for _, name := range names {
		i := FindColumn(name, len(fields), func(i int) string { return fields[i].Name })
		if i < 0 {
			return nil, fault.New(fault.SinkColumnNotFound, "%s names %s, which is not a column that the flow gives", option, name).
				WithDetail("the columns are %s", batch.DDL(fields))
		}
		if !fields[i].Type.Orderable() {
			return nil, fault.New(fault.InvalidOption, "%s names the column %s, whose type %s has no order", option, name, fields[i].Type)
		}
		out = append(out, i)
	}
	return out, nil
}

// FindColumn returns which of n names is meant by name: the exact one, else the only one that matches without case; -1
// when there is none, or more than one.
func FindColumn(name string, n int, at func(int) string) int {
	found := -1
	for i := range n {
		switch {
		case at(i) == name:
			return i
		case strings.EqualFold(at(i), name) && found == -1:
			found = i
		case strings.EqualFold(at(i), name):
			found = -2
		}
	}
	return max(found, -1)
}
