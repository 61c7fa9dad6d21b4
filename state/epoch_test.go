package state

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// D-18: an opening has a higher epoch than those before it and than the clock says, whatever the clock does, and stays below what
// JSON, metrics and a BIGINT hold exactly.
func TestLeastEpoch(t *testing.T) {
	now := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	micros := uint64(now.UnixMicro())
	for name, c := range map[string]struct {
		previous uint64
		at       time.Time
		want     uint64
	}{
		"a new store":                         {0, now, micros},
		"counted by an earlier version":       {17, now, micros},
		"later":                               {micros - 1e6, now, micros},
		"in the same moment":                  {micros, now, micros + 1},
		"the clock went back":                 {micros + 1e9, now, micros + 1e9 + 1},
		"the clock is before all computers":   {micros, time.Date(1900, 1, 1, 0, 0, 0, 0, time.UTC), micros + 1},
		"a new store, without a clock at all": {0, time.Unix(0, 0), 1},
	} {
		if got := LeastEpoch(c.previous, c.at); got != c.want {
			t.Errorf("%s: %d, want %d", name, got, c.want)
		}
	}
	if last := LeastEpoch(0, time.Date(2250, 1, 1, 0, 0, 0, 0, time.UTC)); last >= 1<<53 {
		t.Errorf("%d is not exact everywhere", last)
	}
}

// D-18: copies of one stopped store that are opened are told apart by their epochs, also where no clock helps, and each of them
// rises above all that the store had before.
func TestCopiesHaveEpochsOfTheirOwn(t *testing.T) {
	disk := vfs.NewCrashableMem()
	s := open(t, disk)
	id, ahead := s.Identity().ID, uint64(time.Now().Add(time.Hour).UnixMicro())
	ok(t, s.db.Set(identityKey, mustJSON(identityRecord{formatVersion, id, ahead, "p"}), pebble.Sync)) // by a clock that was an hour ahead
	ok(t, s.Close())
	epochs := []uint64{ahead}
	for range 3 {
		copied := disk.CrashClone(vfs.CrashCloneCfg{})
		for range 2 {
			s := open(t, copied)
			if s.Identity().ID != id {
				t.Errorf("the store %s was %s", s.Identity().ID, id)
			}
			epochs = append(epochs, s.Identity().Epoch)
			ok(t, s.Close())
		}
		if n := len(epochs); epochs[n-2] <= ahead || epochs[n-1] <= epochs[n-2] {
			t.Errorf("epochs %v do not rise", epochs)
		}
	}
	slices.Sort(epochs)
	if len(slices.Compact(epochs)) != 7 {
		t.Errorf("epochs are not of one opening each: %v", epochs)
	}
}

// D-18: a planned batch knows under which epochs it may have been sent, and nothing is sent under another one before that is durable.
func TestPlanKnowsItsEpochs(t *testing.T) {
	disk := vfs.NewCrashableMem()
	s := open(t, disk)
	f, err := s.Flow("f")
	ok(t, err)
	rows := columnsOf([]row{{"a", 1, "x", 0}})
	plan := func() {
		ok(t, f.Plan(context.Background(), &PlannedBatch{Advance: Advance{Range: spanOf(f, int64(f.NextBatch())+1), Time: noon}, Rows: rows}))
	}
	plan()
	tried := []uint64{s.Identity().Epoch}
	crash := func() { // the machine loses what was not synced
		t.Helper()
		disk = disk.CrashClone(vfs.CrashCloneCfg{})
		s = open(t, disk)
		f, err = s.Flow("f")
		ok(t, err)
		b, err := f.Planned()
		ok(t, err)
		if !slices.Equal(b.Tried, tried) || !slices.Equal(f.Info().Tried, tried) {
			t.Fatalf("tried under %v, %v, want %v", b.Tried, f.Info().Tried, tried)
		}
	}
	crash() // this one sends nothing
	crash()
	for range 2 {
		for range 2 { // an attempt that fails, and the next
			b, err := f.Planned()
			ok(t, err)
			ok(t, f.Retry(context.Background(), b))
			if got, want := fmt.Sprint(b.Tried, b.Rows.Len), fmt.Sprint(append(slices.Clone(tried), s.Identity().Epoch), 1); got != want {
				t.Errorf("%s, want %s", got, want)
			}
		}
		tried = append(tried, s.Identity().Epoch)
		crash()
	}
	ok(t, f.CommitPlanned(context.Background(), nil))
	if got := f.Info().Tried; got != nil {
		t.Errorf("after the delivery there is %v", got)
	}
	plan()
	tried = []uint64{s.Identity().Epoch}
	crash()

	// One that an earlier version planned may have been sent under any epoch.
	h, err := f.plannedHeader()
	ok(t, err)
	h.Tried = nil
	ok(t, s.db.Set(planKey(f.record.ID, 0), mustJSON(h), pebble.Sync))
	tried = nil
	crash()
	b, err := f.Planned()
	ok(t, err)
	ok(t, f.Retry(context.Background(), b))
	crash()
}
