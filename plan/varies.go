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
	if f.Query.Clock {
		v.because("flow %s uses the time of its batches", f.Name)
	}
	for _, l := range f.Lookups {
		v.because("flow %s joins %s as it was at each batch", f.Name, l.Table.Display)
	}
	switch f.Input.Kind {
	case FromChangeFeed:
		v.because("flow %s reads the changes of %s, which depend on how its batches were cut", f.Name, f.Input.Table.Display)
	case FromKafka, FromFiles:
		v.places(f)
	}
	if f.Input.Table != nil {
		v.table(f.Input.Table)
	}
}

// elsewhere are the members of _metadata that differ on another machine, and rearranged those that differ when records are
// put in other places as well.
var (
	elsewhere  = []string{"file_path", "file_modification_time"}
	rearranged = append([]string{"partition", "offset", "file_name", "file_size"}, elsewhere...)
)

// places looks for columns that say where a record stood.
func (v *variation) places(f *Flow) {
	changing := elsewhere
	if v.rearranged {
		changing = rearranged
	}
	for _, name := range changing {
		if slices.ContainsFunc(f.Input.Columns, func(c source.Column) bool { return c.Meta == name }) {
			v.because("flow %s reads %s, which says where a record was put", f.Name, name)
		}
	}
}

func (v *variation) because(format string, args ...any) {
	v.reasons = append(v.reasons, fmt.Sprintf(format, args...))
}
