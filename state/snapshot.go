package state

import (
	"github.com/cockroachdb/pebble/v2"

	"sluice/batch"
	"sluice/fault"
)

// Snapshot shows all tables as of one moment. It holds back compaction, so it should be short-lived. It may be used by
// several goroutines; its Scans by one each.
type Snapshot struct {
	store *Store
	db    *pebble.Snapshot
}

// Snapshot takes one.
func (s *Store) Snapshot() *Snapshot { return &Snapshot{s, s.db.NewSnapshot()} }

// Close frees the snapshot. Scans must be closed before.
func (s *Snapshot) Close() error { return s.db.Close() }

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
// of their positions; an append table comes in the order of its commits.
func (s *Snapshot) Scan(name string, columns []string, part, parts int) (*Scan, error) {
	r, err := s.record(name)
	if err != nil {
		return nil, err
	}
	if r == nil {
		return nil, fault.New(fault.InternalError, "there is no table %s", name)
	}
	ids, err := r.Schema.resolve(name, columns)
	if err != nil {
		return nil, err
	}
	scan := &Scan{store: s.store, schema: &r.Schema, ids: ids}
	from, to := shardKey(kindRows, r.Instance, shards*part/parts), shardKey(kindRows, r.Instance, shards*(part+1)/parts)
	if r.Keyed {
		scan.rows = newRowDecoder(&r.Schema, ids)
	} else if from, to, err = s.commits(r.Instance, part, parts); err != nil {
		return nil, err
	}
	if scan.it, err = s.db.NewIter(&pebble.IterOptions{LowerBound: from, UpperBound: to}); err != nil {
		return nil, s.store.readFailed(err)
	}
	scan.ok = scan.it.First()
	return scan, nil
}

// commits bounds the chunks of a part of an append table, cut so that each has about as many commits.
func (s *Snapshot) commits(instance uint32, part, parts int) (from, to []byte, err error) {
	v, err := s.store.tableVersion(s.db, instance)
	if err != nil {
		return nil, nil, err
	}
	trimmed, err := s.store.trimOf(s.db, instance)
	if err != nil {
		return nil, nil, err
	}
	first := max(1, trimmed.first)
	n := v.version + 1 - first
	bound := func(part int) []byte {
		return chunkKey(kindAppends, instance, batch.Offset{At: first + n*int64(part)/int64(parts)})
	}
	return bound(part), bound(part + 1), nil
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
	if err == nil {
		err = s.it.Error()
	}
	if err != nil {
		return batch.Columns{}, s.store.readFailed(err)
	}
	return out, nil
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
			if !s.ok {
				break
			}
			if err := s.load(); err != nil {
				return batch.Columns{}, err
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

// load takes the chunk the iterator stands at and moves on. The chunk is copied, since the iterator reuses its memory.
func (s *Scan) load() error {
	v, err := s.it.ValueAndErr()
	if err != nil {
		return err
	}
	s.chunk, err = parseChunk(append([]byte(nil), v...))
	s.taken = 0
	s.ok = s.it.Next()
	return err
}

// Close frees the scan.
func (s *Scan) Close() error { return s.it.Close() }
