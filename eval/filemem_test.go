package eval

import (
	"context"
	"path/filepath"
	"strings"
	"testing"

	"sluice/batch"
)

// A file is written and read within the memory that a daemon with the least memory gives an engine, however large it is (D-30).
func TestFilesWithinMemory(t *testing.T) {
	dir := t.TempDir()
	e, err := Open(Options{Threads: 1, MemoryLimit: 8 << 20, Files: dir, TempDir: filepath.Join(t.TempDir(), "spill")})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	fields := []batch.Field{field("a", bigint), field("t", str), field("l", batch.ArrayOf(str))}
	for _, width := range []int{20, 5000} {
		const pieces = 20
		n := 1 << 20 / width
		row := 0
		next := func() (batch.Columns, error) {
			if row == pieces*n {
				return batch.Columns{}, nil
			}
			a, text, list := batch.NewBuilder(bigint, n), batch.NewBuilder(str, n), batch.NewBuilder(batch.ArrayOf(str), n)
			for range n {
				a.AppendInt(int64(row))
				text.AppendString(strings.Repeat(string(rune('a'+row%26)), width))
				list.Child(0).AppendString(strings.Repeat("x", width/2))
				list.AppendNested()
				row++
			}
			return *columns(fields, a, text, list), nil
		}
		path := filepath.Join(dir, strings.Repeat("x", width%7+1)+".parquet")
		group := min(1<<20/(2*width+16), 122880) // a sixteenth
		if err := e.WriteFile(context.Background(), path, fields, group, next); err != nil {
			t.Fatalf("rows of %d bytes: %v", width, err)
		}
		if got := readAll(t, e, path, fields, []int{0, 1}, batch.Offset{}, batch.Offset{}); got.Len != pieces*n {
			t.Errorf("%d rows of %d", got.Len, pieces*n)
		}
	}
}
