package state

import (
	"encoding/binary"
	"encoding/json"
	"time"

	"github.com/cockroachdb/pebble/v2"

	"sluice/fault"
)

// updateRecord is what the history of a table says of a version.
type updateRecord struct {
	Time        int64  `json:"time"` // batch time, microseconds
	Update      string `json:"update,omitempty"`
	Cause       string `json:"cause,omitempty"`
	Predicate   string `json:"predicate,omitempty"`
	RowsRemoved int64  `json:"rows_removed"`
	RowsAdded   int64  `json:"rows_added"`
}

// How much history a table keeps that says nothing else (D-27).
const (
	historyAge   = 24 * time.Hour
	historyTimes = 2 // times the size of what is live
)

// forget drops old versions from the history of a table, the oldest first: those that were not current any more so long before version v, and
// those whose files are too large beside what is live, then or just before: an update that empties the table can be undone. It returns the
// files that no version has any more, and those that are left.
func (t *Table) forget(b *pebble.Batch, past []*tableFile, v tableVersion) (gone, left []*tableFile, err error) {
	id := t.record.Instance
	first, err := t.versionBefore(v.time - historyAge.Microseconds())
	if err != nil {
		return nil, nil, err
	}
	bytes := int64(0)
	for _, f := range past {
		bytes += f.weight
	}
	for len(past) > 0 && (past[0].removed <= first || bytes > historyTimes*max(v.bytes, t.version.bytes)) {
		f := past[0]
		must(b.Delete(fileKey(id, f.id), nil))
		bytes, first = bytes-f.weight, max(first, f.removed)
		gone, past = append(gone, f), past[1:]
	}
	if first > 0 {
		must(b.DeleteRange(idKey(kindUpdate, id), updateKey(id, first), nil))
	}
	if len(gone) > 0 {
		t.store.o.Logger.Info("old versions of a table leave its history", "table", t.name, "before", first, "files", len(gone))
	}
	return gone, past, nil
}

// versionBefore is the last version of the history that is older than a time, 0 when there is none.
func (t *Table) versionBefore(at int64) (version int64, err error) {
	err = t.store.eachUpdate(t.store.db, t.record.Instance, func(v int64, u updateRecord) error {
		if u.Time >= at {
			return errEnough
		}
		version = v
		return nil
	})
	return version, err
}

// eachUpdate calls f with what made the versions of a table, the oldest that the history has first, until it returns an error, which is
// given on unless it is errEnough.
func (s *Store) eachUpdate(r pebble.Reader, instance uint32, f func(version int64, u updateRecord) error) error {
	err := s.eachOf(r, idKey(kindUpdate, instance), func(rest, v []byte) error {
		var u updateRecord
		if len(rest) != 8 || json.Unmarshal(v, &u) != nil {
			return errShort
		}
		return f(int64(binary.BigEndian.Uint64(rest)), u)
	})
	if err == errEnough {
		err = nil
	}
	return err
}

// Update is what made a version of a table with windows (D-27).
type Update struct {
	Version                int64
	Time                   time.Time // batch time
	Update                 string
	Cause                  string
	Predicate              string
	RowsRemoved, RowsAdded int64
}

// History lists what made the versions of a table with windows that can still be read, the newest first.
func (s *Snapshot) History(table string) (out []Update, err error) {
	r, err := s.replaced(table)
	if err != nil {
		return nil, err
	}
	err = s.store.eachUpdate(s.db, r.Instance, func(version int64, u updateRecord) error {
		out = append(out, Update{version, fromMicros(u.Time), u.Update, u.Cause, u.Predicate, u.RowsRemoved, u.RowsAdded})
		return nil
	})
	for i, j := 0, len(out)-1; i < j; i, j = i+1, j-1 {
		out[i], out[j] = out[j], out[i]
	}
	return out, err
}

// replaced is the record of a table with windows.
func (s *Snapshot) replaced(table string) (*tableRecord, error) {
	r, err := s.record(table)
	if err != nil {
		return nil, err
	}
	if r == nil || !r.Replaced {
		return nil, fault.New(fault.InternalError, "there is no table %s with windows", table)
	}
	return r, nil
}

// VersionAt is the version of a table with windows that was current at a time: the last one that is not later. Version 0 is the empty
// table. VERSION_NOT_FOUND says that the history does not reach back so far.
func (s *Snapshot) VersionAt(table string, at time.Time) (int64, error) {
	r, err := s.replaced(table)
	if err != nil {
		return 0, err
	}
	first, version := int64(0), int64(0)
	err = s.store.eachUpdate(s.db, r.Instance, func(v int64, u updateRecord) error {
		if first == 0 {
			first = v
		}
		if u.Time > micros(at) {
			return errEnough
		}
		version = v
		return nil
	})
	if err == nil && version == 0 && first > 1 {
		err = fault.New(fault.VersionNotFound, "table %s has no version of %s or before: its history begins with version %d", table, at.UTC().Format(time.RFC3339), first).
			WithHint("DESCRIBE HISTORY lists the versions that there are")
	}
	return version, err
}

// FilesAt lists the files that a table with windows had at a version, as Files does. VERSION_NOT_FOUND says that there is no such version, or not
// any more.
func (s *Snapshot) FilesAt(table string, version int64) (out []FileInfo, err error) {
	r, err := s.replaced(table)
	if err != nil {
		return nil, err
	}
	if err := s.readable(r, table, version); err != nil {
		return nil, err
	}
	live, past, err := s.store.filesOf(s.db, r.Instance)
	for _, f := range append(live, past...) {
		if f.added <= version && (f.removed == 0 || f.removed > version) {
			out = append(out, f.info(&r.Schema))
		}
	}
	return out, err
}

// readable refuses a version that is not in the history.
func (s *Snapshot) readable(r *tableRecord, table string, version int64) error {
	now, err := s.store.tableVersion(s.db, r.Instance)
	if err != nil {
		return err
	}
	first := now.version
	err = s.store.eachUpdate(s.db, r.Instance, func(v int64, _ updateRecord) error {
		if first = v; v == 1 {
			first = 0 // the empty table
		}
		return errEnough
	})
	if err != nil || version >= first && version <= now.version {
		return err
	}
	return fault.New(fault.VersionNotFound, "table %s has no version %d: there are %d to %d", table, version, first, now.version).
		WithHint("DESCRIBE HISTORY lists the versions that there are")
}
