package scenario

import (
	"context"
	"fmt"
	"time"

	"sluice/admin"
	"sluice/daemon"
	"sluice/state"
)

// undoTable puts a table back to an earlier version (D-27), by its number, which is fixed in one variant only, or by its time.
func undoTable(ctx context.Context, w *world, a *words) (string, error) {
	to, err := a.number("to", -1)
	if err != nil {
		return "", err
	}
	at := a.value("at", "")
	table, err := a.name()
	if err != nil {
		return "", err
	}
	u := admin.Undo{Table: table, Version: new(int64)}
	if *u.Version = int64(to); at != "" {
		if *u.Version, err = w.versionAt(table, at); err != nil {
			return "", err
		}
	}
	_, err = ordered(w, func(d *daemon.Daemon) (admin.Undone, error) { return d.Undo(ctx, u) },
		func(s *state.Store) (admin.Undone, error) { return daemon.UndoStored(ctx, w.plan, s, u) })
	return "", err
}

func (w *world) versionAt(table, text string) (version int64, err error) {
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return 0, err
	}
	for _, t := range w.plan.Tables {
		if t.Display == table {
			err := w.look(func(s *state.Store) (err error) {
				snapshot := s.Snapshot()
				defer snapshot.Close()
				version, err = snapshot.VersionAt(t.Name, at)
				return err
			})
			return version, err
		}
	}
	return 0, fmt.Errorf("no table %s", table)
}
