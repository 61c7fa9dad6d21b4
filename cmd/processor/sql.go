package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"sluice/admin"
	"sluice/daemon"
	"sluice/fault"
	"sluice/plan"
	"sluice/syntax"
)

func (a *app) sqlCmd() *cobra.Command {
	var text string
	c := &cobra.Command{
		Use:   `sql FILE | -e "STATEMENT; ..."`,
		Short: "Run statements one by one, queries, INSERT, UPDATE, DELETE and REFRESH, in the running daemon or, beside a stopped one, in its store",
		Args:  cobra.MaximumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			given := c.Flags().Changed("execute")
			if given == (len(args) == 1) {
				return usage{fmt.Errorf("sql takes a file, - for standard input, or statements with -e")}
			}
			p, err := a.load()
			if err != nil {
				return err
			}
			file := "-e"
			if !given {
				if file, text, err = scriptFile(a.in, args[0]); err != nil {
					return err
				}
			}
			return a.script(c.Context(), p, file, text)
		},
	}
	c.Flags().StringVarP(&text, "execute", "e", "", "the statements")
	return c
}

// scriptFile reads a script, and says how positions name it.
func scriptFile(in io.Reader, name string) (file, text string, err error) {
	if name == "-" {
		b, err := io.ReadAll(in)
		return "stdin", string(b), err
	}
	b, err := os.ReadFile(name)
	if err != nil {
		err = usage{err}
	}
	return name, string(b), err
}

// script runs the statements of a script, up to the first that fails. Nothing runs of one that cannot be read.
func (a *app) script(ctx context.Context, p *plan.Pipeline, file, text string) error {
	if _, problems := syntax.ParseScript(file, text); len(problems) > 0 {
		return problems.Err()
	}
	parts, problems := syntax.SplitScript(file, text)
	if err := problems.Err(); err != nil {
		return err
	}
	r := &scriptRunner{app: a, plan: p}
	for n, part := range parts {
		if err := r.statement(ctx, part); err != nil {
			if n > 0 {
				fmt.Fprintf(a.err, "statement %d of %d failed; those before it are done\n", n+1, len(parts))
			}
			return errors.Join(err, r.close())
		}
	}
	return r.close()
}

// scriptRunner runs statements where they can run.
type scriptRunner struct {
	*app
	plan   *plan.Pipeline
	client *admin.Client    // of the daemon, or
	stored *daemon.Executor // of the store of a stopped one; opened when it is needed
}

func (r *scriptRunner) close() error {
	x := r.stored
	if r.stored = nil; x != nil {
		return x.Close()
	}
	return nil
}

// connect finds where statements run.
func (r *scriptRunner) connect() error {
	if r.client != nil || r.stored != nil {
		return nil
	}
	client, store, err := reach(r.plan)
	if err != nil {
		return err
	}
	if r.client = client; client != nil {
		return nil
	}
	if err := store.Close(); err != nil {
		return err
	}
	r.stored, err = daemon.OpenExecutor(r.plan)
	return err
}

func (r *scriptRunner) statement(ctx context.Context, part syntax.Part) error {
	s := admin.Statement{Text: part.Text, File: part.Pos.File, Line: part.Pos.Line, Column: part.Pos.Column}
	err := r.connect()
	if parsed, _ := syntax.ParseScriptStatement(s.Text, part.Pos); err == nil || fault.Of(err, fault.StoreNotFound) {
		if refresh, ok := parsed.(*syntax.Refresh); ok && r.client == nil {
			return r.refresh(ctx, refresh)
		}
	}
	if err != nil {
		return err
	}
	var t table
	if r.client != nil {
		t, err = executeLive(ctx, r.client, s)
	} else {
		t, err = executeStored(ctx, r.stored, s)
	}
	if err != nil {
		return err
	}
	return r.print(t)
}

// refresh runs the stopped pipeline through for a REFRESH.
func (r *scriptRunner) refresh(ctx context.Context, s *syntax.Refresh) error {
	if s.Async {
		return fault.New(fault.BadRequest, "ASYNC needs a running daemon").At(s.Pos)
	}
	u, err := daemon.RefreshOf(r.plan, s)
	if err != nil {
		return err
	}
	if err := r.close(); err != nil {
		return err
	}
	if s.Full {
		return r.runOnce(ctx, r.plan, u.FullRefreshSelection, u.Overrides, refreshFlags{full: true})
	}
	return r.runOnce(ctx, r.plan, u.RefreshSelection, u.Overrides, refreshFlags{})
}

func executeLive(ctx context.Context, client *admin.Client, s admin.Statement) (t table, err error) {
	result, err := client.Execute(ctx, s)
	if err != nil {
		return t, err
	}
	return resultTable(result)
}

func executeStored(ctx context.Context, x *daemon.Executor, s admin.Statement) (t table, err error) {
	rows, err := x.Execute(ctx, s)
	if err != nil {
		return t, err
	}
	return rowsTable(ctx, rows)
}

// resultTable reads the answer of a daemon.
func resultTable(result *admin.QueryResult) (t table, err error) {
	defer result.Close()
	for _, column := range result.Columns {
		t.columns = append(t.columns, column.Name)
	}
	for {
		row, err := result.Next()
		if err == io.EOF {
			return t, nil
		}
		if err != nil {
			return t, err
		}
		t.add(row)
	}
}

// rowsTable reads the result of a statement that ran in this process.
func rowsTable(ctx context.Context, rows admin.Rows) (t table, err error) {
	defer rows.Close()
	for _, column := range rows.Columns() {
		t.columns = append(t.columns, column.Name)
	}
	for {
		lines, _, err := rows.Next(ctx)
		if err == io.EOF {
			return t, nil
		}
		if err != nil {
			return t, err
		}
		for line := range strings.Lines(string(lines)) {
			var row []json.RawMessage
			if err := json.Unmarshal([]byte(line), &row); err != nil {
				return t, err
			}
			t.add(row)
		}
	}
}
