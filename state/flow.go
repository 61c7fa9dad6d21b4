package state

import (
	"maps"
	"slices"
	"sort"
	"sync"
	"time"

	"github.com/cockroachdb/pebble/v2"

	"sluice/batch"
	"sluice/fault"
)

// Flow is the durable state of one flow. It is used by one goroutine, but what only reads may be called by any.
type Flow struct {
	store *Store
	name  string

	mu       sync.Mutex
	record   flowRecord
	progress progress
	position batch.Position
	start    *boundRecord
	end      *boundRecord
	counters map[string]int64
	planned  bool
	tried    []uint64 // of the planned batch

	quarantine QuarantineSize
	sent       sent          // of its dead letters
	arrived    chan struct{} // closed when dead letters have come; nil when nobody waits
	letters    *Flow         // whose dead letters it sends; nil: none

	splits map[batch.Mark]int32 // numbers of recent splits, by Split and ID
}

// FlowInfo shows a flow to status pages.
type FlowInfo struct {
	Name        string
	Generation  uint64
	NextBatch   uint64
	LastTime    time.Time      // time of the last batch; zero before the first
	Position    batch.Position // committed
	Start       batch.Position // nil until it is fixed
	End         batch.Position // nil until it is fixed
	OnceTime    time.Time      // batch time of a once flow's drain
	Completed   time.Time      // zero until the flow finished (DO-18)
	Planned     bool           // a planned batch waits for its sink
	Tried       []uint64       // epochs under which the sink may have seen it; nil: not known
	Fingerprint string
	Counters    map[string]int64
	Quarantine  string // table that shows what the flow has in quarantine, "" when it keeps nothing there
	Quarantined QuarantineSize
	Letters     Letters // its dead letters
}

// Flow returns the state of a flow, making it at its first mention.
func (s *Store) Flow(name string) (*Flow, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if f := s.flows[name]; f != nil {
		return f, nil
	}
	f := &Flow{store: s, name: name}
	ok, err := readJSON(s, s.db, nameKey(kindFlow, name), &f.record)
	if err == nil && !ok {
		err = f.create()
	}
	if err == nil {
		err = f.load()
	}
	if err != nil {
		return nil, err
	}
	s.flows[name] = f
	return f, nil
}

// Flows describes every flow the store has, those no longer declared included (D-62), sorted by name.
func (s *Store) Flows() ([]FlowInfo, error) {
	names, err := s.names(kindFlow)
	if err != nil {
		return nil, err
	}
	var out []FlowInfo
	for _, name := range names {
		f, err := s.Flow(name)
		if err != nil {
			return nil, err
		}
		out = append(out, f.Info())
	}
	return out, nil
}

func (f *Flow) create() error {
	return f.store.allocate(func(b *pebble.Batch) error {
		id, err := f.store.nextID(b, "flow")
		f.record = flowRecord{ID: id}
		must(b.Set(nameKey(kindFlow, f.name), mustJSON(f.record), nil))
		return err
	})
}

// load reads what the record does not hold.
func (f *Flow) load() error {
	s, id := f.store, f.record.ID
	v, err := s.get(s.db, idKey(kindProgress, id))
	if err != nil {
		return err
	}
	f.progress = progress{}
	if v != nil {
		if f.progress, err = decodeProgress(v); err != nil {
			return s.readFailed(err)
		}
	}
	if f.start, err = f.loadBound('s'); err != nil {
		return err
	}
	if f.end, err = f.loadBound('e'); err != nil {
		return err
	}
	var plan planHeader
	if f.planned, err = readJSON(s, s.db, planKey(id, 0), &plan); err != nil {
		return err
	}
	f.tried = plan.Tried
	if err = f.loadQuarantine(); err != nil {
		return err
	}
	if err = f.loadLetters(); err != nil {
		return err
	}
	f.position, f.counters, f.splits = nil, map[string]int64{}, map[batch.Mark]int32{}
	if err := s.eachOf(s.db, idKey(kindPosition, id), func(split, v []byte) error {
		mark, next, err := decodeMark(v)
		f.position = append(f.position, batch.Mark{Split: string(split), ID: mark, Next: next})
		return err
	}); err != nil {
		return err
	}
	return s.eachOf(s.db, idKey(kindCounter, id), func(name, v []byte) error {
		n, err := decodeNumber(v)
		f.counters[string(name)] = n
		return err
	})
}

func (f *Flow) loadBound(which byte) (*boundRecord, error) {
	var r boundRecord
	ok, err := readJSON(f.store, f.store.db, boundKey(f.record.ID, which), &r)
	if !ok {
		return nil, err
	}
	return &r, nil
}

// Name is the flow's name.
func (f *Flow) Name() string { return f.name }

// Info shows the flow as of its last commit.
func (f *Flow) Info() FlowInfo {
	f.mu.Lock()
	defer f.mu.Unlock()
	i := FlowInfo{Name: f.name, Generation: f.record.Generation, NextBatch: f.progress.next, LastTime: fromMicros(f.progress.time),
		Position: append(batch.Position(nil), f.position...), Completed: fromMicros(f.progress.completed), Planned: f.planned, Tried: slices.Clone(f.tried),
		Fingerprint: f.record.Fingerprint, Counters: maps.Clone(f.counters), Quarantine: f.record.Quarantine, Quarantined: f.quarantine, Letters: f.waiting()}
	if f.start != nil {
		i.Start = f.start.position()
	}
	if f.end != nil {
		i.End, i.OnceTime = f.end.position(), fromMicros(f.end.Time)
	}
	return i
}

// Generation is the number of times the flow has been reset (FR-08).
func (f *Flow) Generation() uint64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.record.Generation
}

// NextBatch is the number of the next batch; 0 is the first of a generation (FB-04).
func (f *Flow) NextBatch() uint64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.progress.next
}

// LastTime is the time of the last batch to the microsecond, zero before the first.
func (f *Flow) LastTime() time.Time {
	f.mu.Lock()
	defer f.mu.Unlock()
	return fromMicros(f.progress.time)
}

// Position is how far the flow has read, as committed; at first its start. The caller owns it.
func (f *Flow) Position() batch.Position {
	f.mu.Lock()
	defer f.mu.Unlock()
	return append(batch.Position(nil), f.position...)
}

// Start is where the flow began to read in this generation; ok is false until SetStart (D-40).
func (f *Flow) Start() (start batch.Position, ok bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.start == nil {
		return nil, false
	}
	return f.start.position(), true
}

// SetStart fixes where the flow begins to read. It is called once per generation, before the first read, and fails when a
// start is there already. The splits of the start get their numbers now, in the order of their names, so that the order
// of a tie group does not hang on which partition answered first (D-1, A-07).
func (f *Flow) SetStart(start batch.Position) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.start != nil {
		return fault.New(fault.InternalError, "flow %s has a start already", f.name)
	}
	start = append(batch.Position(nil), start...)
	sort.Slice(start, func(i, j int) bool { return start[i].Split < start[j].Split })
	if err := f.numberSplits(start, func(batch.Mark, int32) {}); err != nil {
		return err
	}
	r := boundRecord{Position: recordPosition(start)}
	err := f.store.update(func(b *pebble.Batch) {
		must(b.Set(boundKey(f.record.ID, 's'), mustJSON(r), nil))
		for _, m := range start {
			must(b.Set(positionKey(f.record.ID, m.Split), encodeMark(m.ID, m.Next), nil))
		}
	})
	if err == nil {
		f.start, f.position = &r, start
	}
	return err
}

// End is where a once flow ends and the batch time of its whole drain (ON-O1, D-48); ok is false until SetEnd.
func (f *Flow) End() (end batch.Position, once time.Time, ok bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.end == nil {
		return nil, time.Time{}, false
	}
	return f.end.position(), fromMicros(f.end.Time), true
}

// SetEnd fixes the end of a once flow. It is called once per generation.
func (f *Flow) SetEnd(end batch.Position, once time.Time) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.end != nil {
		return fault.New(fault.InternalError, "flow %s has an end already", f.name)
	}
	r := boundRecord{Position: recordPosition(end), Time: micros(once)}
	if err := f.store.update(func(b *pebble.Batch) { must(b.Set(boundKey(f.record.ID, 'e'), mustJSON(r), nil)) }); err != nil {
		return err
	}
	f.end = &r
	return nil
}

// Completed is when the flow finished; ok is false while it has not (DO-18).
func (f *Flow) Completed() (at time.Time, ok bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return fromMicros(f.progress.completed), f.progress.completed != 0
}

// Fingerprint is what SetFingerprint stored last: the query as it was planned (D-62). It survives resets.
func (f *Flow) Fingerprint() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.record.Fingerprint
}

// SetFingerprint stores the fingerprint of the flow's query.
func (f *Flow) SetFingerprint(fingerprint string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	r := f.record
	r.Fingerprint = fingerprint
	if err := f.store.update(func(b *pebble.Batch) { must(b.Set(nameKey(kindFlow, f.name), mustJSON(r), nil)) }); err != nil {
		return err
	}
	f.record = r
	return nil
}

// Counters are the sums of every batch's counters in this generation. The caller owns the map.
func (f *Flow) Counters() map[string]int64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	return maps.Clone(f.counters)
}
