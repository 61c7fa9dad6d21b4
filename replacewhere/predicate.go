package replacewhere

import (
	"fmt"
	"math"
	"strings"
	"time"

	"sluice/batch"
)

// Op is what a node of a predicate does.
type Op uint8

// Comparisons have the column on the left.
const (
	Opaque   Op = iota // a condition that statistics say nothing about
	Constant           // a BOOLEAN value
	And
	Or
	Not
	IsNull
	Equal
	Same // <=>
	Less
	AtMost
	Greater
	AtLeast
)

// Predicate is a condition over the columns of a table.
type Predicate struct {
	Op     Op
	Args   []*Predicate   // of And, Or and Not
	Column int            // of IsNull and comparisons
	Days   *time.Location // of comparisons: not the column, a TIMESTAMP, is compared, but its day in that zone; nil: the column
	Value  int            // of comparisons and Constant: which of the values
}

// Value is a constant of a predicate, resolved for one update.
type Value struct {
	Null bool
	NaN  bool
	Key  []byte // as batch.AppendKey encodes it
}

// Values are the constants in a row that has one column for each.
func Values(row batch.Columns) []Value {
	out := make([]Value, len(row.Cols))
	for i := range row.Cols {
		c := &row.Cols[i]
		out[i] = Value{Null: c.IsNull(0)}
		if !out[i].Null {
			out[i].NaN, out[i].Key = isNaN(c), batch.AppendKey(nil, []*batch.Column{c}, 0)
		}
	}
	return out
}

func isNaN(c *batch.Column) bool {
	switch c.Type.Kind {
	case batch.Float:
		return math.IsNaN(float64(batch.Values[float32](c)[0]))
	case batch.Double:
		return math.IsNaN(batch.Values[float64](c)[0])
	}
	return false
}

// Bounds is the first column that the predicate compares with a value, -1 when there is none: rows are kept in its order, so that windows are in
// few files (D-26).
func (p *Predicate) Bounds() int {
	switch p.Op {
	case Opaque, Constant:
		return -1
	case And, Or, Not:
		for _, a := range p.Args {
			if c := a.Bounds(); c >= 0 {
				return c
			}
		}
		return -1
	}
	return p.Column
}

// Of is the predicate about other columns: f says what becomes of a comparison; what it has nothing for is not known.
func (p *Predicate) Of(f func(leaf Predicate) *Predicate) *Predicate {
	switch p.Op {
	case Opaque, Constant:
		return p
	case And, Or, Not:
		out := &Predicate{Op: p.Op}
		for _, a := range p.Args {
			out.Args = append(out.Args, a.Of(f))
		}
		return out
	}
	if out := f(*p); out != nil {
		return out
	}
	return &Predicate{}
}

var opTexts = map[Op]string{And: " AND ", Or: " OR ", Equal: " = ", Same: " <=> ", Less: " < ", AtMost: " <= ", Greater: " > ", AtLeast: " >= "}

// String prints the tree for tests: columns and values by their numbers, ? for what is opaque.
func (p *Predicate) String() string {
	switch p.Op {
	case Opaque:
		return "?"
	case Constant:
		return fmt.Sprintf("v%d", p.Value)
	case Not:
		return "NOT " + p.Args[0].String()
	case IsNull:
		return fmt.Sprintf("c%d IS NULL", p.Column)
	case And, Or:
		texts := make([]string, len(p.Args))
		for i, a := range p.Args {
			texts[i] = a.String()
		}
		return "(" + strings.Join(texts, opTexts[p.Op]) + ")"
	}
	if p.Days != nil {
		return fmt.Sprintf("day(c%d)%sv%d", p.Column, opTexts[p.Op], p.Value)
	}
	return fmt.Sprintf("c%d%sv%d", p.Column, opTexts[p.Op], p.Value)
}
