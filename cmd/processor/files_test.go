package main

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sluice/batch"
	"sluice/catalog"
	"sluice/daemon"
	"sluice/eval"
	"sluice/plan"
	"sluice/state"
)

// On a real disk, in a folder whose name means something to globs and to SQL: a tail becomes a file, the store is closed, and whoever looks
// at the stopped store reads the rows.
func TestFilesOfAStoppedStoreAreRead(t *testing.T) {
	p := &plan.Pipeline{Name: "p", Storage: filepath.Join(t.TempDir(), "it's [a] *storage*")}
	p.Settings.MemoryLimit = catalog.LeastMemory
	budget := daemon.MemoryOf(p)
	engine, err := eval.Open(eval.Options{Threads: 1, MemoryLimit: budget.Engine, Files: filepath.Join(p.Storage, "files"), TempDir: filepath.Join(p.Storage, "spill")})
	if err != nil {
		t.Fatal(err)
	}
	defer engine.Close()
	s, err := state.Open(state.Options{Dir: p.Storage, Pipeline: p.Name, Sealer: engine, RowGroup: budget.Engine / 8})
	if err != nil {
		t.Fatal(err)
	}
	fields := []batch.Field{{Name: "id", Type: batch.Of(batch.BigInt)}, {Name: "text", Type: batch.Of(batch.String)}}
	table, err := s.Table(state.TableSpec{Name: "a.b.t", Fields: fields})
	if err != nil {
		t.Fatal(err)
	}
	f, err := s.Flow("f")
	if err != nil {
		t.Fatal(err)
	}
	const commits, rows = 20, 5000
	for n := range commits {
		id, text := batch.NewBuilder(fields[0].Type, rows), batch.NewBuilder(fields[1].Type, rows)
		for i := range rows {
			id.AppendInt(int64(n*rows + i))
			text.AppendString(strings.Repeat("x", 300))
		}
		w, err := table.Begin(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		if err := w.Append(&batch.Columns{Fields: fields, Cols: []batch.Column{id.Column(), text.Column()}, Len: rows}); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Commit(f, state.Advance{}); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Seal(context.Background()); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if files, err := os.ReadDir(filepath.Join(p.Storage, "files")); err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	s, err = state.Open(state.Options{Dir: p.Storage, Pipeline: p.Name, ReadOnly: true, Sealer: daemon.Files(p)})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	result, err := daemon.Query(context.Background(), s, engine, engine, "UTC", "SELECT count(*), sum(id), min(length(text)) FROM t")
	if err != nil {
		t.Fatal(err)
	}
	defer result.Close()
	lines, _, err := result.Next(context.Background())
	if err != nil && err != io.EOF || strings.TrimSpace(string(lines)) != "[100000,4999950000,300]" {
		t.Errorf("%s %v", lines, err)
	}
}
