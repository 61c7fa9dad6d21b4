package state

import (
	"slices"

	"github.com/cockroachdb/pebble/v2"

	"sluice/batch"
	"sluice/fault"
)

// Snapshot shows all tables as of one moment. It holds back compaction, so it should be short-lived. It may be used by
// several goroutines; its Scans by one each.
type Snapshot struct {
	store *Store
	db    *pebble.Snapshot
	pin   uint64 // on the files of tables
}

// Snapshot takes one.
func (s *Store) Snapshot() *Snapshot {
	pin := s.files.pin() // before there is something to see
	return &Snapshot{s, s.db.NewSnapshot(), pin}
}

// Close frees the snapshot. Scans must be closed before.
func (s *Snapshot) Close() error {
	defer s.store.files.unpin(s.pin)
	return s.db.Close()
}

// Table describes a table as the snapshot has it, without its readers; nil when there is none.
func (s *Snapshot) Table(name string) (*TableInfo, error) {
	r, err := s.record(name)
	if err != nil || r == nil {
		return nil, err
	}
	v, err := s.store.tableVersion(s.db, r.Instance)
	if err != nil {
		return nil, err
	}
	trimmed, err := s.store.trimOf(s.db, r.Instance)
	if err != nil {
		return nil, err
	}
	i := r.info(name, v, trimmed)
	i.Digest, err = s.store.digestOf(s.db, r, v.version)
	return &i, err
}

func (s *Snapshot) record(name string) (*tableRecord, error) {
	var r tableRecord
	ok, err := readJSON(s.store, s.db, nameKey(kindTable, name), &r)
	if !ok || !r.Declared {
		return nil, err
	}
	return &r, nil
}

// Scan reads rows of a table: part of parts about equal parts, for several readers at once; part 0 of 1 is all of it.
// columns names the columns wanted, in the order they come back; nil means all. Rows of a key come together, in the order
// of their positions; an append table comes in the order of its commits, a table with windows file by file.
func (s *Snapshot) Scan(name string, columns []string, part, parts int) (*Scan, error) {
	r, err := s.record(name)
	if err != nil {
		return nil, err
	}
	if r == nil {
		return nil, fault.New(fault.InternalError, "there is no table %s", name)
	}
	scan, err := s.scan(r, name, columns)
	if err != nil {
		return nil, err
	}
	if r.Replaced {
		live, _, err := s.store.filesOf(s.db, r.Instance)
		scan.files = live[len(live)*part/parts : len(live)*(part+1)/parts]
		return scan, err
	}
	if !r.Keyed {
		return scan, s.partOf(scan, r.Instance, part, parts)
	}
	scan.rows = newRowDecoder(&r.Schema, scan.ids)
	return scan, s.iterate(scan, shardKey(kindRows, r.Instance, shards*part/parts), shardKey(kindRows, r.Instance, shards*(part+1)/parts))
}

// iterate has a scan read the keys between two.
func (s *Snapshot) iterate(scan *Scan, from, to []byte) (err error) {
	if scan.it, err = s.db.NewIter(&pebble.IterOptions{LowerBound: from, UpperBound: to}); err != nil {
		return s.store.readFailed(err)
	}
	scan.ok = scan.it.First()
	return nil
}

// ScanBut is Scan of the whole table but for some of its files, whose rows are not needed.
func (s *Snapshot) ScanBut(name string, columns []string, skip map[FileID]bool) (*Scan, error) {
	scan, err := s.Scan(name, columns, 0, 1)
	if err == nil && len(skip) > 0 {
		scan.files = slices.DeleteFunc(slices.Clone(scan.files), func(f *tableFile) bool { return skip[f.id] })
	}
	return scan, err
}

// scan is a scan of nothing.
func (s *Snapshot) scan(r *tableRecord, name string, columns []string) (*Scan, error) {
	ids, err := r.Schema.resolve(name, columns)
	return &Scan{store: s.store, schema: &r.Schema, ids: ids}, err
}

// partOf has a scan read a part of an append table, cut so that each part has about as many commits.
func (s *Snapshot) partOf(scan *Scan, instance uint32, part, parts int) error {
	first, last, err := s.commits(instance)
	if err != nil {
		return err
	}
	n := last + 1 - first
	return s.between(scan, instance, last, first+n*int64(part)/int64(parts), first+n*int64(part+1)/int64(parts))
}

// commits are the first and the last commit that an append table has; the first may be one that is still to come.
func (s *Snapshot) commits(instance uint32) (first, last int64, err error) {
	v, err := s.store.tableVersion(s.db, instance)
	if err != nil {
		return 0, 0, err
	}
	trimmed, err := s.store.trimOf(s.db, instance)
	return max(1, trimmed.first), v.version, err
}

// between has a scan read the commits from..to-1 of an append table as they were at a version: its files, and then its chunks.
func (s *Snapshot) between(scan *Scan, instance uint32, version, from, to int64) error {
	scan.from, scan.to = batch.Offset{At: from}, batch.Offset{At: to}
	live, past, err := s.store.filesOf(s.db, instance)
	if err != nil {
		return err
	}
	files := append(live, past...)
	slices.SortStableFunc(files, byPlace)
	for _, f := range files {
		if f.at(version) && !f.last.Less(scan.from) && f.first.Less(scan.to) {
			scan.files = append(scan.files, f)
		}
	}
	return s.iterate(scan, chunkKey(kindAppends, instance, scan.from), chunkKey(kindAppends, instance, scan.to))
}

// Scan is a reader of a snapshot's table, used by one goroutine.
type Scan struct {
	store  *Store
	schema *schema
	ids    []int
	it     *pebble.Iterator
	ok     bool

	rows   *rowDecoder // keyed tables
	inline reader      // rows of the group the iterator stands at that have not been taken
	left   int64       // how many

	chunk chunk // append tables: the chunk before the iterator, and what was taken of it
	taken int

	files    []*tableFile // to be read first
	from, to batch.Offset // of an append table
	reader   *fileReader  // of the first of them
}

// scanRows is what Next returns when it may choose.
const scanRows = 16 << 10

// Next returns at most max further rows, none at the end. Without max the scan chooses. The rows stay valid until the
// next call.
func (s *Scan) Next(max int) (batch.Columns, error) {
	if max <= 0 {
		max = scanRows
	}
	var out batch.Columns
	var err error
	if s.rows != nil {
		out, err = s.nextGroups(max)
	} else {
		out, err = s.nextChunks(max)
	}
	if err == nil && s.it != nil {
		err = s.it.Error()
	}
	if err != nil {
		return batch.Columns{}, s.failed(err)
	}
	return out, nil
}

// failed is what a failed read means. Errors of files say it themselves.
func (s *Scan) failed(err error) error {
	if len(s.files) > 0 {
		return err
	}
	return s.store.readFailed(err)
}

func (s *Scan) nextGroups(max int) (batch.Columns, error) {
	s.rows.reset()
	for s.rows.len < max && (s.left > 0 || s.ok) {
		if s.left == 0 {
			if err := s.enter(); err != nil {
				return batch.Columns{}, err
			}
		}
		for s.left > 0 && s.rows.len < max {
			if err := s.row(); err != nil {
				return batch.Columns{}, err
			}
		}
		if s.left == 0 {
			s.ok = s.it.Next()
		}
	}
	return s.rows.columns(), nil
}

// enter takes the head of the group the iterator stands at.
func (s *Scan) enter() error {
	v, err := s.it.ValueAndErr()
	if err != nil {
		return err
	}
	g, err := parseGroup(v)
	if err != nil {
		return err
	}
	s.left, s.inline = g.rows, reader{b: g.inline}
	if g.spilled {
		s.inline = reader{}
	}
	return nil
}

// row takes one row of the group. Those of a spilled one are the next keys.
func (s *Scan) row() error {
	s.left--
	if len(s.inline.b) > 0 {
		_, row := nextRow(&s.inline)
		if s.inline.err != nil {
			return s.inline.err
		}
		return s.rows.append(row)
	}
	if !s.it.Next() {
		return errShort
	}
	row, err := s.it.ValueAndErr()
	if err != nil {
		return err
	}
	return s.rows.append(row)
}

func (s *Scan) nextChunks(max int) (batch.Columns, error) {
	dec := newChunkDecoder(s.schema, s.ids)
	for dec.len < max {
		if s.taken == s.chunk.rows {
			whole, err := s.load(max, dec.len == 0)
			if err != nil || whole.Len > 0 {
				return whole, err
			}
			if s.chunk.rows == 0 {
				break
			}
		}
		to := min(s.chunk.rows, s.taken+max-dec.len)
		if err := dec.append(&s.chunk, s.taken, to); err != nil {
			return batch.Columns{}, err
		}
		s.taken = to
	}
	return dec.columns(), nil
}

// load takes the next chunk, one without rows at the end. Rows of a file that are as they are wanted are returned instead, if nothing else
// stands in front of them.
func (s *Scan) load(max int, first bool) (batch.Columns, error) {
	s.chunk, s.taken = chunk{}, 0
	for len(s.files) > 0 {
		rows, err := s.fileRows()
		if err != nil {
			return rows, err
		}
		if rows.Len == 0 {
			continue
		}
		if s.reader.asWanted && first && rows.Len <= max {
			return s.reader.shown(rows), nil
		}
		s.chunk = s.reader.chunk(&rows, 0, rows.Len)
		return batch.Columns{}, nil
	}
	if !s.ok {
		return batch.Columns{}, nil
	}
	v, err := s.it.ValueAndErr()
	if err != nil {
		return batch.Columns{}, err
	}
	s.chunk, err = parseChunk(append([]byte(nil), v...)) // the iterator uses its memory again
	s.ok = s.it.Next()
	return batch.Columns{}, err
}

// fileRows are further rows of the first file; none, when it is at its end and was taken away.
func (s *Scan) fileRows() (batch.Columns, error) {
	if s.reader == nil {
		f, from, to := s.files[0], s.from, s.to
		if !f.first.Less(from) && f.last.Less(to) {
			from, to = batch.Offset{}, batch.Offset{} // all of it
		}
		r, err := s.store.openFile(s.schema, f, s.ids, from, to, false)
		if err != nil {
			return batch.Columns{}, err
		}
		s.reader = r
	}
	rows, err := s.reader.rows()
	if err == nil && rows.Len == 0 {
		err = s.reader.close()
		s.reader, s.files = nil, s.files[1:]
	}
	return rows, err
}

// Close frees the scan.
func (s *Scan) Close() (err error) {
	if s.reader != nil {
		err = s.reader.close()
	}
	if s.it != nil {
		if e := s.it.Close(); err == nil {
			err = e
		}
	}
	return err
}
