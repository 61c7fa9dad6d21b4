package state

import (
	"context"
	"errors"
	"io/fs"
	"sync"

	"github.com/cockroachdb/pebble/v2/vfs"

	"sluice/fault"
)

// folder is where the files of tables lie. A file is written, synced, its name synced, and then named by a commit: it lies there
// before the store knows it. What a commit drops is deleted once that commit is durable and nobody who saw the file before
// is at work any more; what was dropped or never named when the process ended is deleted by the next opening, before any writer.
type folder struct {
	store *Store
	fs    vfs.FS
	dir   string

	mu      sync.Mutex
	next    uint32         // number of the next file of this epoch
	drops   uint64         // how often files were dropped
	pins    map[uint64]int // how many look at what was there after so many drops
	garbage []garbage      // in the order of after
}

// garbage is a file that no table has any more.
type garbage struct {
	id    FileID
	key   []byte // that it had
	after uint64 // drops; pins up to that one hold it
}

// take returns the id of a new file.
func (d *folder) take() FileID {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.next++
	return FileID{d.store.identity.Epoch, d.next}
}

func (d *folder) path(f FileID) string { return d.fs.PathJoin(d.dir, f.fileName()) }

// pin keeps what tables have now, until unpin. It is called before one looks at what they have.
func (d *folder) pin() uint64 {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.pins[d.drops]++
	return d.drops
}

func (d *folder) unpin(at uint64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.pins[at]--; d.pins[at] == 0 {
		delete(d.pins, at)
	}
	if len(d.garbage) > 0 {
		d.store.worker.call()
	}
}

// drop says that a commit took files from a table.
func (d *folder) drop(instance uint32, files []*tableFile) {
	if len(files) == 0 {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, f := range files {
		d.garbage = append(d.garbage, garbage{f.id, fileKey(instance, f.id), d.drops})
	}
	d.drops++
	d.store.worker.call()
}

// free takes what nobody looks at any more off the garbage.
func (d *folder) free() (out []garbage) {
	d.mu.Lock()
	defer d.mu.Unlock()
	oldest := d.drops
	for at := range d.pins {
		oldest = min(oldest, at)
	}
	n := 0
	for n < len(d.garbage) && d.garbage[n].after < oldest {
		n++
	}
	out, d.garbage = d.garbage[:n:n], d.garbage[n:]
	return out
}

// clean deletes garbage that nobody looks at, once the commits are durable that dropped it.
func (d *folder) clean(ctx context.Context) {
	free := d.free()
	if len(free) == 0 || d.store.syncer.wait(ctx) != nil {
		return // the next opening does it
	}
	for _, g := range free {
		if v, err := d.store.get(d.store.db, g.key); err != nil || v != nil {
			continue
		}
		d.remove(g.id)
	}
}

// remove deletes a file that no commit names.
func (d *folder) remove(f FileID) {
	if err := d.fs.Remove(d.path(f)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		d.store.o.Logger.Warn("a file that nothing needs cannot be deleted; the next start tries again", "file", d.path(f), "error", err)
	}
}

// removeAll deletes files that no commit names.
func (d *folder) removeAll(files []*tableFile) {
	for _, f := range files {
		d.remove(f.id)
	}
}

// settle makes written files durable under their names, and returns their sizes.
func (d *folder) settle(files []*tableFile) error {
	for _, f := range files {
		if err := d.sync(f); err != nil {
			return err
		}
	}
	dir, err := d.fs.OpenDir(d.dir)
	if err != nil {
		return err
	}
	err = dir.Sync()
	if e := dir.Close(); err == nil {
		err = e
	}
	return err
}

func (d *folder) sync(f *tableFile) error {
	opened, err := d.fs.OpenReadWrite(d.path(f.id), vfs.WriteCategoryUnspecified)
	if err != nil {
		return err
	}
	defer opened.Close()
	info, err := opened.Stat()
	if err != nil {
		return err
	}
	f.size = info.Size()
	return opened.Sync()
}

// open makes the folder ready: it is there when files can be written, every file that tables have is whole, and nothing else of ours
// lies there.
func (d *folder) open() error {
	s := d.store
	if s.o.Sealer != nil && !s.o.ReadOnly {
		if err := makeFolder(d.fs, d.dir); err != nil {
			return s.failed(err)
		}
	}
	named := map[FileID]bool{}
	err := s.eachOf(s.db, key(kindFile), func(rest, v []byte) error {
		if len(rest) != 4+12 {
			return errShort
		}
		f, err := decodeFile(v)
		if err != nil {
			return err
		}
		id := parseFileKey(rest[4:])
		named[id] = true
		return d.whole(id, f.size)
	})
	if err != nil || s.o.ReadOnly {
		return err
	}
	names, err := d.fs.List(d.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	} else if err != nil {
		return s.failed(err)
	}
	for _, name := range names {
		if id, ours := parseFileName(name); ours && !named[id] {
			d.remove(id)
		}
	}
	return nil
}

// whole looks whether a file that a table has lies there.
func (d *folder) whole(id FileID, size int64) error {
	switch info, err := d.fs.Stat(d.path(id)); {
	case errors.Is(err, fs.ErrNotExist):
		return d.store.corrupt("the file %s is gone", d.path(id))
	case err != nil:
		return d.store.failed(err)
	case info.Size() != size:
		return d.store.corrupt("the file %s has %d bytes, not %d", d.path(id), info.Size(), size)
	}
	return nil
}

// unread is the error of a file that cannot be read.
func (s *Store) unread(id FileID, err error) error {
	if f := fault.From(err); err == nil || f.Code == fault.OutOfMemory || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return s.readFailed(s.corrupt("the file %s cannot be read: %v", s.files.path(id), err))
}
