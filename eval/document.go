package eval

/*
#include "scan.h"
*/
import "C"

import (
	"runtime"
	"slices"
	"sync"
	"unsafe"

	"sluice/batch"
	"sluice/eval/dialect"
	"sluice/fault"
	"sluice/format"
	"sluice/format/json"
)

// Decoder reads the documents of a query's batches before SQL asks for them (dialect.Document): whoever reads ahead of a Statement
// reads these too. It is used by one goroutine, which need not be the Statement's. A nil Decoder has nothing to read.
type Decoder struct {
	specs []dialect.Document
	sets  [2]Documents
	turn  int
}

// Documents are what a Decoder made of one batch. They are valid until its second next call.
type Documents struct {
	decoded []*decoded // of each document of the query; nil for one that is read late
}

// Decoder returns what reads ahead, nil for a query in which nothing can be.
func (s *Statement) Decoder() (*Decoder, error) {
	d := &Decoder{specs: s.compiled.Documents}
	if !slices.ContainsFunc(d.specs, func(spec dialect.Document) bool { return !spec.Late }) {
		return nil, nil
	}
	for i := range d.sets {
		for _, spec := range d.specs {
			var made *decoded
			if !spec.Late {
				var err error
				if made, err = s.engine.newDecoded(&spec); err != nil {
					return nil, err
				}
			}
			d.sets[i].decoded = append(d.sets[i].decoded, made)
		}
	}
	return d, nil
}

// Decode reads the documents of rows.
func (d *Decoder) Decode(rows *batch.Columns) (*Documents, error) {
	if d == nil || rows.Len == 0 {
		return nil, nil
	}
	set := &d.sets[d.turn]
	d.turn = 1 - d.turn
	for i, made := range set.decoded {
		if made == nil {
			continue
		}
		texts, err := textsOf(rows, &d.specs[i])
		if err != nil {
			return nil, err
		}
		made.decode(texts, nil)
	}
	return set, nil
}

// Forget gives up the memory of documents. Those that Decode has returned must no longer be used.
func (d *Decoder) Forget() {
	if d == nil {
		return
	}
	for _, set := range d.sets {
		for _, made := range set.decoded {
			if made != nil {
				made.forget()
			}
		}
	}
}

// textsOf finds the column that a document is read from.
func textsOf(rows *batch.Columns, spec *dialect.Document) (*batch.Column, error) {
	texts := rows.Col(spec.Column)
	if texts == nil || !texts.Type.Equal(spec.Function.Args[0]) || texts.Len < rows.Len {
		return nil, fault.New(fault.InternalError, "the rows to evaluate have no column %s of type %s", spec.Column, spec.Function.Args[0])
	}
	return texts, nil
}

// decoded are the documents of some rows of a batch.
type decoded struct {
	from *json.From
	out  batch.Builder
	rows []int32     // which they are, nil for all
	lost []json.Lost // in the order of the rows
}

func (e *Engine) newDecoded(spec *dialect.Document) (*decoded, error) {
	from, err := newFrom(&spec.Function, spec.Used, e.zone)
	if err != nil {
		return nil, err
	}
	d := &decoded{from: from}
	d.out.Init(spec.Function.Result, 0)
	return d, nil
}

func (d *decoded) decode(texts *batch.Column, rows []int32) {
	d.out.Reset()
	d.rows = rows
	d.lost = d.from.Decode(texts, rows, &d.out, d.lost[:0])
}

func (d *decoded) forget() {
	d.from.Forget()
	d.out.Init(d.out.Type, 0)
	d.lost = nil
}

// part is the column of a part of the documents.
func (d *decoded) part(path []int) batch.Column {
	c := d.out.Column()
	for _, field := range path {
		c = c.Children[field]
	}
	return c
}

// losses are those of some of the documents, by their rows here; nil means of all.
func (d *decoded) losses(rows []int32) (nulled format.Nulled, err error) {
	if rows == nil {
		for _, l := range d.lost {
			if l.Err != nil {
				return format.Nulled{}, l.Err
			}
			nulled.Add(l.Nulled)
		}
		return nulled, nil
	}
	if len(d.lost) == 0 {
		return nulled, nil
	}
	for _, row := range rows {
		at, lost := slices.BinarySearchFunc(d.lost, int(row), func(l json.Lost, row int) int { return l.Row - row })
		if !lost {
			continue
		}
		if err := d.lost[at].Err; err != nil {
			return format.Nulled{}, err
		}
		nulled.Add(d.lost[at].Nulled)
	}
	return nulled, nil
}

// document is a document of a statement, over the batch at hand.
type document struct {
	spec  dialect.Document
	own   *decoded // by the statement itself: all that nobody has read ahead, else what a call asks for
	ahead *decoded // the whole batch; nil where the document is read late

	mu    sync.Mutex    // of own, while it is read late
	texts *batch.Column // late: nil where no call asks
}

// set makes the documents of the next run ready. Without them being read ahead the statement reads them.
func (d *document) set(i int, in *Input) error {
	d.ahead, d.texts = nil, nil
	if in.Batch == nil {
		return fault.New(fault.InternalError, "documents are read in a batch only")
	}
	switch {
	case in.Batch.Len == 0:
		return nil
	case in.Documents != nil && in.Documents.decoded[i] != nil:
		d.ahead = in.Documents.decoded[i]
		return nil
	}
	texts, err := textsOf(in.Batch, &d.spec)
	switch {
	case !d.spec.Late && err != nil:
		return err
	case !d.spec.Late:
		d.own.decode(texts, nil)
		d.ahead = d.own
	default:
		d.own.rows = nil // of another batch
		d.texts = texts
	}
	return nil
}

// partNodes are those of the part of a document that a path leads to.
func partNodes(spec *dialect.Document, path []int) []C.sluice_node {
	nodes := appendNodes(nil, spec.Function.Result)
	if spec.Used != nil {
		markUnused(nodes, 0, spec.Used)
	}
	at := 0
	for _, field := range path {
		at = childNode(nodes, at, field)
	}
	return nodes[at : at+int(nodes[at].size)]
}

// markUnused marks everything in a tree but the given parts.
func markUnused(nodes []C.sluice_node, at int, parts [][]int) {
	if len(parts) == 0 {
		nodes[at].unused = 1
	}
	if slices.ContainsFunc(parts, func(path []int) bool { return len(path) == 0 }) {
		return
	}
	for i := range int(nodes[at].children) {
		var inside [][]int
		for _, path := range parts {
			if path[0] == i {
				inside = append(inside, path[1:])
			}
		}
		markUnused(nodes, childNode(nodes, at, i), inside)
	}
}

func childNode(nodes []C.sluice_node, at, field int) int {
	child := at + 1
	for range field {
		child += int(nodes[child].size)
	}
	return child
}

// prepare points a function at its part of the documents of the run.
func (f *function) prepare(pins *runtime.Pinner) error {
	if f.document == nil || f.document.ahead == nil {
		return nil
	}
	column := f.document.ahead.part(f.spec.Path)
	if _, err := fillColumn(f.buffers, &column, column.Len, pins); err != nil {
		return err
	}
	return nil
}

// part computes a function that gives a part of a document, for the rows whose numbers are in a chunk.
func (f *function) part(view *C.sluice_view, n int, output C.duckdb_vector) (format.Nulled, error) {
	numbers, present := unsafe.Slice((*int32)(view.data), n), bits((*uint64)(view.valid), n)
	rows := numbers
	if present != nil && !allSet(present, 0, n) {
		rows = nil
		for i, r := range numbers {
			if present.Get(i) {
				rows = append(rows, r)
			}
		}
	}
	if f.document.ahead == nil {
		return f.late(rows, present, n, output)
	}
	var err error
	low, high, ordered := span(rows)
	switch {
	case len(rows) < n, int(high)-int(low) >= int(C.duckdb_vector_size()):
		column := f.document.ahead.part(f.spec.Path)
		err = f.gather(&column, rows, present, n, output)
	case ordered:
		err = exception(C.sluice_try_fill(output, &f.nodes[0], &f.buffers[0], C.idx_t(low), C.idx_t(n), false))
	default:
		err = exception(C.sluice_try_fill_some(output, &f.nodes[0], &f.buffers[0], C.idx_t(low), C.idx_t(high-low+1), (*C.int32_t)(view.data), C.idx_t(n)))
	}
	if err != nil {
		return format.Nulled{}, err
	}
	return f.document.ahead.losses(rows)
}

// span returns the lowest and the highest of some numbers, and whether they are all there are between, in their order.
func span(numbers []int32) (low, high int32, ordered bool) {
	if len(numbers) == 0 {
		return 0, 0, true
	}
	low, high, ordered = numbers[0], numbers[0], true
	for i, n := range numbers {
		low, high = min(low, n), max(high, n)
		ordered = ordered && n == numbers[0]+int32(i)
	}
	return low, high, ordered
}

// late reads the documents that are asked for. Calls for parts of the same ones follow each other.
func (f *function) late(rows []int32, present batch.Bitmap, n int, output C.duckdb_vector) (format.Nulled, error) {
	d := f.document
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.texts == nil {
		return format.Nulled{}, fault.New(fault.InternalError, "nothing was said of the column %s", d.spec.Column)
	}
	if d.own.rows == nil || !slices.Equal(d.own.rows, rows) {
		d.own.decode(d.texts, append(make([]int32, 0, len(rows)), rows...))
	}
	column, err := d.own.part(f.spec.Path), error(nil)
	if len(rows) == n {
		err = f.fill(&column, n, output)
	} else {
		places := make([]int32, len(rows))
		for i := range places {
			places[i] = int32(i)
		}
		err = f.gather(&column, places, present, n, output)
	}
	if err != nil {
		return format.Nulled{}, err
	}
	return d.own.losses(nil)
}

// gather writes to output the next of the given rows of a column for each row that is present, and NULL for the others.
func (f *function) gather(column *batch.Column, rows []int32, present batch.Bitmap, n int, output C.duckdb_vector) error {
	b := batch.NewBuilder(column.Type, n)
	for i := range n {
		if present.Get(i) {
			b.AppendFrom(column, int(rows[0]))
			rows = rows[1:]
		} else {
			b.AppendNull()
		}
	}
	made := b.Column()
	return f.fill(&made, n, output)
}

// fill writes a column to output, which gets copies.
func (f *function) fill(column *batch.Column, n int, output C.duckdb_vector) error {
	var pins runtime.Pinner
	defer pins.Unpin()
	buffers := make([]C.sluice_buffers, len(f.nodes))
	if _, err := fillColumn(buffers, column, n, &pins); err != nil {
		return err
	}
	pins.Pin(&buffers[0])
	return exception(C.sluice_try_fill(output, &f.nodes[0], &buffers[0], 0, C.idx_t(n), true))
}
