package replacewhere

import (
	"bytes"
	"encoding/binary"
	"time"

	"sluice/batch"
)

// Verdict says how many rows of a file a predicate can be TRUE for.
type Verdict uint8

const (
	Some  Verdict = iota // or it is not known
	Never                // none
	All
)

func (v Verdict) String() string { return [...]string{"some", "never", "all"}[v] }

// Stats is what is known of the rows of a file.
type Stats struct {
	Rows    int64
	Columns []Column
}

// Column is what is known of a column. No value lies below Min or above Max, NULL and NaN left aside; both are keys as
// batch.AppendKey makes them, or what bounds those: the beginning of a long text as Min.
type Column struct {
	Known    bool
	Min, Max []byte // nil when there is no such value
	Nulls    int64
	NaN      bool // there is one
}

// Over says which rows of a file the predicate, with the given values, matches.
func (p *Predicate) Over(s *Stats, values []Value) Verdict {
	switch can := p.outcomes(s, values); {
	case s.Rows == 0, can&isTrue == 0:
		return Never
	case can == isTrue:
		return All
	}
	return Some
}

// outcomes is a set of what a condition can be, in three values.
type outcomes uint8

const (
	isTrue outcomes = 1 << iota
	isFalse
	isUnknown

	anything = isTrue | isFalse | isUnknown
)

func (p *Predicate) outcomes(s *Stats, values []Value) outcomes {
	switch p.Op {
	case Opaque:
		return anything
	case Constant:
		return values[p.Value].truth()
	case Not:
		return p.Args[0].outcomes(s, values).not()
	case And, Or:
		out := p.Args[0].outcomes(s, values)
		for _, a := range p.Args[1:] {
			if b := a.outcomes(s, values); p.Op == And {
				out = out.and(b)
			} else {
				out = out.not().and(b.not()).not()
			}
		}
		return out
	}
	c := &s.Columns[p.Column]
	if !c.Known {
		return anything
	}
	if p.Op == IsNull {
		return c.isNull(s.Rows)
	}
	if p.Days != nil {
		days := c.days(p.Days)
		c = &days
	}
	return c.compare(p.Op, s.Rows, &values[p.Value])
}

// days is what is known of the days of a TIMESTAMP. Local time runs backwards where clocks are set back, so that a later instant may have an
// earlier day; not in UTC.
func (c *Column) days(zone *time.Location) Column {
	out := *c
	if c.Min == nil || c.Max == nil {
		return out
	}
	first, last := instantOf(c.Min).In(zone), instantOf(c.Max).In(zone)
	low, high := dayOf(first), dayOf(last)
	if _, end := first.ZoneBounds(); !end.IsZero() { // the first instant after the clock is set
		low = min(low, dayOf(end))
	}
	if start, _ := last.ZoneBounds(); !start.IsZero() { // and the last one before
		high = max(high, dayOf(start.Add(-time.Microsecond).In(zone)))
	}
	out.Min, out.Max = dayKey(low), dayKey(high)
	return out
}

const dayMicros = 24 * 60 * 60 * 1_000_000

// instantOf is the TIMESTAMP with a key.
func instantOf(key []byte) time.Time {
	return time.UnixMicro(int64(binary.BigEndian.Uint64(key[1:]) ^ 1<<63))
}

// dayOf is the local day of a time, counted from 1970.
func dayOf(t time.Time) int64 {
	_, offset := t.Zone()
	at := t.UnixMicro() + int64(offset)*1_000_000
	day := at / dayMicros
	if at%dayMicros < 0 {
		day--
	}
	return day
}

// dayKey is the key of a DATE.
func dayKey(day int64) []byte {
	b := batch.NewBuilder(batch.Of(batch.Date), 1)
	b.AppendInt(day)
	c := b.Column()
	return batch.AppendKey(nil, []*batch.Column{&c}, 0)
}

// truth is what a BOOLEAN is.
func (v *Value) truth() outcomes {
	switch {
	case v.Null:
		return isUnknown
	case v.Key[len(v.Key)-1] != 0:
		return isTrue
	}
	return isFalse
}

func (o outcomes) not() outcomes {
	return o&isUnknown | o&isTrue<<1 | o&isFalse>>1
}

// and is what a AND b can be: FALSE as soon as one side is, TRUE when both are.
func (o outcomes) and(b outcomes) outcomes {
	out := o & b & isTrue
	out |= (o | b) & isFalse
	if o&isUnknown != 0 && b&(isTrue|isUnknown) != 0 || b&isUnknown != 0 && o&(isTrue|isUnknown) != 0 {
		out |= isUnknown
	}
	return out
}

func (c *Column) isNull(rows int64) (out outcomes) {
	if c.Nulls > 0 {
		out |= isTrue
	}
	if c.Nulls < rows {
		out |= isFalse
	}
	return out
}

// compare is what column op v can be.
func (c *Column) compare(op Op, rows int64, v *Value) (out outcomes) {
	if v.Null {
		if op == Same {
			return c.isNull(rows)
		}
		return isUnknown
	}
	if c.Nulls > 0 {
		out |= isUnknown
		if op == Same {
			out = isFalse
		}
	}
	if c.Nulls == rows {
		return out
	}
	if c.NaN { // above every other value, and equal to itself (D-36)
		out |= holds(op, false, v.NaN, !v.NaN)
	}
	switch {
	case c.Min == nil || c.Max == nil:
		if !c.NaN {
			return anything
		}
	case v.NaN:
		out |= holds(op, true, false, false)
	default:
		low, high := bytes.Compare(c.Min, v.Key), bytes.Compare(c.Max, v.Key)
		out |= holds(op, low < 0, low <= 0 && high >= 0, high > 0)
	}
	return out
}

// holds is what a comparison can be of values that can be less than the constant, equal to it and greater.
func holds(op Op, less, equal, greater bool) (out outcomes) {
	for _, c := range [...]struct{ can, fits bool }{
		{less, op == Less || op == AtMost},
		{equal, op == Equal || op == Same || op == AtMost || op == AtLeast},
		{greater, op == Greater || op == AtLeast},
	} {
		switch {
		case c.can && c.fits:
			out |= isTrue
		case c.can:
			out |= isFalse
		}
	}
	return out
}
