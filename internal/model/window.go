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
		case r.foreign && !w.keeps(StatementsLast):
		case !in || !w.keeps(WindowsGo):
			rows = append(rows, r)
		}
	}
	if !w.keeps(OutsideStays) {
		rows = nil
	}
	result, err := w.query(f)
	if err != nil {
		return "CAST_INVALID_INPUT"
	}
	for _, r := range result {
		switch fits, err := w.inside(f, columns, r.row); {
		case err != nil:
			return "CAST_INVALID_INPUT"
		case fits || !w.keeps(OutsideIsNotWritten):
			rows = append(rows, r)
		}
	}
	t.rows = slices.Clip(rows)
	return ""
}

// query are the rows that the query of a REPLACE WHERE flow gives.
func (w *World) query(f *Flow) (out []placed, err error) {
	var in []placed
	for _, r := range w.tables[f.From.Table].rows {
		fits, err := w.passes(f, r.row)
		if err != nil {
			return nil, err
		}
		if fits {
			in = append(in, r)
		}
	}
	if f.Group != nil {
		return w.grouped(f, in), nil
	}
	for _, r := range in {
		r, err := w.selected(f, r)
		if err != nil {
			return nil, err
		}
		out = append(out, r)
	}
	return out, nil
}

// inside reports whether a row lies in the window of a flow: only where the predicate is true (RW-O1).
func (w *World) inside(f *Flow, columns []string, row Row) (bool, error) {
	v, err := w.window(f).Eval(columns, row)
	return v == true || v == nil && !w.keeps(NullIsOutside), err
}

// window is the predicate of an update: another one in its place, for this update alone (PO-01, PO-02).
func (w *World) window(f *Flow) *Expr {
	switch o := w.overrides[f.Name]; {
	case o == nil:
		return f.Window
	case !w.keeps(OverrideReplaces):
		both := Call("AND", *f.Window, *o)
		return &both
	default:
		return o
	}
}

// Override computes the tables of REPLACE WHERE flows under another predicate, this time (PO-01), and nothing else (PO-05). It returns who failed, as
// Run does.
func (w *World) Override(name string, predicate *Expr) []string {
	w.overrides = map[string]*Expr{name: predicate}
	defer func() {
		if w.keeps(OverrideIsOnce) {
			w.overrides = nil
		}
	}()
	return w.Run([]string{w.Pipeline.Flow(name).Target}, nil, false)
}

// Replace gives a REPLACE WHERE flow another predicate (RW-06, IR-12).
func (w *World) Replace(name string, predicate *Expr) { w.Pipeline.Flow(name).Window = predicate }
