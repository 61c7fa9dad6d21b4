package state

import (
	"encoding/binary"
	"encoding/json"
	"slices"
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

// History says how much of its past a table keeps (D-27).
type History struct {
	Age   time.Duration `json:"age,omitempty"`   // a version that has not been current for so long goes; 0 is 24 hours
	Times int64         `json:"times,omitempty"` // what only earlier versions have is at most so many times what the table has; 0 is 2 times,
	Bytes int64         `json:"bytes,omitempty"` // unless this says how many bytes on disk it is at most
}

func (h History) age() time.Duration {
	if h.Age == 0 {
		return 24 * time.Hour
	}
	return h.Age
}

// holds reports whether files may be the past of a table that has so many bytes.
func (h History) holds(past pastSize, live int64) bool {
	switch {
	case h.Bytes > 0:
		return past.disk <= h.Bytes
	case h.Times > 0:
		return past.weight/h.Times <= live
	}
	return past.weight <= 2*live
}

// pastSize is how much files are.
type pastSize struct{ weight, disk int64 }

func (s *pastSize) add(f *tableFile, sign int64) {
	s.weight += sign * f.weight
	s.disk += sign * f.size
}

// Forgotten is what has left the history of a table.
type Forgotten struct {
	Table    string
	Before   int64 // versions before this one cannot be read any more
	Versions int   // so many of them could until now
	Files    int   // that are deleted, once nobody reads them
	Bytes    int64 // of these
	files    []*tableFile
	instance uint32
}

// forget drops old versions from the history of a table, the oldest first: those that were not current any more so long before version v, and
// those whose files are too large beside what is live, then or just before: an update that empties the table can be undone. It returns what is
// dropped, and the files that are left.
func (t *Table) forget(b *pebble.Batch, past []*tableFile, v tableVersion) (gone Forgotten, left []*tableFile, err error) {
	gone = Forgotten{Table: t.name, instance: t.record.Instance}
	if gone.Before, err = t.versionBefore(v.time - t.record.History.age().Microseconds()); err != nil {
		return gone, nil, err
	}
	needed := t.slowest()
	var size pastSize
	for _, f := range past {
		size.add(f, 1)
	}
	live := max(v.bytes, t.bytesBefore(v))
	for len(past) > 0 && past[0].removed <= needed && (past[0].removed <= gone.Before || !t.record.History.holds(size, live)) {
		f := past[0]
		must(b.Delete(fileKey(gone.instance, f.id), nil))
		size.add(f, -1)
		gone.Before, gone.Files, gone.Bytes = max(gone.Before, f.removed), gone.Files+1, gone.Bytes+f.size
		gone.files, past = append(gone.files, f), past[1:]
	}
	if last := len(gone.files) - 1; last >= 0 && t.appends() { // what the table was before cannot be told any more
		must(b.DeleteRange(idKey(kindCommit, gone.instance), commitKey(gone.instance, gone.files[last].removed), nil))
	}
	return gone, past, t.forgetUpdates(b, &gone)
}

// forgetUpdates drops what made the versions that are forgotten.
func (t *Table) forgetUpdates(b *pebble.Batch, gone *Forgotten) error {
	if gone.Before == 0 {
		return nil
	}
	must(b.DeleteRange(idKey(kindUpdate, gone.instance), updateKey(gone.instance, gone.Before), nil))
	return t.store.eachUpdate(t.store.db, gone.instance, func(version int64, _ updateRecord) error {
		if version >= gone.Before {
			return errEnough
		}
		gone.Versions++
		return nil
	})
}

// bytesBefore is how much the table had before version v, which may be the present one.
func (t *Table) bytesBefore(v tableVersion) (n int64) {
	if v.version > t.version.version {
		return t.version.bytes
	}
	for _, f := range slices.Concat(t.past, t.live) {
		if f.at(v.version - 1) {
			n += f.weight
		}
	}
	return n
}

// forgot tells of what a commit has dropped.
func (s *Store) forgot(gone Forgotten) {
	s.files.drop(gone.instance, gone.files)
	if gone.Versions > 0 || gone.Files > 0 {
		s.o.OnForget(gone)
	}
}

// forgetMore holds the history of a table against a new definition. It is the caller's turn.
func (t *Table) forgetMore() error {
	b := t.store.db.NewBatch()
	defer b.Close()
	gone, past, err := t.forget(b, t.past, t.version)
	if err != nil || gone.Versions == 0 && gone.Files == 0 {
		return err
	}
	if err := t.store.commit(b, false); err != nil {
		return err
	}
	t.mu.Lock()
	t.past = past
	t.mu.Unlock()
	t.store.forgot(gone)
	return nil
}

// slowest is the commit that the slowest reader of an append table stands at: it reads what was there before statements that lie behind it.
func (t *Table) slowest() int64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	at := t.version.version + 1
	for _, r := range t.readers {
		at = min(at, r.at.At)
	}
	return at
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

// Update is what made a version of a table (D-27).
type Update struct {
	Version                int64
	Time                   time.Time // batch time
	Update                 string
	Cause                  string
	Predicate              string
	RowsRemoved, RowsAdded int64
}

// History lists what made the versions of a table that can still be read, the newest first; of an append table those that a statement made.
func (s *Snapshot) History(table string) (out []Update, err error) {
	r, err := s.versioned(table)
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
