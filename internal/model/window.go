package model

import "slices"

// replaceWhere is an update of a REPLACE WHERE flow (section 2.1): of its table the rows go for which the predicate is true, and those of its query
// come for which it is true. All its source has is read, and the code is that of an error that stops the whole update (D-15).
func (w *World) replaceWhere(f *Flow) (code string) {
	t := w.tables[f.Target]
	columns := w.Pipeline.Table(f.Target).Columns
	var rows []placed
	for _, r := range t.rows {
		in, err := w.inside(f, columns, r.row)
		switch {
		case err != nil:
			return "CAST_INVALID_INPUT"
		case !in || !w.keeps(WindowsGo):
			rows = append(rows, r)
		}
	}
	if !w.keeps(OutsideStays) {
		rows = nil
	}
	for _, r := range w.tables[f.From.Table].rows {
		out, fits, err := w.evaluate(f, r)
		if err == nil && fits {
			if fits, err = w.inside(f, columns, out.row); !w.keeps(OutsideIsNotWritten) {
				fits = true
			}
		}
		switch {
		case err != nil:
			return "CAST_INVALID_INPUT"
		case fits:
			rows = append(rows, out)
		}
	}
	t.rows = slices.Clip(rows)
	return ""
}

// inside reports whether a row lies in the window of a flow: only where the predicate is true (RW-O1).
func (w *World) inside(f *Flow, columns []string, row Row) (bool, error) {
	v, err := f.Window.Eval(columns, row)
	return v == true || v == nil && !w.keeps(NullIsOutside), err
}

// Replace gives a REPLACE WHERE flow another predicate (RW-06, IR-12).
func (w *World) Replace(name string, predicate *Expr) { w.Pipeline.Flow(name).Window = predicate }
