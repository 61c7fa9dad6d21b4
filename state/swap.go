package state

import (
	"context"
	"slices"
	"time"

	"github.com/cockroachdb/pebble/v2"

	"sluice/batch"
	"sluice/fault"
)

// Rows are rows that come piece by piece, none at the end. They stay as they are until the next call. eval.Rows are some.
type Rows interface {
	Next() (batch.Columns, error)
}

// Swap is what an update does to a table with windows (TableSpec.Replaced): files go, and rows come.
type Swap struct {
	Base   int64    // version of the table that the update was computed from
	Remove []FileID // files that go: every row of them that stays is among Rows
	All    bool     // every file goes, the columns become what the definition says and the history ends: a full refresh that is ordered
	// Rows are what comes: first the new ones, then those that stay of the files that go. Each begins a file. Columns are matched by name; those
	// missing are NULL, those unknown are an error.
	Rows []Rows
	// Cluster is the column by whose values each of Rows is sorted, NULL first, "" for none. Rows of one slice come into one file, unless they alone
	// are too many for one; small slices that lie beside each other share one (D-26).
	Cluster string
	Zone    *time.Location // of the days that are slices of a TIMESTAMP; nil is UTC

	// Unchanged is set before Finish: how many rows of the first Rows lie in files of Remove that stay, since they would have come back row for
	// row (D-27).
	Unchanged int64

	// For the history of the table (D-27).
	Update                 string
	Cause                  string
	Predicate              string
	RowsRemoved, RowsAdded int64

	// Seen are the marks that the update has taken notice of, and that end with it (DM-04).
	Seen []int64

	// Finish is called when all rows were read, before the commit: it sets what is known only then, the counts of rows and those of Advance. It
	// may be nil.
	Finish func(*Swap)

	Advance Advance // of the flow, in the same commit. Its time is the version's
}

// Swap makes a new version of a table with windows: s.Remove go, s.Rows come, and the flow moves on, in one atomic commit with the next
// number of the flow. A swap that changes nothing makes no version, and moves the flow all the same. It returns the version that the
// table has then.
//
// Rows are read while it is the caller's turn to write the table, so they must not come from a Writer of it. WRITE_CONFLICT says that the table
// is not what the update was computed from, and nothing was done: it is computed anew. After any other error nothing was done either.
func (f *Flow) Swap(ctx context.Context, t *Table, s Swap) (version int64, err error) {
	if err := t.takeTurn(ctx); err != nil {
		return 0, err
	}
	defer t.giveTurn()
	if !t.record.Replaced {
		return 0, fault.New(fault.InternalError, "table %s is not one with windows", t.name)
	}
	if s.All && t.record.Renewing && t.version.version == s.Base {
		return f.renew(ctx, t, &s)
	}
	return t.swap(ctx, &s, func(b *pebble.Batch) error {
		_, err := f.commit(b, s.Advance, true, false)
		return err
	})
}

// swap writes what comes, and makes the new version with commit. It is the caller's turn.
func (t *Table) swap(ctx context.Context, s *Swap, commit func(*pebble.Batch) error) (version int64, err error) {
	if t.version.version != s.Base {
		return 0, fault.New(fault.WriteConflict, "table %s has version %d, the update was computed from %d", t.name, t.version.version, s.Base)
	}
	switch {
	case t.record.Renewing && !s.All:
		return 0, t.toBeRenewed()
	case s.All && !t.record.Renewing:
		return 0, fault.New(fault.WriteConflict, "the full refresh of table %s is not ordered any more", t.name)
	}
	removed, err := t.liveFiles(s.Remove)
	if err != nil {
		return 0, err
	}
	w, err := t.writeSwap(ctx, s, &t.record.Schema, t.live, removed)
	if err != nil {
		return 0, err
	}
	if s.Finish != nil {
		s.Finish(s)
	}
	if err := t.commitSwap(ctx, s, w.gone, w.added, commit); err != nil {
		w.abandon()
		return 0, err
	}
	return t.version.version, nil
}

func (s *Swap) zone() *time.Location {
	if s.Zone == nil {
		return time.UTC
	}
	return s.Zone
}

// liveFiles finds files that the table has.
func (t *Table) liveFiles(ids []FileID) (out []*tableFile, err error) {
	for _, id := range ids {
		i := slices.IndexFunc(t.live, func(f *tableFile) bool { return f.id == id })
		if i < 0 || slices.Contains(out, t.live[i]) {
			return nil, fault.New(fault.WriteConflict, "table %s does not have the file %s that an update takes away", t.name, id.fileName())
		}
		out = append(out, t.live[i])
	}
	return out, nil
}

// arranged brings rows in the order of the schema's latest version.
func (t *Table) arranged(s *schema, rows *batch.Columns, fields []batch.Field) (batch.Columns, error) {
	cols, err := t.columns(s, rows)
	out := batch.Columns{Fields: fields, Len: rows.Len, Cols: make([]batch.Column, len(cols))}
	for i, c := range cols {
		out.Cols[i] = *c
	}
	return out, err
}

// commitSwap commits a swap whose files are written.
func (t *Table) commitSwap(ctx context.Context, s *Swap, removed, added []*tableFile, commit func(*pebble.Batch) error) error {
	b := t.store.db.NewBatch()
	defer b.Close()
	for _, version := range s.Seen {
		must(b.Delete(markKey(t.record.Instance, version), nil))
	}
	if len(removed) == 0 && len(added) == 0 {
		return commit(b)
	}
	id, v := t.record.Instance, t.version
	v.version, v.time = v.version+1, micros(s.Advance.Time)
	gone := map[*tableFile]*tableFile{} // as they are before, and after
	for _, f := range removed {
		after := *f
		after.removed = v.version
		gone[f] = &after
		v.rows, v.bytes = v.rows-f.rows, v.bytes-f.weight
		must(b.Set(fileKey(id, f.id), after.encode(), nil))
	}
	for _, f := range added {
		f.added = v.version
		v.rows, v.bytes = v.rows+f.rows, v.bytes+f.weight
		must(b.Set(fileKey(id, f.id), f.encode(), nil))
	}
	must(b.Set(updateKey(id, v.version), s.record(v.time), nil))
	t.store.nameFormat(b)
	var live []*tableFile
	past := slices.Clone(t.past)
	for _, f := range t.live {
		if after := gone[f]; after != nil {
			past = append(past, after)
		} else {
			live = append(live, f)
		}
	}
	live = append(live, added...)
	forgotten, past, err := t.forget(b, past, v)
	if err != nil {
		return err
	}
	if t.record.Feed {
		feed := t.newFeedWriter(b, v.version)
		defer feed.undone(t)
		if err := feed.differ(ctx, t, &v, removed, added, b); err != nil {
			return err
		}
	}
	must(b.Set(idKey(kindVersion, id), v.encode(), nil))
	if err := commit(b); err != nil {
		return err
	}
	t.mu.Lock()
	t.live, t.past, t.version = live, past, v
	t.wake()
	t.mu.Unlock()
	t.store.forgot(forgotten)
	return nil
}
