package eval

/*
#include "scan.h"
*/
import "C"

import (
	"math"
	"unsafe"

	"sluice/batch"
	"sluice/fault"
)

// output gathers one column of a result from DuckDB's chunks. Its memory is used again after truncate(0).
type output struct {
	typ      batch.Type
	layout   int
	node     int // of its view in a run's views
	n        int
	nulls    bool         // there has been a null: valid counts
	valid    batch.Bitmap // whole words; of the last one, bits from n on are not defined
	fixed    []byte       // as long as its memory; n*width bytes count
	offsets  []uint32     // n+1
	bytes    []byte       // as long as its memory; offsets[n] bytes count
	children []output
}

// newOutput makes the output of a column whose tree starts at *node, and moves that behind the tree.
func newOutput(t batch.Type, node *int) output {
	o := output{typ: t, layout: layoutOf(t), node: *node}
	*node++
	if o.layout == C.SLUICE_TEXT || o.layout == C.SLUICE_LIST || o.layout == C.SLUICE_MAP {
		o.offsets = []uint32{0}
	}
	if t.IsNested() {
		for _, f := range t.Fields {
			o.children = append(o.children, newOutput(f.Type, node))
		}
	}
	return o
}

// truncate drops the rows from n on.
func (o *output) truncate(n int) {
	o.n = n
	if n == 0 {
		o.nulls = false
	}
	rows := n
	if o.offsets != nil {
		o.offsets = o.offsets[:n+1]
		rows = int(o.offsets[n])
	}
	for i := range o.children {
		o.children[i].truncate(rows)
	}
}

// free gives up all rows and all memory.
func (o *output) free() {
	o.truncate(0)
	o.valid, o.fixed, o.bytes = nil, nil, nil
	if o.offsets != nil {
		o.offsets = []uint32{0}
	}
	for i := range o.children {
		o.children[i].free()
	}
}

// size is how many bytes the values so far take.
func (o *output) size() int64 {
	n := int64(o.n) * int64(o.typ.Width())
	if o.offsets != nil {
		n += 4 * int64(o.n)
	}
	if o.layout == C.SLUICE_TEXT {
		n += int64(o.offsets[o.n])
	}
	for i := range o.children {
		n += o.children[i].size()
	}
	return n
}

// column returns the rows so far. It shares memory with o.
func (o *output) column() batch.Column {
	c := batch.Column{Type: o.typ, Len: o.n, Offsets: o.offsets}
	if o.nulls {
		c.Valid = o.valid[:(o.n+63)/64]
	}
	if w := o.typ.Width(); w > 0 {
		c.Fixed = o.fixed[:o.n*w]
	}
	if o.layout == C.SLUICE_TEXT {
		c.Bytes = o.bytes[:o.offsets[o.n]]
	}
	if o.children != nil {
		c.Children = make([]batch.Column, len(o.children))
		for i := range o.children {
			c.Children[i] = o.children[i].column()
		}
	}
	return c
}

// append copies n rows of the output's view, from start on.
func (o *output) append(views []C.sluice_view, start, n int) error {
	if n == 0 {
		return nil
	}
	v := &views[o.node]
	if o.layout == C.SLUICE_VOID {
		return o.appendVoid(v, start, n)
	}
	o.appendValidity((*uint64)(v.valid), start, n)
	var err error
	switch o.layout {
	case C.SLUICE_FIXED:
		w := o.typ.Width()
		copy(o.grow(n, w), unsafe.Slice((*byte)(v.data), (start+n)*w)[start*w:])
	case C.SLUICE_DECIMAL16:
		widen(o, (*int16)(v.data), start, n)
	case C.SLUICE_DECIMAL32:
		widen(o, (*int32)(v.data), start, n)
	case C.SLUICE_TEXT:
		err = o.appendText(v, start, n)
	case C.SLUICE_LIST, C.SLUICE_MAP:
		err = o.appendLists(views, start, n)
	case C.SLUICE_STRUCT:
		for i := range o.children {
			if err = o.children[i].append(views, start, n); err != nil {
				break
			}
		}
	}
	o.n += n
	return err
}

// grow makes room for n further values of the given width and returns it.
func (o *output) grow(n, width int) []byte {
	from, to := o.n*width, (o.n+n)*width
	if to > len(o.fixed) {
		grown := batch.AlignedBytes(max(to, 2*len(o.fixed)))
		copy(grown, o.fixed[:from])
		o.fixed = grown
	}
	return o.fixed[from:to]
}

// widen appends decimals that DuckDB keeps in fewer bytes than a column does.
func widen[T int16 | int32](o *output, data *T, start, n int) {
	room := o.grow(n, 8)
	out := unsafe.Slice((*int64)(unsafe.Pointer(unsafe.SliceData(room))), n)
	for i, v := range unsafe.Slice(data, start+n)[start:] {
		out[i] = int64(v)
	}
}

// appendVoid appends the rows of a bare NULL.
func (o *output) appendVoid(v *C.sluice_view, start, n int) error {
	valid := bits((*uint64)(v.valid), start+n)
	for i := start; i < start+n; i++ {
		if valid.Get(i) {
			return fault.New(fault.InternalError, "a column of type VOID has a value")
		}
	}
	o.appendValidity((*uint64)(v.valid), start, n)
	o.n += n
	return nil
}

// text is DuckDB's string: up to twelve bytes inside, longer ones behind a pointer in the last eight.
type text struct {
	length uint32
	inside [12]byte
}

func (t *text) bytes() *byte { return *(**byte)(unsafe.Pointer(&t.inside[4])) }

// appendText copies strings. The value under a null bit is not defined, so it must not be looked at.
func (o *output) appendText(v *C.sluice_view, start, n int) error {
	texts := unsafe.Slice((*text)(v.data), start+n)[start:]
	valid := bits((*uint64)(v.valid), start+n)
	end := uint64(o.offsets[o.n])
	for i := range texts {
		if valid.Get(start + i) {
			end += uint64(texts[i].length)
		}
		o.offsets = append(o.offsets, uint32(end))
	}
	if end > math.MaxUint32 {
		return tooLarge()
	}
	at := int(o.offsets[o.n])
	o.growBytes(int(end))
	for i := range texts {
		t := &texts[i]
		switch to := int(o.offsets[o.n+i+1]); {
		case to == at:
		case t.length <= uint32(len(t.inside)):
			*(*[len(t.inside)]byte)(o.bytes[at:]) = t.inside // a few bytes too many, which the next text covers
			at = to
		default:
			copy(o.bytes[at:to], unsafe.Slice(t.bytes(), t.length))
			at = to
		}
	}
	return nil
}

// growBytes makes room for text up to end, and for one more inlined text beyond.
func (o *output) growBytes(end int) {
	if end += len(text{}.inside); end > len(o.bytes) {
		grown := make([]byte, max(end, 2*len(o.bytes)))
		copy(grown, o.bytes[:o.offsets[o.n]])
		o.bytes = grown
	}
}

// appendLists copies lists. DuckDB may keep elements in another order than the lists, or elements of no list; as long as
// lists follow one another, their elements are copied in one go.
func (o *output) appendLists(views []C.sluice_view, start, n int) error {
	v := &views[o.node]
	entries := unsafe.Slice((*struct{ offset, length uint64 })(v.data), start+n)[start:]
	valid := bits((*uint64)(v.valid), start+n)
	end := uint64(o.offsets[o.n])
	var from, to uint64 // elements not copied yet
	for i, e := range entries {
		if valid.Get(start+i) && e.length > 0 {
			if e.offset != to {
				if err := o.appendElements(views, from, to); err != nil {
					return err
				}
				from, to = e.offset, e.offset
			}
			to += e.length
			end += e.length
		}
		o.offsets = append(o.offsets, uint32(end))
	}
	if end > math.MaxUint32 {
		return tooLarge()
	}
	return o.appendElements(views, from, to)
}

func (o *output) appendElements(views []C.sluice_view, from, to uint64) error {
	for i := range o.children {
		if err := o.children[i].append(views, int(from), int(to-from)); err != nil {
			return err
		}
	}
	return nil
}

func tooLarge() error {
	return fault.New(fault.OutOfMemory, "one column of a result has more than 4 GiB, or 4 billion elements").
		WithHint("take smaller batches, or select fewer rows")
}
