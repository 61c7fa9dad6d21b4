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
	r, err := s.versioned(table)
	if err == nil && !r.Replaced {
		return nil, fault.New(fault.InternalError, "the windows of table %s are not replaced", table)
	}
	return r, err
}
