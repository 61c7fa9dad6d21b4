package state

import (
	"encoding/binary"
	"time"

	"sluice/fault"
)

// A table without keys can be read as it was (D-27): one with windows at every version that its history has, an append table at every commit
// that it has. Rows that retention took from an append table are gone from all of its versions.

// versioned is the record of a table that has versions.
func (s *Snapshot) versioned(table string) (*tableRecord, error) {
	r, err := s.record(table)
	switch {
	case err != nil:
		return nil, err
	case r == nil:
		return nil, fault.New(fault.InternalError, "there is no table %s", table)
	case r.Keyed:
		return nil, fault.New(fault.NoTimeTravel, "table %s is a REPLACE USING table, of which only the present rows are kept", table).
			WithHint("leave AS OF out")
	}
	return r, nil
}

// VersionAt is the version of a table that was current at a time: the last one that is not later. Version 0 is the empty
// table. VERSION_NOT_FOUND says that what is kept does not reach back so far, UNSUPPORTED_FEATURE.TIME_TRAVEL that the table has keys.
func (s *Snapshot) VersionAt(table string, at time.Time) (int64, error) {
	r, err := s.versioned(table)
	if err != nil {
		return 0, err
	}
	first, version := int64(0), int64(0)
	err = s.eachVersion(r, func(v, time int64) error {
		if first == 0 {
			first = v
		}
		if time > micros(at) {
			return errEnough
		}
		version = v
		return nil
	})
	if err == nil && version == 0 && first > 1 {
		err = fault.New(fault.VersionNotFound, "table %s has no version of %s or before: the first that it still has is %d", table, at.UTC().Format(time.RFC3339Nano), first).
			WithHint("DESCRIBE HISTORY lists the versions that there are")
	}
	return version, err
}

// eachVersion calls f with the versions of a table and their times, the oldest that is kept first, until it returns an error, which is given on
// unless it is errEnough.
func (s *Snapshot) eachVersion(r *tableRecord, f func(version, time int64) error) error {
	if r.Replaced {
		return s.store.eachUpdate(s.db, r.Instance, func(v int64, u updateRecord) error { return f(v, u.Time) })
	}
	return enough(s.store.eachOf(s.db, idKey(kindCommit, r.Instance), func(k, v []byte) error {
		c, err := decodeCommit(v)
		if err != nil || len(k) != 8 {
			return errShort
		}
		return f(int64(binary.BigEndian.Uint64(k)), c.time)
	}))
}

// enough is nil for errEnough.
func enough(err error) error {
	if err == errEnough {
		return nil
	}
	return err
}

// ScanAt reads the rows that a table had at a version, with the columns that it has now. columns are as for Scan. It fails with
// VERSION_NOT_FOUND, or UNSUPPORTED_FEATURE.TIME_TRAVEL of a table with keys.
func (s *Snapshot) ScanAt(table string, version int64, columns []string) (*Scan, error) {
	r, err := s.versioned(table)
	if err == nil {
		err = s.readable(r, table, version)
	}
	if err != nil {
		return nil, err
	}
	scan, err := s.scan(r, table, columns)
	if err != nil {
		return nil, err
	}
	if r.Replaced {
		scan.files, err = s.filesAt(r, version)
		return scan, err
	}
	first, _, err := s.commits(r.Instance)
	if err != nil {
		return nil, err
	}
	return scan, s.between(scan, r.Instance, version, first, version+1)
}

// FilesAt lists the files that a table with windows had at a version, as Files does. VERSION_NOT_FOUND says that there is no such version, or not
// any more.
func (s *Snapshot) FilesAt(table string, version int64) (out []FileInfo, err error) {
	r, err := s.replaced(table)
	if err == nil {
		err = s.readable(r, table, version)
	}
	if err != nil {
		return nil, err
	}
	files, err := s.filesAt(r, version)
	for _, f := range files {
		out = append(out, f.info(&r.Schema))
	}
	return out, err
}

// filesAt are the files that a table with windows had at a version that it still has.
func (s *Snapshot) filesAt(r *tableRecord, version int64) (out []*tableFile, err error) {
	live, past, err := s.store.filesOf(s.db, r.Instance)
	for _, f := range append(live, past...) {
		if f.at(version) {
			out = append(out, f)
		}
	}
	return out, err
}

// at reports whether a table had the file at a version.
func (f *tableFile) at(version int64) bool {
	return f.added <= version && (f.removed == 0 || f.removed > version)
}

// HasVersion returns nil when a version of a table can be read, else why it cannot, as ScanAt does.
func (s *Snapshot) HasVersion(table string, version int64) error {
	r, err := s.versioned(table)
	if err != nil {
		return err
	}
	return s.readable(r, table, version)
}

// readable refuses a version that is not kept.
func (s *Snapshot) readable(r *tableRecord, table string, version int64) error {
	first, last, err := s.versions(r)
	if err != nil || version >= first && version <= last {
		return err
	}
	return fault.New(fault.VersionNotFound, "table %s has no version %d: there are %d to %d", table, version, first, last).
		WithHint("DESCRIBE HISTORY lists the versions that there are")
}

// versions are the first and the last version that can be read. Version 0 is the empty table, while the first one is kept that came after it.
func (s *Snapshot) versions(r *tableRecord) (first, last int64, err error) {
	v, err := s.store.tableVersion(s.db, r.Instance)
	if err != nil {
		return 0, 0, err
	}
	first = v.version
	err = s.eachVersion(r, func(v, _ int64) error {
		if first = v; v == 1 {
			first = 0
		}
		return errEnough
	})
	return first, v.version, err
}
