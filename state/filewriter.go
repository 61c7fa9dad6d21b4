package state

import (
	"bytes"
	"context"
	"errors"
	"sort"

	"sluice/batch"
	"sluice/fault"
)

// fileWriter writes rows that stream by to files, none of which is much larger than Options.FileSize in memory.
type fileWriter struct {
	t         *Table
	schema    *schema
	version   int           // of the schema
	fields    []batch.Field // of the file: the columns of the version, then for an append table the places of rows
	positions bool
	slicing   *slicing // how rows are laid, nil where they come as they are
	ends      ends     // where files end besides
	next      func() (batch.Columns, error)

	pending batch.Columns // the next rows
	end     bool
	reading error // why the rows broke off
	written []*tableFile
}

// Names of the columns that hold the place of a row, for people who look into a file.
const (
	commitColumn  = "_commit"
	ordinalColumn = "_ordinal"
)

// fileFields are the columns of files of a schema version.
func (s *schema) fileFields(version int, positions bool) []batch.Field {
	var out []batch.Field
	for _, f := range s.Versions[version] {
		out = append(out, batch.Field{Name: s.Columns[f.ID].Name, Type: f.typ()})
	}
	if positions {
		out = append(out, batch.Field{Name: s.unused(commitColumn), Type: batch.Of(batch.BigInt)}, batch.Field{Name: s.unused(ordinalColumn), Type: batch.Of(batch.Int)})
	}
	return out
}

// unused is a name that no column has.
func (s *schema) unused(name string) string {
	for s.find(name) >= 0 {
		name += "_"
	}
	return name
}

// newFileWriter writes what next brings: the columns of the latest schema version, then for an append table places.
func (t *Table) newFileWriter(s *schema, positions bool, next func() (batch.Columns, error)) *fileWriter {
	version := len(s.Versions) - 1
	return &fileWriter{t: t, schema: s, version: version, fields: s.fileFields(version, positions), positions: positions, next: next}
}

// write writes all rows. The files are not durable yet (folder.settle). After an error none is left.
func (w *fileWriter) write(ctx context.Context) (err error) {
	if w.t.store.o.Sealer == nil {
		return fault.New(fault.InternalError, "nothing writes the files of table %s", w.t.name)
	}
	defer func() {
		if err != nil {
			w.abandon()
			err = w.coded(err)
		}
	}()
	for {
		if err := w.peek(); err != nil {
			return err
		}
		if w.end {
			break
		}
		if err := w.one(ctx); err != nil {
			return err
		}
	}
	return nil
}

// coded is an error of the disk with a code. It does not end the store: what was to be written is still where it was.
func (w *fileWriter) coded(err error) error {
	var known *fault.Error
	if errors.As(err, &known) || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) || w.reading != nil {
		return err
	}
	return w.t.store.failed(err)
}

// abandon deletes what was written.
func (w *fileWriter) abandon() {
	w.t.store.files.removeAll(w.written)
	w.written = nil
}

// peek has the next rows in pending.
func (w *fileWriter) peek() (err error) {
	if w.pending.Len == 0 && !w.end {
		w.pending, err = w.next()
		w.reading, w.end = err, w.pending.Len == 0
	}
	return err
}

// one writes one file.
func (w *fileWriter) one(ctx context.Context) error {
	s := w.t.store
	f := &tableFile{id: s.files.take(), fileRecord: fileRecord{schema: uint64(w.version), summed: !w.positions}}
	w.written = append(w.written, f)
	p := &piecing{fileWriter: w, file: f, sum: summing{version: w.version}, stats: make([]statsOf, len(w.schema.Versions[w.version]))}
	for i := range p.stats {
		p.stats[i] = newStats(w.fields[i].Type)
	}
	if err := s.o.Sealer.WriteFile(ctx, s.files.path(f.id), w.fields, rowGroup(&w.pending, s.o.RowGroup), p.piece); err != nil {
		return err
	}
	for i := range p.stats {
		f.columns = append(f.columns, p.stats[i].done())
	}
	return nil
}

// rowGroupMost is how many rows a row group has at most.
const rowGroupMost = 122_880

// rowGroup is how many rows like the given ones take so many bytes in memory, at least one.
func rowGroup(rows *batch.Columns, bytes int64) int {
	each := max(1, weight(rows)/int64(rows.Len))
	return int(min(max(bytes/each, 1), rowGroupMost))
}

// weight is what rows take in memory, about.
func weight(rows *batch.Columns) (n int64) {
	for i := range rows.Cols {
		n += int64(columnBytes(&rows.Cols[i], 0, rows.Len))
	}
	return n
}

// piecing brings the pieces of one file.
type piecing struct {
	*fileWriter
	file   *tableFile
	stats  []statsOf
	region int    // between ends, of all its rows
	last   []byte // the slice of the last row
	key    []byte
	sum    summing
}

// piece returns the next rows of the file, none at its end.
func (p *piecing) piece() (batch.Columns, error) {
	if err := p.peek(); err != nil || p.end {
		return batch.Columns{}, err
	}
	rows := p.pending
	n := p.room(&rows)
	if n == 0 {
		return batch.Columns{}, nil
	}
	if most := (rowGroup(&rows, p.t.store.o.RowGroup) + 63) &^ 63; n > most {
		n = most
	}
	if p.pending = (batch.Columns{}); n < rows.Len {
		p.pending = behind(&rows, n)
		rows = part(&rows, 0, n)
	}
	p.account(&rows)
	return rows, nil
}

// room is how many of the rows belong to the file, none when it ends in front of them.
func (p *piecing) room(rows *batch.Columns) int {
	n := rows.Len
	if len(p.ends) > 0 {
		if p.file.rows == 0 {
			p.region = p.regionOf(rows, 0)
		}
		n = sort.Search(n, func(i int) bool { return p.regionOf(rows, i) != p.region })
	}
	all := weight(rows)
	if p.slicing == nil {
		return p.fitting(rows, all, 0, n, p.t.store.o.FileSize)
	}
	if p.file.weight+all*int64(n)/int64(rows.Len) <= p.t.store.o.SliceSize {
		return n
	}
	cut := p.fitting(rows, all, 0, n, p.t.store.o.SliceSize)
	if cut > 0 {
		p.last = p.slicing.slice(p.last[:0], rows, cut-1)
	}
	end := cut + sort.Search(n-cut, func(i int) bool {
		p.key = p.slicing.slice(p.key[:0], rows, cut+i)
		return !bytes.Equal(p.key, p.last)
	})
	return p.fitting(rows, all, cut, end, p.t.store.o.FileSize)
}

// fitting is how many rows of that weight in all the file takes until it has a size, at least some and at most others. An empty file takes one.
func (p *piecing) fitting(rows *batch.Columns, all int64, least, most int, size int64) int {
	fits := int64(rows.Len) * (size - p.file.weight) / max(all, 1)
	if p.file.rows == 0 {
		fits = max(fits, 1)
	}
	return int(min(max(fits, int64(least)), int64(most)))
}

func (p *piecing) regionOf(rows *batch.Columns, i int) int {
	p.key = p.slicing.value(p.key[:0], rows, i)
	return p.ends.region(p.key)
}

// behind are the rows from n on. They are copied where they cannot stay in their memory.
func behind(rows *batch.Columns, n int) batch.Columns {
	if n%64 == 0 {
		return part(rows, n, rows.Len)
	}
	rest := make([]int32, rows.Len-n)
	for i := range rest {
		rest[i] = int32(n + i)
	}
	return rows.Take(rest)
}

// part are the rows from..to-1, in the same memory; from is a multiple of 64.
func part(rows *batch.Columns, from, to int) batch.Columns {
	out := batch.Columns{Fields: rows.Fields, Len: to - from, Cols: make([]batch.Column, len(rows.Cols))}
	for i := range rows.Cols {
		out.Cols[i] = partOf(&rows.Cols[i], from, to)
	}
	return out
}

func partOf(c *batch.Column, from, to int) batch.Column {
	out := *c
	out.Len = to - from
	if c.Valid != nil {
		out.Valid = c.Valid[from/64:]
	}
	switch w := c.Type.Width(); {
	case w > 0:
		out.Fixed = c.Fixed[from*w : to*w]
	case c.Type.Kind == batch.Struct:
		out.Children = make([]batch.Column, len(c.Children))
		for f := range c.Children {
			out.Children[f] = partOf(&c.Children[f], from, to)
		}
	default: // texts and elements stay where they are
		out.Offsets = c.Offsets[from : to+1]
	}
	return out
}

// account counts rows in.
func (p *piecing) account(rows *batch.Columns) {
	f := p.file
	for i := range p.stats {
		p.stats[i].add(&rows.Cols[i])
	}
	if !p.positions {
		p.sum.add(rows)
		f.sum = p.sum.sum
	}
	if p.slicing != nil && rows.Len > 0 {
		p.last = p.slicing.slice(p.last[:0], rows, rows.Len-1)
	}
	if p.positions {
		if f.rows == 0 {
			f.first = placeOf(rows, 0)
		}
		f.last = placeOf(rows, rows.Len-1)
	}
	f.rows += int64(rows.Len)
	f.weight += weight(rows)
}

// placeOf is the place of a row that has it in its last two columns.
func placeOf(rows *batch.Columns, i int) batch.Offset {
	n := len(rows.Cols)
	return batch.Offset{At: batch.Values[int64](&rows.Cols[n-2])[i], Index: batch.Values[int32](&rows.Cols[n-1])[i]}
}
