package json

import (
	"encoding/binary"
	"hash/maphash"
)

// names are the member names that objects of one place have had. They answer two questions at the price of one
// comparison, since records of a source mostly look alike: which column is this member, and was it in this object
// before (D-8)? Every name remembers which one followed it last time; only when that guess is wrong is it hashed.
type names struct {
	seed    maphash.Seed
	entries []name // entries[0] stands before the first member
	texts   []byte
	slots   []int32 // heads of the hash chains, 0 for none
	object  uint64  // number of the object being read
	resolve func(text []byte) (member int32, exact bool)
}

type name struct {
	off, len int32  // in texts
	next     int32  // the name that followed it last time
	chain    int32  // the next name of the same slot
	member   int32  // member of the STRUCT, -1 for none
	exact    bool   // spelt as the member is
	bare     bool   // stands in a record as it is, without escapes
	object   uint64 // the last object that had it
}

// keptNames bounds the names kept from one object to the next: members whose names are data would pile up otherwise.
const keptNames = 1024

func newNames(resolve func([]byte) (int32, bool)) *names {
	n := &names{seed: maphash.MakeSeed(), resolve: resolve}
	n.forget()
	return n
}

func (n *names) forget() {
	if cap(n.texts) > 1<<20 {
		n.texts, n.entries, n.slots = nil, nil, nil
	}
	n.texts = n.texts[:0]
	n.entries = append(n.entries[:0], name{})
	if n.slots == nil {
		n.slots = make([]int32, 2*keptNames)
	}
	clear(n.slots)
}

// begin starts an object. Objects of one names do not nest.
func (n *names) begin() {
	if len(n.entries) > keptNames {
		n.forget()
	}
	n.object++
}

// guess returns the name behind name after, if it stands at src[i:], a quote before and behind it; 0 otherwise.
func (n *names) guess(src []byte, i int, after int32) (id int32, end int) {
	id = n.entries[after].next
	if id == 0 {
		return 0, 0
	}
	e := &n.entries[id]
	end = i + 1 + int(e.len)
	if end < len(src) && src[end] == '"' && e.bare && same(src[i+1:end], n.texts[e.off:e.off+e.len]) {
		return id, end + 1
	}
	return 0, 0
}

// same compares texts of equal length. Names are short: word by word is faster than a call.
func same(a, b []byte) bool {
	for len(a) >= 8 && len(b) >= 8 {
		if binary.LittleEndian.Uint64(a) != binary.LittleEndian.Uint64(b) {
			return false
		}
		a, b = a[8:], b[8:]
	}
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}

// find returns the name with the given text, adding it when it is new.
func (n *names) find(text []byte, bare bool, after int32) int32 {
	hash := maphash.Bytes(n.seed, text)
	slot := hash & uint64(len(n.slots)-1)
	id := n.slots[slot]
	for id != 0 {
		e := &n.entries[id]
		if string(n.texts[e.off:e.off+e.len]) == string(text) {
			break
		}
		id = e.chain
	}
	if id == 0 {
		if len(n.entries) > len(n.slots) {
			n.grow()
			slot = hash & uint64(len(n.slots)-1)
		}
		id = n.add(text, slot)
	}
	if bare {
		n.entries[id].bare = true
	}
	n.entries[after].next = id
	return id
}

func (n *names) add(text []byte, slot uint64) int32 {
	member, exact := n.resolve(text)
	id := int32(len(n.entries))
	n.entries = append(n.entries, name{off: int32(len(n.texts)), len: int32(len(text)), chain: n.slots[slot],
		member: member, exact: exact})
	n.texts = append(n.texts, text...)
	n.slots[slot] = id
	return id
}

// grow doubles the slots; an object with very many members stays linear.
func (n *names) grow() {
	n.slots = make([]int32, 2*len(n.slots))
	for id := int32(1); int(id) < len(n.entries); id++ {
		e := &n.entries[id]
		slot := maphash.Bytes(n.seed, n.texts[e.off:e.off+e.len]) & uint64(len(n.slots)-1)
		e.chain, n.slots[slot] = n.slots[slot], id
	}
}

// first reports whether the object has not had the name before, and notes that it has it now.
func (n *names) first(id int32) bool {
	e := &n.entries[id]
	if e.object == n.object {
		return false
	}
	e.object = n.object
	return true
}

// noMember resolves the names of objects whose members are no columns.
func noMember([]byte) (int32, bool) { return -1, false }
