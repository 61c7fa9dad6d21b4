package replaceusing

import (
	"fmt"
	"slices"
	"sort"
	"strconv"
	"strings"

	"sluice/batch"
)

// The tests' table has the columns of the specification's examples. Its rows are texts, its keys encoded tuples.
var fields = []batch.Field{{Name: "region_id", Type: batch.Of(batch.Int)}, {Name: "device_type", Type: batch.Of(batch.String)},
	{Name: "event_type", Type: batch.Of(batch.String)}, {Name: "seq", Type: batch.Of(batch.BigInt)}}

// table is a store for the rule: a map of groups.
type table struct {
	keys    []string
	groups  map[string]*group
	grouper Grouper
	d       Decision
}

type group struct {
	floor []byte
	rows  []stored
}

type stored struct {
	split  int32
	offset int64
	text   string
}

func newTable(keys ...string) *table { return &table{keys: keys, groups: map[string]*group{}} }

// parse reads rows, one per line: four values, and optionally "at split/offset"; without it, rows come from split 0 at
// ever new offsets.
func parse(lines []string, next *int64) (batch.Columns, error) {
	out := batch.Columns{Fields: fields, Len: len(lines)}
	b := make([]batch.Builder, len(fields))
	for f := range fields {
		b[f].Init(fields[f].Type, len(lines))
	}
	for _, line := range lines {
		words, at, given := strings.Cut(line, " at ")
		values := strings.Fields(words)
		if len(values) != len(fields) {
			return out, fmt.Errorf("%q has not %d values", line, len(fields))
		}
		for f, v := range values {
			if v == "null" {
				b[f].AppendNull()
			} else if fields[f].Type.IsText() {
				b[f].AppendString(v)
			} else if n, err := strconv.ParseInt(v, 10, 64); err != nil {
				return out, err
			} else {
				b[f].AppendInt(n)
			}
		}
		split, offset := int32(0), *next
		if given {
			if _, err := fmt.Sscanf(at, "%d/%d", &split, &offset); err != nil {
				return out, err
			}
		} else {
			*next++
		}
		out.Pos.Split, out.Pos.Offset, out.Pos.Index = append(out.Pos.Split, split), append(out.Pos.Offset, offset), append(out.Pos.Index, 0)
	}
	for f := range b {
		out.Cols = append(out.Cols, b[f].Column())
	}
	return out, nil
}

func rowText(c *batch.Columns, i int) string {
	var parts []string
	for f := range c.Cols {
		col := &c.Cols[f]
		switch {
		case col.IsNull(i):
			parts = append(parts, "null")
		case col.Type.IsText():
			parts = append(parts, string(col.Text(i)))
		case col.Type.Width() == 4:
			parts = append(parts, fmt.Sprint(batch.Values[int32](col)[i]))
		default:
			parts = append(parts, fmt.Sprint(batch.Values[int64](col)[i]))
		}
	}
	return strings.Join(parts, " ")
}

// apply runs one batch through the rule and the map.
func (t *table) apply(rows *batch.Columns) {
	var keys, sequences, floors batch.Keys
	var groups batch.Groups
	var cols []*batch.Column
	for _, k := range t.keys {
		cols = append(cols, rows.Col(k))
	}
	batch.EncodeKeys(&keys, cols...)
	batch.EncodeKeys(&sequences, rows.Col("seq"))
	t.grouper.Group(&groups, &keys)
	floors.Offsets = []uint32{0}
	for g := range groups.Len() {
		if have := t.groups[string(keys.At(int(groups.Of(g)[0])))]; have != nil {
			floors.Bytes = append(floors.Bytes, have.floor...)
		}
		floors.Offsets = append(floors.Offsets, uint32(len(floors.Bytes)))
	}
	Apply(&t.d, &groups, &sequences, &floors, rows.Pos)
	t.d.DropRedelivered(t.redelivered(rows, &keys, &groups))
	for g, op := range t.d.Ops {
		t.write(string(keys.At(int(groups.Of(g)[0]))), op, rows, &sequences, t.d.Kept.Of(g))
	}
}

func (t *table) redelivered(rows *batch.Columns, keys *batch.Keys, groups *batch.Groups) (again []int32) {
	for g, op := range t.d.Ops {
		if op != batch.OpAppend {
			continue
		}
		have := t.groups[string(keys.At(int(groups.Of(g)[0])))]
		for _, r := range t.d.Kept.Of(g) {
			if slices.ContainsFunc(have.rows, func(s stored) bool { return s.split == rows.Pos.Split[r] && s.offset == rows.Pos.Offset[r] }) {
				again = append(again, r)
			}
		}
	}
	return again
}

func (t *table) write(key string, op batch.Op, rows *batch.Columns, sequences *batch.Keys, kept []int32) {
	switch op {
	case batch.OpIgnore:
		return
	case batch.OpInsert, batch.OpReplace:
		t.groups[key] = &group{floor: slices.Clone(sequences.At(int(kept[0])))}
	}
	for _, r := range kept {
		t.groups[key].rows = append(t.groups[key].rows, stored{rows.Pos.Split[r], rows.Pos.Offset[r], rowText(rows, int(r))})
	}
}

// contents are the rows of the table, sorted.
func (t *table) contents() []string {
	var out []string
	for _, g := range t.groups {
		for _, r := range g.rows {
			out = append(out, r.text)
		}
	}
	sort.Strings(out)
	return out
}
