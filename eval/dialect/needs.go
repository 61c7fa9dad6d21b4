package dialect

import "slices"

// needs finds out which columns of relations a statement reads: those that its outputs are made of, and those of conditions,
// groups and joins on the way. Columns of subqueries that nobody uses are left out of the statement.
type needs struct {
	marks   marks
	uses    []*use // in the order in which they were reached
	columns map[*use]map[string]bool
	outputs map[*output]bool // true: as a whole
	queries map[*query]bool
	ctes    map[*cte]bool
	whole   map[*query]bool
	parts   map[int][][]int // of documents, that are asked for
	chosen  bool            // a condition that no document is asked for takes rows out
}

func (n *needs) init() {
	if n.columns == nil {
		n.columns, n.outputs = map[*use]map[string]bool{}, map[*output]bool{}
		n.queries, n.ctes, n.whole, n.parts = map[*query]bool{}, map[*cte]bool{}, map[*query]bool{}, map[int][][]int{}
	}
}

// value marks what an expression is made of.
func (n *needs) value(values ...value) {
	n.init()
	for _, v := range values {
		n.marks |= v.marks
		for _, c := range v.refs {
			n.column(c, nil)
		}
		for _, q := range v.inner {
			n.full(q)
		}
	}
}

// column marks what a column is made of, or what the part of it is made of that some fields lead to.
func (n *needs) column(c *column, path []int) {
	switch {
	case c.parent != nil:
		n.column(c.parent, slices.Concat([]int{c.field}, path))
	case c.part != nil:
		n.column(c.part.text, nil)
		n.ask(c.part, path)
	case c.members != nil:
		for _, m := range c.members {
			n.column(m, nil)
		}
	case c.source != nil:
		n.use(c.source)
		n.columns[c.source][c.read] = true
	case c.output != nil:
		n.output(c.output, path)
	}
	n.value(c.merged...)
}

// output marks a column of a subquery, or a part of it.
func (n *needs) output(o *output, path []int) {
	n.init()
	switch whole := n.outputs[o]; {
	case whole:
	case len(path) > 0 && o.value.isColumn():
		n.outputs[o] = false
		n.marks |= o.value.marks
		n.column(o.value.refs[0], path)
	default:
		n.outputs[o] = true
		n.value(o.value)
	}
}

// ask notes what is asked for of a part of a document.
func (n *needs) ask(p *part, path []int) {
	path = slices.Concat(p.path, path)
	if !slices.ContainsFunc(n.parts[p.document], func(q []int) bool { return slices.Equal(q, path) }) {
		n.parts[p.document] = append(n.parts[p.document], path)
	}
}

func (n *needs) use(u *use) {
	n.init()
	if n.columns[u] == nil {
		n.columns[u] = map[string]bool{}
		n.uses = append(n.uses, u)
	}
}

// query marks what a query needs whichever of its columns are used.
func (n *needs) query(q *query) {
	n.init()
	if n.queries[q] {
		return
	}
	n.queries[q] = true
	q.body.mark(n)
	if s, ok := q.body.(*selection); !ok || s.distinct {
		n.all(q)
	}
}

// all marks every column of a query.
func (n *needs) all(q *query) {
	for _, o := range q.outputs {
		n.output(o, nil)
	}
}

// full marks a query that is written with every column, and so are the subqueries in it.
func (n *needs) full(q *query) {
	n.init()
	if n.whole[q] {
		return
	}
	n.whole[q] = true
	n.query(q)
	n.all(q)
}

func (s *selection) mark(n *needs) {
	for _, t := range s.from {
		t.mark(n)
	}
	for _, v := range []*value{s.where, s.having, s.qualify} {
		if v != nil {
			n.value(*v)
		}
	}
	n.chosen = n.chosen || s.where != nil && (!s.where.is(documented) || s.where.is(choosy))
	n.value(s.groups...)
	for _, o := range s.made {
		n.outputs[o] = true
		n.value(o.value)
	}
	for _, k := range s.order {
		n.value(k.value)
	}
	if s.limit != nil || s.offset != nil {
		n.marks |= unordered // which rows are left depends on the order among equal ones
	}
}

func (s *setOperation) mark(n *needs) {
	n.full(s.left)
	n.full(s.right)
}

func (r *rowList) mark(n *needs) {
	for _, row := range r.rows {
		n.value(row...)
	}
}

func (u *use) mark(n *needs) { n.use(u) }

func (d *derived) mark(n *needs) {
	if d.cte != nil {
		n.ctes[d.cte] = true
	}
	n.query(d.query)
}

func (j *joined) mark(n *needs) {
	j.left.mark(n)
	j.right.mark(n)
	if j.on != nil {
		n.value(*j.on)
	}
}

// reads lists the relations of a statement, the stream first, with the columns needed of each in its order.
func (n *needs) reads() []Read {
	var out []Read
	at := map[string]int{}
	columns := map[string]map[string]bool{}
	for _, u := range n.uses {
		r := u.relation
		if _, ok := at[r.Handle]; !ok {
			at[r.Handle] = len(out)
			out = append(out, Read{Relation: r})
			columns[r.Handle] = map[string]bool{}
		}
		for c := range n.columns[u] {
			columns[r.Handle][c] = true
		}
	}
	for i := range out {
		r := out[i].Relation
		out[i].Columns = ordered(r, columns[r.Handle])
	}
	for i, r := range out {
		if r.Relation.Stream {
			copy(out[1:i+1], out[:i])
			out[0] = r
			break
		}
	}
	return out
}

// ordered lists the names in the order of the relation.
func ordered(r *Relation, wanted map[string]bool) []string {
	var out []string
	for _, f := range r.Fields {
		if wanted[f.Name] {
			out = append(out, f.Name)
		}
	}
	for _, h := range r.Hidden {
		if wanted[h.Name] {
			out = append(out, h.Name)
		}
		for _, m := range h.Type.Fields {
			if name := h.Name + "." + m.Name; wanted[name] {
				out = append(out, name)
			}
		}
	}
	return out
}
