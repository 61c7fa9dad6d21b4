package scenario

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"sluice/admin"
	"sluice/batch"
	"sluice/daemon"
	"sluice/fault"
	"sluice/internal/disk"
	"sluice/state"
)

// mendRecords does something about records in quarantine, in the daemon that is up or in the store of the stopped one. Records are known by
// their values, since where they stand hangs on the variant.
func mendRecords(ctx context.Context, w *world, a *words) (string, error) {
	action, err := a.name()
	if err != nil {
		return "", err
	}
	m := admin.Mending{Action: action, Flow: a.value("flow", ""), Code: a.value("code", "")}
	var orders []admin.Mending
	lines := strings.Split(a.input, "\n")
	switch {
	case !slices.Contains(admin.Mends(), action):
		return "", errors.New(nearest(action, admin.Mends()))
	case action == "edit":
		if len(lines)%2 != 0 {
			return "", errors.New("edit needs lines in pairs: a value, and the new one")
		}
		for i := 0; i < len(lines); i += 2 {
			some, err := w.withValue(ctx, m, lines[i])
			if err != nil {
				return "", err
			}
			for _, one := range some {
				one.Value = []byte(lines[i+1])
				orders = append(orders, one)
			}
		}
	case a.input == "":
		orders = []admin.Mending{m}
	default:
		for _, line := range lines {
			some, err := w.withValue(ctx, m, line)
			if err != nil {
				return "", err
			}
			orders = append(orders, some...)
		}
	}
	total := 0
	for _, m := range orders {
		n, err := w.mend(ctx, m)
		if total += n; err != nil {
			return "error: " + fault.From(err).Code.Name, nil // the message has the place
		}
	}
	return fmt.Sprintf("%d records", total), nil
}

// withValue are orders for each record in quarantine that has a value.
func (w *world) withValue(ctx context.Context, m admin.Mending, value string) (out []admin.Mending, err error) {
	var flows []state.FlowInfo
	if err := w.look(func(s *state.Store) (err error) { flows, err = s.Flows(); return err }); err != nil {
		return nil, err
	}
	tables := map[string]bool{}
	for _, f := range flows {
		if f.Quarantine == "" || tables[f.Quarantine] {
			continue
		}
		tables[f.Quarantine] = true
		err := w.look(func(s *state.Store) error {
			snapshot := s.Snapshot()
			defer snapshot.Close()
			scan, err := snapshot.ScanQuarantine(f.Quarantine, []string{"flow", "split", "split_id", "offset", "index", "value", "error_code"})
			if err != nil {
				return err
			}
			defer scan.Close()
			for {
				rows, err := scan.Next(0)
				if err != nil || rows.Len == 0 {
					return err
				}
				for i := range rows.Len {
					text := func(c int) string { return string(rows.Cols[c].Text(i)) }
					if text(5) != value || m.Flow != "" && m.Flow != text(0) || m.Code != "" && m.Code != text(6) {
						continue
					}
					one := m
					one.Flow, one.Split, one.SplitID = text(0), text(1), text(2)
					at := batch.Values[int64](&rows.Cols[3])[i]
					one.Offset, one.Index = &at, batch.Values[int32](&rows.Cols[4])[i]
					out = append(out, one)
				}
			}
		})
		if err != nil {
			return nil, err
		}
	}
	if out == nil {
		shown, _ := json.Marshal(value)
		return nil, fmt.Errorf("no record with the value %s is in quarantine", shown)
	}
	return out, nil
}

// mend carries out one order.
func (w *world) mend(ctx context.Context, m admin.Mending) (int, error) {
	return ordered(w, func(d *daemon.Daemon) (int, error) { return d.Mend(ctx, m) },
		func(s *state.Store) (int, error) { return daemon.MendStored(w.plan, s, m) })
}

// ordered has an order carried out by the daemon that is up or in the store of the stopped one, and once more after a power cut in the middle of it.
func ordered[T any](w *world, live func(*daemon.Daemon) (T, error), stored func(*state.Store) (T, error)) (T, error) {
	for {
		out, failed, err := orderedOnce(w, live, stored)
		if !failed {
			return out, err
		}
	}
}

func orderedOnce[T any](w *world, live func(*daemon.Daemon) (T, error), stored func(*state.Store) (T, error)) (out T, failed bool, err error) {
	if r := w.up; r != nil {
		w.arm(r.cut)
		out, err = live(r.daemon)
		w.disarm()
		if failed = r.interrupted(); failed {
			w.down()
		}
		return out, failed, err
	}
	var left *disk.Disk
	w.arm(func(d *disk.Disk) { left = d })
	s, err := w.stored(false)
	if err == nil {
		out, err = stored(s)
		err = cmp.Or(err, s.Close())
	}
	w.disarm()
	if left != nil {
		w.disk = left
	}
	return out, left != nil, err
}
