package scenario

import (
	"context"
	"fmt"
	"maps"
	"strconv"

	"sluice/daemon"
	"sluice/internal/disk"
	"sluice/state"
)

// outage is a power failure to come: before a write of the next run or reset, of which so many percent that was not synced
// survives.
type outage struct {
	writes, survives int
	stays            bool // nobody tries again
}

// powerless is the answer to a command in which the power failed, and after which nobody tries again.
const powerless = "the power fails"

func arrangeOutage(_ context.Context, w *world, a *words) (string, error) {
	stays := a.flag("stays")
	survives, err := a.number("survives", 0)
	if err != nil {
		return "", err
	}
	text, err := a.name()
	if err != nil {
		return "", err
	}
	writes, err := strconv.Atoi(text)
	if err != nil || writes < 1 || survives < 0 || survives > 100 {
		return "", fmt.Errorf("an outage comes before a write, 1 or later, and 0 to 100 percent survive")
	}
	w.outage = &outage{writes, survives, stays}
	return "", nil
}

// arm lets the power fail from now on if an outage is to come. cut gets what is left of the disk; nothing is written meanwhile.
func (w *world) arm(cut func(left *disk.Disk)) {
	o := w.outage
	if o == nil {
		return
	}
	w.disk.FailAt(o.writes, func() {
		w.outage, w.dark = nil, o.stays
		cut(w.disk.Crash(o.survives, uint64(o.writes)))
	})
}

// disarm says that nothing will fail until arm is called again.
func (w *world) disarm() {
	if left := w.disk.Disarm(); w.outage != nil && left > 0 {
		w.outage.writes = left
	}
}

// over reports, once, whether a power failure has ended a command for good.
func (w *world) over() bool {
	dark := w.dark
	w.dark = false
	return dark
}

// generations are those of all flows that the store knows.
func (w *world) generations() (map[string]uint64, error) {
	out := map[string]uint64{}
	err := w.look(func(s *state.Store) error {
		flows, err := s.Flows()
		for _, f := range flows {
			out[f.Name] = f.Generation
		}
		return err
	})
	return out, err
}

// reset resets a checkpoint. When the power fails meanwhile it has been done, or is done again.
func (w *world) reset(ctx context.Context, flow string) (uint64, error) {
	for {
		before, err := w.generations()
		if err != nil {
			return 0, err
		}
		generation, failed, err := w.resetOnce(ctx, flow)
		if !failed || w.over() {
			return generation, err
		}
		now, err := w.generations()
		if err != nil || now[flow] != before[flow] {
			return now[flow], err
		}
	}
}

// resetOnce reports whether the power failed.
func (w *world) resetOnce(ctx context.Context, flow string) (generation uint64, failed bool, err error) {
	if r := w.up; r != nil {
		w.arm(r.cut)
		generation, err = r.daemon.ResetCheckpoint(ctx, flow)
		w.disarm()
		if failed = r.interrupted(); failed {
			w.down()
		}
		return generation, failed, err
	}
	var left *disk.Disk
	w.arm(func(d *disk.Disk) { left = d })
	generation, err = w.resetStored(flow)
	w.disarm()
	if left != nil {
		w.disk = left
	}
	return generation, left != nil, err
}

// resetStored resets the checkpoint in the store of a stopped daemon, as the command line does.
func (w *world) resetStored(flow string) (uint64, error) {
	s, err := w.stored(false)
	if err != nil {
		return 0, err
	}
	defer s.Close()
	if err := s.Reset(nil, []string{flow}); err != nil {
		return 0, err
	}
	f, err := s.Flow(flow)
	if err != nil {
		return 0, err
	}
	return f.Generation(), nil
}

// goOn is the selection with which a daemon starts that follows one that ended before it was through. before are the generations
// that the store had when full refreshes were asked for: as long as it has them nothing was refreshed.
func (w *world) goOn(s daemon.Selection, before map[string]uint64) (daemon.Selection, error) {
	if !s.All && len(s.FullRefresh) == 0 {
		return s, nil
	}
	now, err := w.generations()
	if err != nil || maps.Equal(now, before) && len(before) > 0 {
		return s, err
	}
	return again(s), nil
}
