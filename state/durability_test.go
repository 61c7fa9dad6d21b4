package state

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// A commit is on disk a sync interval later, or when somebody asks for it; before that a power cut takes it back, as a whole.
func TestACommitIsOnDiskWithinTheSyncInterval(t *testing.T) {
	const interval = 100 * time.Millisecond
	synctest.Test(t, func(t *testing.T) {
		disk := vfs.NewCrashableMem()
		s := open(t, disk, func(o *Options) { o.SyncInterval = interval })
		table, flow := opened(t, s)
		found := func(when string, want ...string) {
			t.Helper()
			after := open(t, disk.CrashClone(vfs.CrashCloneCfg{})) // nothing survives that was not synced
			same(t, when, contents(t, after, ticks.Name), want...)
			closeChecked(t, after)
		}
		ok(t, s.Sync(context.Background()))
		_, _, err := replace(t, table, flow, 1, row{"a", 1, "one", 0})
		ok(t, err)
		found("at once")
		time.Sleep(interval)
		synctest.Wait()
		found("after the interval", "a,1,one")
		_, _, err = replace(t, table, flow, 2, row{"b", 1, "two", 1}, row{"c", 1, "two", 1})
		ok(t, err)
		found("a second one, at once", "a,1,one")
		ok(t, s.Sync(context.Background()))
		found("a second one, when it was asked for", "a,1,one", "b,1,two", "c,1,two")
	})
}
