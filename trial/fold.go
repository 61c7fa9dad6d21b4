package trial

import (
	"fmt"
	"hash/maphash"
	"slices"
	"sync"

	"sluice/batch"
	"sluice/format/json"
	"sluice/sink"
)

// fold is what a flow has written to its sink: a receiver that keeps rows. Where the options of the sink have it hold rows by
// keys it does; else changes are added up, and of a flow whose query hands the kind of change on as a column every change is kept
// as a row. It outlives daemons.
type fold struct {
	fields []batch.Field
	target target

	mu         sync.Mutex
	generation uint64
	seen       map[uint64]uint64 // number of a batch to the hash of its rows
	last       uint64
	held       map[string]owned // by key; of a target with keys
	rows       map[string]int   // how often a row is there; below zero it was deleted more often than it came
	broken     string           // the first promise that was not kept; "" for none
}

func newFold(fields []batch.Field, t target) *fold {
	f := &fold{fields: fields, target: t}
	f.empty()
	return f
}

func (f *fold) empty() {
	f.seen, f.held, f.rows = map[uint64]uint64{}, map[string]owned{}, map[string]int{}
}

var hashSeed = maphash.MakeSeed()

// accept takes a batch, or refuses it as the sink would. One that it has is not taken again; it must bring the same rows (FB-09,
// D-42).
func (f *fold) accept(id batch.ID, rows sink.Rows) error {
	lines, err := texts(&rows.Columns)
	if err != nil {
		return err
	}
	var steps []step
	if len(f.target.keys) > 0 {
		if steps, err = f.target.steps(&rows, lines); err != nil {
			return err
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if id.Generation > f.generation { // FB-04: a receiver empties its target
		f.generation, f.last = id.Generation, 0
		f.empty()
	}
	hash := hashOf(lines, rows.Change)
	if before, again := f.seen[id.Number]; again {
		if before != hash {
			f.note("batch %d came again with other rows", id.Number)
		}
		return nil
	}
	if id.Generation < f.generation || id.Number < f.last {
		f.note("batch %d came after batch %d", id.Number, f.last)
	}
	f.seen[id.Number], f.last = hash, id.Number
	if len(f.target.keys) > 0 {
		f.take(steps, lines)
	} else {
		f.add(rows.Change, lines)
	}
	return nil
}

// take changes the rows of keys.
func (f *fold) take(steps []step, lines []string) {
	for _, s := range steps {
		before := f.held[s.key]
		after := f.target.after(before, s, lines)
		for _, line := range before.lines {
			f.count(line, -1)
		}
		for _, line := range after.lines {
			f.count(line, 1)
		}
		if f.held[s.key] = after; len(after.lines) == 0 {
			delete(f.held, s.key)
		}
	}
}

// add adds up changes.
func (f *fold) add(change []sink.Change, lines []string) {
	told := slices.ContainsFunc(f.fields, func(c batch.Field) bool { return c.Name == sink.ChangeColumn })
	for i, line := range lines {
		n := 1
		if change != nil && !told && (change[i] == sink.DeleteRow || change[i] == sink.UpdatePreimage) {
			n = -1
		}
		f.count(line, n)
	}
}

func (f *fold) count(line string, n int) {
	if f.rows[line] += n; f.rows[line] == 0 {
		delete(f.rows, line)
	}
}

func (f *fold) note(format string, args ...any) {
	if f.broken == "" {
		f.broken = fmt.Sprintf(format, args...)
	}
}

func hashOf(lines []string, change []sink.Change) uint64 {
	var h maphash.Hash
	h.SetSeed(hashSeed)
	for i, line := range lines {
		_, _ = h.WriteString(line)
		what := byte('+')
		if change != nil {
			what = byte(change[i])
		}
		_ = h.WriteByte(what)
	}
	return h.Sum64()
}

// texts are rows as JSON objects.
func texts(rows *batch.Columns) ([]string, error) {
	encoder := json.NewEncoder(rows.Fields, json.EncodeOptions{})
	text, ends, err := encoder.Encode(nil, nil, rows, 0, rows.Len)
	if err != nil {
		return nil, err
	}
	lines := make([]string, len(ends))
	start := 0
	for i, end := range ends {
		lines[i], start = string(text[start:end]), end
	}
	return lines, nil
}
