package file

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"sluice/batch"
	"sluice/fault"
	"sluice/format/csv"
	"sluice/format/formattest"
	"sluice/format/json"
	"sluice/format/parquet/parquettest"
	"sluice/option"
	"sluice/sink"
	"sluice/sink/sinktest"
)

func open(t testing.TB, dir string, fields []batch.Field, options ...string) (*Sink, error) {
	t.Helper()
	var given []option.Given
	for _, o := range options {
		name, value, _ := strings.Cut(o, "=")
		given = append(given, option.Given{Name: name, Value: value})
	}
	v, problems := Options().Parse("sink format file", given, fault.Pos{})
	if err := problems.Err(); err != nil {
		t.Fatal(err)
	}
	return New(Config{Options: v, Dir: dir, Pipeline: "conformance", Flow: "publish", Fields: fields})
}

type target struct {
	dir     string
	format  string
	fields  []batch.Field
	options []string
}

func (f *target) Open(t *testing.T) sink.Sink {
	s, err := open(t, f.dir, f.fields, append(f.options, "path=a/b", "format="+f.format)...)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// Break takes the folder away.
func (f *target) Break(t *testing.T) func() {
	name := filepath.Join(f.dir, "a", "b")
	if err := os.Rename(name, name+".away"); err != nil {
		t.Fatal(err)
	}
	return func() {
		if err := os.Rename(name+".away", name); err != nil {
			t.Fatal(err)
		}
	}
}

func (f *target) Read(t *testing.T, feed bool) batch.Columns {
	fields := f.fields
	if feed {
		fields = sink.FieldsWithChange(fields)
	}
	built := formattest.Builders(fields, 0)
	for _, name := range names(t, filepath.Join(f.dir, "a", "b")) {
		data, err := os.ReadFile(filepath.Join(f.dir, "a", "b", name))
		if err != nil {
			t.Fatal(err)
		}
		rows := f.decode(t, data, fields)
		for c := range rows.Cols {
			for i := range rows.Len {
				built[c].AppendFrom(&rows.Cols[c], i)
			}
		}
	}
	return formattest.Columns(t, fields, built)
}

func (f *target) decode(t *testing.T, data []byte, fields []batch.Field) batch.Columns {
	if f.format == "parquet" {
		return parquettest.Read(t, data, fields)
	}
	if f.format == "csv" {
		return f.decodeCSV(t, data, fields)
	}
	d, err := json.NewDecoder(json.Options{Fields: fields, CorruptRecord: -1, NumbersAsStrings: true})
	if err != nil {
		t.Fatal(err)
	}
	built := formattest.Builders(fields, 0)
	if lines := bytes.Split(data, []byte("\n")); len(lines) > 1 {
		if bad := d.Decode(lines[:len(lines)-1], built); len(bad) > 0 {
			t.Fatal(bad[0].Err)
		}
	}
	return formattest.Columns(t, fields, built)
}

func (f *target) decodeCSV(t *testing.T, data []byte, fields []batch.Field) batch.Columns {
	d, err := csv.NewDecoder(csv.Options{Dialect: csv.RFC4180, Fields: fields, Header: true, CorruptRecord: -1})
	if err != nil {
		t.Fatal(err)
	}
	spans, _, err := csv.NewSplitter(csv.RFC4180).Split(data, true, 1<<20, nil)
	if err != nil || len(spans) == 0 {
		t.Fatal("no header", err)
	}
	var records [][]byte
	for _, s := range spans {
		records = append(records, data[s.Start:s.End])
	}
	if err := d.Header(records[0]); err != nil {
		t.Fatal(err)
	}
	built := formattest.Builders(fields, 0)
	if bad := d.Decode(records[1:], built); len(bad) > 0 {
		t.Fatal(bad[0].Err)
	}
	return formattest.Columns(t, fields, built)
}

func names(t *testing.T, folder string) (out []string) {
	t.Helper()
	entries, err := os.ReadDir(folder)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	for _, e := range entries {
		out = append(out, e.Name())
	}
	return out
}

func TestConformance(t *testing.T) {
	types := map[string]func(batch.Field) bool{"csv": func(f batch.Field) bool { return !f.Type.IsNested() && f.Type.Kind != batch.Variant }}
	for format, options := range map[string][]string{"json": nil, "parquet": nil, "csv": {"header=true"}} {
		t.Run(format, func(t *testing.T) {
			sinktest.Run(t, sinktest.Kind{OnceOnly: true, Feed: true, Types: types[format], New: func(t *testing.T, fields []batch.Field) sinktest.Target {
				return &target{t.TempDir(), format, fields, options}
			}})
		})
	}
}

func rowsOf(t testing.TB, ids ...int64) batch.Columns {
	fields, _ := formattest.Fields(t, "id BIGINT")
	built := formattest.Builders(fields, 0)
	for _, id := range ids {
		built[0].AppendInt(id)
	}
	return formattest.Columns(t, fields, built)
}

// TestNamesSortAsBatchesCome shows the names, and that an empty batch is a file too.
func TestNamesSortAsBatchesCome(t *testing.T) {
	dir := t.TempDir()
	rows := rowsOf(t, 1)
	s, err := open(t, dir, rows.Fields, "path=out")
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Open(t.Context(), batch.ID{}, false); err != nil {
		t.Fatal(err)
	}
	for _, id := range []batch.ID{sinktest.ID(0, 9), sinktest.ID(0, 10), sinktest.ID(1, 0)} {
		if id.Generation == 1 {
			rows = rowsOf(t)
		}
		if err := s.Write(t.Context(), id, sink.Rows{Columns: rows}); err != nil {
			t.Fatal(err)
		}
	}
	want := []string{"conformance.publish.0000000000.0000000009.json", "conformance.publish.0000000000.0000000010.json", "conformance.publish.0000000001.0000000000.json"}
	if got := names(t, filepath.Join(dir, "out")); !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if data, err := os.ReadFile(filepath.Join(dir, "out", want[2])); err != nil || len(data) != 0 {
		t.Errorf("the empty batch is %q, %v", data, err)
	}
}

// TestALeftOverOfThisFlowIsRemoved keeps other files, and those of other flows.
func TestALeftOverOfThisFlowIsRemoved(t *testing.T) {
	dir := t.TempDir()
	keep := []string{".conformance.other.0000000000.0000000000.json.tmp", "conformance.publish.0000000000.0000000000.json", "mine.txt"}
	for _, name := range append(keep, ".conformance.publish.0000000000.0000000001.json.tmp") {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	s, err := open(t, "/", nil, "path="+dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Open(t.Context(), batch.ID{}, false); err != nil {
		t.Fatal(err)
	}
	if got := names(t, dir); !slices.Equal(got, keep) {
		t.Errorf("got %v, want %v", got, keep)
	}
}

// TestAFailedWriteLeavesNothing is a value that has no form, in the second of two rows.
func TestAFailedWriteLeavesNothing(t *testing.T) {
	dir := t.TempDir()
	fields, _ := formattest.Fields(t, "s STRING")
	built := formattest.Builders(fields, 0)
	built[0].AppendString("fine")
	built[0].AppendString("\xff")
	s, err := open(t, dir, fields, "path=.")
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Open(t.Context(), batch.ID{}, false); err != nil {
		t.Fatal(err)
	}
	if err := s.Write(t.Context(), sinktest.ID(0, 0), sink.Rows{Columns: formattest.Columns(t, fields, built)}); !fault.Of(err, fault.CannotEncode) {
		t.Errorf("got %v", err)
	}
	if got := names(t, dir); len(got) > 0 {
		t.Errorf("there is %v", got)
	}
}

func TestOptionsThatMakeNoSense(t *testing.T) {
	for _, options := range [][]string{{"path=x", "compression=zstd"}, {"path=x", "format=parquet", "bigint_as_text=true"}, {"path=x", "header=true"}, {"path=x", "format=text", "sep=;"},
		{"path=x", "format=csv", "sep=;", "quote=;"}, {"path=x", "format=csv", "lineSep=ab"}, {"path=x", "format=csv", "nullValue=a,b"}, {"path=x", "format=csv", "emptyValue=\""},
		{"path=x", "format=csv", "dateFormat=HH"}, {"path=x", "format=csv", "bigint_as_text=true"}} {
		if _, err := open(t, "", nil, options...); !fault.Of(err, fault.InvalidOption) {
			t.Errorf("%v: %v", options, err)
		}
	}
	fields, _ := formattest.Fields(t, "a STRUCT<>")
	if _, err := open(t, "", fields, "path=x", "format=parquet"); !fault.Of(err, fault.UnsupportedTypes) {
		t.Errorf("a column that Parquet cannot hold: %v", err)
	}
	for _, ddl := range []string{"a STRUCT<>", "a INT, b STRING", "a INT"} {
		fields, _ := formattest.Fields(t, ddl)
		if _, err := open(t, "", fields, "path=x", "format=text"); !fault.Of(err, fault.UnsupportedTypes) {
			t.Errorf("%s as text: %v", ddl, err)
		}
	}
	if _, err := open(t, "", fields, "path=x", "format=csv"); !fault.Of(err, fault.UnsupportedTypes) {
		t.Errorf("a column that CSV cannot hold: %v", err)
	}
	if _, err := open(t, "", fields, "path=x"); err != nil {
		t.Errorf("the same column in JSON: %v", err)
	}
}

func TestAFolderThatCannotBeWritten(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "taken"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"taken", "taken/below", strings.Repeat("long", 100)} {
		s, err := open(t, dir, nil, "path="+path)
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Open(t.Context(), batch.ID{}, false); !fault.Of(err, fault.FilePathInvalid) || fault.From(err).Code.Retry != fault.AfterChange {
			t.Errorf("%s: %v", path, err)
		}
	}
}
