package daemon

import (
	"context"
	"errors"
	"fmt"
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
	emit, failed := StoredLog(p.Name, store)
	out, err = undo(ctx, p, store, u, time.Now(), emit)
	return out, errors.Join(err, failed())
}

// notMade is the error that a declared table is not in the store.
func notMade(table string) *fault.Error {
	return fault.New(fault.TableNotFound, "table %s is declared, and no run has made it yet", table).WithHint("`processor run` makes it")
}

func undo(ctx context.Context, p *plan.Pipeline, store *state.Store, u admin.Undo, at time.Time, emit eventlog.Listener) (out admin.Undone, err error) {
	t, err := tableNamed(p, u.Table)
	if err != nil {
		return out, err
	}
	out.Table = t.Name
	table, err := store.OpenTable(out.Table)
	if err != nil {
		return out, err
	}
	if table == nil {
		return out, notMade(out.Table)
	}
	done, err := table.Undo(ctx, *u.Version, at.UTC().Truncate(time.Microsecond), "")
	if err != nil {
		return out, err
	}
	out.Version, out.RowsRemoved, out.RowsAdded, out.Unchanged = done.Version, done.RowsRemoved, done.RowsAdded, done.RowsRemoved+done.RowsAdded == 0
	if !out.Unchanged {
		emit(&eventlog.UserAction{Action: "undo", Names: []string{fmt.Sprintf("%s to version %d, as version %d", u.Table, *u.Version, out.Version)}})
	}
	return out, store.Sync(ctx)
}
