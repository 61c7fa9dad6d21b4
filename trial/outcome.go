package trial

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"sluice/batch"
	"sluice/daemon"
	"sluice/state"
)

// outcome is what came of a run.
type outcome struct {
	world *world
	tally
	tables map[string]Table // by display name
	sinks  map[string]*fold // by flow
}

// Table is what a table holds after a run.
type Table struct {
	Rows   int64
	Digest string
}

func (w *world) outcome(ctx context.Context) (o *outcome, err error) {
	o = &outcome{world: w, tally: w.tally, tables: map[string]Table{}, sinks: w.folds}
	store, err := w.store(true)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	digests, err := daemon.Digests(ctx, w.plan, store, nil)
	if err != nil {
		return nil, err
	}
	for _, d := range digests {
		o.tables[d.Table] = Table{d.Rows, d.Digest}
	}
	return o, nil
}

// rows reads a table, whole or some of its columns: how often each row is there, by its text.
func (o *outcome) rows(table string, columns []string) (rows map[string]int, err error) {
	store, err := o.world.store(true)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	snapshot := store.Snapshot()
	defer snapshot.Close()
	rows = map[string]int{}
	if info, err := snapshot.Table(table); err != nil || info == nil {
		return rows, err
	}
	return rows, scan(snapshot, table, columns, func(some *batch.Columns) error {
		lines, err := texts(some)
		for _, line := range lines {
			rows[line]++
		}
		return err
	})
}

func scan(snapshot *state.Snapshot, table string, columns []string, visit func(*batch.Columns) error) error {
	scan, err := snapshot.Scan(table, columns, 0, 1)
	if err != nil {
		return err
	}
	defer scan.Close()
	for {
		rows, err := scan.Next(0)
		if err != nil || rows.Len == 0 {
			return err
		}
		if err := visit(&rows); err != nil {
			return err
		}
	}
}

// Difference is where two results part.
type Difference struct {
	Kind    string // "table", "sink" or "flow"
	Name    string
	Detail  string   // in words, where it is not about rows
	Missing []string // rows that are not there, sorted; some of them
	Extra   []string // rows that are there and should not be
	Lost    int      // how many rows are missing
	Doubled int      // how many are too much
}

// shown is how many rows a difference shows of each side.
const shown = 5

// between compares rows; nil when they are the same.
func between(kind, name string, want, got map[string]int) *Difference {
	d := &Difference{Kind: kind, Name: name}
	note := func(row string) {
		switch n := got[row] - want[row]; {
		case n < 0:
			d.Lost -= n
			d.Missing = append(d.Missing, times(row, -n))
		case n > 0:
			d.Doubled += n
			d.Extra = append(d.Extra, times(row, n))
		}
	}
	for row := range want {
		note(row)
	}
	for row := range got {
		if _, both := want[row]; !both {
			note(row)
		}
	}
	if d.Lost+d.Doubled == 0 {
		return nil
	}
	for _, rows := range []*[]string{&d.Missing, &d.Extra} {
		slices.Sort(*rows)
		*rows = (*rows)[:min(len(*rows), shown)]
	}
	return d
}

func times(row string, n int) string {
	if n == 1 {
		return row
	}
	return fmt.Sprintf("%s, %d times", row, n)
}

// differences compares a run with the reference run in what is to be the same.
func (c *comparison) differences(want, got *outcome) (out []Difference, err error) {
	out = append(out, failures(want, got)...)
	for _, t := range c.tables {
		if want.tables[t.Display] == got.tables[t.Display] {
			continue
		}
		before, err := want.rows(t.Name, nil)
		if err != nil {
			return nil, err
		}
		after, err := got.rows(t.Name, nil)
		if err != nil {
			return nil, err
		}
		d := between("table", t.Display, before, after)
		if d == nil { // one is -0.0, or another name of NaN
			d = &Difference{Kind: "table", Name: t.Display, Detail: "the digests differ, the rows look alike"}
		}
		out = append(out, *d)
	}
	for _, f := range c.sinks {
		if d := between("sink", sinkName(f), want.sinks[f.Name].rows, got.sinks[f.Name].rows); d != nil {
			out = append(out, *d)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(got.sinks)) {
		if broken := got.sinks[name].broken; broken != "" {
			out = append(out, Difference{Kind: "sink", Name: sinkName(got.world.flowOf(name)), Detail: broken})
		}
	}
	return out, nil
}

// failures compares which flows failed, and with which code.
func failures(want, got *outcome) (out []Difference) {
	for _, f := range got.world.plan.Flows {
		before, after := codeOf(want, f.Name), codeOf(got, f.Name)
		if before == after {
			continue
		}
		d := Difference{Kind: "flow", Name: f.Name, Detail: fmt.Sprintf("%s, but %s in the reference run", after, before)}
		if e := got.failed[f.Name]; e != nil {
			d.Detail = fmt.Sprintf("%v; it %s in the reference run", e, before)
		}
		out = append(out, d)
	}
	return out
}

func codeOf(o *outcome, flow string) string {
	if e, ok := o.failed[flow]; ok {
		return "FAILED with " + e.Code.Name
	}
	if _, ok := o.skipped[flow]; ok {
		return "was SKIPPED"
	}
	return "ended well"
}
