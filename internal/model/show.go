package model

import (
	"fmt"
	"slices"
)

// Rows are the rows of a table as lines, sorted.
func (w *World) Rows(name string) []string {
	lines := []string{}
	for _, r := range w.tables[name].rows {
		lines = append(lines, r.row.Text())
	}
	slices.Sort(lines)
	return lines
}

// Folded is what changes add up to in an append table whose last column says what each row means: rows and how many of each
// there are, sorted.
func (w *World) Folded(name string) []string {
	n := map[string]int{}
	for _, r := range w.tables[name].rows {
		last := len(r.row) - 1
		if line := r.row[:last].Text(); r.row[last] == "delete" {
			n[line]--
		} else {
			n[line]++
		}
	}
	out := []string{}
	for line, times := range n {
		if times != 0 {
			out = append(out, fmt.Sprintf("%s %d", line, times))
		}
	}
	slices.Sort(out)
	return out
}

// Sink is what a sink holds, changes folded, sorted.
func (w *World) Sink(name string) []string {
	n := map[string]int{}
	for _, f := range w.Pipeline.Flows {
		if f.Target != name {
			continue
		}
		for _, s := range w.flows[f.Name].sent {
			if s.delete {
				n[s.row.Text()]--
			} else {
				n[s.row.Text()]++
			}
		}
	}
	return lines(n)
}

func lines(n map[string]int) []string {
	out := []string{}
	for line, times := range n {
		out = append(out, slices.Repeat([]string{line}, max(times, 0))...)
	}
	slices.Sort(out)
	return out
}

// Counts are what the flow's batches added up to in its generation. "keyed" are the rows that came to the rule of a REPLACE
// USING table, whatever became of them.
func (w *World) Counts(name string) map[string]int64 { return w.flows[name].counts }

// Generation is the flow's generation; Drained whether a once flow has come to its end in it.
func (w *World) Generation(name string) int { return w.flows[name].generation }
func (w *World) Drained(name string) bool   { return w.flows[name].drained }
