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

// fold is what a flow has written to its sink, changes added up: a receiver that keeps rows. Of a flow whose query hands the kind
// of change on as a column it keeps every change as a row. It outlives daemons.
type fold struct {
	fields []batch.Field

	mu         sync.Mutex
	generation uint64
	seen       map[uint64]uint64 // number of a batch to the hash of its rows
	last       uint64
	rows       map[string]int // how often a row is there; below zero it was deleted more often than it came
	broken     string         // the first promise that was not kept; "" for none
}

func newFold(fields []batch.Field) *fold {
	return &fold{fields: fields, seen: map[uint64]uint64{}, rows: map[string]int{}}
}

var hashSeed = maphash.MakeSeed()

// accept takes a batch. One that it has is not taken again; it must bring the same rows (FB-09, D-42).
func (f *fold) accept(id batch.ID, rows sink.Rows) error {
	lines, err := texts(&rows.Columns)
	if err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if id.Generation > f.generation { // FB-04: a receiver empties its target
		f.generation, f.last = id.Generation, 0
		f.seen, f.rows = map[uint64]uint64{}, map[string]int{}
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
	told := slices.ContainsFunc(f.fields, func(c batch.Field) bool { return c.Name == sink.ChangeColumn })
	for i, line := range lines {
		n := 1
		if rows.Change != nil && !told && (rows.Change[i] == sink.DeleteRow || rows.Change[i] == sink.UpdatePreimage) {
			n = -1
		}
		if f.rows[line] += n; f.rows[line] == 0 {
			delete(f.rows, line)
		}
	}
	return nil
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
