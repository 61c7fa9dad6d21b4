package state

import (
	"context"
	"log/slog"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// Options say where a store is and what it may use.
type Options struct {
	Dir          string        // folder of the store; made if missing
	FS           vfs.FS        // nil is the disk
	Pipeline     string        // the pipeline the store belongs to; another one's store is refused
	ReadOnly     bool          // for status and query beside a stopped daemon: takes the lock, writes nothing
	SyncInterval time.Duration // longest time between a commit and its fsync; 0 is 100 ms
	CacheSize    int64         // bytes of block cache; 0 is 64 MiB
	MemTableSize int64         // bytes of one memtable; 0 is 64 MiB
	FloorBudget  int64         // bytes of memory for the floors of all keyed tables; 0 is 256 MiB
	KeptEvents   int           // events kept in the log; 0 is 100 000
	Logger       *slog.Logger  // nil discards
	OnFault      func(error)   // called once when the store cannot go on; it should end the process
	OnCommit     func(time.Duration)
	OnSync       func(time.Duration)
}

// Identity names a store for ever (D-18).
type Identity struct {
	ID       string // random, from the store's creation
	Epoch    uint64 // rises each time the store is opened for writing
	Pipeline string
}

// Store is an open store.
type Store struct{ db *pebble.DB }

// Open opens the store in o.Dir, or makes it. It fails with STORE_LOCKED, naming the process that holds it (D-57),
// STORE_OF_ANOTHER_PIPELINE, STORE_FORMAT_NEWER, STORE_NOT_FOUND (ReadOnly), or STORE_FAILED.
func Open(o Options) (*Store, error) { panic("") }

// Close makes everything durable, stops the store's goroutines and releases the lock. Flows, writers, snapshots and scans
// must be finished.
func (s *Store) Close() error { panic("") }

// Identity returns who the store is.
func (s *Store) Identity() Identity { panic("") }

// Sync returns when every commit made before it is durable. It is the barrier before anything is shown outside.
func (s *Store) Sync(ctx context.Context) error { panic("") }

// Check reads the whole store and returns the first contradiction it finds: row, key and byte counts against what is
// stored, floors against rows, positions against starts, chunks of append tables and feeds without gaps. Tests run it
// before every Close.
func (s *Store) Check() error { panic("") }

// Reset gives each of the tables a new, empty generation and each of the flows a new generation without position, start,
// end, completion, plan and counters, in one durable commit (FR-01, FR-08, FR-11, FR-O2). With flows alone it is a
// checkpoint reset (FR-13): the tables keep their rows. Names the store does not know are passed over. Tables and flows
// must not be in use; a Table opened before the reset must be opened again. Readers of a table that is reset find
// SOURCE_RESET unless they are reset with it (D-28).
func (s *Store) Reset(tables, flows []string) error { panic("") }

// Definition returns what was stored under a name, such as the fingerprint of a flow (D-62), or nil.
func (s *Store) Definition(name string) ([]byte, error) { panic("") }

// PutDefinition stores a value under a name.
func (s *Store) PutDefinition(name string, value []byte) error { panic("") }

// Event makes the bytes of an event from its sequence number.
type Event func(sequence uint64) []byte

// AppendEvent adds an event to the log. The log keeps the last Options.KeptEvents.
func (s *Store) AppendEvent(e Event) error { panic("") }

// StoredEvent is an event of the log.
type StoredEvent struct {
	Sequence uint64
	Bytes    []byte
}

// Events returns at most limit events from a sequence number on, in order; with from 0 the oldest kept come first.
func (s *Store) Events(from uint64, limit int) ([]StoredEvent, error) { panic("") }

// LastEvent is the sequence number of the newest event, 0 when there is none. Sequences start at 1.
func (s *Store) LastEvent() uint64 { panic("") }

// Tables describes every table the store has, those no longer declared included (D-62), sorted by name.
func (s *Store) Tables() ([]TableInfo, error) { panic("") }

// Flows describes every flow the store has, those no longer declared included, sorted by name.
func (s *Store) Flows() ([]FlowInfo, error) { panic("") }

// Metrics returns Pebble's own figures.
func (s *Store) Metrics() *pebble.Metrics { panic("") }
