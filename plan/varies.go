package plan

import (
	"fmt"
	"slices"

	"sluice/source"
)

// Varies says why the rows of a table may differ between two runs over the same records, one reason for each line; none
// when they do not. rearranged asks about runs in which records may also stand in other partitions and at other offsets,
// or in files of other names (D-23, D-29).
//
// A table that is filled from one that varies varies too.
func (p *Pipeline) Varies(t *Table, rearranged bool) []string {
	v := variation{pipeline: p, rearranged: rearranged, seen: map[*Table]bool{}}
	if t.Retention != "forever" {
		v.because("%s loses rows by its retention", t.Display)
	}
	v.table(t)
	return v.reasons
}

// SinkVaries says why what a flow has written to its sink, changes added up, may differ between two runs over the same
// records; none when it does not. A change feed adds up to the rows of its table, however its batches were cut, as long as the
// query does not pick changes by what the feed says of them.
func (p *Pipeline) SinkVaries(f *Flow, rearranged bool) []string {
	v := variation{pipeline: p, rearranged: rearranged, seen: map[*Table]bool{}}
	v.query(f)
	for _, c := range f.Input.Columns {
		if f.Input.Kind == FromChangeFeed && c.Meta != "" {
			v.because("flow %s reads %s, which depends on how batches of %s were cut", f.Name, c.Meta, f.Input.Table.Display)
		}
	}
	v.origin(f)
	return v.reasons
}

type variation struct {
	pipeline   *Pipeline
	rearranged bool
	seen       map[*Table]bool
	reasons    []string
}

func (v *variation) table(t *Table) {
	if v.seen[t] {
		return
	}
	v.seen[t] = true
	for _, f := range v.pipeline.Flows {
		if f.Table == t {
			v.flow(f)
		}
	}
}

func (v *variation) flow(f *Flow) {
	if f.Window != nil {
		if !v.rearranged { // else both runs are one update at one time
			v.because("flow %s computes its window anew in every update", f.Name)
		} else if f.Window.Query.Unordered {
			v.because("flow %s computes something that depends on the order of rows", f.Name)
		}
		if f.Window.Query.Window.Random {
			v.because("flow %s has a predicate that is another one for every row it looks at", f.Name)
		}
		for _, l := range f.Lookups {
			v.table(l.Table)
		}
		for _, in := range f.Inputs() {
			v.places(f, in.Columns)
		}
		return
	}
	v.query(f)
	if f.Input.Kind == FromChangeFeed {
		v.because("flow %s reads the changes of %s, which depend on how its batches were cut", f.Name, f.Input.Table.Display)
	}
	v.origin(f)
}

// query looks at what the query of a flow asks for beside its records.
func (v *variation) query(f *Flow) {
	if f.Query.Clock {
		v.because("flow %s uses the time of its batches", f.Name)
	}
	for _, l := range f.Lookups {
		v.because("flow %s joins %s as it was at each batch", f.Name, l.Table.Display)
	}
}

// origin looks at where the records of a flow come from.
func (v *variation) origin(f *Flow) {
	if f.Input.Table != nil {
		v.table(f.Input.Table)
		return
	}
	v.places(f, f.Input.Columns)
}

// elsewhere are the members of _metadata that differ on another machine, and rearranged those that differ when records are
// put in other places as well.
var (
	elsewhere  = []string{"file_path", "file_modification_time"}
	rearranged = append([]string{"partition", "offset", "file_name", "file_size"}, elsewhere...)
)

// places looks for columns that say where a record stood.
func (v *variation) places(f *Flow, columns []source.Column) {
	changing := elsewhere
	if v.rearranged {
		changing = rearranged
	}
	for _, name := range changing {
		if slices.ContainsFunc(columns, func(c source.Column) bool { return c.Meta == name }) {
			v.because("flow %s reads %s, which says where a record was put", f.Name, name)
		}
	}
}

func (v *variation) because(format string, args ...any) {
	v.reasons = append(v.reasons, fmt.Sprintf(format, args...))
}
