package trial

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/goccy/go-yaml/parser"

	"sluice/plan"
	"sluice/source"
)

// file is what was found as a test file: the records in the order that differs, and what came out of them in their own order.
func (r *reducer) file() ([]byte, error) {
	w := r.writer("Found by processor test: in this order the result is another one than in the order of the sample.", r.how())
	w.line(0, "name: %s", quote(r.Name+", reduced"))
	w.now(r.Case)
	w.inputs(arrange(r.Topics, r.best, r.kept), r.Files)
	only := &comparison{}
	for _, t := range r.Plan.Tables {
		if r.differs("table", t.Display) {
			only.tables = append(only.tables, t)
		}
	}
	for _, f := range r.Plan.Flows {
		if f.Sink != nil && r.differs("sink", sinkName(f)) {
			only.sinks = append(only.sinks, f)
		}
	}
	err := w.outcome(r.ref, only)
	return w.Bytes(), err
}

func (r *reducer) differs(kind, name string) bool {
	return slices.ContainsFunc(r.found, func(d Difference) bool { return d.Kind == kind && d.Name == name })
}

// how says what else a run needs to differ.
func (r *reducer) how() string {
	var needs []string
	if r.best.kills > 0 {
		needs = append(needs, fmt.Sprintf("--kill %d", r.best.kills))
	}
	if r.best.dup > 0 {
		needs = append(needs, fmt.Sprintf("--dup %g%%", 100*r.best.dup))
	}
	if len(needs) == 0 {
		return "No crash and no redelivery is needed."
	}
	return fmt.Sprintf("It takes crashes or redelivery: %s --seed %d.", strings.Join(needs, " "), r.best.seed)
}

// record is the case as a test file, with what came out of its reference run.
func (s *sandbox) record(ref *outcome, c *comparison) ([]byte, error) {
	w := s.writer("Written by processor test --save: samples, and what came out of them.")
	w.line(0, "name: %s", quote(s.Name))
	w.now(s.Case)
	w.inputs(s.Topics, s.Files)
	err := w.outcome(ref, c)
	return w.Bytes(), err
}

func (s *sandbox) writer(comments ...string) *writer {
	w := &writer{timed: slices.ContainsFunc(s.Plan.Flows, readsTime)}
	for _, c := range comments {
		w.line(0, "# %s", c)
	}
	return w
}

// now writes the time of updates, where there are any.
func (w *writer) now(c *Case) {
	if slices.ContainsFunc(c.Plan.Flows, func(f *plan.Flow) bool { return f.Window != nil }) {
		w.line(0, "now: %s", c.Now.UTC().Format(time.RFC3339Nano))
	}
}

// inputs writes what a pipeline is fed with.
func (w *writer) inputs(topics map[string]Topic, files map[string]File) {
	if len(topics) > 0 {
		w.line(0, "topics:")
	}
	for _, name := range sorted(topics) {
		w.topic(name, topics[name])
	}
	if len(files) > 0 {
		w.line(0, "files:")
	}
	for _, path := range sorted(files) {
		w.line(1, "%s:", quote(path))
		if len(files[path].Content) == 0 {
			w.line(2, "lines: []")
			continue
		}
		w.line(2, "lines:")
		for line := range strings.Lines(string(files[path].Content)) {
			w.line(3, "- %s", quote(strings.TrimRight(line, "\r\n")))
		}
	}
}

// outcome writes what came of a run: rows of some tables and sinks, and which flows failed.
func (w *writer) outcome(o *outcome, of *comparison) error {
	w.line(0, "expect:")
	w.section("tables", len(of.tables))
	for _, t := range of.tables {
		rows, err := o.rows(t.Name, nil)
		if err != nil {
			return err
		}
		w.rows(t.Display, rows)
	}
	w.section("sinks", len(of.sinks))
	for _, f := range of.sinks {
		w.rows(f.Name, o.sinks[f.Name].rows)
	}
	if len(o.failed) == 0 && len(of.tables)+len(of.sinks) == 0 {
		w.line(1, "failures: {}")
		return nil
	}
	w.section("failures", len(o.failed))
	for _, flow := range sorted(o.failed) {
		w.line(2, "%s: %s", quote(flow), o.failed[flow].Code)
	}
	return nil
}

// readsTime reports whether the times of records matter to a flow.
func readsTime(f *plan.Flow) bool {
	return slices.ContainsFunc(f.Inputs(), func(in *plan.Input) bool {
		return slices.ContainsFunc(in.Columns, func(c source.Column) bool { return c.Meta == "timestamp" })
	})
}

// writer writes a test file.
type writer struct {
	bytes.Buffer
	timed bool // the times of records are written
}

func (w *writer) line(depth int, format string, args ...any) {
	w.WriteString(strings.Repeat("  ", depth))
	fmt.Fprintf(w, format+"\n", args...)
}

func (w *writer) section(name string, n int) {
	if n > 0 {
		w.line(1, "%s:", name)
	}
}

func (w *writer) rows(name string, rows map[string]int) {
	if len(rows) == 0 {
		w.line(2, "%s: []", quote(name))
		return
	}
	w.line(2, "%s:", quote(name))
	for _, row := range sorted(rows) {
		for range rows[row] {
			w.line(3, "- %s", row)
		}
	}
}

func (w *writer) topic(name string, t Topic) {
	w.line(1, "%s:", quote(name))
	w.line(2, "partitions: %d", t.Partitions)
	if len(t.Records) == 0 {
		w.line(2, "values: []")
		return
	}
	if !w.timed && !slices.ContainsFunc(t.Records, func(r Record) bool {
		return r.Key != nil || r.Partition != 0 || len(r.Headers) > 0 || !utf8.Valid(r.Value)
	}) {
		w.line(2, "values:")
		for _, r := range t.Records {
			w.line(3, "- %s", value(r.Value))
		}
		return
	}
	w.line(2, "records:")
	for _, r := range t.Records {
		w.line(3, "- %s", whole(r))
	}
}

// whole writes a record.
func whole(r Record) string {
	var encoded []string
	bytes := func(b []byte, name string) string {
		if b != nil && !utf8.Valid(b) {
			encoded = append(encoded, quote(name))
			return quote(base64.StdEncoding.EncodeToString(b))
		}
		return value(b)
	}
	parts := []string{}
	if r.Key != nil {
		parts = append(parts, "key: "+bytes(r.Key, "key"))
	}
	parts = append(parts, "value: "+bytes(r.Value, "value"), "partition: "+strconv.Itoa(int(r.Partition)), "timestamp: "+quote(r.Time.UTC().Format(time.RFC3339Nano)))
	var headers []string
	for _, h := range r.Headers {
		headers = append(headers, quote(h.Key)+": "+bytes(h.Value, "header "+h.Key))
	}
	if headers != nil {
		parts = append(parts, "headers: {"+strings.Join(headers, ", ")+"}")
	}
	if encoded != nil {
		parts = append(parts, "base64: ["+strings.Join(encoded, ", ")+"]")
	}
	return "{" + strings.Join(parts, ", ") + "}"
}

// value writes the value of a record: as a document where reading that gives the same bytes, else as a text.
func value(b []byte) string {
	switch {
	case b == nil:
		return "null"
	case len(b) > 0 && (b[0] == '{' || b[0] == '[') && json.Valid(b) && same(b):
		return string(b)
	}
	return quote(string(b))
}

// same reports whether a document read from YAML is written as it was.
func same(b []byte) bool {
	f, err := parser.ParseBytes(b, 0)
	if err != nil || len(f.Docs) != 1 || f.Docs[0].Body == nil {
		return false
	}
	var d document
	return d.json(f.Docs[0].Body) == string(b) && len(d.Problems) == 0
}
