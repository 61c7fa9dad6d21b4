package json

import (
	"bytes"
	"cmp"
	"strings"

	"sluice/batch"
	"sluice/fault"
)

// node is a column or a part of one.
type node struct {
	kind     batch.Kind
	typ      batch.Type
	notNull  bool
	path     string // for messages: order.items[].price
	b        *batch.Builder
	children []node
	unused   bool // nobody asks for what it holds

	// Of a STRUCT:
	names         *names
	state         []memberState // parallel to children
	anyUnreadable bool          // some member of the current object has or had an error
	rescued       bool          // what is wrong with its members is rescued, each by itself
}

// memberState says what the current object had for a member.
type memberState struct {
	found found
	err   *fault.Error
	start int // where rescuing: of the member's name in the record
	end   int // and of the end of its value
}

// found is which spelling of a member has been met (D-9).
type found uint8

const (
	absent    found = iota
	folded          // once, in another case
	ambiguous       // in several other cases
	exact           // as it is declared
)

// init makes n a node of type t. quoted and corrupt are about the children of the root: which match exactly only, and
// which matches nothing.
func (n *node) init(path string, t batch.Type, quoted []bool, corrupt int) error {
	n.kind, n.typ, n.path = t.Kind, t, path
	switch t.Kind {
	case batch.Map:
		if t.Fields[0].Type.Kind != batch.String {
			return fault.New(fault.UnsupportedTypes, "column %s: the keys of a MAP read from JSON are STRING, not %s", cmp.Or(path, "value"), t.Fields[0].Type)
		}
	case batch.Void, batch.Interval:
		return fault.New(fault.UnsupportedTypes, "column %s: JSON has no values of type %s", cmp.Or(path, "value"), t)
	}
	n.children = make([]node, len(t.Fields))
	for i, f := range t.Fields {
		if err := n.children[i].init(n.pathOf(i), f.Type, nil, -1); err != nil {
			return err
		}
		n.children[i].notNull = f.NotNull
	}
	if t.Kind != batch.Struct {
		return nil
	}
	n.state = make([]memberState, len(t.Fields))
	n.names = newNames(resolver(t.Fields, quoted, corrupt))
	return n.checkNames(quoted)
}

func (n *node) pathOf(child int) string {
	switch n.kind {
	case batch.Array:
		return n.path + "[]"
	case batch.Map:
		return n.path + "." + n.typ.Fields[child].Name
	}
	name := batch.QuoteName(n.typ.Fields[child].Name)
	if n.path == "" {
		return name
	}
	return n.path + "." + name
}

// checkNames refuses members that one name in a record would match.
func (n *node) checkNames(quoted []bool) error {
	for i, f := range n.typ.Fields {
		for j, g := range n.typ.Fields[:i] {
			bothExact := isQuoted(quoted, i) || isQuoted(quoted, j)
			if f.Name == g.Name || !bothExact && strings.EqualFold(f.Name, g.Name) {
				return fault.New(fault.UnsupportedTypes, "columns %s and %s are the same name", n.children[j].path, n.children[i].path).
					WithHint("names match without case; put both in backticks to read two members that differ in case only")
			}
		}
	}
	return nil
}

func isQuoted(quoted []bool, i int) bool { return i < len(quoted) && quoted[i] }

// resolver finds the member that a name belongs to: the one spelt exactly so, else the one that is not in backticks and
// differs in case only (D-9).
func resolver(fields []batch.Field, quoted []bool, corrupt int) func([]byte) (int32, bool) {
	return func(text []byte) (int32, bool) {
		other := int32(-1)
		for i, f := range fields {
			switch {
			case i == corrupt:
			case f.Name == string(text):
				return int32(i), true
			case !isQuoted(quoted, i) && bytes.EqualFold(text, []byte(f.Name)):
				other = int32(i)
			}
		}
		return other, false
	}
}

// bind gives n and its children the builders they fill.
func (n *node) bind(b *batch.Builder) {
	n.b = b
	for i := range n.children {
		n.children[i].bind(b.Child(i))
	}
}

// firstUnreadable returns the error of the first member of the object just read that has one.
func (n *node) firstUnreadable() *fault.Error {
	if n.anyUnreadable {
		for i := range n.state {
			if err := n.state[i].err; err != nil {
				return err
			}
		}
	}
	return nil
}
