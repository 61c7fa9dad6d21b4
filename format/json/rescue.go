package json

import (
	"bytes"
	"strings"

	"sluice/batch"
	"sluice/fault"
	"sluice/format"
)

// rescue collects what no column of a record takes, as the members of one object (RescuedDataOption). A member inside an object
// that is a STRUCT stands inside an object of that name; what is in arrays and maps is rescued with the whole array or map, when
// something in it cannot be read.
type rescue struct {
	column  *node
	text    []byte // the object without its brace at the end, each member with a comma behind it; empty when there is none
	levels  []level
	path    []byte // ,"_file_path":"...": of the file; empty when records come from no file
	hasPath bool   // the record has a member of that name itself
}

// level is an object around the one being read.
type level struct {
	name   []byte // as it stands in the record, with quotes and colon
	opened bool   // it is in the text
}

// newRescue makes the structs below root ones whose members are rescued, except those inside arrays and maps.
func newRescue(root *node, column int) *rescue {
	resolve := root.names.resolve
	root.names = newNames(func(text []byte) (int32, bool) {
		member, exact := resolve(text)
		if member == int32(column) {
			return noMember(text)
		}
		return member, exact
	})
	root.rescueMembers()
	return &rescue{column: &root.children[column]}
}

func (n *node) rescueMembers() {
	n.rescued = true
	for i := range n.children {
		if n.children[i].kind == batch.Struct {
			n.children[i].rescueMembers()
		}
	}
}

// file says of which file the next records are.
func (d *decoder) file(path string) {
	d.rescue.path = format.AppendJSONString([]byte(`"_file_path":`), []byte(strings.ToValidUTF8(path, "\ufffd")))
}

func (r *rescue) begin() { r.text, r.levels, r.hasPath = r.text[:0], r.levels[:0], false }

// end puts what was rescued into its column, which has a null there.
func (r *rescue) end(row int) {
	if len(r.text) == 0 {
		return
	}
	if len(r.path) > 0 && !r.hasPath {
		r.text = append(append(r.text, r.path...), ',')
	}
	r.text[len(r.text)-1] = '}'
	r.column.b.Truncate(row)
	r.column.b.AppendText(r.text)
}

// take adds a member, "name":value as it stands in the record.
func (r *rescue) take(member []byte) {
	if len(r.text) == 0 {
		r.text = append(r.text, '{')
	}
	for i := range r.levels {
		if l := &r.levels[i]; !l.opened {
			r.text = append(compact(r.text, l.name), '{')
			l.opened = true
		}
	}
	r.hasPath = r.hasPath || len(r.levels) == 0 && bytes.HasPrefix(member, []byte(`"_file_path"`))
	r.text = append(compact(r.text, member), ',')
}

func (r *rescue) enter(name []byte) { r.levels = append(r.levels, level{name: name}) }

func (r *rescue) leave() {
	last := len(r.levels) - 1
	if r.levels[last].opened {
		r.text = append(r.text[:len(r.text)-1], '}', ',')
	}
	r.levels = r.levels[:last]
}

// rescuedMember is member for an object of which is rescued what no column takes. The member's name is at src[start], its value at
// src[i].
func (d *decoder) rescuedMember(src []byte, start, i int, n *node, m int, isExact bool) int {
	state, child := &n.state[m], &n.children[m]
	again := state.found != absent
	if again {
		if !isExact {
			if state.found == folded {
				state.found = ambiguous
			}
			next := d.skip(src, i)
			if next > 0 {
				d.rescue.take(src[start:next])
			}
			return next
		}
		d.rescue.take(src[state.start:state.end])
	}
	if child.rescued && src[i] == '{' {
		d.rescue.enter(src[start:i])
		defer d.rescue.leave()
	}
	next := d.member(src, i, n, m, isExact)
	state.start, state.end = start, next
	if again && child.kind == batch.Struct {
		n.anyUnreadable = true
		state.err = fault.New(fault.AmbiguousMember, "column %s is a STRUCT and matches several members that differ in case: the others are not rescued", child.path).
			WithHint("put the column's name in backticks to read one of them")
	}
	return next
}

// settle makes NULL, and rescues, what could not be read of the object just read into n. A member that is a STRUCT and that the object
// has in several spellings is not rescued: parts of it may have been already.
func (d *decoder) settle(src []byte, n *node) {
	if !n.anyUnreadable {
		return
	}
	n.anyUnreadable = false
	for m := range n.state {
		state, child := &n.state[m], &n.children[m]
		switch {
		case state.err == nil:
		case state.err.Code == fault.UnreadableJSON, state.found == ambiguous && child.kind != batch.Struct:
			d.rescue.take(src[state.start:state.end])
			child.b.Truncate(child.b.Len() - 1)
			state.err = nil
			d.null(child)
			if d.unreadable != nil { // it is NOT NULL
				d.blame(n, m)
			}
		default:
			n.anyUnreadable = true
		}
	}
}
