package file

import (
	"path"
	"time"

	"sluice/batch"
	"sluice/fault"
	"sluice/format"
	"sluice/source"
)

// columns makes the columns of the rows. It has two sets of buffers and uses them in turn.
type columns struct {
	fields  []batch.Field
	reader  format.Reader
	decoded []int // of fields: those the decoder makes, in its order
	meta    []int // of fields: the others
	names   []string
	sets    [2]columnSet
	turn    int

	record int // of meta: RecordColumn, or -1

	now    described
	values [][]byte
	spans  []format.Span
}

// described is what _metadata says of the file being read.
type described struct {
	path, name string
	size, time int64
}

type columnSet struct {
	decoded, meta []batch.Builder
	pos           batch.Positions
}

func newColumns(want []source.Column, reader format.Reader) (*columns, error) {
	c := &columns{reader: reader, record: -1}
	for i, w := range want {
		c.fields = append(c.fields, w.Field)
		if w.Meta == "" {
			c.decoded = append(c.decoded, i)
			continue
		}
		if w.Meta == source.RecordColumn {
			c.record = len(c.meta)
		} else if !isMeta(w) {
			return nil, fault.New(fault.InternalError, "a file has no %s of type %s", w.Meta, w.Field.Type)
		}
		c.meta = append(c.meta, i)
		c.names = append(c.names, w.Meta)
	}
	if len(c.decoded) > 0 && reader.Decoder == nil {
		return nil, fault.New(fault.InternalError, "columns of records without a decoder")
	}
	c.forget()
	return c, nil
}

// forget gives up the buffers. Columns that were returned stay as they are.
func (c *columns) forget() {
	for i := range c.sets {
		c.sets[i] = c.newSet()
	}
	clear(c.values) // they keep what was read of files in memory
	if d, ok := c.reader.Decoder.(interface{ Forget() }); ok {
		d.Forget()
	}
}

func isMeta(w source.Column) bool {
	for _, f := range Meta() {
		if f.Name == w.Meta {
			return f.Type.Equal(w.Field.Type)
		}
	}
	return false
}

func (c *columns) newSet() columnSet {
	builders := func(of []int) []batch.Builder {
		out := make([]batch.Builder, len(of))
		for i, f := range of {
			out[i].Init(c.fields[f].Type, 0)
		}
		return out
	}
	return columnSet{decoded: builders(c.decoded), meta: builders(c.meta)}
}

// none is a batch without rows.
func (c *columns) none() batch.Columns {
	set := c.newSet()
	return c.output(&set, 0)
}

// begin returns the set whose columns nobody looks at any more, empty.
func (c *columns) begin() *columnSet {
	set := &c.sets[c.turn]
	c.turn = 1 - c.turn
	for i := range set.decoded {
		set.decoded[i].Reset()
	}
	for i := range set.meta {
		set.meta[i].Reset()
	}
	set.pos = batch.Positions{Split: set.pos.Split[:0], Offset: set.pos.Offset[:0], Index: set.pos.Index[:0]}
	return set
}

// row notes where a row comes from.
func (s *columnSet) row(split int32, offset int64) {
	s.pos.Split = append(s.pos.Split, split)
	s.pos.Offset = append(s.pos.Offset, offset)
	s.pos.Index = append(s.pos.Index, 0)
}

// file makes f the file that rows are of.
func (c *columns) file(f listed, dir string) {
	c.now = described{resolve(dir, f.path), path.Base(f.path), f.size, f.time}
	if c.reader.File != nil {
		c.reader.File(c.now.path)
	}
}

// describe brings the columns of _metadata to the given number of rows.
func (c *columns) describe(set *columnSet, rows int) {
	for i, name := range c.names {
		b := &set.meta[i]
		if i == c.record {
			continue // has its rows already
		}
		for b.Len() < rows {
			switch name {
			case "file_path":
				b.AppendString(c.now.path)
			case "file_name":
				b.AppendString(c.now.name)
			case "file_size":
				batch.Append(b, c.now.size)
			case "file_modification_time":
				batch.Append(b, time.Unix(0, c.now.time).UnixMicro())
			}
		}
	}
}

func (c *columns) output(set *columnSet, rows int) batch.Columns {
	out := batch.Columns{Fields: c.fields, Cols: make([]batch.Column, len(c.fields)), Len: rows, Pos: set.pos}
	for i, f := range c.decoded {
		out.Cols[f] = set.decoded[i].Column()
	}
	for i, f := range c.meta {
		out.Cols[f] = set.meta[i].Column()
	}
	return out
}
