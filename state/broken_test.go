package state

import (
	"context"
	"errors"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"sluice/fault"
)

// A disk that fails ends the work of the store: who waits for a sync is told, the reason is reported once, and every later
// commit gives the same reason. What was acknowledged before is there after a new start.
func TestADiskThatFailsEndsTheStore(t *testing.T) {
	for reason, hint := range map[error]string{errors.New("the disk is gone"): "look at the disk", syscall.ENOSPC: "free space"} {
		mem := vfs.NewCrashableMem()
		var broken atomic.Bool
		disk := errorfs.Wrap(mem, errorfs.InjectorFunc(func(op errorfs.Op) error {
			if broken.Load() && strings.HasSuffix(op.Path, ".log") && op.Kind.ReadOrWrite() == errorfs.OpIsWrite {
				return reason
			}
			return nil
		}))
		var reported []error
		s, err := Open(Options{Dir: "db", FS: disk, Pipeline: "p", SyncInterval: time.Hour, OnFault: func(err error) { reported = append(reported, err) }})
		ok(t, err)
		table, flow := opened(t, s)
		_, _, err = replace(t, table, flow, 1, row{"a", 1, "kept", 0})
		ok(t, err)
		ok(t, s.Sync(context.Background()))

		broken.Store(true)
		_, _, err = replace(t, table, flow, 2, row{"b", 1, "lost", 1})
		if err == nil {
			err = s.Sync(context.Background())
		}
		if !fault.Of(err, fault.StoreFailed) || !errors.Is(err, reason) || !strings.Contains(err.Error(), hint) {
			t.Errorf("%v: %v", reason, err)
		}
		if _, _, again := replace(t, table, flow, 3, row{"c", 1, "refused", 2}); !errors.Is(again, err) {
			t.Errorf("%v: the next commit gives %v", reason, again)
		}
		if len(reported) != 1 {
			t.Errorf("%v was reported %d times", reason, len(reported))
		}
		after := open(t, mem.CrashClone(vfs.CrashCloneCfg{}))
		same(t, "after a new start", contents(t, after, ticks.Name), "a,1,kept")
		_ = s.Close()
	}
}

// opened is the table and the flow of most tests.
func opened(t *testing.T, s *Store) (*Table, *Flow) {
	t.Helper()
	table, err := s.Table(ticks)
	ok(t, err)
	flow, err := s.Flow("f")
	ok(t, err)
	return table, flow
}

// Bytes that are not what was written are found when they are read, and are not taken for rows.
func TestDamageIsFound(t *testing.T) {
	dir := t.TempDir()
	options := Options{Dir: dir, Pipeline: "p", OnFault: func(error) {}}
	s, err := Open(options)
	ok(t, err)
	table, flow := opened(t, s)
	_, _, err = replace(t, table, flow, 1, row{"a", 1, strings.Repeat("value", 1000), 0})
	ok(t, err)
	ok(t, s.db.Flush())
	ok(t, s.Close())

	files, err := filepath.Glob(filepath.Join(dir, "store", "*.sst"))
	ok(t, err)
	for _, name := range files {
		b, err := os.ReadFile(name)
		ok(t, err)
		b[len(b)/3] ^= 0xff
		ok(t, os.WriteFile(name, b, 0o600))
	}
	s, err = Open(options)
	if err == nil {
		err = s.Check()
		_ = s.Close()
	}
	if !fault.Of(err, fault.StoreCorrupt) {
		t.Error(err)
	}
}

// A contradiction between what the store holds is found by a check.
func TestAContradictionIsFound(t *testing.T) {
	s, err := Open(Options{Dir: "db", FS: vfs.NewMem(), Pipeline: "p", OnFault: func(error) {}})
	ok(t, err)
	defer s.Close()
	ok(t, s.update(func(b *pebble.Batch) { must(b.Set(append(idKey(kindRows, 77), 1), []byte{1}, nil)) }))
	if err := s.Check(); !fault.Of(err, fault.StoreCorrupt) || !strings.Contains(err.Error(), "77") {
		t.Error(err)
	}
}

// A store in a format of a later version is refused, by its own number or by Pebble's, and is left as it is.
func TestANewerFormatIsRefused(t *testing.T) {
	dir := t.TempDir()
	s, err := Open(Options{Dir: dir, Pipeline: "p"})
	ok(t, err)
	b, err := s.get(s.db, identityKey)
	ok(t, err)
	newer := strings.Replace(string(b), `"format":1`, `"format":3`, 1)
	if newer == string(b) {
		t.Fatalf("the identity is %s", b)
	}
	ok(t, s.db.Set(identityKey, []byte(newer), pebble.Sync))
	ok(t, s.Close())
	if _, err := Open(Options{Dir: dir, Pipeline: "p"}); !fault.Of(err, fault.StoreFormatNewer) || !strings.Contains(err.Error(), "format 3") {
		t.Error(err)
	}

	dir = t.TempDir()
	s, err = Open(Options{Dir: dir, Pipeline: "p"})
	ok(t, err)
	ok(t, s.Close())
	marks, err := filepath.Glob(filepath.Join(dir, "store", "marker.format-version.*"))
	ok(t, err)
	slices.Sort(marks)
	last := marks[len(marks)-1]
	ok(t, os.Rename(last, last[:strings.LastIndexByte(last, '.')]+".999"))
	if _, err := Open(Options{Dir: dir, Pipeline: "p"}); !fault.Of(err, fault.StoreFormatNewer) {
		t.Error(err)
	}
}

// A store that was opened to be read takes nothing.
func TestAStoreForReadingTakesNothing(t *testing.T) {
	mem := vfs.NewMem()
	s := open(t, mem)
	opened(t, s)
	closeChecked(t, s)
	s, err := Open(Options{Dir: "db", FS: mem, Pipeline: "p", ReadOnly: true})
	ok(t, err)
	defer s.Close()
	if err := s.AppendEvent(func(uint64) []byte { return []byte("{}") }); !fault.Of(err, fault.StoreReadOnly) {
		t.Error(err)
	}
}

// Who waits for rows of a table, or asks for a turn to write or for a sync, when the store is closed is told so.
func TestWhoWaitsIsToldOfTheClose(t *testing.T) {
	s := open(t, vfs.NewMem())
	table, _ := opened(t, s)
	told := make(chan error)
	go func() { told <- table.Wait(context.Background(), nil) }()
	ok(t, s.Close())
	if err := <-told; !fault.Of(err, fault.StoreClosed) {
		t.Error(err)
	}
	if _, err := table.Begin(context.Background()); !fault.Of(err, fault.StoreClosed) {
		t.Error(err)
	}
	if err := s.Sync(context.Background()); !fault.Of(err, fault.StoreClosed) {
		t.Error(err)
	}
}

// The rows of a first copy are numbered (D-41): a table with more rows than numbers is refused, not cut.
func TestACopyOfTooManyRowsIsRefused(t *testing.T) {
	s := open(t, vfs.NewMem())
	table, flow := opened(t, s)
	_, _, err := replace(t, table, flow, 3, row{"a", 1, "", 0}, row{"b", 1, "", 1}, row{"c", 1, "", 2})
	ok(t, err)
	reader, err := s.Flow("reader")
	ok(t, err)
	cut := readerRecord{Flow: "reader", Feed: true, Copying: true, From: table.version.version, Copied: math.MaxInt32 - 2}
	ok(t, table.saveReader(reader.record.ID, cut))
	table.readers[reader.record.ID] = &tableReader{readerRecord: cut, at: cut.start()}
	if err := table.Subscribe(context.Background(), reader, true); !fault.Of(err, fault.CopyTooLarge) {
		t.Error(err)
	}
	ok(t, table.Unsubscribe(context.Background(), reader))
}
