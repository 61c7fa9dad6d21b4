package state

import (
	"sync/atomic"

	"github.com/cockroachdb/pebble/v2/vfs"

	"sluice/fault"
)

// disk tells the store that a file cannot be made or written, or its name not be kept, before Pebble hears of it. In the middle of a
// commit Pebble panics with the error while it has one mutex unlocked that it is about to unlock, which ends the process
// without a word about the disk, or locked another that it never unlocks.
type disk struct {
	vfs.FS
	store *Store
	open  atomic.Bool // before, what refuses a user is the error of Open
}

func (d *disk) Create(name string, c vfs.DiskWriteCategory) (vfs.File, error) {
	f, err := d.FS.Create(name, c)
	return d.made(f, err)
}

func (d *disk) ReuseForWrite(old, name string, c vfs.DiskWriteCategory) (vfs.File, error) {
	f, err := d.FS.ReuseForWrite(old, name, c)
	return d.made(f, err)
}

// Rename implements vfs.FS.
func (d *disk) Rename(old, name string) error { return d.tell(d.FS.Rename(old, name)) }

// OpenDir implements vfs.FS. A folder is opened to be synced.
func (d *disk) OpenDir(name string) (vfs.File, error) {
	f, err := d.FS.OpenDir(name)
	if err != nil {
		return nil, err
	}
	return file{f, d}, nil
}

// Unwrap implements vfs.FS.
func (d *disk) Unwrap() vfs.FS { return d.FS }

func (d *disk) made(f vfs.File, err error) (vfs.File, error) {
	if err != nil {
		return nil, d.tell(err)
	}
	return file{f, d}, nil
}

// tell ends the store when the disk fails, also while it is being opened: Pebble goes on in the background with what a failed Open has
// closed, and panics.
func (d *disk) tell(err error) error {
	if err != nil && (d.open.Load() || fault.Of(d.store.failed(err), fault.StoreFailed)) {
		_ = d.store.fail(err)
	}
	return err
}

// file is a file that Pebble writes.
type file struct {
	vfs.File
	disk *disk
}

func (f file) Write(p []byte) (int, error) {
	n, err := f.File.Write(p)
	return n, f.disk.tell(err)
}

func (f file) Sync() error     { return f.disk.tell(f.File.Sync()) }
func (f file) SyncData() error { return f.disk.tell(f.File.SyncData()) }

func (f file) SyncTo(length int64) (whole bool, err error) {
	whole, err = f.File.SyncTo(length)
	return whole, f.disk.tell(err)
}

func (f file) Close() error { return f.disk.tell(f.File.Close()) }
