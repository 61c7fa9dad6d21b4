package json

import (
	"encoding/binary"
	"hash/maphash"
	"slices"
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
	met     []bool  // members of which some object has had a name, by number; what is forgotten stays here
	resolve func(text []byte) (member int32, exact bool)
}

type name struct {
	// The start of a member of this name as records mostly have it, "name": without blanks or escapes, as two words of
	// which the masks say how much counts. A width of 0 says that it does not fit.
	head, tail         uint64
	headMask, tailMask uint64
	width              int32
	next               int32  // the name that followed it last time, 0 for none
	object             uint64 // the last object that had it
	member             int32  // member of the STRUCT, -1 for none
	exact              bool   // spelt as the member is
	off, len           int32  // its text in texts
	chain              int32  // the next name of the same slot
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
		n.slots = make([]int32, 16) // grow has more when there are more names: a document may open an object at every depth
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

// guess returns the name behind name after when that is what stands at src[i:], and the index behind its colon; 0
// when it does not, or when the object had it before.
func (n *names) guess(src []byte, i int, after int32) (id int32, next int) {
	id = n.entries[after].next
	e := &n.entries[id]
	var differ uint64
	switch rest := src[i:]; {
	case len(rest) >= 16:
		differ = (binary.LittleEndian.Uint64(rest)^e.head)&e.headMask | (binary.LittleEndian.Uint64(rest[8:])^e.tail)&e.tailMask
	case len(rest) >= 8:
		differ = (binary.LittleEndian.Uint64(rest)^e.head)&e.headMask | e.tailMask
	default:
		return 0, 0
	}
	if differ != 0 || e.width == 0 || e.object == n.object {
		return 0, 0
	}
	e.object = n.object
	return id, i + int(e.width)
}

// expect makes e known as a member without blanks or escapes: "name": in at most 16 bytes.
func (e *name) expect(text []byte) {
	const most = 16
	if len(text)+3 > most {
		return
	}
	var pattern, mask [most]byte
	at := append(append(append(pattern[:0], '"'), text...), '"', ':')
	for i := range at {
		mask[i] = 0xff
	}
	e.width = int32(len(at))
	e.head, e.tail = binary.LittleEndian.Uint64(pattern[:]), binary.LittleEndian.Uint64(pattern[8:])
	e.headMask, e.tailMask = binary.LittleEndian.Uint64(mask[:]), binary.LittleEndian.Uint64(mask[8:])
}

// find returns the name with the given text, adding it when it is new. A bare text stands in the record without escapes.
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
		n.entries[id].expect(text)
	}
	n.entries[after].next = id
	return id
}

func (n *names) add(text []byte, slot uint64) int32 {
	member, exact := n.resolve(text)
	if member >= 0 {
		n.met = append(n.met, make([]bool, max(0, int(member)+1-len(n.met)))...)
		n.met[member] = true
	}
	id := int32(len(n.entries))
	if len(n.entries) == cap(n.entries) { // append alone would grow a long list by a quarter only, and copy it that much oftener
		n.entries = slices.Grow(n.entries, len(n.entries))
	}
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
