package state

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"slices"

	"github.com/cockroachdb/pebble/v2"

	"sluice/batch"
	"sluice/fault"
)

// PlannedBatch is a batch of a sink flow that has a number: the evaluated rows and what comes with them (D-42).
type PlannedBatch struct {
	Number uint64
	Tried  []uint64 // epochs under which the sink may have seen it; nil: an earlier version planned it, and nobody knows
	Advance
	Rows     batch.Columns  // their positions are not kept
	Change   []batch.Change // one per row, or nil: every row is an insert
	Keys     batch.Keys     // one per row, or empty (D-43)
	Sequence batch.Keys     // one per row, or empty
}

// planHeader is the first chunk of a planned batch; the rows are in the others.
type planHeader struct {
	Number   uint64           `json:"number"`
	Tried    []uint64         `json:"tried,omitempty"`
	Time     int64            `json:"time"`
	Splits   []splitRecord    `json:"splits"`
	Counters map[string]int64 `json:"counters,omitempty"`
	Complete bool             `json:"complete,omitempty"`
	Fields   []fieldRecord    `json:"fields"`
	Rows     int              `json:"rows"`
	Chunks   uint32           `json:"chunks"`
	Change   bool             `json:"change,omitempty"`
	Keys     bool             `json:"keys,omitempty"`
	Sequence bool             `json:"sequence,omitempty"`
}

// Plan stores the next batch of a sink flow under the next number and returns when it is durable; only then may the sink
// see it. What the batch puts in quarantine is there then: the batch will come. b.Number is set. A flow has one planned batch at a time. b.Events are not kept: they belong to CommitPlanned.
func (f *Flow) Plan(ctx context.Context, b *PlannedBatch) error {
	if err := f.writePlan(b); err != nil {
		return err
	}
	return f.store.Sync(ctx)
}

func (f *Flow) writePlan(b *PlannedBatch) error {
	w := f.store.db.NewBatch()
	defer w.Close()
	quarantine, err := b.Quarantine.put(w, f, micros(b.Time))
	if err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.planned {
		return fault.New(fault.InternalError, "flow %s has a planned batch already", f.name)
	}
	b.Number, b.Tried = f.progress.next, []uint64{f.store.identity.Epoch}
	h := planHeader{Number: b.Number, Tried: b.Tried, Time: micros(b.Time), Splits: recordSplits(b.Range.Splits), Counters: b.Counters, Complete: b.Complete,
		Fields: recordFields(b.Rows.Fields), Rows: b.Rows.Len, Change: b.Change != nil, Keys: b.Keys.Len() > 0, Sequence: b.Sequence.Len() > 0}
	set := rowSet{cols: b.Rows.Refs(nil), change: b.Change, keys: &b.Keys, sequence: &b.Sequence}
	_ = set.cut(b.Rows.Len, func(from, to int) error {
		h.Chunks++
		must(w.Set(planKey(f.record.ID, h.Chunks), appendChunk(nil, &set, from, to), nil))
		return nil
	})
	must(w.Set(planKey(f.record.ID, 0), mustJSON(h), nil))
	err = f.store.commit(w, false)
	if f.planned = err == nil; f.planned {
		f.tried = b.Tried
		f.hold(quarantine)
	}
	return err
}

// Retry notes that the planned batch is sent again, and returns when that is durable; only then may the sink see it. A target
// that has a batch of that number knows the epoch that it came under: if this store has not tried that one, the batch is another,
// from a copy of the store (D-18).
func (f *Flow) Retry(ctx context.Context, b *PlannedBatch) error {
	today := f.store.identity.Epoch
	if b.Tried == nil || slices.Contains(b.Tried, today) {
		return nil
	}
	h, err := f.plannedHeader()
	if err != nil {
		return err
	}
	h.Tried = append(h.Tried, today)
	if err := f.store.update(func(w *pebble.Batch) { must(w.Set(planKey(f.record.ID, 0), mustJSON(h), nil)) }); err != nil {
		return err
	}
	b.Tried = h.Tried
	f.mu.Lock()
	f.tried = h.Tried
	f.mu.Unlock()
	return f.store.Sync(ctx)
}

// Planned returns the batch that was planned and not committed, with the same rows, or nil. Events is empty.
func (f *Flow) Planned() (*PlannedBatch, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.planned {
		return nil, nil
	}
	var h planHeader
	s := f.store
	b := &PlannedBatch{}
	var dec *chunkDecoder
	err := s.eachOf(s.db, idKey(kindPlan, f.record.ID), func(n, v []byte) error {
		if be32(n) == 0 {
			if err := json.Unmarshal(v, &h); err != nil {
				return errShort
			}
			dec = newChunkDecoder(planSchema(h.Fields))
			return nil
		}
		c, err := parseChunk(v)
		if err != nil || dec == nil {
			return errShort
		}
		for _, change := range c.change {
			b.Change = append(b.Change, batch.Change(change))
		}
		c.keys.appendTo(&b.Keys, 0, c.rows)
		c.sequence.appendTo(&b.Sequence, 0, c.rows)
		return dec.append(&c, 0, c.rows)
	})
	if err == nil && (dec == nil || dec.len != h.Rows) {
		err = s.fail(s.corrupt("planned batch of flow %s", f.name))
	}
	if err != nil {
		return nil, err
	}
	b.Number, b.Tried, b.Rows = h.Number, h.Tried, dec.columns()
	b.Rows.Fields = fieldsOf(h.Fields)
	b.Advance = h.advance()
	if h.Change && b.Change == nil {
		b.Change = []batch.Change{}
	}
	return b, nil
}

// planSchema is a schema of one version with the given columns, and their numbers.
func planSchema(fields []fieldRecord) (*schema, []int) {
	s := &schema{Versions: []schemaVersion{nil}}
	var ids []int
	for i, f := range fields {
		s.Columns = append(s.Columns, schemaColumn{ID: i, Name: f.Name, Type: f.Type, Declared: true})
		s.Versions[0] = append(s.Versions[0], storedField{i, f.Type})
		ids = append(ids, i)
	}
	return s, ids
}

// CommitPlanned records that the sink accepted the planned batch: positions, number, time and counters move as its
// Advance says, counters and events of the delivery are added, the plan is dropped. It returns when that is durable, or
// with ctx's error when that took too long; it is committed even then.
func (f *Flow) CommitPlanned(ctx context.Context, counters map[string]int64, events ...Event) error {
	h, err := f.plannedHeader()
	if err != nil {
		return err
	}
	a := h.advance()
	a.Counters, a.Events = map[string]int64{}, events
	for _, m := range []map[string]int64{h.Counters, counters} {
		for name, by := range m {
			a.Counters[name] += by
		}
	}
	b := f.store.db.NewBatch()
	defer b.Close()
	for n := range h.Chunks + 1 { // not by a range deletion: there would be one per batch for readers to step over
		must(b.Delete(planKey(f.record.ID, n), nil))
	}
	if _, err := f.commit(b, a, true, false); err != nil {
		return err
	}
	f.mu.Lock()
	f.planned, f.tried = false, nil
	f.mu.Unlock()
	return f.store.Sync(ctx)
}

// plannedHeader reads the planned batch without its rows.
func (f *Flow) plannedHeader() (h planHeader, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.planned {
		return h, fault.New(fault.InternalError, "flow %s has no planned batch", f.name)
	}
	ok, err := readJSON(f.store, f.store.db, planKey(f.record.ID, 0), &h)
	if err == nil && !ok {
		err = f.store.fail(f.store.corrupt("planned batch of flow %s", f.name))
	}
	return h, err
}

func (h *planHeader) advance() Advance {
	return Advance{Range: batch.Range{Splits: splitsOf(h.Splits)}, Time: fromMicros(h.Time), Counters: h.Counters, Complete: h.Complete}
}

func be32(b []byte) uint32 { return binary.BigEndian.Uint32(b) }
