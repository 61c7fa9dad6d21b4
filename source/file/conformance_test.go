package file

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sluice/batch"
	"sluice/fault"
	"sluice/format"
	"sluice/format/csv"
	"sluice/format/json"
	"sluice/format/raw"
	"sluice/option"
	"sluice/source"
	"sluice/source/sourcetest"
)

// read makes a source over dir. Options are name=value; format is one of them.
func read(t testing.TB, dir string, stream bool, schema []batch.Field, columns []source.Column, mode batch.Mode, options ...string) (*Source, error) {
	t.Helper()
	kind := "json"
	given := []option.Given{}
	for _, o := range options {
		name, value, _ := strings.Cut(o, "=")
		if name == "format" {
			kind = value
			continue
		}
		given = append(given, option.Given{Name: name, Value: value})
	}
	open, set := json.Open, json.ReadOptions()
	switch kind {
	case "csv":
		open, set = csv.Open, csv.ReadOptions()
	case "raw":
		open, set = raw.Open, raw.ReadOptions()
	}
	values, problems := append(Options(), set...).Parse("read_files", given, fault.Pos{})
	if err := problems.Err(); err != nil {
		return nil, err
	}
	r := format.Reading{Schema: schema, Mode: mode, Options: values}
	for _, c := range columns {
		if c.Meta == "" {
			r.Columns = append(r.Columns, c.Field)
		}
	}
	reader, err := open(r)
	if err != nil {
		return nil, err
	}
	return New(Config{Options: values, Dir: dir, Stream: stream, Columns: columns, Reader: reader})
}

// write puts a file where nobody looks and renames it into place.
func write(t testing.TB, name, text string) {
	t.Helper()
	hidden := filepath.Join(filepath.Dir(name), "."+filepath.Base(name))
	if err := os.WriteFile(hidden, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(hidden, name); err != nil {
		t.Fatal(err)
	}
}

// folder is an input of the suite: each Append is a new file, renamed into place as writers must do.
type folder struct {
	dir     string
	written int
}

func (f *folder) Append(t *testing.T, part int, values ...string) {
	f.written++
	write(t, filepath.Join(f.dir, "in", fmt.Sprintf("%d-%03d.data", part, f.written)), strings.Join(values, "\n")+"\n")
}

func (f *folder) Open(t *testing.T, mode batch.Mode) source.Source {
	s, err := read(t, f.dir, true, nil, sourcetest.Columns(), mode, "path=in", "pollInterval=5ms")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestConformance(t *testing.T) {
	sourcetest.Run(t, sourcetest.Kind{New: func(t *testing.T) sourcetest.Input {
		f := &folder{dir: t.TempDir()}
		if err := os.Mkdir(filepath.Join(f.dir, "in"), 0o755); err != nil {
			t.Fatal(err)
		}
		return f
	}})
}
