package state

import (
	"context"
	"slices"

	"github.com/cockroachdb/pebble/v2"

	"sluice/batch"
	"sluice/fault"
)

// A full refresh of a table with windows takes the place of all that it holds by one commit, like every update of it: readers see the old rows
// or the new ones, never an empty table (FR-02, FR-03, RW-O8). Reset stores that it is ordered, and Swap carries it out.

// renewedBy reports whether the full refresh that is ordered makes the table what a definition says.
func (r *tableRecord) renewedBy(spec TableSpec) bool {
	return r.Declared && r.Renewing && r.Replaced && spec.Replaced
}

// Renewing reports whether a full refresh of a table with windows is ordered and not done.
func (t *Table) Renewing() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.record.Renewing
}

func (t *Table) toBeRenewed() error {
	return fault.New(fault.FullRefreshOrdered, "table %s is to be fully refreshed", t.name).WithHint("run the pipeline, which does that first")
}

// Renew orders a full refresh of a table with windows, or takes the order back: then nothing has happened to the table. A table that its
// definition does not fit cannot take it back and keeps the order.
func (s *Store) Renew(name string, ordered bool) error {
	renewals, _, err := s.renewals([]string{name}, []string{name})
	if err != nil || len(renewals) == 0 {
		return err
	}
	defer renewals.end()
	t := renewals[0]
	if !ordered && t.fresh != nil {
		if _, problems := t.record.merge(name, *t.fresh); len(problems) > 0 {
			return nil
		}
	}
	if t.record.Renewing == ordered {
		return nil
	}
	b := s.db.NewBatch()
	defer b.Close()
	renewals.put(b, ordered)
	if err := s.commit(b, true); err != nil {
		return err
	}
	renewals.took(ordered)
	return nil
}

// renewals are tables for which it is the caller's turn.
type renewals []*Table

// renewals takes the turn of those tables that are to be renewed and can be, and returns the others.
func (s *Store) renewals(tables, renewed []string) (out renewals, others []string, err error) {
	for _, name := range tables {
		var t *Table
		if slices.Contains(renewed, name) {
			if t, err = s.table(name); err == nil {
				err = t.takeTurn(context.Background())
			}
			if err != nil {
				out.end()
				return nil, nil, err
			}
		}
		switch {
		case t == nil:
			others = append(others, name)
		case !t.record.Declared || !t.record.Replaced:
			t.giveTurn()
			others = append(others, name)
		default:
			out = append(out, t)
		}
	}
	return out, others, nil
}

func (r renewals) end() {
	for _, t := range r {
		t.giveTurn()
	}
}

// put writes into b whether a full refresh is ordered.
func (r renewals) put(b *pebble.Batch, ordered bool) {
	for _, t := range r {
		record := t.record
		record.Renewing = ordered
		must(b.Set(nameKey(kindTable, t.name), mustJSON(record), nil))
	}
}

// took takes over what put wrote.
func (r renewals) took(ordered bool) {
	for _, t := range r {
		t.mu.Lock()
		t.record.Renewing = ordered
		t.mu.Unlock()
	}
}

// renew carries out a full refresh that is ordered. The table goes on with the next version, and no older one is kept. It begins a new
// generation, under a new instance, unless somebody follows its changes and it keeps its columns: those are told what the refresh changes (D-28).
func (f *Flow) renew(ctx context.Context, t *Table, s *Swap) (version int64, err error) {
	r, problems := tableRecord{Generation: t.record.Generation + 1}.merge(t.name, *t.fresh)
	if len(problems) > 0 {
		return 0, problems.Err()
	}
	if t.hasFeedReader() && sameShape(t.record.Schema.fields(), r.Schema.fields()) {
		r, _ = t.record.merge(t.name, *t.fresh)
		r.Renewing = false
	}
	w, err := t.writeSwap(ctx, s, &r.Schema, nil, nil)
	if err != nil {
		return 0, err
	}
	if s.Finish != nil {
		s.Finish(s)
	}
	if err := t.commitRenewal(ctx, f, s, r, w.added); err != nil {
		w.abandon()
		return 0, err
	}
	return t.version.version, nil
}

// commitRenewal commits a full refresh whose files are written.
func (t *Table) commitRenewal(ctx context.Context, f *Flow, s *Swap, r tableRecord, added []*tableFile) (err error) {
	followed := r.Instance != 0
	if !followed {
		if r.Instance, err = t.store.newInstance(); err != nil {
			return err
		}
	}
	b := t.store.db.NewBatch()
	defer b.Close()
	v := tableVersion{version: t.version.version + 1, time: micros(s.Advance.Time)}
	if followed {
		v.feed = t.version.feed
		feed := t.newFeedWriter(b, v.version)
		defer feed.undone(t)
		if err := feed.differ(ctx, t, &v, t.live, added, b); err != nil {
			return err
		}
		t.store.deleteFiles(b, r.Instance)
	} else {
		t.store.deleteInstance(b, t.record.Instance)
	}
	for _, f := range added {
		f.added = v.version
		v.rows, v.bytes = v.rows+f.rows, v.bytes+f.weight
		must(b.Set(fileKey(r.Instance, f.id), f.encode(), nil))
	}
	must(b.Set(nameKey(kindTable, t.name), mustJSON(r), nil))
	must(b.Set(updateKey(r.Instance, v.version), s.record(v.time), nil))
	must(b.Set(idKey(kindVersion, r.Instance), v.encode(), nil))
	t.store.nameFormat(b)
	if _, err := f.commit(b, s.Advance, true, false); err != nil {
		return err
	}
	t.mu.Lock()
	instance, gone := t.record.Instance, slices.Concat(t.live, t.past)
	t.record, t.live, t.past, t.version = r, added, nil, v
	if !followed {
		clear(t.readers) // who comes back is told that it was reset
	}
	t.wake()
	t.mu.Unlock()
	t.store.files.drop(instance, gone)
	return nil
}

// record is what the history says of the swap.
func (s *Swap) record(at int64) []byte {
	return mustJSON(updateRecord{Time: at, Update: s.Update, Cause: s.Cause, Predicate: s.Predicate, RowsRemoved: s.RowsRemoved, RowsAdded: s.RowsAdded})
}

// deleteFiles takes away all files, versions and marks of a table; the files themselves are deleted later.
func (s *Store) deleteFiles(b *pebble.Batch, instance uint32) {
	for _, kind := range []byte{kindFile, kindUpdate, kindMark} {
		prefix := idKey(kind, instance)
		must(b.DeleteRange(prefix, prefixEnd(prefix), nil))
	}
}

// KeepsReaders reports whether those who follow the changes of the table go on over a full refresh that gives it some columns (D-28).
func (t *Table) KeepsReaders(fields []batch.Field) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.record.Replaced && sameShape(t.record.Schema.fields(), fields)
}

// sameShape reports whether columns have the same names and types, in the same order.
func sameShape(a, b []batch.Field) bool {
	return slices.EqualFunc(a, b, func(x, y batch.Field) bool { return x.Name == y.Name && x.Type.Equal(y.Type) })
}
