package state

import (
	"strings"
	"sync/atomic"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// disk tells the store that a file cannot be made, or the log not be written, before Pebble hears of it. In the middle of a
// commit Pebble panics with the error while it has one mutex unlocked that it is about to unlock, which ends the process
// without a word about the disk, or locked another that it never unlocks.
type disk struct {
	vfs.FS
	store *Store
	open  atomic.Bool // before, the error is that of Open
}

func (d *disk) Create(name string, c vfs.DiskWriteCategory) (vfs.File, error) {
	f, err := d.FS.Create(name, c)
	return d.made(name, f, err)
}

func (d *disk) ReuseForWrite(old, name string, c vfs.DiskWriteCategory) (vfs.File, error) {
	f, err := d.FS.ReuseForWrite(old, name, c)
	return d.made(name, f, err)
}

// Unwrap implements vfs.FS.
func (d *disk) Unwrap() vfs.FS { return d.FS }

func (d *disk) made(name string, f vfs.File, err error) (vfs.File, error) {
	if err == nil && strings.HasSuffix(name, ".log") {
		return logFile{f, d}, nil
	}
	return f, d.tell(err)
}

func (d *disk) tell(err error) error {
	if err != nil && d.open.Load() {
		_ = d.store.fail(err)
	}
	return err
}

// logFile is a file of Pebble's log.
type logFile struct {
	vfs.File
	disk *disk
}

func (f logFile) Write(p []byte) (int, error) {
	n, err := f.File.Write(p)
	return n, f.disk.tell(err)
}

func (f logFile) Sync() error     { return f.disk.tell(f.File.Sync()) }
func (f logFile) SyncData() error { return f.disk.tell(f.File.SyncData()) }

func (f logFile) SyncTo(length int64) (whole bool, err error) {
	whole, err = f.File.SyncTo(length)
	return whole, f.disk.tell(err)
}

func (f logFile) Close() error { return f.disk.tell(f.File.Close()) }
