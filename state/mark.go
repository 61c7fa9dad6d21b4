package state

import (
	"bytes"
	"encoding/binary"

	"github.com/cockroachdb/pebble/v2"

	"sluice/batch"
)

// A mark says which rows of a table with windows a statement has changed from outside of its flow, by the least and the greatest value of each
// column. It stays until an update of the flow takes notice of it (Swap.Seen), or the table is reset (DM-04, DM-05).

// maxMarks is how many marks a table has at most. Then they become one, which says of each column what all of them say.
const maxMarks = 64

// marking gathers a mark.
type marking struct {
	stats []statsOf
	rows  int64
}

// add takes in rows that a statement takes away or brings.
func (m *marking) add(schema *schema, cols []*batch.Column, rows int) {
	if m.stats == nil {
		for _, f := range schema.latest() {
			m.stats = append(m.stats, newStats(f.typ()))
		}
	}
	for i, c := range cols {
		m.stats[i].add(c)
	}
	m.rows += int64(rows)
}

// putMark writes the mark of a version.
func (t *Table) putMark(b *pebble.Batch, m *marking, version int64) error {
	if m == nil || m.rows == 0 {
		return nil
	}
	f := fileRecord{schema: uint64(len(t.record.Schema.Versions) - 1), rows: m.rows, added: version}
	for i := range m.stats {
		f.columns = append(f.columns, m.stats[i].done())
	}
	return t.keepMark(b, &f)
}

// keepMark writes a mark.
func (t *Table) keepMark(b *pebble.Batch, f *fileRecord) error {
	marks, err := t.store.marks(t.store.db, t.record.Instance)
	if err != nil {
		return err
	}
	if len(marks) >= maxMarks {
		for _, old := range marks {
			f.join(old)
			must(b.Delete(markKey(t.record.Instance, old.added), nil))
		}
	}
	must(b.Set(markKey(t.record.Instance, f.added), f.encode(), nil))
	return nil
}

// join adds what another mark says. Columns that it does not know, or knows under another schema, are not known any more.
func (f *fileRecord) join(other *fileRecord) {
	f.rows += other.rows
	for i := range f.columns {
		c := &f.columns[i]
		if other.schema != f.schema {
			*c = ColumnStats{Nulls: c.Nulls}
			continue
		}
		o := other.columns[i]
		c.Known, c.NaN, c.Nulls = c.Known && o.Known, c.NaN || o.NaN, c.Nulls+o.Nulls
		if c.Min == nil || o.Min != nil && bytes.Compare(o.Min, c.Min) < 0 {
			c.Min = o.Min
		}
		if bytes.Compare(o.Max, c.Max) > 0 {
			c.Max = o.Max
		}
	}
}

func (s *Store) marks(r pebble.Reader, instance uint32) (out []*fileRecord, err error) {
	err = s.eachOf(r, idKey(kindMark, instance), func(rest, v []byte) error {
		f, err := decodeFile(v)
		if err != nil || len(rest) != 8 || f.added != int64(binary.BigEndian.Uint64(rest)) {
			return errShort
		}
		out = append(out, &f)
		return nil
	})
	return out, err
}

// Marks are what statements have changed in a table from outside since updates of its flow have taken notice: of each, Added is its version
// and Columns say which values the rows had before and have since.
func (s *Snapshot) Marks(table string) (out []FileInfo, err error) {
	r, err := s.record(table)
	if err != nil || r == nil {
		return nil, err
	}
	marks, err := s.store.marks(s.db, r.Instance)
	for _, m := range marks {
		out = append(out, (&tableFile{fileRecord: *m}).info(&r.Schema))
	}
	return out, err
}
