package state

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"sluice/fault"
)

// Options say where a store is and what it may use.
type Options struct {
	Dir          string              // folder of the store; made if missing
	FS           vfs.FS              // nil is the disk
	Sealer       Sealer              // writes and reads the files of tables; without one there are none to come
	Files        string              // folder of those files, as the Sealer knows it; "" is files in Dir
	FilesFS      vfs.FS              // the disk it is on; nil is FS
	SealAt       int64               // bytes of the tail of an append table at which it is written to files; 0 is 128 MiB
	InsertAt     int64               // bytes of rows that a statement adds to an append table which do not go to its tail, but to a file; 0 is 1 MiB
	RowGroup     int64               // bytes in memory that a file takes while it is written, about; 0 is 8 MiB
	FileSize     int64               // bytes in memory of the rows of a file, about; 0 is 128 MiB
	SliceSize    int64               // bytes in memory up to which slices of a table with windows share a file (D-26); 0 is an eighth of FileSize
	MergeAt      int                 // small files beside each other at which an update of a table with windows merges them; 0 is 32
	Pipeline     string              // the pipeline the store belongs to; another one's store is refused
	ReadOnly     bool                // for status and query beside a stopped daemon: takes the lock, writes nothing
	SyncInterval time.Duration       // longest time between a commit and its fsync; 0 is 100 ms
	CacheSize    int64               // bytes of block cache; 0 is 64 MiB
	MemTableSize int64               // bytes of one memtable, of which there are two; 0 is 64 MiB
	FloorBudget  int64               // bytes of memory for the floors of all keyed tables; 0 is 256 MiB
	FeedAhead    int64               // bytes of a commit's change feed that are held in memory; 0 is 4 MiB
	KeptEvents   int                 // events kept in the log; 0 is 100 000
	Logger       *slog.Logger        // nil discards
	OnFault      func(error)         // called once when the store cannot go on; it should end the process
	OnForget     func(Forgotten)     // is told what has left the history of a table (D-27)
	OnCommit     func(time.Duration) // observes every commit
	OnSync       func(time.Duration) // observes every fsync of the log
}

func (o Options) withDefaults() Options {
	setDefault(&o.SyncInterval, 100*time.Millisecond)
	setDefault(&o.CacheSize, 64<<20)
	setDefault(&o.MemTableSize, 64<<20)
	setDefault(&o.FloorBudget, 256<<20)
	setDefault(&o.FeedAhead, 4<<20)
	setDefault(&o.KeptEvents, 100_000)
	setDefault(&o.SealAt, 128<<20)
	setDefault(&o.InsertAt, 1<<20)
	setDefault(&o.FileSize, 128<<20)
	setDefault(&o.SliceSize, max(o.FileSize/8, 1))
	setDefault(&o.RowGroup, 8<<20)
	setDefault(&o.MergeAt, 32)
	if o.FS == nil {
		o.FS = vfs.Default
	}
	if o.FilesFS == nil {
		o.FilesFS = o.FS
	}
	if o.Files == "" {
		o.Files = o.FS.PathJoin(o.Dir, "files")
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.OnFault == nil {
		o.OnFault = func(error) {}
	}
	if o.OnForget == nil {
		o.OnForget = func(Forgotten) {}
	}
	if o.OnCommit == nil {
		o.OnCommit = func(time.Duration) {}
	}
	if o.OnSync == nil {
		o.OnSync = func(time.Duration) {}
	}
	return o
}

func setDefault[T int | int64 | time.Duration](to *T, v T) {
	if *to == 0 {
		*to = v
	}
}

// Identity names a store for ever (D-18).
type Identity struct {
	ID       string // random, from the store's creation
	Epoch    uint64 // of this opening for writing: higher than any before, and no other copy's (D-18)
	Pipeline string
}

// Store is an open store. Its methods may be called by any goroutine.
type Store struct {
	o        Options
	db       *pebble.DB
	lock     *lock
	identity Identity
	format   atomic.Int32 // that the identity names
	files    folder
	worker   worker
	syncer   syncer
	failure  atomic.Pointer[fault.Error]
	failing  sync.Once    // reports it
	floors   atomic.Int64 // bytes of memory the floors of all tables take
	events   eventLog

	sealing sync.Mutex // held while a tail is written to files, and during a reset; taken first

	ids sync.Mutex // held while numbers are taken (allocate)

	mu     sync.Mutex        // taken last: after a flow's, which is before a table's
	tables map[string]*Table // open ones
	flows  map[string]*Flow
}

// Identity returns who the store is.
func (s *Store) Identity() Identity { return s.identity }

// Metrics returns Pebble's own figures.
func (s *Store) Metrics() *pebble.Metrics { return s.db.Metrics() }

// Sync returns when every commit made before it is durable. It is the barrier before anything is shown outside.
func (s *Store) Sync(ctx context.Context) error {
	if s.o.ReadOnly {
		return nil
	}
	return s.syncer.wait(ctx)
}

// Close makes everything durable, stops the store's goroutines and releases the lock. Flows, writers, snapshots and scans
// must be finished; who waits for a table gets STORE_CLOSED.
func (s *Store) Close() error {
	s.mu.Lock()
	tables := s.tables
	s.tables = map[string]*Table{}
	s.mu.Unlock()
	for _, t := range tables {
		t.retire(fault.New(fault.StoreClosed, "the store was closed"))
	}
	s.worker.stop()
	err := s.syncer.stop()
	if err == nil {
		err = s.settle()
	}
	if e := s.db.Close(); e != nil && err == nil {
		err = s.failed(e)
	}
	s.lock.release()
	return err
}

// settle writes what is in the log alone to tables. A log whose end is damaged afterwards would be taken for one that a power cut broke off
// there; tables have checksums throughout.
func (s *Store) settle() (err error) {
	if s.o.ReadOnly || s.failure.Load() != nil {
		return nil
	}
	defer s.recoverFatal(&err)
	flushed, err := s.db.AsyncFlush()
	if err != nil {
		return s.fail(err)
	}
	for {
		select {
		case <-flushed:
			return nil
		case <-time.After(10 * time.Millisecond): // a disk that fails is tried again for ever
			if f := s.failure.Load(); f != nil {
				return f
			}
		}
	}
}

// fail records why the store cannot go on. The first reason is reported and stays; who comes second waits until it was, since a panic of
// Pebble's may end the process next.
func (s *Store) fail(err error) error {
	s.failing.Do(func() {
		f := s.failed(err)
		s.failure.Store(f)
		s.o.Logger.Error("the store failed", "error", f)
		s.o.OnFault(f)
	})
	return s.failure.Load()
}

// failed codes an error of Pebble or of the disk.
func (s *Store) failed(err error) *fault.Error {
	switch {
	case fault.Of(err, fault.StoreFailed), fault.Of(err, fault.StoreCorrupt):
		return fault.From(err)
	case pebble.IsCorruptionError(err), err == errShort:
		return s.corrupt("%v", err)
	case vfs.IsNoSpaceError(err):
		return fault.New(fault.StoreFailed, "the disk under %s is full", s.o.Dir).Because(err).
			WithHint("free space and start again; everything that was acknowledged is still there")
	case errors.Is(err, syscall.ENOTDIR) && onPath(err):
		return fault.New(fault.StorageRootInvalid, "the storage %s is not a folder, or is below something that is none", s.o.Dir).Because(err).
			WithHint("name a folder as storage; it is made if it does not exist")
	case refused(err):
		return fault.New(fault.StoreNotWritable, "this process may not write to the storage folder %s", s.o.Dir).Because(err).
			WithHint("it runs as user %d: chown -R %d the folder or volume, everything in it included; one that is mounted read-only has to be mounted for writing",
				os.Geteuid(), os.Geteuid())
	}
	return fault.New(fault.StoreFailed, "the store in %s cannot go on", s.o.Dir).Because(err).
		WithHint("look at the disk, then start again")
}

// lost reports that Pebble does not find what it wrote when it opens a store. It does not mark as corruption a file that is
// gone or has another length.
func lost(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || strings.Contains(err.Error(), "object size mismatch")
}

// refused reports a file that this process may not make or open.
func refused(err error) bool {
	return onPath(err) && (errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.EROFS))
}

// onPath reports an error about a file or folder as such. A lock that another process holds may be the same error number,
// without a path.
func onPath(err error) bool {
	var at *fs.PathError
	return errors.As(err, &at)
}

func (s *Store) corrupt(format string, args ...any) *fault.Error {
	return fault.New(fault.StoreCorrupt, "the store in %s is damaged", s.o.Dir).WithDetail(format, args...).
		WithHint("restore a copy of the folder, or move it away and run again from the sources")
}

// readFailed is what a failed read means: damage ends the store's work, and so does a disk that cannot read.
func (s *Store) readFailed(err error) error { return s.fail(err) }

// commit applies a batch atomically. It is durable after the next sync, or on return with sync.
func (s *Store) commit(b *pebble.Batch, sync bool) (err error) {
	if f := s.failure.Load(); f != nil {
		return f
	}
	if s.o.ReadOnly {
		return fault.New(fault.StoreReadOnly, "the store in %s is open for reading only", s.o.Dir)
	}
	defer s.recoverFatal(&err)
	start := time.Now()
	o := pebble.NoSync
	if sync {
		o = pebble.Sync
	}
	if err := b.Commit(o); err != nil {
		return s.fail(err)
	}
	s.o.OnCommit(time.Since(start))
	if !sync {
		s.syncer.dirty()
	}
	return nil
}

// update commits a few puts at once, without waiting for the disk.
func (s *Store) update(fill func(b *pebble.Batch)) error {
	b := s.db.NewBatch()
	defer b.Close()
	fill(b)
	return s.commit(b, false)
}

// get returns a copy of the value of a key, nil when there is none.
func (s *Store) get(r pebble.Reader, k []byte) ([]byte, error) {
	v, closer, err := r.Get(k)
	if err == pebble.ErrNotFound {
		return nil, nil
	}
	if err != nil {
		return nil, s.readFailed(err)
	}
	defer closer.Close()
	return append(make([]byte, 0, len(v)), v...), nil
}

// each calls f with every key and value in [from, to), in order, until it returns an error.
func (s *Store) each(r pebble.Reader, from, to []byte, f func(k, v []byte) error) error {
	it, err := r.NewIter(&pebble.IterOptions{LowerBound: from, UpperBound: to})
	if err != nil {
		return s.readFailed(err)
	}
	defer it.Close()
	for ok := it.First(); ok; ok = it.Next() {
		v, err := it.ValueAndErr()
		if err != nil {
			return s.readFailed(err)
		}
		if err := f(it.Key(), v); err != nil {
			if err == errShort {
				return s.readFailed(err)
			}
			return err
		}
	}
	if err := it.Error(); err != nil {
		return s.readFailed(err)
	}
	return nil
}

// eachOf is each over the keys that begin with prefix; f gets what follows it.
func (s *Store) eachOf(r pebble.Reader, prefix []byte, f func(rest, v []byte) error) error {
	return s.each(r, prefix, prefixEnd(prefix), func(k, v []byte) error { return f(k[len(prefix):], v) })
}

// must is for the operations on batches in memory: they only fail when the batch is misused.
func must(err error) {
	if err != nil {
		panic(err)
	}
}
