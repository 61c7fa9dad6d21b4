package state

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"slices"
	"strconv"

	"github.com/cockroachdb/pebble/v2"

	"sluice/fault"
)

// Reset gives each of the tables a new, empty generation and each of the flows a new generation without position, start,
// end, completion, plan, counters and subscriptions, in one durable commit (FR-01, FR-08, FR-09, FR-11). With flows alone
// it is a checkpoint reset (FR-13): the tables keep their rows. Names the store does not know are passed over.
//
// The commit is atomic, however large the tables, since rows go by range deletion: there is no half-done reset to resume,
// so no record of an intent is needed (FR-O2).
//
// Those of the tables that are among renewed keep their rows, if they have windows (TableSpec.Replaced): the commit holds the order, which no
// crash undoes, and their next Swap has to be one of everything (FR-02). All others are empty afterwards.
//
// Tables and flows must not be in use. Objects of tables that are empty now are retired: take them again with Store.Table, which
// accepts any definition for a table that was reset (FR-17). Flow objects stay valid. Readers of a table that is reset
// find SOURCE_RESET unless they are reset with it (D-28).
func (s *Store) Reset(tables, flows []string, renewed ...string) error {
	renewals, tables, err := s.renewals(tables, renewed)
	if err != nil {
		return err
	}
	defer renewals.end()
	defer s.takeTurns(tables)() // a statement that changes one of them comes to its end (D-33)
	s.sealing.Lock()
	defer s.sealing.Unlock()
	b := s.db.NewBatch()
	defer b.Close()
	generations, err := s.generations()
	if err != nil {
		return err
	}
	dropped := map[uint32][]*tableFile{}
	for _, name := range tables {
		if err := s.resetTable(b, name, dropped); err != nil {
			return err
		}
		generations[name]++
	}
	var reset []*Flow
	for _, name := range flows {
		f, err := s.knownFlow(name)
		if err != nil {
			return err
		}
		if f != nil {
			f.reset(b)
			if err := f.dropRefreshed(b, generations); err != nil {
				return err
			}
			reset = append(reset, f)
		}
	}
	if err := s.unsubscribeAll(b, reset); err != nil {
		return err
	}
	renewals.put(b, true)
	if err := s.commit(b, true); err != nil {
		return err
	}
	renewals.took(true)
	for _, name := range tables {
		s.retire(name)
	}
	for instance, files := range dropped {
		s.files.drop(instance, files)
	}
	return s.afterReset(reset)
}

// takeTurns waits until it is the caller's turn to write each of some tables, as far as they are open.
func (s *Store) takeTurns(names []string) (give func()) {
	names = slices.Clone(names)
	slices.Sort(names)
	var taken []*Table
	for _, name := range slices.Compact(names) {
		if t := s.openTable(name); t != nil && t.takeTurn(context.Background()) == nil {
			taken = append(taken, t)
		}
	}
	return func() {
		for _, t := range taken {
			t.giveTurn()
		}
	}
}

// resetTable moves a table to a new instance and deletes everything under the old one. The files that it had go to dropped.
func (s *Store) resetTable(b *pebble.Batch, name string, dropped map[uint32][]*tableFile) error {
	var r tableRecord
	ok, err := readJSON(s, s.db, nameKey(kindTable, name), &r)
	if !ok {
		return err
	}
	live, past, err := s.filesOf(s.db, r.Instance)
	if err != nil {
		return err
	}
	dropped[r.Instance] = append(live, past...)
	s.deleteInstance(b, r.Instance)
	r = tableRecord{Generation: r.Generation + 1}
	if r.Instance, err = s.newInstance(); err != nil {
		return err
	}
	must(b.Set(nameKey(kindTable, name), mustJSON(r), nil))
	return nil
}

// generations are those of all tables.
func (s *Store) generations() (map[string]uint64, error) {
	out := map[string]uint64{}
	err := s.eachOf(s.db, key(kindTable), func(name, v []byte) error {
		var r tableRecord
		if json.Unmarshal(v, &r) != nil {
			return errShort
		}
		out[string(name)] = r.Generation
		return nil
	})
	return out, err
}

// instanceKinds are the kinds of keys that begin with a table's instance.
var instanceKinds = []byte{kindVersion, kindReader, kindCommit, kindTrim, kindDigest, kindAppends, kindChanges, kindCopy, kindRows, kindFloors, kindFile, kindUpdate, kindMark}

func (s *Store) deleteInstance(b *pebble.Batch, instance uint32) {
	for _, kind := range instanceKinds {
		prefix := idKey(kind, instance)
		must(b.DeleteRange(prefix, prefixEnd(prefix), nil))
	}
}

// retire makes an open table unusable.
func (s *Store) retire(name string) {
	t := s.openTable(name)
	if t == nil {
		return
	}
	s.mu.Lock()
	delete(s.tables, name)
	s.mu.Unlock()
	t.retire(fault.New(fault.SourceReset, "table %s was fully refreshed", name).
		WithHint("refresh what the reading flow writes too, or reset the flow's checkpoint"))
}

// knownFlow returns a flow the store knows, or nil.
func (s *Store) knownFlow(name string) (*Flow, error) {
	v, err := s.get(s.db, nameKey(kindFlow, name))
	if err != nil || v == nil {
		return nil, err
	}
	return s.Flow(name)
}

// flowKinds are the kinds of keys that begin with a flow's number and belong to a generation. Numbers of splits do not:
// they survive (D-1).
var flowKinds = []byte{kindProgress, kindBound, kindPosition, kindCounter, kindPlan}

// reset writes the flow's new generation into b.
func (f *Flow) reset(b *pebble.Batch) {
	f.mu.Lock()
	defer f.mu.Unlock()
	r := f.record
	r.Generation++
	must(b.Set(nameKey(kindFlow, f.name), mustJSON(r), nil))
	for _, kind := range flowKinds {
		prefix := idKey(kind, r.ID)
		must(b.DeleteRange(prefix, prefixEnd(prefix), nil))
	}
}

// dropRefreshed takes rows out of the flow's quarantine that lay in tables which were reset, with the flow or earlier: they come again at
// other places. Everything else that a flow has in quarantine stays (D-31).
func (f *Flow) dropRefreshed(b *pebble.Batch, generations map[string]uint64) error {
	size, before := f.Quarantined(), f.Quarantined()
	prefix := idKey(kindQuarantine, f.record.ID)
	err := f.store.eachOf(f.store.db, idKey(kindSplit, f.record.ID), func(k, v []byte) error {
		table, id, _ := bytes.Cut(k, []byte{0})
		generation, known := generations[string(table)]
		if read, err := strconv.ParseUint(string(id), 10, 64); !known || err != nil || read >= generation {
			return nil
		}
		number, err := decodeNumber(v)
		if err != nil {
			return errShort
		}
		rows := binary.BigEndian.AppendUint32(bytes.Clone(prefix), uint32(number))
		must(b.DeleteRange(rows, prefixEnd(rows), nil))
		return f.store.each(f.store.db, rows, prefixEnd(rows), func(k, v []byte) error {
			q, err := decodeQuarantined(parseRowKey(k), v)
			size.add(&q, len(k)+len(v), -1)
			return err
		})
	})
	if err == nil && size != before {
		must(b.Set(prefix, size.encode(), nil))
	}
	return err
}

// unsubscribeAll ends every subscription of the flows: what was kept for them is of no use to a new generation. Rows of a change feed leave
// quarantine: they come again at other places, since a new reader gets a copy of the table.
func (s *Store) unsubscribeAll(b *pebble.Batch, flows []*Flow) error {
	gone := map[uint32]*Flow{}
	for _, f := range flows {
		gone[f.record.ID] = f
	}
	return s.eachOf(s.db, key(kindReader), func(k, v []byte) error {
		instance, flow := be32(k), be32(k[4:])
		if f := gone[flow]; f != nil {
			var r readerRecord
			if json.Unmarshal(v, &r) != nil {
				return errShort
			}
			if r.Feed {
				prefix := idKey(kindQuarantine, flow)
				must(b.DeleteRange(prefix, prefixEnd(prefix), nil))
				if size := f.Quarantined(); size.Letters > 0 { // which are sent all the same
					must(b.Set(prefix, QuarantineSize{Letters: size.Letters, LetterBytes: size.LetterBytes}.encode(), nil))
				}
			}
			prefix := copyPrefix(instance, flow)
			must(b.DeleteRange(prefix, prefixEnd(prefix), nil))
			must(b.Delete(readerKey(instance, flow), nil))
		}
		return nil
	})
}

// afterReset reads what changed back into the objects in memory.
func (s *Store) afterReset(flows []*Flow) error {
	for _, f := range flows {
		if err := f.reload(); err != nil {
			return err
		}
		for _, t := range s.openTables() {
			t.mu.Lock()
			delete(t.readers, f.record.ID)
			t.mu.Unlock()
		}
	}
	return nil
}

func (f *Flow) reload() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	v, err := f.store.get(f.store.db, nameKey(kindFlow, f.name))
	if err != nil {
		return err
	}
	if err := json.Unmarshal(v, &f.record); err != nil {
		return f.store.fail(f.store.corrupt("flow %s: %v", f.name, err))
	}
	return f.load()
}

// openTables returns the open tables.
func (s *Store) openTables() []*Table {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []*Table
	for _, t := range s.tables {
		out = append(out, t)
	}
	return out
}
