package json

import (
	"strings"

	"sluice/batch"
	"sluice/format"
	"sluice/option"
)

// unseen are the columns, and the members of nested ones, of which no record so far has had a name. It costs nothing while records
// are read: names that are new are resolved once.
func (d *decoder) unseen() (out []format.Unseen) {
	for i := range d.root.children {
		if c := d.columns[i]; c != d.corrupt && (d.rescue == nil || c != d.rescue.column) { // those take no field
			out = d.root.child(i, out)
		}
	}
	return out
}

// child adds what was not met of a child of n. Of an object that never came nothing is known of its members.
func (n *node) child(i int, out []format.Unseen) []format.Unseen {
	c := &n.children[i]
	if n.kind == batch.Struct {
		switch {
		case n.names.object == 0:
			return out
		case i >= len(n.names.met) || !n.names.met[i]:
			return append(out, format.Unseen{Path: c.path, Near: n.names.near(n.typ.Fields[i].Name)})
		}
	}
	for j := range c.children {
		out = c.child(j, out)
	}
	return out
}

// near is the name met that may have been meant by another. Short names are near to everything, unless only their case differs.
func (n *names) near(name string) string {
	if found := option.Nearest(name, n.strange()); len(name) > 3 || strings.EqualFold(found, name) {
		return found
	}
	return ""
}

// strange are the names met that belong to no member.
func (n *names) strange() (out []string) {
	for _, e := range n.entries[1:] {
		if e.member < 0 {
			out = append(out, string(n.texts[e.off:e.off+e.len]))
		}
	}
	return out
}
