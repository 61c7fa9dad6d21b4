package catalog_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"sluice/catalog"
	"sluice/fault"
)

// TestSpec runs the files of testdata/spec. The command is
//
//	spec [set=(name=value,...)] [env=(NAME=value,...)] [flags=(setting=value,...)]
//
// with the text of /p/pipeline.yml; the result is what was understood, or every problem.
func TestSpec(t *testing.T) {
	datadriven.Walk(t, "testdata/spec", func(t *testing.T, path string) {
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			given := func(name string) map[string]string {
				var list []string
				for _, arg := range d.CmdArgs {
					if arg.Key == name {
						list = arg.Vals
					}
				}
				out, err := catalog.ParseSet(list)
				if err != nil {
					d.Fatalf(t, "%v", err)
				}
				return out
			}
			env := given("env")
			s, problems := catalog.ParseSpec("/p/pipeline.yml", d.Input, catalog.Overrides{Set: given("set"), Flags: given("flags"), Env: func(name string) (string, bool) {
				if value, ok := env[name]; ok {
					return value, true
				}
				return environment(name)
			}})
			if len(problems) > 0 {
				return strings.ReplaceAll(problems.Error(), "/p/", "") + "\n"
			}
			return showSpec(s)
		})
	})
}

func showSpec(s *catalog.Spec) string {
	var b strings.Builder
	fmt.Fprintf(&b, "name %s\nstorage %s\ncatalog %s\nschema %s\ncontinuous %t\nfeatures %s\n", s.Name, s.Storage, s.Catalog, s.Schema, s.Continuous, strings.Join(s.Features, " "))
	fmt.Fprintf(&b, "libraries %s\nservers %s\n", strings.Join(s.Libraries(), " "), s.Servers())
	for _, g := range s.Settings.All() {
		fmt.Fprintf(&b, "%s = %s\n", g.Name, g.Value)
	}
	return b.String()
}

func TestParseSet(t *testing.T) {
	got, err := catalog.ParseSet([]string{"a=1", "b.c=x=y", "a=2", "d="})
	if err != nil || fmt.Sprint(got) != "map[a:2 b.c:x=y d:]" {
		t.Errorf("%v %v", got, err)
	}
	for _, bad := range []string{"a", "=1", "a b=1", "env:A=1"} {
		if _, err := catalog.ParseSet([]string{bad}); err == nil || err.Code != fault.InvalidSettingText {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

// tree makes files below a new folder; a name that ends in a slash is a folder.
func tree(t *testing.T, files map[string]string) string {
	dir := t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(name, "/") {
			if err := os.MkdirAll(path, 0o755); err != nil {
				t.Fatal(err)
			}
		} else if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// CL-05, D-61
func TestFindSpec(t *testing.T) {
	dir := tree(t, map[string]string{
		"a/pipeline.yml": "", "a/b/c/x": "", "two/pipeline.yaml": "", "two/spark-pipeline.yml": "", "none/x": "", "folder/pipeline.yml/": "",
		"spark/spark-pipeline.yaml": "",
	})
	t.Chdir(filepath.Join(dir, "a/b/c"))
	for _, c := range []struct {
		from, want string
		code       *fault.Code
	}{
		{from: ".", want: "../../pipeline.yml"},
		{from: filepath.Join(dir, "a/b"), want: filepath.Join(dir, "a/pipeline.yml")},
		{from: filepath.Join(dir, "spark"), want: filepath.Join(dir, "spark/spark-pipeline.yaml")},
		{from: filepath.Join(dir, "two"), code: fault.SpecFilesFound},
		{from: filepath.Join(dir, "none"), code: fault.SpecFileNotFound},
		{from: filepath.Join(dir, "folder"), code: fault.SpecFileNotFound},
	} {
		got, err := catalog.FindSpec(c.from)
		if got != c.want || (err == nil) != (c.code == nil) || err != nil && err.Code != c.code {
			t.Errorf("FindSpec(%s) = %q, %v; want %q, %v", c.from, got, err, c.want, c.code)
		}
	}
	for _, c := range []struct {
		path, want string
		code       *fault.Code
	}{
		{path: filepath.Join(dir, "a/pipeline.yml"), want: filepath.Join(dir, "a/pipeline.yml")},
		{path: filepath.Join(dir, "a"), want: filepath.Join(dir, "a/pipeline.yml")},
		{path: filepath.Join(dir, "a/b"), code: fault.SpecFileDoesNotExist},
		{path: filepath.Join(dir, "nowhere.yml"), code: fault.SpecFileDoesNotExist},
		{path: filepath.Join(dir, "two"), code: fault.SpecFilesFound},
	} {
		got, err := catalog.NamedSpec(c.path)
		if got != c.want || (err == nil) != (c.code == nil) || err != nil && err.Code != c.code {
			t.Errorf("NamedSpec(%s) = %q, %v; want %q, %v", c.path, got, err, c.want, c.code)
		}
	}
	if _, problems := catalog.ReadSpec(filepath.Join(dir, "nowhere.yml"), catalog.Overrides{}); !fault.Of(problems, fault.SpecFileDoesNotExist) {
		t.Errorf("ReadSpec of a file that is not there: %v", problems)
	}
}

// CL-07
func TestFiles(t *testing.T) {
	dir := tree(t, map[string]string{
		"pipeline.yml": "name: p\nstorage: s\nlibraries:\n" +
			"  - glob: {include: ./**}\n  - glob: {include: one.sql}\n  - glob: {include: sub/**}\n",
		"one.sql": "1", "sub/two.sql": "2", "sub/deep/three.sql": "3", ".git/x.sql": "", ".hidden.sql": "", "sub/.x.sql": "",
	})
	t.Chdir(dir)
	s, problems := catalog.ReadSpec("pipeline.yml", catalog.Overrides{})
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	files, problems := s.Files()
	var got []string
	for _, f := range files {
		got = append(got, f.Name+"="+f.Text)
	}
	if want := "one.sql=1 sub/deep/three.sql=3 sub/two.sql=2"; strings.Join(got, " ") != want || len(problems) > 0 {
		t.Errorf("got %v %v, want %s", got, problems, want)
	}
}

func TestFilesThatCannotBeRead(t *testing.T) {
	dir := tree(t, map[string]string{
		"p/pipeline.yml": "name: p\nstorage: s\nlibraries:\n" +
			"  - glob: {include: sub}\n  - glob: {include: nope/**}\n  - glob: {include: one.sql/**}\n  - glob: {include: x.py}\n  - glob: {include: nope.sql}\n  - glob: {include: mixed/**}\n  - glob: {include: ../out.sql}\n",
		"p/sub/a.sql": "", "p/one.sql": "", "p/x.py": "", "p/mixed/a.sql": "a", "p/mixed/README.md": "", "out.sql": "o",
	})
	t.Chdir(dir)
	s, problems := catalog.ReadSpec("p", catalog.Overrides{})
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	files, problems := s.Files()
	if len(files) != 2 || files[0].Name != filepath.Join(dir, "out.sql") || files[1].Name != "p/mixed/a.sql" {
		t.Errorf("files %v", files)
	}
	problems.Sort()
	var got []string
	for _, e := range problems {
		got = append(got, fmt.Sprintf("%s %s", e.Pos, e.Code))
	}
	want := []string{
		"p/pipeline.yml:4:21 PIPELINE_SPEC_INVALID_GLOB_PATTERN",
		"p/pipeline.yml:5:21 PIPELINE_DEFINITIONS_FILE_NOT_FOUND",
		"p/pipeline.yml:6:21 PIPELINE_DEFINITIONS_FILE_NOT_FOUND",
		"p/pipeline.yml:7:21 PIPELINE_UNSUPPORTED_DEFINITIONS_FILE_EXTENSION",
		"p/pipeline.yml:8:21 PIPELINE_DEFINITIONS_FILE_NOT_FOUND",
		"p/pipeline.yml:9:21 PIPELINE_UNSUPPORTED_DEFINITIONS_FILE_EXTENSION",
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// Excerpt gives text as it was written, without values of variables, which may be secrets (D-54).
func TestExcerpt(t *testing.T) {
	s, problems := catalog.ParseSpec("pipeline.yml", "name: p\nstorage: s\nlibraries: [{glob: {include: a.sql}}]\n", catalog.Overrides{Env: environment})
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	const query = "SELECT 'é' AS x,\n  a FROM STREAM read_kafka(subscribe => '${env:TOKEN}')"
	statements, problems := s.Parse([]catalog.File{{Name: "a.sql", Text: "\ufeff-- ä\nCREATE STREAMING TABLE t AS " + query + " ;\nCREATE STREAMING TABLE u;"}})
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	q := flowQuery(t, statements[0])
	if got := s.Excerpt(q.Pos, q.End); got != query {
		t.Errorf("got  %q\nwant %q", got, query)
	}
}

// FuzzParseSpec: no text makes the reader panic, and a spec without problems has its required fields.
func FuzzParseSpec(f *testing.F) {
	for _, seed := range []string{
		"name: p\nstorage: s\nlibraries:\n  - glob: {include: a.sql}\nconfiguration:\n  a: ${b}\n  b: ${env:X}\n",
		"name: |\n  p\n", "a: &x 1\nb: *x", "? a\n: b", "{a: [b, {c: d}]}", "- a", "name: !!str 5", "\ufeffname: p", "---\n...\n", "a: \"\\x41\"",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		s, problems := catalog.ParseSpec("p.yml", text, catalog.Overrides{})
		if len(problems) == 0 && (s.Name == "" || s.Storage == "" || len(s.Libraries()) == 0) {
			t.Errorf("accepted %q as %+v", text, s)
		}
	})
}
