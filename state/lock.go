package state

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"syscall"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"sluice/fault"
)

// lock is the hold on a store's folder. The file beside it says who holds it; it may be stale, the lock is not: it ends
// with the process.
type lock struct {
	fs     vfs.FS
	held   io.Closer
	holder string
}

// holderRecord is the content of the file beside the lock.
type holderRecord struct {
	PID     int       `json:"pid"`
	Host    string    `json:"host"`
	Started time.Time `json:"started"`
	Reads   bool      `json:"reads,omitempty"` // only; a verb that is soon done
}

// patience is how long an opening waits for one that only reads.
const patience = 10 * time.Second

// locked is the error of a lock that another process holds.
type locked struct {
	by  *holderRecord // nil when it cannot be read
	err error
}

func (l *locked) Error() string { return l.err.Error() }

// takeLock makes the folder if need be and locks it. It waits for a process that only reads, or whose record is just being
// written: a daemon starts although somebody asks for its status all the time.
func takeLock(fs vfs.FS, dir string, reads bool) (*lock, error) {
	if err := makeFolder(fs, dir); err != nil {
		return nil, err
	}
	l := &lock{fs: fs, holder: fs.PathJoin(dir, "lock.json")}
	var last holderRecord // seen; one that is seen twice is not that of a process that was killed before
	for began := time.Now(); ; time.Sleep(20 * time.Millisecond) {
		held, err := fs.Lock(fs.PathJoin(dir, "lock"))
		if err == nil {
			l.held = held
			break
		}
		if onPath(err) {
			return nil, err
		}
		by := readHolder(fs, l.holder)
		if by != nil && !by.Reads && *by == last || time.Since(began) > patience {
			return nil, &locked{by: by, err: err}
		}
		if by != nil {
			last = *by
		}
	}
	if err := writeHolder(fs, l.holder, reads); err != nil {
		l.release()
		return nil, err
	}
	return l, nil
}

// makeFolder makes a folder that survives a crash: its name is on disk before anything in it counts.
func makeFolder(fs vfs.FS, dir string) error {
	switch info, err := fs.Stat(dir); {
	case err == nil && !info.IsDir():
		return &os.PathError{Op: "open", Path: dir, Err: syscall.ENOTDIR}
	case err == nil:
		return nil
	}
	if err := fs.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for at := dir; ; at = fs.PathDir(at) {
		parent := fs.PathDir(at)
		if parent == at {
			return nil
		}
		f, err := fs.OpenDir(parent)
		if err != nil {
			return nil // above what this process may read; it was there before
		}
		err = f.Sync()
		if e := f.Close(); err == nil {
			err = e
		}
		if err != nil {
			return err
		}
	}
}

func writeHolder(fs vfs.FS, name string, reads bool) error {
	f, err := fs.Create(name, vfs.WriteCategoryUnspecified)
	if err != nil {
		return err
	}
	host, _ := os.Hostname()
	_, err = f.Write(mustJSON(holderRecord{os.Getpid(), host, time.Now().UTC(), reads}))
	if e := f.Close(); err == nil {
		err = e
	}
	return err
}

func readHolder(fs vfs.FS, name string) *holderRecord {
	f, err := fs.Open(name)
	if err != nil {
		return nil
	}
	defer f.Close()
	b, err := io.ReadAll(f)
	var r holderRecord
	if err != nil || json.Unmarshal(b, &r) != nil {
		return nil
	}
	return &r
}

func (l *lock) release() {
	_ = l.fs.Remove(l.holder)
	_ = l.held.Close()
}

// lockFailed codes an error of takeLock.
func (s *Store) lockFailed(err error) error {
	l, ok := err.(*locked)
	if !ok {
		return s.failed(err)
	}
	by := "another process"
	if l.by != nil {
		by = fmt.Sprintf("process %d on host %s, since %s", l.by.PID, l.by.Host, l.by.Started.Format(time.RFC3339))
	}
	return fault.New(fault.StoreLocked, "the store in %s is in use by %s", s.o.Dir, by).Because(l.err).
		WithHint("ask that process over its address, or stop it first")
}
