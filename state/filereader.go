package state

import (
	"context"

	"sluice/batch"
)

// fileReader reads columns of a file, as they were written.
type fileReader struct {
	store     *Store
	schema    *schema
	file      *tableFile
	ids       []int // columns wanted
	at        []int // where each of them is in the file; -1: it came later
	as        []int // which of the columns that are read it is
	positions bool
	asWanted  bool // every column is in the file, with today's type
	want      []batch.Field
	next      func() (batch.Columns, error)
	end       func() error
}

// openFile reads the columns of the given numbers. Where from is not zero, rows have places, and those outside are left out.
func (s *Store) openFile(sch *schema, f *tableFile, ids []int, from, to batch.Offset, positions bool) (*fileReader, error) {
	r := &fileReader{store: s, schema: sch, file: f, ids: ids, positions: positions, asWanted: true}
	version := sch.Versions[f.schema]
	placed := f.first != (batch.Offset{})
	fields := sch.fileFields(int(f.schema), placed)
	var columns []int
	for _, id := range ids {
		at, field := -1, sch.field(id)
		for i, c := range version {
			if c.ID == id {
				at = i
				r.asWanted = r.asWanted && c.typ().Equal(field.Type)
			}
		}
		r.at, r.want, r.as = append(r.at, at), append(r.want, field), append(r.as, len(columns))
		if r.asWanted = r.asWanted && at >= 0; at >= 0 {
			columns = append(columns, at)
		}
	}
	if positions {
		columns = append(columns, len(fields)-2, len(fields)-1)
	}
	if s.o.Sealer == nil {
		return nil, s.corrupt("nothing reads the file %s", s.files.path(f.id))
	}
	var err error
	if r.next, r.end, err = s.o.Sealer.ReadFile(context.Background(), s.files.path(f.id), fields, columns, from, to); err != nil {
		return nil, s.unread(f.id, err)
	}
	return r, nil
}

// rows returns the next rows with the columns that are in the file, and their places behind.
func (r *fileReader) rows() (batch.Columns, error) {
	rows, err := r.next()
	if err != nil {
		return batch.Columns{}, r.store.unread(r.file.id, err)
	}
	return rows, nil
}

// shown are rows as the table shows them today, for a file that has them so.
func (r *fileReader) shown(rows batch.Columns) batch.Columns {
	rows.Fields = r.want
	rows.Cols = rows.Cols[:len(r.want):len(r.want)]
	return rows
}

// chunk makes rows from..to-1 a chunk, so that what chunks are for is done with them: columns that came later, wider types.
func (r *fileReader) chunk(rows *batch.Columns, from, to int) chunk {
	c := chunk{version: r.file.schema, rows: to - from, cols: make([][]byte, len(r.schema.Versions[r.file.schema]))}
	for i, at := range r.at {
		if at >= 0 {
			c.cols[at] = appendColumn(nil, &rows.Cols[r.as[i]], from, to)
		}
	}
	return c
}

func (r *fileReader) close() error {
	if r == nil {
		return nil
	}
	return r.end()
}
