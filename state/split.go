package state

import (
	"fmt"

	"github.com/cockroachdb/pebble/v2"

	"sluice/batch"
)

// Splits have numbers, so that a row's position is small. A number belongs to a flow, a split and its id for ever: after a
// checkpoint reset a record that is read again has the position it had before, and is known again (D-1). Two flows that
// read one topic have different numbers (D-10).

// numberSplits calls f with the number of each split, in order; new ones take the next numbers.
func (f *Flow) numberSplits(splits []batch.Mark, each func(m batch.Mark, number int32)) error {
	return f.store.allocate(func(b *pebble.Batch) error {
		for _, m := range splits {
			n, err := f.splitNumber(b, m.Split, m.ID)
			if err != nil {
				return err
			}
			each(m, n)
		}
		return nil
	})
}

func (f *Flow) splitNumber(b *pebble.Batch, split, id string) (int32, error) {
	k := splitKey(f.record.ID, split, id)
	v, err := f.store.get(b, k)
	if err != nil {
		return 0, err
	}
	if v != nil {
		n, err := decodeNumber(v)
		if err != nil {
			return 0, f.store.readFailed(err)
		}
		return int32(n), nil
	}
	n, err := f.store.nextID(b, "split")
	must(b.Set(k, encodeNumber(int64(n)), nil))
	return int32(n), err
}

// keptSplits is how many numbers a flow keeps in memory. A flow over many files meets each of them once.
const keptSplits = 4096

// numbersOf returns the numbers of the splits of a range.
func (f *Flow) numbersOf(r *batch.Range) ([]int32, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	numbers := make([]int32, len(r.Splits))
	var unknown []batch.Mark
	for _, s := range r.Splits {
		if m := (batch.Mark{Split: s.Split, ID: s.ID}); !f.knows(m) {
			unknown = append(unknown, m)
		}
	}
	if len(unknown) > 0 {
		if len(f.splits)+len(unknown) > keptSplits {
			clear(f.splits)
			unknown = unknown[:0]
			for _, s := range r.Splits {
				unknown = append(unknown, batch.Mark{Split: s.Split, ID: s.ID})
			}
		}
		if err := f.numberSplits(unknown, func(m batch.Mark, n int32) { f.splits[m] = n }); err != nil {
			return nil, err
		}
	}
	for i, s := range r.Splits {
		numbers[i] = f.splits[batch.Mark{Split: s.Split, ID: s.ID}]
	}
	return numbers, nil
}

func (f *Flow) knows(m batch.Mark) bool { _, ok := f.splits[m]; return ok }

// Positions names the splits of rows' positions for ever: Split, an index into r.Splits, becomes the number the store
// gives to (flow, split, id). Numbers survive resets, so a record that is read again has the same position again (D-1).
func (f *Flow) Positions(r *batch.Range, pos batch.Positions) (batch.Positions, error) {
	numbers, err := f.numbersOf(r)
	if err != nil {
		return batch.Positions{}, err
	}
	named := batch.Positions{Split: make([]int32, len(pos.Split)), Offset: pos.Offset, Index: pos.Index}
	for i, split := range pos.Split {
		named.Split[i] = numbers[split]
	}
	return named, nil
}

// Places names for ever where rows that came through the change feed of a table lie in it. A row that comes again, as a change
// or in the copy that a new reader gets, has the same place again (D-1, D-41). again tells rows apart that were made of one.
func (f *Flow) Places(table string, places [][]byte, again []int32) (batch.Positions, error) {
	type origin struct{ split, again int32 }
	r := batch.Range{}
	index := map[origin]int32{}
	var pos batch.Positions
	for i, place := range places {
		in := reader{b: place}
		p := readPosition(&in)
		if err := in.done(); err != nil {
			return pos, f.store.readFailed(err)
		}
		o := origin{p.split, again[i]}
		at, known := index[o]
		if !known {
			at = int32(len(r.Splits))
			index[o] = at
			r.Splits = append(r.Splits, batch.SplitRange{Split: table, ID: fmt.Sprintf("place %d.%d", o.split, o.again)})
		}
		pos.Split, pos.Offset, pos.Index = append(pos.Split, at), append(pos.Offset, p.offset), append(pos.Index, p.index)
	}
	return f.Positions(&r, pos)
}
