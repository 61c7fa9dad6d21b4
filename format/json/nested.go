package json

import (
	"sluice/batch"
	"sluice/fault"
)

// value decodes a value into n: it appends exactly one row. A value that is not of n's type is validated, noted in
// d.unreadable, and leaves a null.
func (d *decoder) value(src []byte, i int, n *node) int {
	if i >= len(src) {
		return d.fail(src, i, "a value")
	}
	c := src[i]
	if c == 'n' {
		if i = d.literal(src, i, "null"); i > 0 {
			d.null(n)
		}
		return i
	}
	switch n.kind {
	case batch.String:
		if n.unused {
			return d.unasked(src, i, n)
		}
		if c == '"' {
			text, next := d.str(src, i)
			if next > 0 {
				n.b.AppendText(text)
			}
			return next
		}
		if d.spark {
			return d.asText(src, i, n)
		}
	case batch.TinyInt, batch.SmallInt, batch.Int, batch.BigInt:
		return d.integer(src, i, n)
	case batch.Decimal:
		return d.decimal(src, i, n)
	case batch.Float, batch.Double:
		return d.float(src, i, n)
	case batch.Boolean:
		if c == 't' || c == 'f' {
			return d.boolean(src, i, n)
		}
	case batch.Timestamp, batch.TimestampNTZ:
		return d.timestamp(src, i, n)
	case batch.Date:
		if c == '"' {
			return d.quoted(src, i, n, d.Date)
		}
	case batch.Binary:
		if c == '"' {
			return d.quoted(src, i, n, d.Binary)
		}
	case batch.Variant:
		if n.unused {
			return d.unasked(src, i, n)
		}
		next := d.skip(src, i)
		if next > 0 {
			n.b.AppendText(src[i:next])
		}
		return next
	case batch.Struct:
		if c == '{' {
			return d.structure(src, i, n)
		}
	case batch.Array:
		if c == '[' {
			return d.array(src, i, n)
		}
	case batch.Map:
		if c == '{' {
			return d.mapping(src, i, n)
		}
	}
	return d.mismatch(src, i, n)
}

// unasked reads a value that a text column takes whatever it is, and leaves it out.
func (d *decoder) unasked(src []byte, i int, n *node) int {
	next := d.skip(src, i)
	if next > 0 {
		n.b.AppendText(nil)
	}
	return next
}

// null appends a null that the record has or implies.
func (d *decoder) null(n *node) {
	if n.notNull && d.unreadable == nil {
		d.unreadable = fault.New(fault.NullInNotNull, "column %s is NOT NULL and has no value", n.path).OfColumn(n.path)
	}
	n.b.AppendNull()
}

func (d *decoder) structure(src []byte, i int, n *node) int {
	if i = d.members(src, i, n); i < 0 {
		return failed
	}
	if d.spark {
		d.absorb(n)
	} else if d.unreadable == nil {
		d.unreadable = n.firstUnreadable()
	}
	n.b.AppendNested()
	return i
}

// members reads an object into the children of n: one row in each.
func (d *decoder) members(src []byte, i int, n *node) int {
	if !d.enter(i) {
		return failed
	}
	n.names.begin()
	n.anyUnreadable = false
	clear(n.state)
	if i++; i < len(src) && src[i] <= ' ' {
		i = blank(src, i)
	}
	if i < len(src) && src[i] == '}' {
		d.leave()
		d.finish(n)
		if n.rescued {
			d.settle(src, n)
		}
		return i + 1
	}
	id := int32(0)
	for {
		start := i
		if id, i = d.name(src, i, n.names, id); i < 0 {
			return failed
		}
		switch member := n.names.entries[id].member; {
		case member < 0:
			if i = d.skip(src, i); i > 0 && n.rescued {
				d.rescue.take(src[start:i])
			}
		case n.rescued:
			if i < len(src) {
				i = d.rescuedMember(src, start, i, n, int(member), n.names.entries[id].exact)
			} else {
				i = d.fail(src, i, "a value")
			}
		default:
			i = d.member(src, i, n, int(member), n.names.entries[id].exact)
		}
		if i < 0 {
			return failed
		}
		more, next := d.more(src, i, '}')
		if !more {
			if next > 0 {
				d.finish(n)
				if n.rescued {
					d.settle(src, n)
				}
			}
			return next
		}
		i = next
	}
}

// member decodes the value of a member of n. The exact spelling wins over another one met before it; of two others
// neither is taken (D-9).
func (d *decoder) member(src []byte, i int, n *node, m int, isExact bool) int {
	state := &n.state[m]
	if state.found != absent {
		if !isExact {
			if state.found == folded {
				state.found = ambiguous
			}
			return d.skip(src, i)
		}
		n.children[m].b.Truncate(n.children[m].b.Len() - 1)
		state.err = nil
	}
	state.found = folded
	if isExact {
		state.found = exact
	}
	before := d.unreadable
	i = d.value(src, i, &n.children[m])
	if d.unreadable != before {
		d.blame(n, m)
	}
	return i
}

// blame moves the error just noted to the member it is about: the exact spelling of the member may still take it back.
// When there is an error of something outside n already, none is noted; that one is enough.
func (d *decoder) blame(n *node, m int) {
	n.state[m].err, n.anyUnreadable = d.unreadable, true
	d.unreadable = nil
}

// finish gives every child of n that the object did not have a null, and refuses those it had twice.
func (d *decoder) finish(n *node) {
	for m := range n.state {
		state := &n.state[m]
		switch state.found {
		case absent:
			before := d.unreadable
			d.null(&n.children[m])
			if d.unreadable != before {
				d.blame(n, m)
			}
		case ambiguous:
			n.anyUnreadable = true
			state.err = fault.New(fault.AmbiguousMember, "column %s matches several members that differ in case, and none exactly", n.children[m].path).OfColumn(n.children[m].path).
				WithHint("put the column's name in backticks to read one of them")
		}
	}
}

func (d *decoder) array(src []byte, i int, n *node) int {
	if !d.enter(i) {
		return failed
	}
	i = blank(src, i+1)
	if i < len(src) && src[i] == ']' {
		d.leave()
		n.b.AppendNested()
		return i + 1
	}
	for {
		if i = d.value(src, i, &n.children[0]); i < 0 {
			return failed
		}
		more, next := d.more(src, i, ']')
		if !more {
			n.b.AppendNested()
			return next
		}
		i = next
	}
}

func (d *decoder) mapping(src []byte, i int, n *node) int {
	if !d.enter(i) {
		return failed
	}
	names := d.namesHere()
	names.begin()
	i = blank(src, i+1)
	if i < len(src) && src[i] == '}' {
		d.leave()
		n.b.AppendNested()
		return i + 1
	}
	id := int32(0)
	for {
		if id, i = d.name(src, i, names, id); i < 0 {
			return failed
		}
		e := names.entries[id]
		n.children[0].b.AppendText(names.texts[e.off : e.off+e.len])
		if i = d.value(src, i, &n.children[1]); i < 0 {
			return failed
		}
		more, next := d.more(src, i, '}')
		if !more {
			n.b.AppendNested()
			return next
		}
		i = next
	}
}
