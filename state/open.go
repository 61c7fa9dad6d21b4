package state

import (
	"crypto/rand"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"strings"
	"syscall"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/bloom"
	"github.com/cockroachdb/pebble/v2/vfs"

	"sluice/fault"
)

// pebbleFormat is named, not "newest": a newer Pebble must not turn a store into one that an older Sluice cannot open.
const pebbleFormat = pebble.FormatTableFormatV6

// Open opens the store in o.Dir, or makes it. It fails with STORE_LOCKED, naming the process that holds it (D-57),
// STORE_OF_ANOTHER_PIPELINE, STORE_FORMAT_NEWER, STORE_NOT_FOUND (ReadOnly), STORE_NOT_WRITABLE, STORE_CORRUPT,
// PIPELINE_STORAGE_ROOT_INVALID (not a folder), or STORE_FAILED.
func Open(o Options) (*Store, error) {
	s := &Store{o: o.withDefaults(), tables: map[string]*Table{}, flows: map[string]*Flow{}}
	s.files = folder{store: s, fs: s.o.FilesFS, dir: s.o.Files, pins: map[uint64]int{}}
	dir := s.o.FS.PathJoin(s.o.Dir, "store")
	if s.o.ReadOnly {
		if _, err := s.o.FS.Stat(dir); errors.Is(err, syscall.ENOTDIR) {
			return nil, s.failed(err)
		}
		if d, err := pebble.Peek(dir, s.o.FS); err != nil || !d.Exists {
			return nil, fault.New(fault.StoreNotFound, "there is no store in %s", s.o.Dir).WithHint("run the pipeline first")
		}
	}
	var err error
	if s.lock, err = takeLock(s.o.FS, s.o.Dir, s.o.ReadOnly); err != nil {
		return nil, s.lockFailed(err)
	}
	if err := s.open(dir); err != nil {
		s.lock.release()
		return nil, err
	}
	s.syncer.start(s)
	s.worker.start(s)
	return s, nil
}

func (s *Store) open(dir string) (err error) {
	defer s.recoverFatal(&err)
	cache := pebble.NewCache(s.o.CacheSize)
	defer cache.Unref()
	watched := &disk{FS: s.o.FS, store: s}
	s.db, err = pebble.Open(dir, s.pebbleOptions(cache, watched))
	if err != nil {
		if strings.Contains(err.Error(), "unknown format major version") {
			return fault.New(fault.StoreFormatNewer, "the store in %s was written by a newer version", s.o.Dir).Because(err).WithHint("run that version")
		}
		if lost(err) {
			return s.corrupt("%v", err)
		}
		return s.failed(err)
	}
	if err = s.identify(); err == nil {
		err = s.events.load(s)
	}
	if err == nil {
		err = s.files.open()
	}
	if err != nil {
		s.db.Close()
	}
	watched.open.Store(err == nil)
	return err
}

func (s *Store) pebbleOptions(cache *pebble.Cache, fs vfs.FS) *pebble.Options {
	o := &pebble.Options{
		FS:                         fs,
		Cache:                      cache,
		MemTableSize:               uint64(s.o.MemTableSize),
		FormatMajorVersion:         pebbleFormat,
		ReadOnly:                   s.o.ReadOnly,
		Logger:                     pebbleLogger{s},
		EventListener:              s.listener(),
		CompactionConcurrencyRange: func() (int, int) { return 1, 2 },

		// A third memtable takes what comes while two are written out.
		MemTableStopWritesThreshold: 3,

		// A batch has keys from all over a table, so every compaction of the top level rewrites the level below as far as
		// that is small: it pays to gather more before, and to have one level less while a store is small.
		L0CompactionThreshold: 8, // compacted from half as many files over one key
		L0StopWritesThreshold: 24,
		LBaseMaxBytes:         256 << 20,
	}
	for i := range o.Levels {
		// What is read is read in order, many keys of a block: what a block costs counts more than its size.
		o.Levels[i].BlockSize, o.Levels[i].IndexBlockSize = 32<<10, 256<<10
		// For floors that do not fit in memory: keys that are new need no block read to know it.
		o.Levels[i].FilterPolicy = bloom.FilterPolicy(10)
	}
	return o
}

// identify reads who the store is and begins a new epoch, or names a new store.
func (s *Store) identify() error {
	b, err := s.get(s.db, identityKey)
	if err != nil {
		return err
	}
	var r identityRecord
	if b == nil {
		r = identityRecord{Format: formatVersion, ID: newID(), Pipeline: s.o.Pipeline}
	} else if err := json.Unmarshal(b, &r); err != nil {
		return s.corrupt("identity: %v", err)
	}
	if r.Format > formatFiles {
		return fault.New(fault.StoreFormatNewer, "the store in %s has format %d, this version knows up to %d", s.o.Dir, r.Format, formatFiles).
			WithHint("run the version of Sluice that wrote it")
	}
	if r.Pipeline != s.o.Pipeline {
		return fault.New(fault.StoreOfOtherPipeline, "the store in %s belongs to pipeline %q, this is %q", s.o.Dir, r.Pipeline, s.o.Pipeline).
			WithHint("give this pipeline a storage folder of its own, or its old name")
	}
	if !s.o.ReadOnly {
		r.Epoch = LeastEpoch(r.Epoch, time.Now()) + randomEpochs()
		if err := s.db.Set(identityKey, mustJSON(r), pebble.Sync); err != nil {
			return s.failed(err)
		}
	}
	s.identity = Identity{r.ID, r.Epoch, r.Pipeline}
	s.format.Store(int32(r.Format))
	return nil
}

// nameFormat has a commit that names files say that the store has some.
func (s *Store) nameFormat(b *pebble.Batch) {
	if s.format.Swap(formatFiles) < formatFiles {
		must(b.Set(identityKey, mustJSON(identityRecord{formatFiles, s.identity.ID, s.identity.Epoch, s.identity.Pipeline}), nil))
	}
}

// LeastEpoch is the lowest epoch that an opening at some time may take when the last one took previous: a higher one, and not
// below the clock's microseconds, so that of two copies of a store the one that is opened later has the higher one. A clock that went
// back is not asked.
func LeastEpoch(previous uint64, at time.Time) uint64 {
	return max(previous+1, uint64(max(at.UnixMicro(), 0)))
}

// randomEpochs is what an opening adds, less than 2^18 (a quarter of a second): two copies that are opened in the same moment, or
// by clocks that went back, have epochs of their own, too. All of them stay below 2^53, which is exact in JSON and in metrics.
func randomEpochs() uint64 {
	var b [4]byte
	_, _ = rand.Read(b[:]) // never fails
	return uint64(binary.LittleEndian.Uint32(b[:]) >> 14)
}

func newID() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails
	return hex.EncodeToString(b[:])
}
