package flow

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"sluice/batch"
	"sluice/fault"
	"sluice/plan"
	"sluice/replacewhere"
	"sluice/source"
)

// An update replaces its window by what the sources hold. One that has lost a part of that would take rows away that nothing can bring back, so
// it is refused (D-11). What is lost is not there to be looked at: it is taken to be older than the first that is left, by its timestamp in a
// partition of a topic, and no younger in any column in a table. Where what the window says of these columns does not rule it out, it may be
// of the window.

// covered refuses an update for which a source may have lost rows.
func (w *updating) covered() error {
	for _, s := range w.sources {
		if s.plan.Short {
			continue
		}
		var lost []string
		for _, gap := range s.gaps {
			if w.reaches(s.plan.Read, s.lost(gap, w.relation(s.plan.Read))) {
				lost = append(lost, gapText(gap))
			}
		}
		if len(lost) > 0 {
			return w.tooShort(s.plan.Read, s.plan.Name, "add allow_short_source => true", lost)
		}
	}
	for _, l := range w.Window.Lookups {
		if err := w.coveredBy(&l); err != nil {
			return err
		}
	}
	return nil
}

// coveredBy is covered for a table that loses rows by its retention (D-16).
func (w *updating) coveredBy(l *plan.Lookup) error {
	info, err := w.snapshot.Table(l.Table.Name)
	if err != nil || info == nil || info.Trimmed == 0 || l.Short {
		return err
	}
	lost, err := w.trimmed(l)
	if err != nil || !w.reaches(l.Read, lost) {
		return err
	}
	return w.tooShort(l.Read, l.Table.Display, "write "+l.Table.Display+" WITH (allow_short_source = true)",
		[]string{fmt.Sprintf("its retention removed its first %d rows", info.Trimmed)})
}

// relation are the columns of a relation that the query reads.
func (w *updating) relation(read int) []batch.Field {
	return w.Window.Query.Reads[read].Relation.Columns()
}

// reaches reports whether the window may have rows that were made of some of a relation.
func (w *updating) reaches(read int, lost []replacewhere.Column) bool {
	tree := w.Window.Query.Window.Sources[read]
	return tree == nil || tree.Over(&replacewhere.Stats{Rows: 2, Columns: lost}, w.values) != replacewhere.Never
}

// lost is what is known of the records of a gap.
func (s *outside) lost(gap source.Gap, relation []batch.Field) []replacewhere.Column {
	out := make([]replacewhere.Column, len(relation))
	name := "_metadata.timestamp"
	if s.plan.Format == "" {
		name = "timestamp"
	}
	at := slices.IndexFunc(relation, func(f batch.Field) bool { return f.Name == name })
	if at >= 0 && !gap.Time.IsZero() {
		before := batch.NewBuilder(relation[at].Type, 1)
		before.AppendInt(gap.Time.Add(-time.Millisecond).UnixMicro()) // the resolution of topics
		c := before.Column()
		out[at] = upTo(&c)
	}
	return out
}

// trimmed is what is known of the rows that retention removed from a table, as far as the window asks.
func (w *updating) trimmed(l *plan.Lookup) ([]replacewhere.Column, error) {
	relation := w.relation(l.Read)
	out := make([]replacewhere.Column, len(relation))
	asked := columnsOf(w.Window.Query.Window.Sources[l.Read], nil)
	if len(asked) == 0 {
		return out, nil
	}
	names := make([]string, len(asked))
	for i, at := range asked {
		names[i] = relation[at].Name
	}
	scan, err := w.snapshot.Scan(l.Table.Name, names, 0, 1)
	if err != nil {
		return nil, err
	}
	first, err := scan.Next(1)
	for i := range first.Cols {
		if c := &first.Cols[i]; first.Len > 0 && !batch.NullOrNaN(c, 0) {
			out[asked[i]] = upTo(c)
		}
	}
	if failed := scan.Close(); err == nil {
		err = failed
	}
	return out, err
}

// columnsOf adds the columns that a predicate names to those that are known, each once.
func columnsOf(p *replacewhere.Predicate, known []int) []int {
	if p == nil {
		return known
	}
	for _, a := range p.Args {
		known = columnsOf(a, known)
	}
	switch p.Op {
	case replacewhere.Opaque, replacewhere.Constant, replacewhere.And, replacewhere.Or, replacewhere.Not:
		return known
	}
	if !slices.Contains(known, p.Column) {
		known = append(known, p.Column)
	}
	return known
}

// upTo is a column whose values are no greater than the first of c, some of them NULL.
func upTo(c *batch.Column) replacewhere.Column {
	out := replacewhere.Column{Known: true, Min: []byte{}, Max: batch.AppendKey(nil, []*batch.Column{c}, 0), Nulls: 1}
	if k := c.Type.Kind; k == batch.Timestamp || k == batch.TimestampNTZ {
		least := batch.NewBuilder(c.Type, 1)
		least.AppendInt(time.Date(1, 1, 1, 0, 0, 0, 0, time.UTC).UnixMicro())
		first := least.Column()
		out.Min = batch.AppendKey(nil, []*batch.Column{&first}, 0)
	}
	return out
}

func gapText(g source.Gap) string {
	text := fmt.Sprintf("%s has lost the offsets %d to %d", g.Split, g.First, g.Start-1)
	if g.Time.IsZero() {
		return text + ", and has no record that tells how old they were"
	}
	return text + ", older than " + g.Time.Format(time.RFC3339Nano)
}

// tooShort is the error for a source that may have lost rows of the window.
func (w *updating) tooShort(read int, name, allow string, lost []string) error {
	const most = 3
	e := fault.New(fault.SourceTooShort, "%s may have lost what belongs to the window %s of flow %s", name, w.resolved, w.Plan.Name)
	if more := len(lost) - most; more > 0 {
		lost = append(lost[:most:most], fmt.Sprintf("and %d more", more))
	}
	text := strings.Join(lost, "; ")
	if w.Window.Query.Window.Sources[read] == nil {
		text += "; the predicate bounds no column of it that the query hands on or groups by"
	}
	return e.WithDetail("%s", text).WithHint("let the window begin later, or its source keep more; to compute it from what is left, %s", allow)
}
