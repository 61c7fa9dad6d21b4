package model

import (
	"fmt"
	"slices"
)

// World is a pipeline at work, with the topics it reads and the sinks it fills.
type World struct {
	Pipeline *Pipeline
	Broken   Rule // the rule it does not keep; none
	topics   map[string]*topic
	tables   map[string]*table
	flows    map[string]*flow
	begun    bool // the pipeline has run

	overrides map[string]*Expr // of this run: other predicates, by flow
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

	foreign bool // a statement has made it
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
			if w.keeps(RefreshEmpties) && (w.keeps(RefreshClears) || !w.Pipeline.windowed(name)) {
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
	if f.Window != nil {
		return w.replaceWhere(f)
	}
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
		t := w.tables[f.From.Table]
		rows := t.rows
		for i := s.read; i < len(rows); i++ {
			s.counts["records"]++
			place := fmt.Sprintf("%s/%d/%d", f.From.Table, t.generation, i) // computed anew its rows are others, as those of a topic made anew
			if w.row(f, s, placed{row: rows[i].row, place: place}, false) != "" {
				s.counts["bad"]++
			}
		}
		s.read = len(rows)
	}
	s.drained = true
	return ""
}
