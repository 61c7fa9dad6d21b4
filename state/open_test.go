package state

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"sluice/fault"
)

// guarded is a file system whose folder belongs to somebody else, or is mounted read-only.
type guarded struct {
	vfs.FS
	reason error
}

func (g guarded) Lock(name string) (io.Closer, error) {
	return nil, &fs.PathError{Op: "open", Path: name, Err: g.reason}
}

// a folder that this process may not write to, since another user has it, is not one that another process holds: the error names the user to give
// it to.
func TestStorageThatIsNotOurs(t *testing.T) {
	for _, reason := range []error{syscall.EACCES, syscall.EPERM, syscall.EROFS} {
		_, err := Open(Options{Dir: "db", FS: guarded{vfs.NewMem(), reason}, Pipeline: "p"})
		if !fault.Of(err, fault.StoreNotWritable) || !errors.Is(err, reason) || !strings.Contains(err.Error(), fmt.Sprintf("chown -R %d ", os.Geteuid())) {
			t.Errorf("%v: %v", reason, err)
		}
	}
}

// D-57, A-95: a store that is in use names who uses it. After a kill -9 the next start needs no cleaning: TestASecondDaemonIsRefused of cmd/processor.
func TestStoreInUseNamesItsHolder(t *testing.T) {
	dir := t.TempDir()
	s, err := Open(Options{Dir: dir, Pipeline: "p"})
	ok(t, err)
	defer s.Close()
	_, err = Open(Options{Dir: dir, Pipeline: "p"})
	if !fault.Of(err, fault.StoreLocked) || !strings.Contains(err.Error(), fmt.Sprintf("process %d ", os.Getpid())) {
		t.Error(err)
	}
}

// A verb that looks at a stopped store holds it for a moment; whoever opens it then waits for that.
func TestStoreWaitsForReader(t *testing.T) {
	dir := t.TempDir()
	s, err := Open(Options{Dir: dir, Pipeline: "p"})
	ok(t, err)
	ok(t, s.Close())
	for _, readOnly := range []bool{false, true} {
		reader, err := Open(Options{Dir: dir, Pipeline: "p", ReadOnly: true})
		ok(t, err)
		opened := make(chan error)
		go func() {
			next, err := Open(Options{Dir: dir, Pipeline: "p", ReadOnly: readOnly})
			if err == nil {
				err = next.Close()
			}
			opened <- err
		}()
		select {
		case err := <-opened:
			t.Fatalf("opened beside a reader: %v", err)
		case <-time.After(50 * time.Millisecond): // long enough for one that does not wait
		}
		ok(t, reader.Close())
		ok(t, <-opened)
	}
}

func TestStoreOfAnotherPipeline(t *testing.T) {
	mem := vfs.NewMem()
	s, err := Open(Options{Dir: "db", FS: mem, Pipeline: "p"})
	ok(t, err)
	ok(t, s.Close())
	if _, err := Open(Options{Dir: "db", FS: mem, Pipeline: "q"}); !fault.Of(err, fault.StoreOfOtherPipeline) {
		t.Error(err)
	}
	if _, err := Open(Options{Dir: "other", FS: mem, Pipeline: "p", ReadOnly: true}); !fault.Of(err, fault.StoreNotFound) {
		t.Error(err)
	}
}

// full is a disk that has no room any more: for new files, or for what is written to the log.
type full struct {
	vfs.FS
	files, log *atomic.Bool
}

var noSpace = &fs.PathError{Op: "write", Err: syscall.ENOSPC}

func (d full) Create(name string, c vfs.DiskWriteCategory) (vfs.File, error) {
	if d.files.Load() {
		return nil, noSpace
	}
	f, err := d.FS.Create(name, c)
	if strings.HasSuffix(name, ".log") && err == nil {
		f = fullFile{f, d.log}
	}
	return f, err
}

func (d full) ReuseForWrite(old, name string, c vfs.DiskWriteCategory) (vfs.File, error) {
	_ = d.FS.Remove(old)
	return d.Create(name, c)
}

type fullFile struct {
	vfs.File
	now *atomic.Bool
}

func (f fullFile) Write(p []byte) (int, error) {
	if f.now.Load() {
		return 0, noSpace
	}
	return f.File.Write(p)
}

// the disk fills up where a commit needs a new log, and where it writes to the log. The store says so, once and at once:
// what is told ends the process, since Pebble may have left its locks taken. What was acknowledged is there when there is
// room again.
func TestDiskFull(t *testing.T) {
	for _, where := range []string{"new files", "the log"} {
		t.Run(where, func(t *testing.T) {
			memory := vfs.NewCrashableMem()
			d := full{memory, &atomic.Bool{}, &atomic.Bool{}}
			told := make(chan error, 1)
			s, err := Open(Options{Dir: "db", FS: d, Pipeline: "p", MemTableSize: 64 << 10, OnFault: func(err error) {
				told <- err
				select {} // the process would end here
			}})
			ok(t, err)
			table, err := s.Table(events)
			ok(t, err)
			f, err := s.Flow("f")
			ok(t, err)
			rows := make([]row, 100)
			written := 0
			write := func() error {
				for i := range rows {
					rows[i] = row{"k", int64(written), strings.Repeat("x", 100), int64(written + i)}
				}
				_, err := appendRows(table, f, int64(written+len(rows)), rows...)
				written += len(rows)
				return err
			}
			ok(t, write())
			ok(t, s.Sync(t.Context()))
			acknowledged := written
			if where == "the log" {
				d.log.Store(true)
			} else {
				d.files.Store(true)
			}
			go func() {
				for write() == nil {
				}
			}()
			if err := <-told; !fault.Of(err, fault.StoreFailed) || !errors.Is(err, syscall.ENOSPC) || !strings.Contains(err.Error(), "full") {
				t.Errorf("told %v", err)
			}
			s = open(t, memory.CrashClone(vfs.CrashCloneCfg{}))
			if n := len(contents(t, s, events.Name)); n < acknowledged || n%len(rows) != 0 {
				t.Errorf("%d rows, %d were acknowledged", n, acknowledged)
			}
		})
	}
}
