package state

import (
	"cmp"
	"slices"

	"github.com/cockroachdb/pebble/v2"

	"sluice/fault"
)

// filesOf are the files of a table: those it has, in the order of their rows or of their names, and those that older versions have, in the
// order of their removal.
func (s *Store) filesOf(r pebble.Reader, instance uint32) (live, past []*tableFile, err error) {
	err = s.eachOf(r, idKey(kindFile, instance), func(rest, v []byte) error {
		record, err := decodeFile(v)
		if err != nil || len(rest) != 12 {
			return errShort
		}
		if f := (&tableFile{parseFileKey(rest), record}); f.removed == 0 {
			live = append(live, f)
		} else {
			past = append(past, f)
		}
		return nil
	})
	slices.SortStableFunc(live, byPlace)
	slices.SortStableFunc(past, func(a, b *tableFile) int { return cmp.Compare(a.removed, b.removed) })
	return live, past, err
}

// Files lists the files of a table, for those who look for the ones they need; an append table may have rows besides. A table that does not
// exist has none.
func (s *Snapshot) Files(table string) ([]FileInfo, error) {
	r, err := s.record(table)
	if err != nil || r == nil {
		return nil, err
	}
	live, _, err := s.store.filesOf(s.db, r.Instance)
	if err != nil {
		return nil, err
	}
	out := make([]FileInfo, len(live))
	for i, f := range live {
		out[i] = f.info(&r.Schema)
	}
	return out, nil
}

// ScanFiles reads the rows of some files that Files has listed, one file after the other. columns are as for Scan.
func (s *Snapshot) ScanFiles(table string, files []FileID, columns []string) (*Scan, error) {
	r, err := s.record(table)
	if err != nil {
		return nil, err
	}
	if r == nil {
		return nil, fault.New(fault.InternalError, "there is no table %s", table)
	}
	live, past, err := s.store.filesOf(s.db, r.Instance)
	if err != nil {
		return nil, err
	}
	scan, err := s.scan(r, table, columns)
	if err != nil {
		return nil, err
	}
	for _, id := range files {
		i := slices.IndexFunc(live, func(f *tableFile) bool { return f.id == id })
		if i < 0 {
			if i = slices.IndexFunc(past, func(f *tableFile) bool { return f.id == id }); i < 0 {
				return nil, fault.New(fault.InternalError, "table %s does not have the file %s", table, id.fileName())
			}
			scan.files = append(scan.files, past[i])
			continue
		}
		scan.files = append(scan.files, live[i])
	}
	return scan, nil
}
