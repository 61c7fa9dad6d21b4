package model

import "slices"

// grouped is SELECT ... GROUP BY over the rows that WHERE lets pass.
func (w *World) grouped(f *Flow, in []placed) (out []placed) {
	columns := w.Pipeline.columns(f.From)
	var groups [][]Row
	for _, r := range in {
		i := slices.IndexFunc(groups, func(g []Row) bool { return w.together(key(f, columns, g[0]), key(f, columns, r.row)) })
		if i < 0 {
			groups = append(groups, []Row{r.row})
		} else {
			groups[i] = append(groups[i], r.row)
		}
	}
	for _, rows := range groups {
		if !w.keeps(SumsAreInOrder) {
			slices.Reverse(rows)
		}
		var row Row
		for _, item := range f.Select {
			row = append(row, item.Expr.over(columns, rows))
		}
		out = append(out, placed{row: row})
	}
	return out
}

// key are the values by which a row is grouped.
func key(f *Flow, columns []string, row Row) (out []Value) {
	for _, c := range f.Group {
		out = append(out, row[slices.Index(columns, c)])
	}
	return out
}

// together reports whether two rows are of one group.
func (w *World) together(a, b []Value) bool {
	return sameKey(a, b) && (w.keeps(NullIsAGroup) || !slices.Contains(a, nil))
}

// over is a column by which the rows are grouped, or an aggregate of them. NULL is nothing to an aggregate (but for the rows that COUNT counts), and
// numbers are added one after the other (D-22).
func (e Expr) over(columns []string, rows []Row) Value {
	switch e.Op {
	case "column":
		v := rows[0][slices.Index(columns, e.Name)]
		if v == 0.0 {
			return 0.0 // of equal values in one group there is one: -0.0 is no other (D-36)
		}
		return v
	case "COUNT":
		return int64(len(rows))
	}
	var values []Value
	for _, row := range rows {
		if v := row[slices.Index(columns, e.Args[0].Name)]; v != nil {
			values = append(values, v)
		}
	}
	if len(values) == 0 {
		return nil
	}
	switch e.Op {
	case "MIN":
		return slices.MinFunc(values, compare)
	case "MAX":
		return slices.MaxFunc(values, compare)
	case "SUM":
		return sum(values)
	case "AVG":
		return sum(values).(float64) / float64(len(values))
	}
	panic("no aggregate " + e.Op)
}

func sum(values []Value) Value {
	if _, ok := values[0].(int64); ok {
		total := int64(0)
		for _, v := range values {
			total += v.(int64)
		}
		return total
	}
	total := 0.0
	for _, v := range values {
		total += v.(float64)
	}
	return total
}
