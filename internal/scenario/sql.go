package scenario

import (
	"context"
	"errors"
	"io"
	"slices"
	"strings"

	"sluice/admin"
	"sluice/daemon"
	"sluice/eval"
	"sluice/syntax"
)

// runSQL runs the statements of a script, and shows what they answer, up to the first that fails: against the daemon that is up, else in the
// store of the stopped one. Where runs end by a crash the power fails behind each statement, which is durable then (D-26).
func runSQL(ctx context.Context, w *world, a *words) (string, error) {
	parts, problems := syntax.SplitScript("sql", a.input)
	if err := problems.Err(); err != nil {
		return "", err
	}
	var out []string
	for _, part := range parts {
		text, err := w.statement(ctx, admin.Statement{Text: part.Text, File: part.Pos.File, Line: part.Pos.Line, Column: part.Pos.Column})
		if err != nil {
			out = append(out, "error: "+err.Error())
			break
		}
		out = append(out, text)
	}
	return strings.Join(out, "\n"), nil
}

func (w *world) statement(ctx context.Context, s admin.Statement) (text string, err error) {
	if w.up != nil {
		return w.answered(ctx, func() (admin.Rows, error) { return w.up.daemon.Execute(ctx, s) })
	}
	store, err := w.stored(false)
	if err != nil {
		return "", err
	}
	emit, unwritten := daemon.StoredLog(w.plan.Name, store)
	x := daemon.NewExecutor(w.plan, store, w.engine, func() (*eval.Engine, error) { return w.engine, nil }, w.options().Now, emit)
	text, failure := w.answered(ctx, func() (admin.Rows, error) { return x.Execute(ctx, s) })
	left := w.disk
	if w.variant.is("stop", "crash") {
		left = w.crashed()
	}
	err = errors.Join(unwritten(), failure, store.Close())
	w.disk = left
	return text, err
}

// answered shows the rows of an answer, sorted, under a line with the names of its columns.
func (w *world) answered(ctx context.Context, run func() (admin.Rows, error)) (string, error) {
	result, err := run()
	if err != nil {
		return "", err
	}
	defer result.Close()
	var names, lines []string
	for _, c := range result.Columns() {
		names = append(names, c.Name)
	}
	for {
		some, _, err := result.Next(ctx)
		if err == io.EOF {
			break
		}
		if err != nil {
			return "", err
		}
		for line := range strings.Lines(string(some)) {
			lines = append(lines, cells(line))
		}
	}
	slices.Sort(lines)
	return strings.Join(append([]string{strings.Join(names, " ")}, lines...), "\n"), nil
}
