package main

import (
	"context"
	"sync"
	"time"

	"sluice/daemon"
	"sluice/fault"
	"sluice/plan"
)

// connectWithin bounds dry-run --connect (D-56).
const connectWithin = 10 * time.Second

// dryConnect looks at everything outside that the pipeline reads or writes, at once, and prints what it found. Every problem
// is in the error.
func (a *app) dryConnect(ctx context.Context, p *plan.Pipeline) error {
	ctx, cancel := context.WithTimeout(ctx, connectWithin)
	defer cancel()
	checks := daemon.Checks(p)
	found, stopped := make([]fault.List, len(checks)), make([]error, len(checks))
	var looking sync.WaitGroup
	for i := range checks {
		looking.Go(func() { found[i], stopped[i] = checks[i].Run(ctx) })
	}
	looking.Wait()
	var problems fault.List
	for i := range checks {
		if stopped[i] != nil {
			return stopped[i]
		}
		problems = append(problems, found[i]...)
	}
	if err := a.print(a.checkTable(checks, found)); err != nil {
		return err
	}
	return problems.Err()
}

// checkTable has a row for each thing that was looked at, or one for each of its problems. What a problem is goes to standard
// error, as for any error of a definition, and stands in the rows that a program reads.
func (a *app) checkTable(checks []daemon.Check, found []fault.List) table {
	t := table{columns: []string{"flow", "role", "kind", "name", "status"}}
	whole := a.output != "table"
	if whole {
		t.columns = append(t.columns, "position", "message", "hint")
	}
	for i, c := range checks {
		problems := found[i]
		if len(problems) == 0 {
			problems = fault.List{nil}
		}
		for _, e := range problems {
			row := []jsonCell{cell(c.Flow), cell(c.Role), cell(c.Kind), cell(c.Name), cell("ok")}
			if e != nil {
				row[4] = cell(e.Code.Name)
			}
			if whole {
				row = append(row, problemCells(c.Pos, e)...)
			}
			t.rows = append(t.rows, row)
		}
	}
	return t
}

// problemCells are position, message and hint of a problem, or the position alone where there is none.
func problemCells(at fault.Pos, e *fault.Error) []jsonCell {
	if e == nil {
		return []jsonCell{cell(at.String()), nil, nil}
	}
	message := e.Message
	if e.Cause != nil {
		message += ": " + e.Cause.Error()
	}
	if e.Detail != "" {
		message += " (" + e.Detail + ")"
	}
	var hint jsonCell
	if e.Hint != "" {
		hint = cell(e.Hint)
	}
	return []jsonCell{cell(e.Pos.String()), cell(message), hint}
}
