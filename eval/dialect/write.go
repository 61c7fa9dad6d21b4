package dialect

import (
	"fmt"
	"slices"
	"strings"
)

// writer writes queries as DuckDB SQL.
type writer struct {
	needs  *needs // columns to write; nil writes all
	stream *use   // its row numbers are handed up as the column _row; nil without them
}

const rowColumn = "_row"

func (w *writer) keeps(o *output) bool {
	if w.needs == nil {
		return true
	}
	_, needed := w.needs.outputs[o]
	return needed
}

func (w *writer) query(q *query) string { return q.body.write(w, q) }

func (s *selection) write(w *writer, q *query) string {
	var items []string
	for i, o := range q.outputs {
		if w.keeps(o) {
			v := o.value
			if s.distinct {
				v = zeroed(v)
			}
			items = append(items, fmt.Sprintf("%s AS c%d", v.sql, i))
		}
	}
	if row := w.row(s, q); row != "" {
		items = append(items, row+" AS "+rowColumn)
	}
	if len(items) == 0 {
		items = []string{"1 AS nothing"}
	}
	text := s.rest(w, items)
	if s.order != nil {
		var keys []string
		for _, k := range s.order {
			keys = append(keys, direction(s.orderBy(k.value, q), k.item))
		}
		text += " ORDER BY " + strings.Join(keys, ", ")
	}
	if s.limit != nil {
		text += " LIMIT " + s.limit.konst.text
	}
	if s.offset != nil {
		text += " OFFSET " + s.offset.konst.text
	}
	return text
}

// orderBy names a column of the select list where the key is one: with DISTINCT it must be.
func (s *selection) orderBy(key value, q *query) string {
	for i, o := range q.outputs {
		if s.distinct && o.value.sql == key.sql {
			return fmt.Sprintf("c%d", i)
		}
	}
	return zeroed(key).sql // or DuckDB hands out what it has sorted by, in which -0.0 is 0.0
}

// row is the number of the stream's row that a row of the selection was made of.
func (w *writer) row(s *selection, q *query) string {
	if w.stream == nil || q.stream != w.stream {
		return ""
	}
	for _, t := range s.from {
		if r := t.row(w.stream); r != "" {
			return r
		}
	}
	return ""
}

// rest writes a SELECT with the given list.
func (s *selection) rest(w *writer, items []string) string {
	var b strings.Builder
	b.WriteString("SELECT ")
	if s.distinct {
		b.WriteString("DISTINCT ")
	}
	b.WriteString(strings.Join(items, ", "))
	for i, t := range s.from {
		b.WriteString([...]string{" FROM ", ", "}[min(i, 1)])
		b.WriteString(t.write(w))
	}
	if s.where != nil {
		b.WriteString(" WHERE " + s.where.sql)
	}
	for i, g := range s.groups {
		b.WriteString([...]string{" GROUP BY ", ", "}[min(i, 1)])
		b.WriteString(zeroed(g).sql)
	}
	switch {
	case s.having != nil:
		b.WriteString(" HAVING " + s.having.sql)
	case s.whole: // perhaps no aggregate is left that would say so
		b.WriteString(" HAVING TRUE")
	}
	if s.qualify != nil {
		b.WriteString(" QUALIFY " + s.qualify.sql)
	}
	return b.String()
}

func (s *setOperation) write(w *writer, _ *query) string {
	return fmt.Sprintf("(%s) %s (%s)", s.side(s.left), s.op, s.side(s.right))
}

// side writes one of the queries. Where equal rows become one, they are without -0.0.
func (s *setOperation) side(q *query) string {
	written := (&writer{}).query(q)
	if s.op == "UNION ALL" || !slices.ContainsFunc(q.outputs, func(o *output) bool { return fractioned(o.value.typ) }) {
		return written
	}
	columns := make([]string, len(q.outputs))
	for i, o := range q.outputs {
		columns[i] = fmt.Sprintf("%s AS c%d", zeroes(fmt.Sprintf("s.c%d", i), o.value.typ, 0), i)
	}
	return fmt.Sprintf("SELECT %s FROM (%s) AS s", strings.Join(columns, ", "), written)
}

func (r *rowList) write(_ *writer, q *query) string {
	rows := make([]string, len(r.rows))
	for i, row := range r.rows {
		texts := make([]string, len(row))
		for j, v := range row {
			texts[j] = v.sql
		}
		rows[i] = "(" + strings.Join(texts, ", ") + ")"
	}
	names := make([]string, len(q.outputs))
	for i := range names {
		names[i] = fmt.Sprintf("c%d", i)
	}
	return fmt.Sprintf("SELECT * FROM (VALUES %s) AS v(%s)", strings.Join(rows, ", "), strings.Join(names, ", "))
}

func (u *use) write(*writer) string { return quoteName(u.relation.Handle) + " AS " + u.alias }

func (u *use) row(stream *use) string {
	if u != stream {
		return ""
	}
	return u.alias + "." + quoteName(rowColumn)
}

func (d *derived) write(w *writer) string {
	if d.cte != nil {
		return d.cte.name + " AS " + d.alias
	}
	return "(" + w.query(d.query) + ") AS " + d.alias
}

func (d *derived) row(stream *use) string {
	if d.query.stream != stream {
		return ""
	}
	return d.alias + "." + rowColumn
}

func (j *joined) write(w *writer) string {
	kind := strings.TrimPrefix(j.kind, "LEFT ")
	if j.kind == "LEFT" {
		kind = "LEFT"
	}
	if j.kind == "INNER" && j.on == nil || j.kind == "CROSS" && j.on == nil {
		return fmt.Sprintf("%s CROSS JOIN %s", j.left.write(w), parenthesise(j.right, w))
	}
	if j.kind == "CROSS" {
		kind = "INNER"
	}
	return fmt.Sprintf("%s %s JOIN %s ON %s", j.left.write(w), kind, parenthesise(j.right, w), j.on.sql)
}

// parenthesise keeps a join on the right of a join together.
func parenthesise(t tableExpr, w *writer) string {
	if _, ok := t.(*joined); ok {
		return "(" + t.write(w) + ")"
	}
	return t.write(w)
}

func (j *joined) row(stream *use) string {
	if r := j.left.row(stream); r != "" {
		return r
	}
	return j.right.row(stream)
}

// with writes the common table expressions that a statement needs.
func (w *writer) with(ctes []*cte) string {
	var parts []string
	for _, c := range ctes {
		if w.needs.ctes[c] {
			parts = append(parts, fmt.Sprintf("%s AS (%s)", c.name, w.query(c.query)))
		}
	}
	if len(parts) == 0 {
		return ""
	}
	return "WITH " + strings.Join(parts, ", ") + " "
}
