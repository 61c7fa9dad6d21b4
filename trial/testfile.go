package trial

import (
	"encoding/base64"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/goccy/go-yaml/ast"
	"github.com/twmb/franz-go/pkg/kgo"

	"sluice/fault"
	"sluice/plan"
	"sluice/strictyaml"
)

// Test is a test file: what a pipeline is fed with and, with expect, what shall come out.
//
//	name: the newest state of an order
//	configuration: {zone: Europe/Berlin}         # as by --set
//	now: 2026-01-10T08:00:00Z                    # time of the updates of REPLACE WHERE flows; the present without it
//	topics:
//	  orders:
//	    partitions: 3                            # in the reference run; 1, or as many as the records say
//	    values:                                  # one record each: a document, a text, or null
//	      - {id: 1, version: 2, status: PAID}
//	  refunds:
//	    records:                                 # with what else a record has
//	      - {key: "1", value: {id: 1}, partition: 2, timestamp: 2026-01-01T00:00:00Z, headers: {h: x}}
//	  ticks: {file: data/ticks.json}             # as --sample takes it
//	files:
//	  data/*.json:                               # a path as read_files has it
//	    lines: [{id: 1}, {id: 2}]                # or file: another one
//	expect:
//	  tables: {orders: [{id: 1, status: PAID}]}  # all rows, in any order; of the columns those that are named
//	  sinks: {out: [{id: 1}]}                    # what the sink has in the end, changes added up
//	  failures: {refunds_live: FAILED_READ}      # flows that have to fail; no other may
//
// Paths are relative to the pipeline's folder. Without expect the records are rehearsed all the same.
type Test struct {
	Path          string
	Name          string
	Configuration map[string]string
	Places        map[string]fault.Pos // of its entries

	now    time.Time
	topics map[string]Topic
	files  map[string]File
	expect *expected
}

var (
	testKeys   = []string{"name", "configuration", "now", "topics", "files", "expect"}
	topicKeys  = []string{"partitions", "values", "records", "file"}
	recordKeys = []string{"key", "value", "partition", "timestamp", "headers", "base64"}
	fileKeys   = []string{"lines", "file"}
	expectKeys = []string{"tables", "sinks", "failures"}
)

// testReader turns a document into a Test.
type testReader struct {
	document
	dir  string // of the pipeline
	test Test
}

// ReadTest reads the test file at path of a pipeline in the folder dir.
func ReadTest(path, dir string) (*Test, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fault.New(fault.TestFileInvalid, "%s cannot be read", path).Because(err)
	}
	return parseTest(string(text), path, dir)
}

func parseTest(text, path, dir string) (*Test, error) {
	r := testReader{document: newDocument(path), dir: dir}
	r.test = Test{Path: path, Name: strings.TrimSuffix(filepath.Base(path), filepath.Ext(path)),
		Configuration: map[string]string{}, Places: map[string]fault.Pos{}, topics: map[string]Topic{}, files: map[string]File{}}
	if root := r.Root(text, "it has "+strings.Join(testKeys, ", ")); root != nil {
		r.read(root)
	}
	if len(r.Problems) > 0 {
		r.Problems.Sort()
		return nil, r.Problems
	}
	return &r.test, nil
}

func (r *testReader) read(root ast.Node) {
	fields := r.fields(root, "the test file", testKeys)
	if e, ok := fields["name"]; ok {
		r.test.Name = r.text(e.Value, "name")
	}
	if e, ok := fields["configuration"]; ok {
		for _, c := range r.mapping(e.Value, "configuration") {
			r.test.Configuration[c.Key], r.test.Places[c.Key] = r.text(c.Value, "configuration "+c.Key), c.Pos
		}
	}
	if e, ok := fields["now"]; ok {
		r.test.now = r.time(e, "now")
	}
	if e, ok := fields["topics"]; ok {
		for _, t := range r.mapping(e.Value, "topics") {
			r.test.topics[t.Key] = r.topic(t)
		}
	}
	if e, ok := fields["files"]; ok {
		for _, f := range r.mapping(e.Value, "files") {
			r.test.files[f.Key] = r.content(f)
		}
	}
	if e, ok := fields["expect"]; ok {
		r.test.expect = r.expected(e)
	}
}

// one returns the one entry of several that exclude each other.
func (r *testReader) one(of strictyaml.Entry, fields map[string]strictyaml.Entry, what string, keys ...string) (string, strictyaml.Entry) {
	var found []string
	for _, key := range keys {
		if _, ok := fields[key]; ok {
			found = append(found, key)
		}
	}
	if len(found) != 1 {
		r.report(of.Pos, "%s has %d of %s", what, len(found), strings.Join(keys, ", ")).WithHint("give one of them")
		return "", strictyaml.Entry{}
	}
	return found[0], fields[found[0]]
}

func (r *testReader) topic(e strictyaml.Entry) (t Topic) {
	what := "topic " + e.Key
	fields := r.fields(e.Value, what, topicKeys)
	key, given := r.one(e, fields, what, "values", "records", "file")
	switch key {
	case "values":
		for _, n := range r.List(given.Value, "values") {
			t.Records = append(t.Records, Record{Value: r.value(n)})
		}
	case "records":
		for _, n := range r.List(given.Value, "records") {
			t.Records = append(t.Records, r.record(n))
		}
	case "file":
		var err error
		if t, err = ReadSample(inFolder(r.dir, r.text(given.Value, "file"))); err != nil {
			if problem := fault.From(err); problem.Pos.IsValid() {
				r.Problems = append(r.Problems, problem)
			} else {
				r.Problems = append(r.Problems, problem.At(given.Pos))
			}
		}
	}
	if p, ok := fields["partitions"]; ok {
		t.Partitions = r.number(p.Value, "partitions")
	}
	t.complete()
	return t
}

// value is the value of a record: a text as it is, null for none, a document as JSON.
func (r *testReader) value(n ast.Node) []byte {
	switch n.(type) {
	case *ast.NullNode:
		return nil
	case *ast.StringNode, *ast.LiteralNode:
		return []byte(r.text(n, "a value"))
	}
	return []byte(r.json(n))
}

func (r *testReader) record(n ast.Node) (out Record) {
	fields := r.fields(n, "a record", recordKeys)
	var encoded []string
	if e, ok := fields["base64"]; ok {
		for _, n := range r.List(e.Value, "base64") {
			encoded = append(encoded, r.text(n, "base64"))
		}
	}
	bytes := func(e strictyaml.Entry, name string) []byte {
		b := r.value(e.Value)
		if b != nil && slices.Contains(encoded, name) {
			decoded, err := base64.StdEncoding.DecodeString(string(b))
			if err != nil {
				r.report(e.Pos, "%s is not in base64", name).Because(err)
			}
			return decoded
		}
		return b
	}
	if e, ok := fields["key"]; ok {
		out.Key = bytes(e, "key")
	}
	if e, ok := fields["value"]; ok {
		out.Value = bytes(e, "value")
	} else {
		r.report(r.Pos(n), "a record has no value").WithHint("write value: null for a record without one")
	}
	if e, ok := fields["partition"]; ok {
		out.Partition = r.number(e.Value, "partition")
	}
	if e, ok := fields["timestamp"]; ok {
		out.Time = r.time(e, "timestamp")
	}
	if e, ok := fields["headers"]; ok {
		for _, h := range r.mapping(e.Value, "headers") {
			out.Headers = append(out.Headers, kgo.RecordHeader{Key: h.Key, Value: bytes(h, "header "+h.Key)})
		}
	}
	return out
}

func (r *testReader) time(e strictyaml.Entry, what string) time.Time {
	at, err := time.Parse(time.RFC3339Nano, r.text(e.Value, what))
	if err != nil {
		r.report(e.Pos, "%s is not a time", what).WithHint("write it as 2026-01-31T12:00:00Z")
	}
	return at
}

// content is what stands in for the files of a path.
func (r *testReader) content(e strictyaml.Entry) (f File) {
	what := "file " + e.Key
	key, given := r.one(e, r.fields(e.Value, what, fileKeys), what, "lines", "file")
	switch key {
	case "lines":
		for _, n := range r.List(given.Value, "lines") {
			f.Content = append(append(f.Content, r.value(n)...), '\n')
		}
	case "file":
		var err error
		if f.Content, err = os.ReadFile(inFolder(r.dir, r.text(given.Value, "file"))); err != nil {
			r.report(given.Pos, "the file cannot be read").Because(err)
		}
	}
	return f
}

func inFolder(dir, path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(dir, path)
}

// Case is the test for a pipeline that was planned with the test's configuration.
func (t *Test) Case(p *plan.Pipeline) (*Case, error) {
	c := &Case{Name: t.Name, Plan: p, Topics: t.topics, Files: t.files, Now: t.now, At: fault.Pos{File: t.Path, Line: 1, Column: 1}}
	if t.expect == nil {
		return c, nil
	}
	b := binder{file: t.Path, plan: p}
	c.Expect = b.bind(t.expect)
	if len(b.problems) > 0 {
		b.problems.Sort()
		return nil, b.problems
	}
	return c, nil
}
