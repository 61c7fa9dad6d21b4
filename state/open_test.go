package state

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
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

// A folder that this process may not write to is not one that another process holds: the error names the user to give
// it to.
func TestStorageThatIsNotOurs(t *testing.T) {
	for _, reason := range []error{syscall.EACCES, syscall.EPERM, syscall.EROFS} {
		_, err := Open(Options{Dir: "db", FS: guarded{vfs.NewMem(), reason}, Pipeline: "p"})
		if !fault.Of(err, fault.StoreNotWritable) || !errors.Is(err, reason) || !strings.Contains(err.Error(), fmt.Sprintf("chown -R %d ", os.Geteuid())) {
			t.Errorf("%v: %v", reason, err)
		}
	}
}

// D-57: a store that is in use names who uses it.
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
