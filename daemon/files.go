package daemon

import (
	"context"
	"path/filepath"
	"sync"

	"sluice/batch"
	"sluice/eval"
	"sluice/plan"
	"sluice/state"
)

// filesIn is the folder of files in a storage folder, as state.Options has it.
func filesIn(storage string) string { return filepath.Join(storage, "files") }

// spillFlows and spillQueries are where queries go on that do not fit in memory: a folder for each engine, since their files have the same names. DuckDB makes
// them when it needs them, in a folder that is there.
func spillFlows(storage string) string   { return filepath.Join(storage, "spill-flows") }
func spillQueries(storage string) string { return filepath.Join(storage, "spill") }

// rowGroup is how many bytes a file may take in an engine while it is written: DuckDB needs some times as much.
func rowGroup(m Memory) int64 { return min(8<<20, m.Engine/8) }

// Files reads the files of a stopped pipeline's store, with an engine that is opened when there is something to read.
func Files(p *plan.Pipeline) state.Sealer {
	return &files{sync.OnceValues(func() (*eval.Engine, error) {
		return eval.Open(eval.Options{Threads: 1, MemoryLimit: p.Settings.MemoryLimit / 4, Files: filesIn(p.Storage)})
	})}
}

type files struct {
	engine func() (*eval.Engine, error)
}

// WriteFile implements state.Sealer.
func (f *files) WriteFile(ctx context.Context, path string, fields []batch.Field, rowGroup int, next func() (batch.Columns, error)) error {
	e, err := f.engine()
	if err != nil {
		return err
	}
	return e.WriteFile(ctx, path, fields, rowGroup, next)
}

// ReadFile implements state.Sealer.
func (f *files) ReadFile(ctx context.Context, path string, fields []batch.Field, columns []int, from, to batch.Offset) (next func() (batch.Columns, error), end func() error, err error) {
	e, err := f.engine()
	if err != nil {
		return nil, nil, err
	}
	return e.ReadFile(ctx, path, fields, columns, from, to)
}
