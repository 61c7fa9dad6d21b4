package disk

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync/atomic"

	"github.com/cockroachdb/pebble/v2/vfs"

	"sluice/batch"
)

// Sealer writes and reads files of tables on the real disk, as eval does with DuckDB.
type Sealer interface {
	WriteFile(ctx context.Context, path string, fields []batch.Field, rowGroup int, next func() (batch.Columns, error)) error
	ReadFile(ctx context.Context, path string, fields []batch.Field, columns []int, from, to batch.Offset) (next func() (batch.Columns, error), end func() error, err error)
}

// Mirror is a Sealer whose files lie on another disk than the real one, so that a power failure cuts them in the same moment as everything
// else there: what the Sealer has written is copied there block by block and not synced, and what it is to read is copied back.
type Mirror struct {
	fs     vfs.FS
	sealer Sealer
	dir    string // where the Sealer finds its copies
}

// NewMirror mirrors files that a Sealer has in a folder of the real disk.
func NewMirror(fs vfs.FS, s Sealer, dir string) *Mirror { return &Mirror{fs, s, dir} }

var copies atomic.Uint64 // names of them are never used twice

func (m *Mirror) name() string {
	return filepath.Join(m.dir, fmt.Sprintf("%d.parquet", copies.Add(1)))
}

// blocks is how many writes a file takes.
const blocks = 3

// WriteFile implements Sealer.
func (m *Mirror) WriteFile(ctx context.Context, path string, fields []batch.Field, rowGroup int, next func() (batch.Columns, error)) error {
	name := m.name()
	defer os.Remove(name)
	if err := m.sealer.WriteFile(ctx, name, fields, rowGroup, next); err != nil {
		return err
	}
	b, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	f, err := m.fs.Create(path, vfs.WriteCategoryUnspecified)
	if err != nil {
		return err
	}
	for i := range blocks {
		if _, err = f.Write(b[len(b)*i/blocks : len(b)*(i+1)/blocks]); err != nil {
			break
		}
	}
	if e := f.Close(); err == nil {
		err = e
	}
	return err
}

// ReadFile implements Sealer.
func (m *Mirror) ReadFile(ctx context.Context, path string, fields []batch.Field, columns []int, from, to batch.Offset) (next func() (batch.Columns, error), end func() error, err error) {
	f, err := m.fs.Open(path)
	if err != nil {
		return nil, nil, err
	}
	b, err := io.ReadAll(f)
	if e := f.Close(); err == nil {
		err = e
	}
	if err != nil {
		return nil, nil, err
	}
	name := m.name()
	if err := os.WriteFile(name, b, 0o600); err != nil {
		return nil, nil, err
	}
	next, close, err := m.sealer.ReadFile(ctx, name, fields, columns, from, to)
	if err != nil {
		return nil, nil, err
	}
	return next, func() error {
		defer os.Remove(name)
		return close()
	}, nil
}
