package main

import (
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"sluice/option"
	"sluice/trial"
)

// printReport prints what came of a test for a person.
func printReport(out io.Writer, mask option.Mask, r *trial.Report, o trial.Options) {
	var b strings.Builder
	fmt.Fprintf(&b, "test %s: %s\n", r.Case, outcome(r, o))
	for _, name := range slices.Sorted(maps.Keys(r.Tables)) {
		fmt.Fprintf(&b, "  table %s: %d rows\n", name, r.Tables[name].Rows)
	}
	for _, name := range slices.Sorted(maps.Keys(r.Sinks)) {
		fmt.Fprintf(&b, "  sink %s: %d rows\n", name, r.Sinks[name])
	}
	for _, name := range slices.Sorted(maps.Keys(r.Failed)) {
		if len(r.Golden) == 0 {
			fmt.Fprintf(&b, "  flow %s fails: %v\n", name, r.Failed[name])
		}
	}
	for _, l := range r.LeftOut {
		if r.Runs == 0 {
			break // nothing was to be compared
		}
		fmt.Fprintf(&b, "  not compared: %s %s: %s\n", l.Kind, l.Name, strings.Join(l.Reasons, "; "))
	}
	for _, d := range append(slices.Clone(r.Golden), r.Differences...) {
		printDifference(&b, d)
	}
	if r.Reduced != nil {
		fmt.Fprintf(&b, "  a small case that differs, as a test file (--save FILE writes it):\n")
		for line := range strings.Lines(string(r.Reduced)) {
			fmt.Fprintf(&b, "    %s", line)
		}
	}
	fmt.Fprint(out, mask.Text(b.String()))
}

// outcome is a test in one line.
func outcome(r *trial.Report, o trial.Options) string {
	var parts []string
	switch {
	case len(r.Golden) > 0:
		return "NOT AS EXPECTED"
	case r.Expected:
		parts = append(parts, "as expected")
	}
	runs := fmt.Sprintf("%d shuffled runs with %d crashes and %d redeliveries", r.Runs, r.Kills, r.Dups)
	switch {
	case len(r.Differences) > 0:
		parts = append(parts, fmt.Sprintf("DIFFERENT in the last of %s; again with: %s", runs, again(r, o)))
	case r.Runs > 0:
		parts = append(parts, fmt.Sprintf("the same in %s (seed %d)", runs, o.Seed))
		parts = append(parts, missed(r, o)...)
	case !r.Expected:
		parts = append(parts, "ran")
	}
	return strings.Join(parts, "; ")
}

// missed says in words what was asked for and never came.
func missed(r *trial.Report, o trial.Options) (out []string) {
	if o.Kill > 0 && r.Kills == 0 {
		out = append(out, "--kill asked for crashes, and none came")
	}
	switch {
	case o.Dup == 0 || r.Dups > 0:
	case r.Repeatable:
		out = append(out, fmt.Sprintf("--dup asked for redelivery, and none came: more runs or a larger share than %g%% bring some", 100*o.Dup))
	default:
		out = append(out, "--dup has nothing to deliver again: no flow fills a keyed table from records that are still there")
	}
	return out
}

// again are the flags of the run that differs.
func again(r *trial.Report, o trial.Options) string {
	text := fmt.Sprintf("--seed %d --shuffle 1 --kill %d --dup %g%%", r.Seed, o.Kill, 100*o.Dup)
	if o.WithinKey {
		text += " --shuffle-within-key"
	}
	return text
}

func printDifference(b *strings.Builder, d trial.Difference) {
	fmt.Fprintf(b, "  %s %s differs", d.Kind, d.Name)
	if d.Detail != "" {
		fmt.Fprintf(b, ": %s\n", d.Detail)
		return
	}
	fmt.Fprintf(b, ": %d rows missing, %d rows too much\n", d.Lost, d.Doubled)
	for _, side := range []struct {
		sign string
		rows []string
	}{{"-", d.Missing}, {"+", d.Extra}} {
		for _, row := range side.rows {
			fmt.Fprintf(b, "    %s %s\n", side.sign, row)
		}
	}
}

// reportTable is what came of tests for a program: a row for everything that was compared, left out or different.
func reportTable(mask option.Mask, reports []*trial.Report, o trial.Options) table {
	t := table{columns: []string{"test", "result", "kind", "name", "why", "missing_rows", "extra_rows", "missing", "extra", "runs", "crashes", "redeliveries", "seed", "small_case"}}
	for _, r := range reports {
		row := func(result, kind, name, why string, d trial.Difference, seed uint64, small []byte) {
			cells := []jsonCell{cell(r.Case), cell(result), cell(kind), cell(name), cell(mask.Text(why)), cell(d.Lost), cell(d.Doubled), cell(list(mask, d.Missing)), cell(list(mask, d.Extra)),
				cell(r.Runs), cell(r.Kills), cell(r.Dups), cell(seed), nil}
			if small != nil {
				cells[len(cells)-1] = cell(mask.Text(string(small)))
			}
			t.rows = append(t.rows, cells)
		}
		different := map[string]bool{}
		for _, d := range r.Golden {
			row("unexpected", d.Kind, d.Name, d.Detail, d, o.Seed, nil)
			different[d.Kind+" "+d.Name] = true
		}
		for _, d := range r.Differences {
			row("different", d.Kind, d.Name, d.Detail, d, r.Seed, r.Reduced)
			different[d.Kind+" "+d.Name] = true
		}
		for _, name := range r.Compared {
			if kind, name, _ := strings.Cut(name, " "); !different[kind+" "+name] && r.Runs > 0 {
				row("same", kind, name, "", trial.Difference{}, o.Seed, nil)
			}
		}
		for _, l := range r.LeftOut {
			if r.Runs == 0 {
				break
			}
			row("not compared", l.Kind, l.Name, strings.Join(l.Reasons, "; "), trial.Difference{}, o.Seed, nil)
		}
	}
	return t
}

func list(mask option.Mask, rows []string) []string {
	out := make([]string, len(rows))
	for i, row := range rows {
		out[i] = mask.Text(row)
	}
	return out
}

// rehearsal shows how far a test is: as a bar on a terminal, else as a line now and then.
type rehearsal struct {
	out      io.Writer
	terminal bool
	last     time.Time
	drawn    bool
}

func newRehearsal(out io.Writer) *rehearsal {
	r := &rehearsal{out: out, last: time.Now()}
	if f, ok := out.(*os.File); ok {
		info, err := f.Stat()
		r.terminal = err == nil && info.Mode()&os.ModeCharDevice != 0
	}
	return r
}

const barWidth = 30

func (r *rehearsal) look(p trial.Progress) {
	doing := fmt.Sprintf("%d of %d runs", p.Done, p.Total)
	if p.Reducing {
		doing += ", which differs: looking for a small case"
	}
	switch {
	case r.terminal:
		full := barWidth * p.Done / max(p.Total, 1)
		fmt.Fprintf(r.out, "\r\x1b[K[%s%s] %s: %s", strings.Repeat("#", full), strings.Repeat(".", barWidth-full), p.Case, doing)
		r.drawn = true
	case time.Since(r.last) >= showEvery:
		r.last = time.Now()
		fmt.Fprintf(r.out, "test %s: %s\n", p.Case, doing)
	}
}

// clear takes the bar away.
func (r *rehearsal) clear() {
	if r.drawn {
		fmt.Fprint(r.out, "\r\x1b[K")
		r.drawn = false
	}
}
