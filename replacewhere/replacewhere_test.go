package replacewhere

import (
	"bytes"
	"cmp"
	"fmt"
	"math"
	"testing"

	"pgregory.net/rapid"

	"sluice/batch"
)

var fields = []batch.Field{{Name: "n", Type: batch.Of(batch.Int)}, {Name: "d", Type: batch.Of(batch.Double)}, {Name: "s", Type: batch.Of(batch.String)}}

// cell is a value of one of the columns: nil for NULL, else an int64, a float64 or a string.
type cell = any

var drawn = [...]*rapid.Generator[cell]{
	rapid.SampledFrom([]cell{nil, int64(-1), int64(0), int64(1), int64(2), int64(3)}),
	rapid.SampledFrom([]cell{nil, math.NaN(), math.Inf(-1), -0.1, math.Copysign(0, -1), 0.0, 0.1, 0.3, math.Inf(1)}),
	rapid.SampledFrom([]cell{nil, "", "a", "aa", "aab", "aac", "aad", "b", "\x00", "aa\x00", "\xff\xff\xff"}),
}

func column(t batch.Type, cells ...cell) batch.Column {
	b := batch.NewBuilder(t, len(cells))
	for _, c := range cells {
		switch c := c.(type) {
		case nil:
			b.AppendNull()
		case int64:
			b.AppendInt(c)
		case float64:
			batch.Append(b, c)
		case string:
			b.AppendString(c)
		case bool:
			b.AppendBool(c)
		}
	}
	return b.Column()
}

func value(i int, c cell) Value {
	typ := batch.Of(batch.Boolean)
	if i < len(fields) {
		typ = fields[i].Type
	}
	return Values(batch.Columns{Len: 1, Cols: []batch.Column{column(typ, c)}})[0]
}

// statsOf are the statistics of rows; a text is known by its first two bytes, from below and from above.
func statsOf(rows [][]cell) *Stats {
	s := &Stats{Rows: int64(len(rows)), Columns: make([]Column, len(fields))}
	for i := range fields {
		c := &s.Columns[i]
		c.Known = true
		for _, r := range rows {
			switch v := value(i, r[i]); {
			case v.Null:
				c.Nulls++
			case v.NaN:
				c.NaN = true
			default:
				if c.Min == nil || bytes.Compare(v.Key, c.Min) < 0 {
					c.Min = v.Key
				}
				if c.Max == nil || bytes.Compare(v.Key, c.Max) > 0 {
					c.Max = v.Key
				}
			}
		}
		if fields[i].Type.Kind == batch.String && len(c.Min) > 3 {
			c.Min = c.Min[:3]
		}
		if fields[i].Type.Kind == batch.String && len(c.Max) > 3 {
			c.Max = above(c.Max[:3])
		}
	}
	return s
}

// above is a bound of everything that begins like prefix.
func above(prefix []byte) []byte {
	out := bytes.Clone(prefix)
	for i := len(out) - 1; i >= 0; i-- {
		if out[i]++; out[i] != 0 {
			return out[:i+1]
		}
	}
	panic("no bound")
}

// drawTree draws a predicate; its values go behind those that are there.
func drawTree(t *rapid.T, depth int, values *[]cell, kinds *[]int) *Predicate {
	ops := []Op{IsNull, Equal, Same, Less, AtMost, Greater, AtLeast, Opaque, Constant}
	if depth > 0 {
		ops = append(ops, And, Or, Not, And, Or)
	}
	p := &Predicate{Op: rapid.SampledFrom(ops).Draw(t, "op")}
	switch p.Op {
	case And, Or, Not:
		n := 1
		if p.Op != Not {
			n = rapid.IntRange(2, 3).Draw(t, "operands")
		}
		for range n {
			p.Args = append(p.Args, drawTree(t, depth-1, values, kinds))
		}
	case Opaque:
	case Constant:
		p.Value = len(*values)
		*values, *kinds = append(*values, rapid.SampledFrom([]cell{nil, true, false}).Draw(t, "constant")), append(*kinds, len(fields))
	default:
		p.Column, p.Value = rapid.IntRange(0, len(fields)-1).Draw(t, "column"), len(*values)
		*values, *kinds = append(*values, drawn[p.Column].Draw(t, "value")), append(*kinds, p.Column)
	}
	return p
}

// order compares two values as SQL does (D-36): NaN above everything and equal to itself, the zeros equal.
func order(a, b cell) int {
	switch a := a.(type) {
	case int64:
		return cmp.Compare(a, b.(int64))
	case string:
		return cmp.Compare(a, b.(string))
	}
	x, y := a.(float64), b.(float64)
	switch {
	case math.IsNaN(x) && math.IsNaN(y):
		return 0
	case math.IsNaN(x):
		return 1
	case math.IsNaN(y):
		return -1
	}
	return cmp.Compare(x, y)
}

// is evaluates a predicate on a row, nil for NULL; what is opaque is what the test says.
func (p *Predicate) is(row, values []cell, opaque cell) cell {
	switch p.Op {
	case Opaque:
		return opaque
	case Constant:
		return values[p.Value]
	case IsNull:
		return row[p.Column] == nil
	case Not:
		if x := p.Args[0].is(row, values, opaque); x != nil {
			return x == false
		}
		return nil
	case And, Or:
		decides, null := p.Op == Or, false
		for _, a := range p.Args {
			switch x := a.is(row, values, opaque); x {
			case decides:
				return decides
			case nil:
				null = true
			}
		}
		if null {
			return nil
		}
		return !decides
	}
	x, y := row[p.Column], values[p.Value]
	if p.Op == Same && (x == nil || y == nil) {
		return x == nil && y == nil
	}
	if x == nil || y == nil {
		return nil
	}
	o := order(x, y)
	switch p.Op {
	case Less:
		return o < 0
	case AtMost:
		return o <= 0
	case Greater:
		return o > 0
	case AtLeast:
		return o >= 0
	}
	return o == 0
}

// D-25, RW-O1, D-36: never and all are right whatever the rows are.
func TestVerdictsAreRight(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var values []cell
		var kinds []int
		p := drawTree(t, 3, &values, &kinds)
		resolved := make([]Value, len(values))
		for i, v := range values {
			resolved[i] = value(kinds[i], v)
		}
		rows := make([][]cell, rapid.IntRange(0, 4).Draw(t, "rows"))
		for i := range rows {
			for c := range fields {
				rows[i] = append(rows[i], drawn[c].Draw(t, "cell"))
			}
		}
		stats := statsOf(rows)
		if hidden := rapid.IntRange(0, 9).Draw(t, "unknown"); hidden < len(fields) {
			stats.Columns[hidden] = Column{}
		}
		matched := 0
		for _, r := range rows {
			if p.is(r, values, rapid.SampledFrom([]cell{nil, true, false}).Draw(t, "opaque")) == true {
				matched++
			}
		}
		switch v := p.Over(stats, resolved); {
		case v == Never && matched > 0, v == All && matched < len(rows):
			t.Fatalf("%s, and %d of %d rows match", v, matched, len(rows))
		}
	})
}

func leaf(op Op, column, value int) *Predicate {
	return &Predicate{Op: op, Column: column, Value: value}
}

func TestVerdicts(t *testing.T) {
	values := []cell{int64(2), math.NaN(), "aab", nil, true, 0.0}
	kinds := []int{0, 1, 2, 0, len(fields), 1}
	resolved := make([]Value, len(values))
	for i, v := range values {
		resolved[i] = value(kinds[i], v)
	}
	one := func(n, d, s cell) []cell { return []cell{n, d, s} }
	not := func(p *Predicate) *Predicate { return &Predicate{Op: Not, Args: []*Predicate{p}} }
	both := func(op Op, args ...*Predicate) *Predicate { return &Predicate{Op: op, Args: args} }
	for i, c := range []struct {
		p    *Predicate
		rows [][]cell
		want Verdict
	}{
		{leaf(AtLeast, 0, 0), nil, Never},
		{leaf(AtLeast, 0, 0), [][]cell{one(int64(2), 0.0, "a"), one(int64(5), 0.0, "a")}, All},
		{leaf(AtLeast, 0, 0), [][]cell{one(int64(0), 0.0, "a"), one(int64(1), 0.0, "a")}, Never},
		{leaf(AtLeast, 0, 0), [][]cell{one(int64(1), 0.0, "a"), one(int64(2), 0.0, "a")}, Some},
		{leaf(AtLeast, 0, 0), [][]cell{one(nil, 0.0, "a"), one(int64(3), 0.0, "a")}, Some}, // RW-O1: NULL is no match
		{not(leaf(AtLeast, 0, 0)), [][]cell{one(nil, 0.0, "a"), one(int64(3), 0.0, "a")}, Never},
		{leaf(Less, 0, 3), [][]cell{one(int64(3), 0.0, "a")}, Never},
		{leaf(Same, 0, 3), [][]cell{one(nil, 0.0, "a")}, All},
		{leaf(IsNull, 0, 0), [][]cell{one(nil, 0.0, "a")}, All},
		{not(leaf(IsNull, 0, 0)), [][]cell{one(int64(1), 0.0, "a")}, All},
		{leaf(Less, 1, 1), [][]cell{one(nil, 7.0, "a")}, All}, // everything is below NaN
		{leaf(Equal, 1, 1), [][]cell{one(nil, math.NaN(), "a")}, All},
		{leaf(Greater, 1, 5), [][]cell{one(nil, math.NaN(), "a"), one(nil, 1.0, "a")}, All},
		{leaf(AtMost, 1, 5), [][]cell{one(nil, math.NaN(), "a"), one(nil, -1.0, "a")}, Some},
		{leaf(Equal, 1, 5), [][]cell{one(nil, math.Copysign(0, -1), "a")}, All},
		{leaf(Equal, 2, 2), [][]cell{one(nil, nil, "aac")}, Some}, // cut: all that is known is that it begins with aa
		{leaf(Equal, 2, 2), [][]cell{one(nil, nil, "b")}, Never},
		{leaf(Constant, 0, 4), [][]cell{one(nil, nil, nil)}, All},
		{both(And, leaf(AtLeast, 0, 0), &Predicate{}), [][]cell{one(int64(1), 0.0, "a")}, Never},
		{both(And, leaf(AtLeast, 0, 0), &Predicate{}), [][]cell{one(int64(2), 0.0, "a")}, Some},
		{both(Or, leaf(AtLeast, 0, 0), &Predicate{}), [][]cell{one(int64(2), 0.0, "a")}, All},
		{both(Or, leaf(AtLeast, 0, 0), leaf(Less, 0, 0)), [][]cell{one(int64(1), 0.0, "a"), one(int64(2), 0.0, "a")}, Some},
	} {
		if got := c.p.Over(statsOf(c.rows), resolved); got != c.want {
			t.Errorf("%d: got %s, want %s: %s", i, got, c.want, fmt.Sprint(c.rows))
		}
	}
}
