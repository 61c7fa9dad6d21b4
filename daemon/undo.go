package daemon

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"sluice/admin"
	"sluice/eventlog"
	"sluice/fault"
	"sluice/plan"
	"sluice/state"
)

// Undo puts a table back to an earlier version (D-27), and returns when that is durable. It waits for an update of the table that is at work (D-33).
func (d *Daemon) Undo(ctx context.Context, u admin.Undo) (admin.Undone, error) {
	return undo(ctx, d.Plan, d.store, u, d.Now(), d.emit)
}

// UndoStored is Undo in the store of a stopped daemon.
func UndoStored(ctx context.Context, p *plan.Pipeline, store *state.Store, u admin.Undo) (out admin.Undone, err error) {
	var unwritten error
	log := eventlog.NewDurable(p.Name, "", 0, func(record func(uint64) []byte) { unwritten = errors.Join(unwritten, store.AppendEvent(record)) })
	out, err = undo(ctx, p, store, u, time.Now(), log.Listen)
	return out, errors.Join(err, unwritten)
}

// notMade is the error that a declared table is not in the store.
func notMade(table string) *fault.Error {
	return fault.New(fault.TableNotFound, "table %s is declared, and no run has made it yet", table).WithHint("`processor run` makes it")
}

func undo(ctx context.Context, p *plan.Pipeline, store *state.Store, u admin.Undo, at time.Time, emit eventlog.Listener) (out admin.Undone, err error) {
	found, err := targetNamed(p.Tables, nil, u.Table)
	if err != nil {
		return out, err
	}
	out.Table = strings.TrimPrefix(found, plan.TargetTable)
	table, err := store.OpenTable(out.Table)
	if err != nil {
		return out, err
	}
	if table == nil {
		return out, notMade(out.Table)
	}
	before := table.Version()
	done, err := table.Undo(ctx, *u.Version, at.UTC().Truncate(time.Microsecond), "")
	if err != nil {
		return out, err
	}
	out.Version, out.RowsRemoved, out.RowsAdded, out.Unchanged = done.Version, done.RowsRemoved, done.RowsAdded, done.Files == 0 && done.Version == before
	if !out.Unchanged {
		emit(&eventlog.UserAction{Action: "undo", Names: []string{fmt.Sprintf("%s to version %d, as version %d", u.Table, *u.Version, out.Version)}})
	}
	return out, store.Sync(ctx)
}
