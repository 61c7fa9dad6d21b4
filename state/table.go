package state

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cockroachdb/pebble/v2"

	"sluice/batch"
	"sluice/digest"
	"sluice/fault"
)

// TableSpec declares a table.
type TableSpec struct {
	Name        string // catalog.schema.table, lower-cased
	Fields      []batch.Field
	Keys        []int         // columns of the key, in order; nil for an append table
	Sequence    batch.Type    // type of the sequence of a keyed table
	Replaced    bool          // windows of it are replaced (Flow.Swap): it has files only, and no keys
	Feed        bool          // some flow reads its change feed (appends are a feed of inserts as they are)
	Retention   Retention     // append tables only (D-16)
	MaxAge      time.Duration // of RetainFor
	History     History       // of a table that has earlier versions (D-27)
	Fingerprint string        // kept for comparison (D-62)
}

// Retention says how long an append table keeps rows (D-16).
type Retention uint8

const (
	RetainForever  Retention = iota
	RetainConsumed           // until every subscribed reader has committed them
	RetainFor                // MaxAge after their commit
)

// Table is an open table. Its methods may be called by any goroutine.
type Table struct {
	store     *Store
	name      string
	turn      chan struct{} // holds one token: whose turn it is to write takes it
	whole     chan struct{} // likewise of those who read the table before they change it: updates and DML (D-33)
	scratch   scratch       // of the writer whose turn it is
	digester  *digester     // likewise; nil while no digest is kept
	floors    floors        // likewise
	retention Retention
	maxAge    time.Duration
	wantsFeed bool       // the definition asks for the change feed
	fresh     *TableSpec // what a table with windows is declared as: a full refresh takes it as it is

	floorBytes atomic.Int64 // of memory

	mu          sync.Mutex
	record      tableRecord
	version     tableVersion
	trimmed     trimRecord
	digest      *digest.Sum  // of the rows, where it is kept
	live        []*tableFile // that the table has; of an append table in the order of their rows
	past        []*tableFile // that older versions have, in the order of their removal
	held        bool         // a statement rewrites files, so that none is sealed
	sealedBytes int64        // of an append table: bytes of its commits that are in files
	feedFirst   int64        // first commit the change feed still has
	trimmedAt   int64        // rows written in all when something was trimmed last
	readers     map[uint32]*tableReader
	changed     chan struct{} // closed and replaced at every commit somebody waits for
	waiting     bool
	gone        error // the table was reset, or the store closed
}

// tableReader is a subscribed flow.
type tableReader struct {
	readerRecord
	at batch.Offset // committed
}

// TableInfo shows a table to status pages.
type TableInfo struct {
	Name        string
	Keyed       bool
	Replaced    bool // its windows are replaced
	Renewing    bool // a full refresh of such a table is ordered and not done
	Fields      []batch.Field
	Keys        []string
	Sequence    batch.Type
	Generation  uint64
	Version     int64
	Rows        int64
	KeyCount    int64 // keyed tables
	Bytes       int64 // of rows and keys, before compression
	Trimmed     int64 // rows that its retention has removed
	FeedRows    int64 // rows ever added to the change feed
	Feed        bool
	Digest      *digest.Sum // of the rows, nil where it is not kept (D-29)
	Readers     []string    // subscribed flows, sorted
	Fingerprint string
}

// Table opens a table, making it at its first mention and after a reset. The stored columns are merged with the declared
// ones (FR-17, D-35): a new column is NULL in old rows, one that left stays and is NULL in new rows, one that returns is a
// new column, a type may widen. Changed keys, key types, sequence type, or the step between keyed and append are refused
// with the remedy (D-62, RU-O7, A-106); all problems come in one fault.List.
func (s *Store) Table(spec TableSpec) (*Table, error) {
	t, err := s.table(spec.Name)
	if err != nil {
		return nil, err
	}
	if err := t.takeTurn(context.Background()); err != nil {
		return nil, err
	}
	defer t.giveTurn()
	before := t.record.History
	if err := t.declare(spec); err != nil {
		return nil, err
	}
	if t.record.History != before {
		return t, t.forgetMore()
	}
	return t, nil
}

// OpenTable opens a table that exists as it is, for reading; nil when there is none.
func (s *Store) OpenTable(name string) (*Table, error) {
	t, err := s.table(name)
	if err != nil {
		return nil, err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.record.Declared {
		return nil, nil
	}
	return t, nil
}

// table returns the open table of a name, opening it if need be. A table that does not exist is not declared.
func (s *Store) table(name string) (*Table, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if t := s.tables[name]; t != nil {
		return t, nil
	}
	t := &Table{store: s, name: name, turn: make(chan struct{}, 1), whole: make(chan struct{}, 1), changed: make(chan struct{}), readers: map[uint32]*tableReader{}}
	t.turn <- struct{}{}
	t.whole <- struct{}{}
	t.floors.table = t
	if _, err := readJSON(s, s.db, nameKey(kindTable, name), &t.record); err != nil {
		return nil, err
	}
	if err := t.load(); err != nil {
		return nil, err
	}
	s.tables[name] = t
	return t, nil
}

// load reads what the record does not hold.
func (t *Table) load() (err error) {
	s := t.store
	if t.version, err = s.tableVersion(s.db, t.record.Instance); err != nil {
		return err
	}
	if t.trimmed, err = s.trimOf(s.db, t.record.Instance); err != nil {
		return err
	}
	if t.digest, err = s.digestOf(s.db, &t.record, t.version.version); err != nil {
		return err
	}
	if t.live, t.past, err = s.filesOf(s.db, t.record.Instance); err != nil {
		return err
	}
	if t.sealedBytes, err = t.bytesUpTo(t.sealedTo()); err != nil {
		return err
	}
	if err := t.dropAhead(); err != nil {
		return err
	}
	return t.loadReaders()
}

// bytesUpTo is how many bytes the commits of an append table have, up to one of them.
func (t *Table) bytesUpTo(commit int64) (int64, error) {
	v, err := t.store.get(t.store.db, commitKey(t.record.Instance, commit))
	if err != nil || v == nil {
		return t.trimmed.bytes, err
	}
	c, err := decodeCommit(v)
	if err != nil {
		return 0, t.store.readFailed(err)
	}
	return c.bytes, nil
}

// tableVersion reads what the commits of a table left.
func (s *Store) tableVersion(r pebble.Reader, instance uint32) (tableVersion, error) {
	v, err := s.get(r, idKey(kindVersion, instance))
	if err != nil || v == nil {
		return tableVersion{}, err
	}
	out, err := decodeTableVersion(v)
	if err != nil {
		return out, s.readFailed(err)
	}
	return out, nil
}

// declare fits the table to a definition, or the definition to the table.
func (t *Table) declare(spec TableSpec) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	r, fresh, err := t.declared(spec)
	if err != nil {
		return err
	}
	if spec.Replaced {
		t.fresh = &spec
	}
	t.retention, t.maxAge, t.wantsFeed = spec.Retention, spec.MaxAge, spec.Feed
	if !fresh && sameJSON(r, t.record) {
		return nil
	}
	if r.Instance == 0 {
		if r.Instance, err = t.store.newInstance(); err != nil {
			return err
		}
	}
	return t.save(r)
}

// declared is the record after a definition, and whether the table takes it as it is.
func (t *Table) declared(spec TableSpec) (r tableRecord, fresh bool, err error) {
	r, fresh = t.record, !t.record.Declared
	merged, problems := r.merge(t.name, spec)
	if len(problems) > 0 && r.renewedBy(spec) {
		return r, false, nil // readers have the old rows under the old columns until then
	}
	if len(problems) > 0 {
		return r, fresh, problems.Err()
	}
	merged.Feed = (merged.Keyed || merged.Replaced) && (spec.Feed || t.hasFeedReader())
	return merged, fresh, nil
}

// merge is the record of a table of the given name after a definition, or what forbids it: all problems at once. What only
// an open table knows, whether its feed has a reader, is not in it.
func (r tableRecord) merge(name string, spec TableSpec) (tableRecord, fault.List) {
	if !r.Declared {
		r = tableRecord{Generation: r.Generation, Instance: r.Instance, Declared: true}
		r.Keyed, r.Keys, r.Replaced = spec.Keys != nil, spec.keyNames(), spec.Replaced
		if r.Keyed {
			sequence := recordType(spec.Sequence)
			r.Sequence = &sequence
		}
	}
	problems := r.drift(name, spec)
	merged, more := r.Schema.merge(name, spec.Fields, spec.keyNames())
	if problems = append(problems, more...); len(problems) > 0 {
		return r, problems
	}
	r.Schema, r.Keys, r.History, r.Fingerprint = *merged, spec.keyNames(), spec.History, spec.Fingerprint // keys as they are spelt now
	return r, nil
}

// drift lists what the rows already stored forbid to change.
func (r *tableRecord) drift(name string, spec TableSpec) (problems fault.List) {
	if was, is := tableKind(r.Keyed, r.Replaced), tableKind(spec.Keys != nil, spec.Replaced); was != is {
		return fault.List{driftOf(fault.TableKindDrift, name, "was %s and is %s now", was, is)}
	}
	if names := spec.keyNames(); !slices.EqualFunc(names, r.Keys, strings.EqualFold) {
		problems = append(problems, driftOf(fault.KeySchemaDrift, name, "the key was %v and is %v now", r.Keys, names))
	}
	if r.Keyed && !r.Sequence.typ().Equal(spec.Sequence) {
		problems = append(problems, driftOf(fault.SequencingTypeDrift, name, "the sequence was %v and is %v now", r.Sequence.typ(), spec.Sequence))
	}
	return problems
}

// tableKind is how messages call a kind of table.
func tableKind(keyed, replaced bool) string {
	switch {
	case keyed:
		return "a REPLACE USING table"
	case replaced:
		return "a REPLACE WHERE table"
	}
	return "an append table"
}

func (spec TableSpec) keyNames() []string {
	var names []string
	for _, k := range spec.Keys {
		names = append(names, spec.Fields[k].Name)
	}
	return names
}

// save stores a record and takes it over. The table is locked.
func (t *Table) save(r tableRecord) error {
	err := t.store.update(func(b *pebble.Batch) { must(b.Set(nameKey(kindTable, t.name), mustJSON(r), nil)) })
	if err != nil {
		return err
	}
	if r.Feed && !t.record.Feed {
		t.feedFirst = t.version.version + 1
	}
	if len(r.Schema.Versions) != len(t.record.Schema.Versions) {
		t.digester, t.digest = nil, nil // it is of the rows as they were shown before
	}
	t.record = r
	return nil
}

// setFloors records whether floors are stored under their own prefix; those that are not any more are removed.
func (t *Table) setFloors(stored bool) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	r := t.record
	r.Floors = stored
	if !stored {
		prefix := idKey(kindFloors, r.Instance)
		if err := t.store.update(func(b *pebble.Batch) { must(b.DeleteRange(prefix, prefixEnd(prefix), nil)) }); err != nil {
			return err
		}
	}
	return t.save(r)
}

// newInstance takes a number no table has had. 0 is never one.
func (s *Store) newInstance() (instance uint32, err error) {
	err = s.allocate(func(b *pebble.Batch) error {
		n, err := s.nextID(b, "instance")
		instance = n + 1
		return err
	})
	return instance, err
}

// Tables describes every table the store has, those no longer declared included (D-62), sorted by name. A table that was
// reset and not declared since is left out.
func (s *Store) Tables() ([]TableInfo, error) {
	names, err := s.names(kindTable)
	if err != nil {
		return nil, err
	}
	var out []TableInfo
	for _, name := range names {
		t, err := s.OpenTable(name)
		if err != nil {
			return nil, err
		}
		if t != nil {
			out = append(out, t.Info())
		}
	}
	return out, nil
}

// Name is the table's name.
func (t *Table) Name() string { return t.name }

// Info shows the table as of its last commit.
func (t *Table) Info() TableInfo {
	t.mu.Lock()
	defer t.mu.Unlock()
	i := t.record.info(t.name, t.version, t.trimmed)
	i.Digest = t.digest
	for _, r := range t.readers {
		i.Readers = append(i.Readers, r.Flow)
	}
	slices.Sort(i.Readers)
	return i
}

func (r *tableRecord) info(name string, v tableVersion, trimmed trimRecord) TableInfo {
	i := TableInfo{Name: name, Keyed: r.Keyed, Replaced: r.Replaced, Renewing: r.Renewing, Fields: r.Schema.fields(), Keys: r.Keys, Generation: r.Generation, Version: v.version,
		Rows: v.rows - trimmed.rows, Trimmed: trimmed.rows, KeyCount: v.keys, Bytes: v.bytes - trimmed.bytes, FeedRows: v.feed, Feed: r.Feed, Fingerprint: r.Fingerprint}
	if r.Sequence != nil {
		i.Sequence = r.Sequence.typ()
	}
	return i
}

// Fields are the columns in declared order, then those that left the definition.
func (t *Table) Fields() []batch.Field {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.record.Schema.fields()
}

// Generation is the number of times the table has been reset.
func (t *Table) Generation() uint64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.record.Generation
}

// Version is the number of the last commit that changed the table; 0 is the empty table.
func (t *Table) Version() int64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.version.version
}

// takeTurn waits until it is the caller's turn to write.
func (t *Table) takeTurn(ctx context.Context) error {
	select {
	case <-t.turn:
	case <-ctx.Done():
		return ctx.Err()
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.gone != nil {
		t.giveTurn()
		return t.gone
	}
	return nil
}

// Exclude waits until nobody else computes a change from the rows of the table: updates and statements come one after the other, in the
// order in which they ask (D-33, DM-O2). The caller calls end once.
func (t *Table) Exclude(ctx context.Context) (end func(), err error) {
	select {
	case <-t.whole:
		return func() { t.whole <- struct{}{} }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (t *Table) giveTurn() { t.turn <- struct{}{} }

// committed takes over what a commit changed and wakes those who wait.
func (t *Table) committed(v tableVersion, d *digest.Sum) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.version, t.digest = v, d
	t.wake()
	if t.appends() && v.bytes-t.sealedBytes >= t.store.o.SealAt {
		t.store.worker.call()
	}
}

func (t *Table) wake() {
	if t.waiting {
		close(t.changed)
		t.changed, t.waiting = make(chan struct{}), false
	}
}

// retire ends the table's use: it was reset, or the store closes.
func (t *Table) retire(why error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.gone = why
	t.wake()
}

// End is the position after the last commit. Marks are (table name, generation, next commit and ordinal).
func (t *Table) End() batch.Position {
	t.mu.Lock()
	defer t.mu.Unlock()
	return batch.Position{t.mark(batch.Offset{At: t.version.version + 1})}
}

// mark is a place in the table's present generation.
func (t *Table) mark(next batch.Offset) batch.Mark {
	m := t.markOf(t.record.Generation)
	m.Next = next
	return m
}

// markOf is the zero mark of a generation.
func (t *Table) markOf(generation uint64) batch.Mark {
	return batch.Mark{Split: t.name, ID: strconv.FormatUint(generation, 10)}
}

// Wait returns nil as soon as there is something to read after from, ctx's error when ctx ends before, SOURCE_RESET when
// from belongs to another generation.
func (t *Table) Wait(ctx context.Context, from batch.Position) error {
	for {
		changed, err := t.changedAfter(from)
		if changed == nil {
			return err
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// changedAfter returns nil when there is something after from, else what will be closed when that may be so.
func (t *Table) changedAfter(from batch.Position) (<-chan struct{}, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	at, err := t.place(from)
	if err != nil || at.At <= t.version.version {
		return nil, err
	}
	t.waiting = true
	return t.changed, nil
}

// place is where from stands in this table: its mark, or the first commit.
func (t *Table) place(from batch.Position) (batch.Offset, error) {
	if t.gone != nil {
		return batch.Offset{}, t.gone
	}
	m, ok := from.Find(t.name)
	if !ok {
		return batch.Offset{At: 1}, nil
	}
	if now := t.mark(batch.Offset{}).ID; m.ID != now {
		return batch.Offset{}, fault.New(fault.SourceReset, "table %s was fully refreshed (generation %s, the reader stands in %s)", t.name, now, m.ID).
			WithHint("refresh what the reading flow writes too, or reset the flow's checkpoint")
	}
	return m.Next, nil
}
