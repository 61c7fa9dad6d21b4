package model

// Insert adds rows to a table from outside: no query has made them, and no predicate is asked (DM-01).
func (w *World) Insert(table string, rows ...Row) {
	t := w.tables[table]
	for _, r := range rows {
		t.rows = append(t.rows, placed{row: r, foreign: true})
	}
}

// Delete takes away the rows of a table for which a condition is true, and returns how many they were.
func (w *World) Delete(table string, where *Expr) int {
	return w.change(table, where, func(Row) Row { return nil })
}

// Update sets columns of the rows of a table for which a condition is true to what expressions make of the rows as they were, and returns how many
// they were. They stay where they stand.
func (w *World) Update(table string, where *Expr, set map[string]Expr) int {
	columns := w.Pipeline.Table(table).Columns
	return w.change(table, where, func(old Row) (row Row) {
		for i, c := range columns {
			v := old[i]
			if e, ok := set[c]; ok {
				v, _ = e.Eval(columns, old)
			}
			row = append(row, v)
		}
		return row
	})
}

// change makes other rows, or none, of those for which a condition is true.
func (w *World) change(table string, where *Expr, other func(Row) Row) (n int) {
	columns, t := w.Pipeline.Table(table).Columns, w.tables[table]
	var rows []placed
	for _, r := range t.rows {
		v, _ := where.Eval(columns, r.row)
		if v == true || v == nil && !w.keeps(StatementsNeedTrue) {
			n++
			if r.row = other(r.row); r.row == nil {
				continue
			}
			r.foreign = true
		}
		rows = append(rows, r)
	}
	t.rows = rows
	return n
}
