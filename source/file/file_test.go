package file

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"sluice/batch"
	"sluice/fault"
	"sluice/format/formattest"
	"sluice/option"
	"sluice/source"
)

// tree makes files below a new folder; later ones have later times.
func tree(t testing.TB, files ...[2]string) string {
	t.Helper()
	dir := t.TempDir()
	for i, f := range files {
		name := filepath.Join(dir, filepath.FromSlash(f[0]))
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		write(t, name, f[1])
		at := time.Date(2026, 1, 2, 3, 4, 5+i, 123456789, time.UTC)
		if err := os.Chtimes(name, at, at); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func columnsOf(t testing.TB, ddl string, meta ...string) (schema []batch.Field, columns []source.Column) {
	t.Helper()
	schema, _ = formattest.Fields(t, ddl)
	for _, f := range schema {
		columns = append(columns, source.Column{Field: f})
	}
	for _, name := range meta {
		for _, f := range Meta() {
			if f.Name == name {
				columns = append(columns, source.Column{Field: f, Meta: name})
			}
		}
	}
	return schema, columns
}

func mustRead(t testing.TB, dir string, stream bool, ddl string, options ...string) *Source {
	t.Helper()
	schema, columns := columnsOf(t, ddl)
	s, err := read(t, dir, stream, schema, columns, batch.DropMalformed, options...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// drained is what reading to the end brings: rows as text with their position, and how many reads it took.
type drained struct {
	rows  []string
	bad   []batch.Bad
	at    batch.Position
	reads int
}

func (d *drained) read(t testing.TB, s *Source, limit batch.Limit) error {
	t.Helper()
	rows, covered, bad, err := s.Read(t.Context(), d.at, limit)
	if err != nil {
		return err
	}
	for i, text := range formattest.Rows(rows) {
		d.rows = append(d.rows, fmt.Sprintf("%s:%d %s", covered.Splits[rows.Pos.Split[i]].Split, rows.Pos.Offset[i], text))
	}
	d.bad = append(d.bad, bad...)
	d.at = d.at.With(covered)
	d.reads++
	return nil
}

func drain(t testing.TB, s *Source, limit batch.Limit) (drained, error) {
	t.Helper()
	end, err := s.End(t.Context())
	if err != nil {
		return drained{}, err
	}
	limit.Until = end
	d := drained{}
	for !d.at.Reached(end) {
		if err := d.read(t, s, limit); err != nil {
			return d, err
		}
	}
	return d, nil
}

func same(t testing.TB, got []string, want ...string) {
	t.Helper()
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// TestWhatAPathMeans lists what files, folders and patterns stand for, in the order of reading (D-53).
func TestWhatAPathMeans(t *testing.T) {
	dir := tree(t, [2]string{"z.json", "1"}, [2]string{"a.json", "1"}, [2]string{"sub/b.json", "1"}, [2]string{"sub/deep/c.csv", "1"},
		[2]string{"_temporary/x.json", "1"}, [2]string{".hidden.json", "1"}, [2]string{"sub/_SUCCESS", "1"}, [2]string{"2026-01/d.json", "1"}, [2]string{"2026-02/e.json", "1"})
	if err := os.Symlink(filepath.Join(dir, "sub"), filepath.Join(dir, "sub", "loop")); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		"a.json":                    "a.json",
		"./a.json":                  "a.json",
		"sub/../a.json":             "a.json",
		".":                         "z.json a.json sub/b.json sub/deep/c.csv 2026-01/d.json 2026-02/e.json",
		"sub":                       "sub/b.json sub/deep/c.csv",
		"sub/":                      "sub/b.json sub/deep/c.csv",
		"*.json":                    "z.json a.json",
		"*":                         "z.json a.json sub/b.json sub/deep/c.csv 2026-01/d.json 2026-02/e.json",
		"?.json":                    "z.json a.json",
		"[a-c].json":                "a.json",
		"**/*.json":                 "z.json a.json sub/b.json 2026-01/d.json 2026-02/e.json",
		"**/*.{csv,json}":           "z.json a.json sub/b.json sub/deep/c.csv 2026-01/d.json 2026-02/e.json",
		"sub/**":                    "sub/b.json sub/deep/c.csv",
		"2026-*/*.json":             "2026-01/d.json 2026-02/e.json",
		"2026-{01,02}":              "2026-01/d.json 2026-02/e.json",
		"{a,z}.json":                "z.json a.json",
		"{a,{z,y}}.json":            "z.json a.json",
		"{*,a}.json":                "z.json a.json",
		"_temporary/x.json":         "_temporary/x.json", // named, not found
		"*/x.json":                  "",
		"a.json/*":                  "",
		"nothing*":                  "",
		dir + "/a.json":             dir + "/a.json",
		"file://" + dir + "/?.json": dir + "/z.json " + dir + "/a.json",
	} {
		s := mustRead(t, dir, true, "", "path="+path)
		files, err := s.list()
		if err != nil {
			t.Errorf("%s: %v", path, err)
			continue
		}
		var got []string
		for _, f := range files {
			got = append(got, f.path)
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s: got %q, want %q", path, strings.Join(got, " "), want)
		}
	}
}

func TestFilesOfOneTimeAreInOrderOfPath(t *testing.T) {
	dir := tree(t, [2]string{"b.json", "{\"a\":1}\n"}, [2]string{"c.json", "{\"a\":2}\n"}, [2]string{"a.json", "{\"a\":3}\n"})
	at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for _, name := range []string{"b.json", "c.json"} {
		if err := os.Chtimes(filepath.Join(dir, name), at, at); err != nil {
			t.Fatal(err)
		}
	}
	d, err := drain(t, mustRead(t, dir, false, "a INT", "path=."), batch.Limit{})
	if err != nil {
		t.Fatal(err)
	}
	same(t, d.rows, "b.json:0 1", "c.json:0 2", "a.json:0 3")
	if d.reads != 1 {
		t.Errorf("%d reads, want 1", d.reads)
	}
}

func TestPathsThatAreNotThere(t *testing.T) {
	dir := tree(t, [2]string{"a.json", "{}"}, [2]string{"data.json.gz", ""})
	if err := os.Mkdir(filepath.Join(dir, "empty"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		path   string
		stream bool
		want   *fault.Code
	}{
		{"missing.json", true, fault.PathNotFound},
		{"missing.json", false, fault.PathNotFound},
		{"missing/*.json", true, nil}, // files may still come
		{"missing/*.json", false, fault.PathNotFound},
		{"empty", true, nil},
		{"empty", false, nil},
		{"*.gz", true, fault.FileCompressed},
		{".", false, fault.FileCompressed},
	} {
		s := mustRead(t, dir, c.stream, "", "path="+c.path)
		_, err := s.End(t.Context())
		if c.want == nil && err != nil || c.want != nil && !fault.Of(err, c.want) {
			t.Errorf("%s, stream %v: %v", c.path, c.stream, err)
		}
	}
}

// A file that the system does not let us look at is not one that is missing: it may be readable later.
func TestAFileThatCannotBeRead(t *testing.T) {
	dir := t.TempDir()
	if err := os.Symlink("loop.json", filepath.Join(dir, "loop.json")); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"loop.json", "*.json", "loop.json/*.json"} {
		_, err := mustRead(t, dir, true, "", "path="+path).End(t.Context())
		if !fault.Of(err, fault.FileUnreadable) || !errors.Is(err, syscall.ELOOP) {
			t.Errorf("%s: %v", path, err)
		}
	}
}

func TestOptionsThatMakeNoSense(t *testing.T) {
	for _, o := range []string{"path=", "path={a", "path=a}", "path=[a", "path=x;maxFilesPerTrigger=0", "path=x;maxBytesPerTrigger=0", "path=x;maxRecordSize=0", "path=x;maxRecordSize=2GiB", "path=x;pollInterval=0s"} {
		if _, err := read(t, t.TempDir(), true, nil, nil, batch.FailFast, strings.Split(o, ";")...); err == nil {
			t.Errorf("%s is taken", o)
		}
	}
	at := fault.Pos{File: "a.sql", Line: 3, Column: 1}
	v, _ := Options().Parse("read_files", []option.Given{{Name: "path", Value: "[", Pos: fault.Pos{File: "a.sql", Line: 4, Column: 7}}}, at)
	if problems := Validate(v, at); len(problems) != 1 || problems[0].Code != fault.InvalidFileGlob || problems[0].Pos.Line != 4 {
		t.Errorf("%v", problems)
	}
}

// TestAChangedFileStopsReading is D-53: another size or time before a file was read whole.
func TestAChangedFileStopsReading(t *testing.T) {
	const text = "{\"a\":1}\n{\"a\":2}\n{\"a\":3}\n"
	for _, stream := range []bool{false, true} {
		dir := tree(t, [2]string{"x.json", text})
		s := mustRead(t, dir, stream, "a INT", "path=x.json")
		limit := batch.Limit{Rows: 1}
		if !stream {
			limit.Until, _ = s.End(t.Context())
		}
		d := drained{}
		if err := d.read(t, s, limit); err != nil {
			t.Fatal(err)
		}
		same(t, d.rows, "x.json:0 1")
		s.Close() // as after a restart
		write(t, filepath.Join(dir, "x.json"), text+"{\"a\":4}\n")
		s = mustRead(t, dir, stream, "a INT", "path=x.json")
		if err := d.read(t, s, limit); !fault.Of(err, fault.FileChanged) {
			t.Errorf("stream %v: longer file: %v", stream, err)
		}
		write(t, filepath.Join(dir, "x.json"), text)
		if err := d.read(t, s, limit); !fault.Of(err, fault.FileChanged) {
			t.Errorf("stream %v: other time: %v", stream, err)
		}
		if err := os.Remove(filepath.Join(dir, "x.json")); err != nil {
			t.Fatal(err)
		}
		s = mustRead(t, dir, stream, "a INT", "path=*.json")
		if err := d.read(t, s, limit); !fault.Of(err, fault.FileGone) {
			t.Errorf("stream %v: removed: %v", stream, err)
		}
	}
}

func TestAFileThatChangesWhileItIsReadStopsReading(t *testing.T) {
	dir := tree(t, [2]string{"x.json", strings.Repeat("{\"a\":1}\n", 3)})
	s := mustRead(t, dir, false, "a INT", "path=x.json")
	until, _ := s.End(t.Context())
	d := drained{}
	if err := d.read(t, s, batch.Limit{Rows: 1, Until: until}); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(filepath.Join(dir, "x.json"), 10); err != nil {
		t.Fatal(err)
	}
	if err := d.read(t, s, batch.Limit{Until: until}); !fault.Of(err, fault.FileChanged) {
		t.Errorf("got %v", err)
	}
}

func TestAFileThatGrewAfterTheEndWasFixedStopsReading(t *testing.T) {
	dir := tree(t, [2]string{"x.json", "{\"a\":1}\n"})
	for _, stream := range []bool{false, true} {
		s := mustRead(t, dir, stream, "a INT", "path=x.json")
		until, _ := s.End(t.Context())
		write(t, filepath.Join(dir, "x.json"), "{\"a\":1}\n{\"a\":2}\n")
		d := drained{}
		if err := d.read(t, s, batch.Limit{Until: until}); !fault.Of(err, fault.FileChanged) {
			t.Errorf("stream %v: %v", stream, err)
		}
	}
}

// TestAFileReplacedBeforeItIsReadIsReadAsItIs: the listing of a stream may be old by then.
func TestAFileReplacedBeforeItIsReadIsReadAsItIs(t *testing.T) {
	dir := tree(t, [2]string{"a.json", "{\"a\":1}\n"}, [2]string{"b.json", "{\"a\":2}\n"}, [2]string{"c.json", "{\"a\":3}\n"})
	s := mustRead(t, dir, true, "a INT", "path=.")
	d := drained{}
	if err := d.read(t, s, batch.Limit{Rows: 1}); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, "b.json"), "{\"a\":22}\n{\"a\":23}\n")
	if err := os.Remove(filepath.Join(dir, "c.json")); err != nil {
		t.Fatal(err)
	}
	for len(d.rows) < 3 {
		if err := d.read(t, s, batch.Limit{Rows: 1}); err != nil {
			t.Fatal(err)
		}
	}
	same(t, d.rows, "a.json:0 1", "b.json:0 22", "b.json:9 23")
}

// TestAChangeAfterReadingIsIgnoredWithOneWarning is the other half of D-53.
func TestAChangeAfterReadingIsIgnoredWithOneWarning(t *testing.T) {
	dir := tree(t, [2]string{"a.json", "{\"a\":1}\n"})
	s := mustRead(t, dir, true, "a INT", "path=.", "pollInterval=1ms")
	var warnings []*fault.Error
	s.warn = func(e *fault.Error) { warnings = append(warnings, e) }
	d := drained{}
	if err := d.read(t, s, batch.Limit{}); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, "a.json"), "{\"a\":1}\n{\"a\":2}\n")
	for range 2 {
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
		if _, _, _, err := s.Read(ctx, d.at, batch.Limit{}); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v", err)
		}
		cancel()
	}
	if len(warnings) != 1 || !fault.Of(warnings[0], fault.FileChanged) || !strings.Contains(warnings[0].Error(), "a.json") {
		t.Errorf("the warnings are %v", warnings)
	}
	if err := os.Remove(filepath.Join(dir, "a.json")); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, "b.json"), "{\"a\":3}\n")
	if err := d.read(t, s, batch.Limit{}); err != nil {
		t.Fatal(err)
	}
	same(t, d.rows, "a.json:0 1", "b.json:0 3")
}

// D-53: an end that was listed after a file changed asks for nothing of a file that was read whole before, and is reached.
func TestAChangeAfterReadingIsNotBeforeAnEnd(t *testing.T) {
	for _, change := range []string{"{\"a\":1}\n{\"a\":2}\n", "{\"a\":9}\n", "{}\n"} {
		dir := tree(t, [2]string{"a.json", "{\"a\":1}\n"}, [2]string{"b.json", "{\"a\":3}\n"})
		d, err := drain(t, mustRead(t, dir, true, "a INT", "path=."), batch.Limit{})
		if err != nil {
			t.Fatal(err)
		}
		write(t, filepath.Join(dir, "a.json"), change)
		write(t, filepath.Join(dir, "c.json"), "{\"a\":4}\n")
		s := mustRead(t, dir, true, "a INT", "path=.")
		until, err := s.End(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for !d.at.Reached(until) {
			if err := d.read(t, s, batch.Limit{Until: until}); err != nil {
				t.Fatalf("%q: %v", change, err)
			}
		}
		same(t, d.rows, "a.json:0 1", "b.json:0 3", "c.json:0 4")
	}
}

func TestTriggerLimits(t *testing.T) {
	var files [][2]string
	for i := range 5 {
		files = append(files, [2]string{fmt.Sprintf("%d.json", i), "{\"a\":1}\n{\"a\":2}\n"})
	}
	dir := tree(t, files...)
	for options, reads := range map[string]int{
		"path=.":                       1,
		"path=.;maxFilesPerTrigger=2":  3,
		"path=.;maxBytesPerTrigger=1":  10,
		"path=.;maxBytesPerTrigger=9":  5,
		"path=.;maxBytesPerTrigger=33": 2,
	} {
		d, err := drain(t, mustRead(t, dir, false, "a INT", strings.Split(options, ";")...), batch.Limit{})
		if err != nil || len(d.rows) != 10 || d.reads != reads {
			t.Errorf("%s: %d rows in %d reads, want %d; %v", options, len(d.rows), d.reads, reads, err)
		}
	}
}

func TestMetadata(t *testing.T) {
	dir := tree(t, [2]string{"in/a.json", "{\"a\":1}\n{\"a\":2}\n"}, [2]string{"in/b.json", "{\"a\":3}"})
	schema, columns := columnsOf(t, "a INT", "file_path", "file_name", "file_size", "file_modification_time")
	s, err := read(t, dir, false, schema, columns, batch.FailFast, "path=in")
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	d, err := drain(t, s, batch.Limit{})
	if err != nil {
		t.Fatal(err)
	}
	a := fmt.Sprintf(`%q | "a.json" | 16 | 2026-01-02 03:04:05.123456Z`, dir+"/in/a.json")
	same(t, d.rows, "in/a.json:0 1 | "+a, "in/a.json:8 2 | "+a,
		fmt.Sprintf(`in/b.json:0 3 | %q | "b.json" | 7 | 2026-01-02 03:04:06.123456Z`, dir+"/in/b.json"))
}

// TestRowsAreCountedWithoutColumns is SELECT count(*): nothing is decoded.
func TestRowsAreCountedWithoutColumns(t *testing.T) {
	dir := tree(t, [2]string{"a.json", "{\"a\":1}\n\n{\"a\":2}\n"})
	s := mustRead(t, dir, false, "", "path=.")
	until, _ := s.End(t.Context())
	rows, covered, _, err := s.Read(t.Context(), nil, batch.Limit{Until: until})
	if err != nil || rows.Len != 2 || rows.Pos.Len() != 2 || covered.Records() != 2 || covered.Bytes() != 17 {
		t.Errorf("%d rows, %+v, %v", rows.Len, covered, err)
	}
}

// D-56: a check finds the files without reading one.
func TestCheck(t *testing.T) {
	dir := tree(t, [2]string{"a.json", "not JSON"}, [2]string{"b.json", ""})
	if err := mustRead(t, dir, true, "k INT", "path=*.json").Check(t.Context()); err != nil {
		t.Error(err)
	}
	if err := mustRead(t, dir, false, "k INT", "path=c.json").Check(t.Context()); !fault.Of(err, fault.PathNotFound) {
		t.Errorf("got %v", err)
	}
	if os.Geteuid() == 0 {
		return // who may open everything
	}
	write(t, filepath.Join(dir, "c.json"), "{}")
	if err := os.Chmod(filepath.Join(dir, "c.json"), 0); err != nil {
		t.Fatal(err)
	}
	if err := mustRead(t, dir, true, "k INT", "path=*.json").Check(t.Context()); !fault.Of(err, fault.FileUnreadable) {
		t.Errorf("got %v", err)
	}
}
