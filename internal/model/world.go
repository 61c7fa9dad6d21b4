package model

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
)

// World is a pipeline at work, with the topics it reads and the sinks it fills.
type World struct {
	Pipeline *Pipeline
	Broken   Rule // the rule it does not keep; none
	topics   map[string]*topic
	tables   map[string]*table
	flows    map[string]*flow
	begun    bool // the pipeline has run
}

type topic struct {
	partitions int
	records    []Message
	trimmed    int
}

// Message is a record of a topic: a row, or what is none.
type Message struct {
	Row    Row
	Null   bool // a null value
	Broken bool // not what the topic's schema says
	gone   bool // trimmed
	place  string
}

// placed is a row and where it came from.
type placed struct {
	row   Row
	place string
	key   []Value // of keyed tables
	seq   Value
}

type table struct {
	generation int
	rows       []placed
	floors     []placed // only where a rule is broken: sequences of rows that are not there
}

// flow is where a flow stands.
type flow struct {
	generation int
	read       int      // rows of its source
	end        int      // of a once flow: where its source ended when it first began
	begun      bool     // it has an end
	source     int      // generation of the table it reads, as of when it began; 0 before
	seen       []placed // rows of the keyed table whose changes it has read
	drained    bool
	counts     map[string]int64
	sent       []sent // what a sink got from it in this generation
	greeted    bool
}

type sent struct {
	row    Row
	delete bool
}

// NewWorld declares a pipeline.
func NewWorld(p *Pipeline) *World {
	w := &World{Pipeline: p, topics: map[string]*topic{}, tables: map[string]*table{}, flows: map[string]*flow{}}
	for _, t := range p.Tables {
		w.tables[t.Name] = &table{generation: 1}
	}
	for _, f := range p.Flows {
		w.flows[f.Name] = &flow{counts: map[string]int64{}}
	}
	return w
}

func (w *World) keeps(r Rule) bool { return w.Broken != r }

// Topic makes a topic.
func (w *World) Topic(name string, partitions int) { w.topics[name] = &topic{partitions: partitions} }

// Produce adds records to a topic, into its partitions in turn.
func (w *World) Produce(name string, messages ...Message) {
	t := w.topics[name]
	for _, m := range messages {
		n := len(t.records)
		m.place = fmt.Sprintf("%s/%d/%d", name, n%t.partitions, n/t.partitions)
		t.records = append(t.records, m)
	}
}

// Trim removes the records of every partition below an offset, or of those that are there, and returns how far they are gone.
func (w *World) Trim(name string, offset int) int {
	t := w.topics[name]
	t.trimmed = max(t.trimmed, min(offset, len(t.records)/t.partitions))
	for i := range t.trimmed * t.partitions {
		t.records[i].gone = true
	}
	return t.trimmed
}

// Reset resets the checkpoint of a flow: it reads everything again, and what it wrote stays (FR-13, DO-O10).
func (w *World) Reset(name string) {
	if !w.begun {
		return // there is no checkpoint yet
	}
	f := w.flows[name]
	before := *f
	*f = flow{generation: f.generation + 1, counts: map[string]int64{}, sent: f.sent}
	if !w.keeps(ResetRereads) {
		f.read, f.seen = before.read, before.seen
	}
	if t := w.tables[w.Pipeline.Flow(name).Target]; t != nil && !w.keeps(ResetKeepsRows) {
		t.rows = nil
	}
}

// Edit gives a flow another condition; it goes on where it stands (D-62).
func (w *World) Edit(name string, where *Expr) { w.Pipeline.Flow(name).Where = where }

// Run applies everything that is there, in the order of the flows, after full refreshes of the named tables (FR-01,
// DO-20), or of everything, sinks included (FR-10). With only, flows into other tables are left out. It returns who failed, with the
// code of the error, and who was skipped, sorted.
func (w *World) Run(only, full []string, all bool) []string {
	for _, f := range w.Pipeline.Flows {
		toTable := w.tables[f.Target] != nil
		if !slices.Contains(full, f.Target) && !all {
			continue
		}
		drained := w.flows[f.Name].drained
		w.Reset(f.Name)
		w.flows[f.Name].drained = toTable && drained && !w.keeps(RefreshDrains)
	}
	for name, t := range w.tables {
		if slices.Contains(full, name) || all {
			t.generation++
			if w.keeps(RefreshEmpties) {
				t.rows = nil
			}
		}
	}
	w.begun = true
	ends := map[string]string{} // of the flows that did not come to their end, why
	for i := range w.Pipeline.Flows {
		f := &w.Pipeline.Flows[i]
		selected := only == nil || slices.Contains(only, f.Target)
		if w.flows[f.Name].drained && f.Once && w.keeps(OnceIsOnce) {
			continue
		}
		switch {
		case selected && w.held(f, ends):
			ends[f.Name] = "SKIPPED"
		case selected:
			if code := w.apply(f); code != "" {
				ends[f.Name] = "FAILED " + code
			}
		case f.Once:
			ends[f.Name] = "" // not selected, and not drained: who waits for it cannot run (DO-O4)
		}
	}
	lines := []string{}
	for name, end := range ends {
		if end != "" {
			lines = append(lines, name+" "+end)
		}
	}
	slices.Sort(lines)
	return lines
}

// held reports whether a flow that f waits for did not come to its end: one it names or, in a triggered run, one that writes what
// it reads (DO-O3, D-52).
func (w *World) held(f *Flow, ends map[string]string) bool {
	for _, o := range w.Pipeline.Flows {
		_, stuck := ends[o.Name]
		if stuck && (slices.Contains(f.After, o.Name) || !w.Pipeline.Continuous && f.From.Table == o.Target) {
			return true
		}
	}
	return false
}

// apply lets a flow read all that is new to it, and returns the code of the error that stops it.
func (w *World) apply(f *Flow) (code string) {
	s := w.flows[f.Name]
	if t := w.tables[f.From.Table]; t != nil {
		if s.source == 0 {
			s.source = t.generation
		}
		if s.source != t.generation && w.keeps(ReadersStop) {
			return "SOURCE_RESET"
		}
	}
	if !s.greeted && s.generation > 0 && w.keeps(BatchZeroCleans) {
		s.sent = nil
	}
	s.greeted = true
	switch {
	case f.From.Topic != "":
		records := w.topics[f.From.Topic].records
		if !s.begun || !f.Once || s.drained { // a once flow ends where its topic ended when it began (ON-O1)
			s.begun, s.end = true, len(records)
		}
		for ; s.read < s.end; s.read++ {
			if code := w.message(f, s, records[s.read]); code != "" {
				return code
			}
		}
	case f.From.Feed:
		w.changes(f, s)
	default:
		rows := w.tables[f.From.Table].rows
		for i := s.read; i < len(rows); i++ {
			s.counts["records"]++
			if w.row(f, s, placed{row: rows[i].row, place: fmt.Sprintf("%s/%d", f.From.Table, i)}, false) != "" {
				s.counts["bad"]++
			}
		}
		s.read = len(rows)
	}
	s.drained = true
	return ""
}

// message applies a record of a topic. When the flow must stop at it, nothing of it is left, its counts neither, and the code of the
// error is returned.
func (w *World) message(f *Flow, s *flow, m Message) (code string) {
	if m.gone {
		return ""
	}
	before := maps.Clone(s.counts)
	s.counts["records"]++
	switch {
	case m.Null:
		s.counts["null"]++ // D-5
	case m.Broken:
		code = "MALFORMED_RECORD_IN_PARSING"
	default:
		code = w.row(f, s, placed{row: m.Row, place: m.place}, false)
	}
	switch {
	case code == "":
	case f.From.Strict || code == violated:
		s.counts = before
		return code
	default:
		s.counts["bad"]++ // D-15
	}
	return ""
}

// violated stops a flow whatever its mode is (EX-10).
const violated = "EXPECTATION_VIOLATION"

// changes applies what has changed in a keyed table since it was read last, deletes first (D-43). A reader that begins
// finds the table's rows as inserts (D-41).
func (w *World) changes(f *Flow, s *flow) {
	now := w.tables[f.From.Table].rows
	if s.seen == nil && !w.keeps(FeedsBegin) {
		s.seen = slices.Clone(now)
	}
	if w.keeps(DeletesAreChanges) && w.Pipeline.keyed(f.Target) == nil { // a whole new set says itself what is gone (D-21)
		for _, old := range without(s.seen, now) {
			w.row(f, s, old, true)
		}
	}
	for _, r := range without(now, s.seen) {
		w.row(f, s, r, false)
	}
	s.seen = slices.Clone(now)
}

// without are the rows of a that are not in b.
func without(a, b []placed) (out []placed) {
	for _, r := range a {
		if !slices.ContainsFunc(b, func(o placed) bool { return o.place == r.place }) {
			out = append(out, r)
		}
	}
	return out
}

// keyed returns a target that is a REPLACE USING table.
func (p *Pipeline) keyed(target string) *Table {
	if t := p.Table(target); t != nil && t.Keys != nil {
		return t
	}
	return nil
}

// row takes one row of the source down the path: WHERE, SELECT, expectations, the rule. The code is that of the error of a row that
// cannot be used.
func (w *World) row(f *Flow, s *flow, in placed, deleted bool) (code string) {
	out, fits, err := w.evaluate(f, in)
	switch {
	case err != nil:
		return "CAST_INVALID_INPUT"
	case !fits:
		return ""
	}
	t := w.Pipeline.Table(f.Target)
	if t == nil {
		s.counts["written"]++
		s.sent = append(s.sent, sent{out.row, deleted})
		return ""
	}
	if f.From.Feed && t.Keys == nil {
		out.row = append(slices.Clone(out.row), map[bool]Value{true: "delete", false: "insert"}[deleted])
	}
	keep, fail := w.judge(t, s, out.row)
	if fail {
		return violated
	}
	if !keep {
		if !w.keeps(DropsSetNoFloor) && t.Keys != nil && out.seq != nil {
			w.tables[t.Name].floors = append(w.tables[t.Name].floors, out)
		}
		return ""
	}
	stored := w.tables[t.Name]
	if t.Keys == nil {
		s.counts["written"]++
		stored.rows = append(stored.rows, out)
		return ""
	}
	if out.seq == nil || isNaN(out.seq) && w.keeps(NaNIsNoSequence) { // D-2
		return "REPLACE_USING_NULL_SEQUENCE"
	}
	s.counts["keyed"]++
	out.place = f.Name + " " + out.place
	w.replace(stored, out)
	return ""
}

func isNaN(v Value) bool {
	d, ok := v.(float64)
	return ok && math.IsNaN(d)
}

// evaluate is SELECT ... WHERE for one row: what comes out, with its key and sequence, and whether WHERE lets it pass.
func (w *World) evaluate(f *Flow, in placed) (out placed, fits bool, err error) {
	columns := w.Pipeline.columns(f.From)
	if f.Where != nil {
		v, err := w.eval(f.Where, columns, in.row)
		if err != nil {
			return out, true, err
		}
		if v != true && (v != nil || w.keeps(NullIsNotTrue)) {
			return out, false, nil
		}
	}
	out.place = in.place
	for _, item := range f.Select {
		v, err := w.eval(&item.Expr, columns, in.row)
		if err != nil {
			return out, true, err
		}
		out.row = append(out.row, v)
	}
	t := w.Pipeline.keyed(f.Target)
	if t == nil {
		return out, true, nil
	}
	for _, k := range t.Keys {
		out.key = append(out.key, out.row[slices.Index(t.Columns, k)])
	}
	out.seq, err = w.eval(f.Sequence, columns, in.row)
	return out, true, err
}

func (w *World) eval(e *Expr, columns []string, row Row) (Value, error) {
	v, err := e.Eval(columns, row)
	if err != nil && !w.keeps(BadIsLeftOut) {
		return nil, nil
	}
	return v, err
}

// judge judges a row by the expectations of its table and reports whether it stays, or stops the flow (D-4).
func (w *World) judge(t *Table, s *flow, row Row) (keep, fail bool) {
	drops := 0
	for _, e := range t.Expectations {
		v, err := e.Cond.Eval(t.Columns, row)
		if v == true || v == nil && err == nil && !w.keeps(OnlyTruePasses) {
			s.counts["passed "+e.Name]++
			continue
		}
		s.counts["failed "+e.Name]++
		if err != nil {
			s.counts["errors "+e.Name]++
		}
		if e.Drop {
			drops++
		}
		fail = fail || e.Fail
	}
	if drops > 1 && w.keeps(DropsCountOnce) {
		drops = 1
	}
	s.counts["dropped"] += int64(drops)
	return drops == 0, fail
}

// replace is the rule of REPLACE USING for a row that arrives alone (section 1.1).
func (w *World) replace(t *table, r placed) {
	mine := func(o placed) bool { return w.same(o.key, r.key) }
	for _, floor := range t.floors {
		if mine(floor) && compare(floor.seq, r.seq) > 0 {
			return
		}
	}
	for _, o := range t.rows {
		if !mine(o) {
			continue
		}
		switch order := compare(r.seq, o.seq); {
		case order < 0 && w.keeps(LateRowsLose):
			return
		case order == 0 && o.place == r.place && w.keeps(PlacesAreKnown):
			return
		}
	}
	t.rows = slices.DeleteFunc(t.rows, func(o placed) bool {
		return mine(o) && (compare(r.seq, o.seq) != 0 || !w.keeps(TiesStay))
	})
	t.rows = append(t.rows, r)
}

func (w *World) same(a, b []Value) bool {
	switch {
	case !w.keeps(NullIsAKey) && (slices.Contains(a, nil) || slices.Contains(b, nil)):
		return false
	case !w.keeps(EveryKeyColumn):
		return sameKey(a[:1], b[:1])
	case !w.keeps(ZerosAreOne) && Row(a).Text() != Row(b).Text():
		return false
	}
	return sameKey(a, b)
}

// Rows are the rows of a table as lines, sorted.
func (w *World) Rows(name string) []string {
	lines := []string{}
	for _, r := range w.tables[name].rows {
		lines = append(lines, r.row.Text())
	}
	slices.Sort(lines)
	return lines
}

// Folded is what changes add up to in an append table whose last column says what each row means: rows and how many of each
// there are, sorted.
func (w *World) Folded(name string) []string {
	n := map[string]int{}
	for _, r := range w.tables[name].rows {
		last := len(r.row) - 1
		if line := r.row[:last].Text(); r.row[last] == "delete" {
			n[line]--
		} else {
			n[line]++
		}
	}
	out := []string{}
	for line, times := range n {
		if times != 0 {
			out = append(out, fmt.Sprintf("%s %d", line, times))
		}
	}
	slices.Sort(out)
	return out
}

// Sink is what a sink holds, changes folded, sorted.
func (w *World) Sink(name string) []string {
	n := map[string]int{}
	for _, f := range w.Pipeline.Flows {
		if f.Target != name {
			continue
		}
		for _, s := range w.flows[f.Name].sent {
			if s.delete {
				n[s.row.Text()]--
			} else {
				n[s.row.Text()]++
			}
		}
	}
	return lines(n)
}

func lines(n map[string]int) []string {
	out := []string{}
	for line, times := range n {
		out = append(out, slices.Repeat([]string{line}, max(times, 0))...)
	}
	slices.Sort(out)
	return out
}

// Counts are what the flow's batches added up to in its generation. "keyed" are the rows that came to the rule of a REPLACE
// USING table, whatever became of them.
func (w *World) Counts(name string) map[string]int64 { return w.flows[name].counts }

// Generation is the flow's generation; Drained whether a once flow has come to its end in it.
func (w *World) Generation(name string) int { return w.flows[name].generation }
func (w *World) Drained(name string) bool   { return w.flows[name].drained }

// String is the state of all tables and sinks.
func (w *World) String() string {
	var out strings.Builder
	for _, t := range w.Pipeline.Tables {
		fmt.Fprintf(&out, "%s: %s\n", t.Name, strings.Join(w.Rows(t.Name), " | "))
	}
	for _, s := range w.Pipeline.Sinks {
		fmt.Fprintf(&out, "%s: %s\n", s, strings.Join(w.Sink(s), " | "))
	}
	return out.String()
}
