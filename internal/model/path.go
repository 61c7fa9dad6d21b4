package model

import (
	"maps"
	"math"
	"slices"
)

// message applies a record of a topic. When the flow must stop at it, nothing of it is left, its counts neither, and the code of the
// error is returned.
func (w *World) message(f *Flow, s *flow, m Message) (code string) {
	if m.gone {
		return ""
	}
	before := maps.Clone(s.counts)
	s.counts["records"]++
	switch {
	case m.Null:
		s.counts["null"]++ // D-5
	case m.Broken:
		code = "MALFORMED_RECORD_IN_PARSING"
	default:
		code = w.row(f, s, placed{row: m.Row, place: m.place}, false)
	}
	switch {
	case code == "":
	case f.From.Strict || code == violated:
		s.counts = before
		return code
	default:
		s.counts["bad"]++ // D-15
	}
	return ""
}

// violated stops a flow whatever its mode is (EX-10).
const violated = "EXPECTATION_VIOLATION"

// changes applies what has changed in a keyed table since it was read last, deletes first (D-43). A reader that begins
// finds the table's rows as inserts (D-41).
func (w *World) changes(f *Flow, s *flow) {
	now := w.tables[f.From.Table].rows
	if s.seen == nil && !w.keeps(FeedsBegin) {
		s.seen = slices.Clone(now)
	}
	if w.keeps(DeletesAreChanges) && w.Pipeline.keyed(f.Target) == nil { // a whole new set says itself what is gone (D-21)
		for _, old := range without(s.seen, now) {
			w.row(f, s, old, true)
		}
	}
	for _, r := range without(now, s.seen) {
		w.row(f, s, r, false)
	}
	s.seen = slices.Clone(now)
}

// without are the rows of a that are not in b.
func without(a, b []placed) (out []placed) {
	for _, r := range a {
		if !slices.ContainsFunc(b, func(o placed) bool { return o.place == r.place }) {
			out = append(out, r)
		}
	}
	return out
}

// keyed returns a target that is a REPLACE USING table.
func (p *Pipeline) keyed(target string) *Table {
	if t := p.Table(target); t != nil && t.Keys != nil {
		return t
	}
	return nil
}

// row takes one row of the source down the path: WHERE, SELECT, expectations, the rule. The code is that of the error of a row that
// cannot be used.
func (w *World) row(f *Flow, s *flow, in placed, deleted bool) (code string) {
	out, fits, err := w.evaluate(f, in)
	switch {
	case err != nil:
		return "CAST_INVALID_INPUT"
	case !fits:
		return ""
	}
	t := w.Pipeline.Table(f.Target)
	if t == nil {
		s.counts["written"]++
		s.sent = append(s.sent, sent{out.row, deleted})
		return ""
	}
	if f.From.Feed && t.Keys == nil {
		out.row = append(slices.Clone(out.row), map[bool]Value{true: "delete", false: "insert"}[deleted])
	}
	keep, fail := w.judge(t, s, out.row)
	if fail {
		return violated
	}
	if !keep {
		if !w.keeps(DropsSetNoFloor) && t.Keys != nil && out.seq != nil {
			w.tables[t.Name].floors = append(w.tables[t.Name].floors, out)
		}
		return ""
	}
	stored := w.tables[t.Name]
	if t.Keys == nil {
		s.counts["written"]++
		stored.rows = append(stored.rows, out)
		return ""
	}
	if out.seq == nil || isNaN(out.seq) && w.keeps(NaNIsNoSequence) { // D-2
		return "REPLACE_USING_NULL_SEQUENCE"
	}
	s.counts["keyed"]++
	out.place = f.Name + " " + out.place
	w.replace(stored, out)
	return ""
}

func isNaN(v Value) bool {
	d, ok := v.(float64)
	return ok && math.IsNaN(d)
}

// evaluate is SELECT ... WHERE for one row: what comes out, with its key and sequence, and whether WHERE lets it pass.
func (w *World) evaluate(f *Flow, in placed) (out placed, fits bool, err error) {
	if fits, err := w.passes(f, in.row); err != nil || !fits {
		return out, err != nil, err
	}
	if out, err = w.selected(f, in); err != nil {
		return out, true, err
	}
	t := w.Pipeline.keyed(f.Target)
	if t == nil {
		return out, true, nil
	}
	for _, k := range t.Keys {
		out.key = append(out.key, out.row[slices.Index(t.Columns, k)])
	}
	out.seq, err = w.eval(f.Sequence, w.Pipeline.columns(f.From), in.row)
	return out, true, err
}

// passes reports whether WHERE lets a row pass.
func (w *World) passes(f *Flow, row Row) (bool, error) {
	if f.Where == nil {
		return true, nil
	}
	v, err := w.eval(f.Where, w.Pipeline.columns(f.From), row)
	return v == true || v == nil && !w.keeps(NullIsNotTrue), err
}

// selected is SELECT for one row.
func (w *World) selected(f *Flow, in placed) (placed, error) {
	out := placed{place: in.place}
	for _, item := range f.Select {
		v, err := w.eval(&item.Expr, w.Pipeline.columns(f.From), in.row)
		if err != nil {
			return out, err
		}
		out.row = append(out.row, v)
	}
	return out, nil
}

func (w *World) eval(e *Expr, columns []string, row Row) (Value, error) {
	v, err := e.Eval(columns, row)
	if err != nil && !w.keeps(BadIsLeftOut) {
		return nil, nil
	}
	return v, err
}

// judge judges a row by the expectations of its table and reports whether it stays, or stops the flow (D-4).
func (w *World) judge(t *Table, s *flow, row Row) (keep, fail bool) {
	drops := 0
	for _, e := range t.Expectations {
		v, err := e.Cond.Eval(t.Columns, row)
		if v == true || v == nil && err == nil && !w.keeps(OnlyTruePasses) {
			s.counts["passed "+e.Name]++
			continue
		}
		s.counts["failed "+e.Name]++
		if err != nil {
			s.counts["errors "+e.Name]++
		}
		if e.Drop {
			drops++
		}
		fail = fail || e.Fail
	}
	if drops > 1 && w.keeps(DropsCountOnce) {
		drops = 1
	}
	s.counts["dropped"] += int64(drops)
	return drops == 0, fail
}

// replace is the rule of REPLACE USING for a row that arrives alone (section 1.1).
func (w *World) replace(t *table, r placed) {
	mine := func(o placed) bool { return w.same(o.key, r.key) }
	for _, floor := range t.floors {
		if mine(floor) && compare(floor.seq, r.seq) > 0 {
			return
		}
	}
	for _, o := range t.rows {
		if !mine(o) {
			continue
		}
		switch order := compare(r.seq, o.seq); {
		case order < 0 && w.keeps(LateRowsLose):
			return
		case order == 0 && o.place == r.place && w.keeps(PlacesAreKnown):
			return
		}
	}
	t.rows = slices.DeleteFunc(t.rows, func(o placed) bool {
		return mine(o) && (compare(r.seq, o.seq) != 0 || !w.keeps(TiesStay))
	})
	t.rows = append(t.rows, r)
}

func (w *World) same(a, b []Value) bool {
	switch {
	case !w.keeps(NullIsAKey) && (slices.Contains(a, nil) || slices.Contains(b, nil)):
		return false
	case !w.keeps(EveryKeyColumn):
		return sameKey(a[:1], b[:1])
	case !w.keeps(ZerosAreOne) && Row(a).Text() != Row(b).Text():
		return false
	}
	return sameKey(a, b)
}
