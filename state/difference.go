package state

import (
	"context"
	"math/bits"

	"sluice/batch"
	"sluice/digest"
)

// The change feed of a table with windows says in which rows two versions differ as bags: rows that went, each as often as it went, then
// rows that came (D-28). An update writes files that hold for the most part what was there before, so both sides are read, and every row of
// one is held against a count of the other's. Rows are counted by a hash of 128 bits; bagRows are counted in one go, and for more the files are
// read more than once.

// difference calls emit with the rows that only files before have, then with those that only files after have. The columns stay valid during the call.
func (t *Table) difference(ctx context.Context, before, after []*tableFile, emit func(change batch.Change, cols []*batch.Column, row int) error) error {
	d := &differing{t: t, ctx: ctx, emit: emit, most: bagRows}
	if err := d.beyond(before, after, batch.DeleteRow); err != nil {
		return err
	}
	return d.beyond(after, before, batch.InsertRow)
}

// differing is a difference at work.
type differing struct {
	t    *Table
	ctx  context.Context
	emit func(change batch.Change, cols []*batch.Column, row int) error
	cols []*batch.Column
	row  []byte
	most int64 // rows that are counted in one go
}

// beyond emits the rows of some files that others do not have, each as often as they do not.
func (d *differing) beyond(files, others []*tableFile, change batch.Change) error {
	rows := int64(0)
	for _, f := range others {
		rows += f.rows
	}
	counts := newBag(min(rows, d.most))
	parts := uint64(rows/d.most + 1)
	for part := range parts {
		counts.clear()
		err := d.each(others, func(hi, lo uint64, _ int) error {
			if of, _ := bits.Mul64(hi, parts); of == part {
				counts.add(hi, lo)
			}
			return nil
		})
		if err != nil {
			return err
		}
		err = d.each(files, func(hi, lo uint64, row int) error {
			if of, _ := bits.Mul64(hi, parts); of != part || counts.take(hi, lo) {
				return nil
			}
			return d.emit(change, d.cols, row)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// each calls f with the hash of every row of some files.
func (d *differing) each(files []*tableFile, f func(hi, lo uint64, row int) error) (err error) {
	schema := &d.t.record.Schema
	scan := &Scan{store: d.t.store, schema: schema, ids: schema.visible(), files: files}
	defer func() {
		if e := scan.Close(); err == nil {
			err = e
		}
	}()
	for {
		if err := d.ctx.Err(); err != nil {
			return err
		}
		rows, err := scan.Next(0)
		if err != nil || rows.Len == 0 {
			return err
		}
		d.cols = rows.Refs(d.cols[:0])
		for i := range rows.Len {
			d.row = batch.AppendExact(d.row[:0], d.cols, i)
			hash := digest.Of(d.row)
			if err := f(hash.Hi, hash.Lo, i); err != nil {
				return err
			}
		}
	}
}

// bag counts rows by their hashes: a table with open addressing, without pointers.
type bag struct {
	slots []bagSlot // a power of two of them, about three quarters taken at most, never all
	mask  uint64
}

type bagSlot struct {
	hi, lo uint64
	count  int64 // 0: nothing was ever here, -1: a row that was taken as often as it was added
}

// bagRows is how many rows a bag holds, more or less: it has 2 M slots of 24 bytes then.
const bagRows = 1<<21/4*3 - 1

func newBag(rows int64) *bag {
	n := uint64(1) << bits.Len64(uint64(rows+rows/3+1))
	return &bag{slots: make([]bagSlot, n), mask: n - 1}
}

func (b *bag) clear() { clear(b.slots) }

// at finds the slot of a hash, or the free one where it belongs.
func (b *bag) at(hi, lo uint64) *bagSlot {
	for i := lo & b.mask; ; i = (i + 1) & b.mask {
		if s := &b.slots[i]; s.count == 0 || s.hi == hi && s.lo == lo {
			return s
		}
	}
}

func (b *bag) add(hi, lo uint64) {
	s := b.at(hi, lo)
	s.hi, s.lo, s.count = hi, lo, max(s.count, 0)+1
}

// take takes a row away, and reports whether there was one.
func (b *bag) take(hi, lo uint64) bool {
	s := b.at(hi, lo)
	if s.count <= 0 {
		return false
	}
	if s.count--; s.count == 0 {
		s.count = -1
	}
	return true
}
