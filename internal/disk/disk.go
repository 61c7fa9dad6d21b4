// Package disk is a disk in memory whose power can fail, for tests of what must outlive that.
//
// After a failure there is what was synced, and of the rest nothing, everything, or a random part: blocks of files, entries of
// directories. It keeps the one promise beyond POSIX that Pebble relies on, and that ext4, XFS and btrfs keep: a file that was
// synced is found under its name, although its directory was not. (Pebble syncs a new MANIFEST, then creates the marker that
// points to it, then syncs the directory; without that promise the marker may survive alone.)
//
// It does not fail reads or writes; that is for pebble's errorfs.
package disk

import (
	"math/rand/v2"
	"sync"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
)

// Disk is a disk. It may be used by many goroutines.
type Disk struct {
	mem *vfs.MemFS

	mu     sync.Mutex
	writes int
	at     int    // the write before which the power fails; 0 is none
	fails  func() // called then
}

// New returns an empty disk.
func New() *Disk { return &Disk{mem: vfs.NewCrashableMem()} }

// FS is the disk as a file system.
func (d *Disk) FS() vfs.FS {
	return &ordered{FS: errorfs.Wrap(d.mem, errorfs.InjectorFunc(d.count)), dirs: d.mem}
}

// FailAt arranges for fails to be called just before the k-th write from now: whatever creates, changes, syncs or removes
// something. It is called once, by whoever writes, and nothing is written meanwhile.
func (d *Disk) FailAt(k int, fails func()) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.at, d.fails = d.writes+k, fails
}

func (d *Disk) count(op errorfs.Op) error {
	if op.Kind.ReadOrWrite() == errorfs.OpIsRead {
		return nil
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.writes++
	if d.writes == d.at {
		d.fails()
	}
	return nil
}

// Disarm calls a failure off and returns how many writes there were left until then; 0 when it has come, or there was none.
func (d *Disk) Disarm() (left int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	left = max(0, d.at-d.writes)
	d.at = 0
	return left
}

// Writes is how many there have been.
func (d *Disk) Writes() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.writes
}

// Crash returns what is found when the power fails now: of what was not synced so many percent, chosen by a seed. The disk itself
// goes on.
func (d *Disk) Crash(percent int, seed uint64) *Disk {
	return &Disk{mem: d.mem.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: percent, RNG: rand.New(rand.NewPCG(seed, 0))})}
}

// ordered keeps the promise of the package.
type ordered struct {
	vfs.FS
	dirs vfs.FS
}

// Create implements vfs.FS.
func (o *ordered) Create(name string, category vfs.DiskWriteCategory) (vfs.File, error) {
	f, err := o.FS.Create(name, category)
	return o.named(f, name), err
}

// ReuseForWrite implements vfs.FS.
func (o *ordered) ReuseForWrite(from, to string, category vfs.DiskWriteCategory) (vfs.File, error) {
	f, err := o.FS.ReuseForWrite(from, to, category)
	return o.named(f, to), err
}

// OpenReadWrite implements vfs.FS.
func (o *ordered) OpenReadWrite(name string, category vfs.DiskWriteCategory, opts ...vfs.OpenOption) (vfs.File, error) {
	f, err := o.FS.OpenReadWrite(name, category, opts...)
	return o.named(f, name), err
}

func (o *ordered) named(f vfs.File, name string) vfs.File {
	if f == nil {
		return nil
	}
	return &file{File: f, dirs: o.dirs, dir: o.PathDir(name)}
}

type file struct {
	vfs.File
	dirs vfs.FS
	dir  string
}

// Sync implements vfs.File.
func (f *file) Sync() error {
	if err := f.File.Sync(); err != nil {
		return err
	}
	return f.keepName()
}

// SyncData implements vfs.File.
func (f *file) SyncData() error {
	if err := f.File.SyncData(); err != nil {
		return err
	}
	return f.keepName()
}

func (f *file) keepName() error {
	d, err := f.dirs.OpenDir(f.dir)
	if err != nil {
		return err
	}
	defer d.Close()
	return d.Sync()
}
