package state

import (
	"context"
	"errors"

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
	slice     int // column whose equal values are kept together, or -1
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
func (t *Table) newFileWriter(s *schema, positions bool, slice int, next func() (batch.Columns, error)) *fileWriter {
	version := len(s.Versions) - 1
	return &fileWriter{t: t, schema: s, version: version, fields: s.fileFields(version, positions), positions: positions, slice: slice, next: next}
}

// write writes all rows and makes the files durable. After an error none is left.
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
	if len(w.written) == 0 {
		return nil
	}
	return w.t.store.files.settle(w.written)
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
	for _, f := range w.written {
		w.t.store.files.remove(f.id)
	}
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
	f := &tableFile{id: s.files.take(), fileRecord: fileRecord{schema: uint64(w.version)}}
	w.written = append(w.written, f)
	p := &piecing{fileWriter: w, file: f, stats: make([]statsOf, len(w.schema.Versions[w.version]))}
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
	file  *tableFile
	stats []statsOf
	done  bool
}

// piece returns the next rows of the file, none at its end.
func (p *piecing) piece() (batch.Columns, error) {
	if err := p.peek(); err != nil || p.end || p.done {
		return batch.Columns{}, err
	}
	rows := p.pending
	p.pending = batch.Columns{}
	if n := (rowGroup(&rows, p.t.store.o.RowGroup) + 63) &^ 63; n < rows.Len {
		rows, p.pending = part(&rows, 0, n), part(&rows, n, rows.Len)
	}
	if limit := p.t.store.o.FileSize; p.file.weight+weight(&rows) > limit && rows.Len > 1 {
		rows = p.cut(rows, int(max(1, int64(rows.Len)*(limit-p.file.weight)/weight(&rows))))
	}
	p.account(&rows)
	return rows, nil
}

// cut ends the file after about n of the rows, where one slice ends and another begins. Of rows all of one slice nothing is cut off, until
// the slice alone is too large for a file.
func (p *piecing) cut(rows batch.Columns, n int) batch.Columns {
	if n >= rows.Len {
		return rows
	}
	if p.slice >= 0 {
		c := []*batch.Column{&rows.Cols[p.slice]}
		before := batch.AppendKey(nil, c, n-1)
		for n < rows.Len && string(batch.AppendKey(nil, c, n)) == string(before) {
			n++
		}
		if n == rows.Len && p.file.weight < 2*p.t.store.o.FileSize {
			return rows
		}
	}
	p.done = true
	head, rest := make([]int32, n), make([]int32, rows.Len-n)
	for i := range rows.Len {
		if i < n {
			head[i] = int32(i)
		} else {
			rest[i-n] = int32(i)
		}
	}
	p.pending = joined(rows.Take(rest), p.pending)
	return rows.Take(head)
}

// joined are rows and those that follow.
func joined(rows, more batch.Columns) batch.Columns {
	if more.Len == 0 {
		return rows
	}
	out := batch.Columns{Fields: rows.Fields, Len: rows.Len + more.Len}
	for c := range rows.Cols {
		b := batch.NewBuilder(rows.Cols[c].Type, out.Len)
		for i := range rows.Len {
			b.AppendFrom(&rows.Cols[c], i)
		}
		for i := range more.Len {
			b.AppendFrom(&more.Cols[c], i)
		}
		out.Cols = append(out.Cols, b.Column())
	}
	return out
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
