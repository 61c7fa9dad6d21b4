// Package disk is a disk in memory whose power can fail, for tests of what must outlive that.
//
// After a failure there is what was synced, and of the rest nothing, everything, or a random part: blocks of files, entries of
// directories. It keeps the one promise beyond POSIX that Pebble relies on, and that ext4, XFS and btrfs keep: a file that was
// synced is found under its name, although its directory was not. (Pebble syncs a new MANIFEST, then creates the marker that
// points to it, then syncs the directory; without that promise the marker may survive alone.)
//
// It can refuse writes (Break). A sync that was refused has lost what it was to keep: as on Linux, where the kernel drops what it
// could not write and tells of it once, later syncs of that file succeed and keep nothing. So a store that syncs again as if nothing had
// happened is found out by the next power failure. It does not fail reads.
package disk

import (
	"math/rand/v2"
	"sync"
	"sync/atomic"

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
	broken broken
}

// broken is which writes are refused.
type broken struct {
	from, to int // from is one of them, to is not
	err      error
	hits     []errorfs.Op
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

// Break lets the disk refuse so many writes, beginning with the k-th from now, with an error.
func (d *Disk) Break(k, writes int, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.broken = broken{from: d.writes + k, to: d.writes + k + writes, err: err}
}

// Refused are the writes that were refused.
func (d *Disk) Refused() []errorfs.Op {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.broken.hits
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
	if b := &d.broken; d.writes >= b.from && d.writes < b.to {
		b.hits = append(b.hits, op)
		return b.err
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
	lost atomic.Bool // a sync was refused
}

// Sync implements vfs.File.
func (f *file) Sync() error { return f.synced(f.File.Sync) }

// SyncData implements vfs.File.
func (f *file) SyncData() error { return f.synced(f.File.SyncData) }

// SyncTo implements vfs.File.
func (f *file) SyncTo(length int64) (whole bool, err error) {
	if f.lost.Load() {
		return false, nil
	}
	if whole, err = f.File.SyncTo(length); err != nil {
		f.lost.Store(true)
	}
	return whole, err
}

func (f *file) synced(sync func() error) error {
	if f.lost.Load() {
		return nil
	}
	if err := sync(); err != nil {
		f.lost.Store(true)
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
