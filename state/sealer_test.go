package state

import (
	"context"
	"encoding/binary"
	"io"

	"github.com/cockroachdb/pebble/v2/vfs"

	"sluice/batch"
)

// plainSealer writes files as chunks behind one another, on a disk that may fail, without syncing them: what eval does with DuckDB.
type plainSealer struct{ fs vfs.FS }

// sealed gives a store the means to have files.
func sealed(size int64) func(*Options) {
	return func(o *Options) { o.Sealer, o.FileSize = plainSealer{o.FS}, size }
}

func (p plainSealer) WriteFile(ctx context.Context, path string, _ []batch.Field, _ int, next func() (batch.Columns, error)) error {
	f, err := p.fs.Create(path, vfs.WriteCategoryUnspecified)
	if err != nil {
		return err
	}
	defer f.Close()
	for {
		rows, err := next()
		if err != nil || rows.Len == 0 {
			return err
		}
		set := rowSet{}
		for i := range rows.Cols {
			set.cols = append(set.cols, &rows.Cols[i])
		}
		chunk := appendChunk(make([]byte, 4), &set, 0, rows.Len)
		binary.LittleEndian.PutUint32(chunk, uint32(len(chunk)-4))
		if _, err := f.Write(chunk); err != nil {
			return err
		}
		if err := ctx.Err(); err != nil {
			return err
		}
	}
}

func (p plainSealer) ReadFile(_ context.Context, path string, fields []batch.Field, columns []int, from, to batch.Offset) (next func() (batch.Columns, error), end func() error, err error) {
	f, err := p.fs.Open(path)
	if err != nil {
		return nil, nil, err
	}
	next = func() (batch.Columns, error) {
		for {
			rows, err := readPlain(f, fields)
			if err != nil || rows.Len == 0 {
				return rows, err
			}
			if rows = within(rows, from, to); rows.Len > 0 {
				return chosen(rows, columns), nil
			}
		}
	}
	return next, f.Close, nil
}

// readPlain reads the next chunk of a file.
func readPlain(f io.Reader, fields []batch.Field) (batch.Columns, error) {
	var size [4]byte
	if _, err := io.ReadFull(f, size[:]); err == io.EOF {
		return batch.Columns{}, nil
	} else if err != nil {
		return batch.Columns{}, err
	}
	b := make([]byte, binary.LittleEndian.Uint32(size[:]))
	if _, err := io.ReadFull(f, b); err != nil {
		return batch.Columns{}, err
	}
	c, err := parseChunk(b)
	if err != nil {
		return batch.Columns{}, err
	}
	out := batch.Columns{Fields: fields, Len: c.rows}
	for i, field := range fields {
		var into columnBuffer
		into.init(field.Type)
		r := reader{b: c.cols[i]}
		into.read(&r, c.rows, 0, c.rows)
		if err := r.done(); err != nil {
			return out, err
		}
		out.Cols = append(out.Cols, into.Column)
	}
	return out, nil
}

// within are the rows from a place up to another one.
func within(rows batch.Columns, from, to batch.Offset) batch.Columns {
	if from == (batch.Offset{}) {
		return rows
	}
	var index []int32
	for i := range rows.Len {
		if at := placeOf(&rows, i); !at.Less(from) && at.Less(to) {
			index = append(index, int32(i))
		}
	}
	return rows.Take(index)
}

func chosen(rows batch.Columns, columns []int) batch.Columns {
	out := batch.Columns{Len: rows.Len}
	for _, c := range columns {
		out.Fields, out.Cols = append(out.Fields, rows.Fields[c]), append(out.Cols, rows.Cols[c])
	}
	return out
}
