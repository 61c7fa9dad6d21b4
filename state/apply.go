package state

import (
	"bytes"

	"github.com/cockroachdb/pebble/v2"

	"sluice/batch"
	"sluice/fault"
)

// Edit is a keyed batch as the rule decided it.
type Edit struct {
	Rows      *batch.Columns
	Positions batch.Positions // as Flow.Positions returned them
	Keys      *Keys
	Sequences *batch.Keys // one per row
	Groups    *batch.Groups
	Edits     *batch.Edits
}

// Apply adds the edits to the batch: rows, floors and change feed. It is called at most once, after Floors and Redelivered
// with the same keys and groups.
func (w *Writer) Apply(e Edit) error {
	if !w.t.record.Keyed || w.applied {
		return fault.New(fault.InternalError, "table %s: has no keys, or has an edit already", w.t.name)
	}
	if e.Positions.Len() != e.Rows.Len {
		return fault.New(fault.InternalError, "table %s: %d rows have %d positions", w.t.name, e.Rows.Len, e.Positions.Len())
	}
	cols, err := w.columns(e.Rows)
	if err != nil {
		return err
	}
	a := applier{w: w, e: &e}
	if w.digest != nil {
		w.t.digester.forget() // of a batch that was given up
	}
	a.encode(newRowEncoder(len(w.schema.Versions)-1, cols))
	defer a.close()
	if w.feed != nil {
		w.feed.sources = cols
	}
	w.applied = true
	for g, op := range e.Edits.Ops {
		if g%warmBlock == 0 {
			a.touch(g, min(g+warmBlock, len(e.Edits.Ops)))
		}
		if err := a.apply(g, op); err != nil {
			return err
		}
	}
	if w.digest != nil {
		w.t.digester.settle(w.digest)
	}
	w.changed = w.changed || len(e.Edits.Kept.Rows) > 0
	w.t.floors.account()
	return nil
}

// applier writes one edit.
type applier struct {
	w    *Writer
	e    *Edit
	rows keptRows
	old  *pebble.Iterator // over the groups, opened when old rows are needed
	warm byte             // makes the loads of touch count
	tied int              // groups of w.s.tiedGroups that have been passed
}

func (a *applier) close() {
	if a.old != nil {
		_ = a.old.Close()
	}
}

// touch brings what the groups from..to-1 need into the cache, all loads at once.
func (a *applier) touch(from, to int) {
	kept, at := &a.e.Edits.Kept, a.rows.at
	for _, i := range kept.Rows[kept.Starts[from]:kept.Starts[to]] {
		a.warm += a.rows.bytes[at[i]]
	}
	if x := a.w.t.floors.memory; x != nil {
		hash := a.w.t.floors.hash[from:to]
		for i, ref := range a.w.t.floors.refs[from:to] {
			if ref != noEntry {
				x.touch(hash[i], ref)
			}
		}
	}
}

func (a *applier) apply(g int, op batch.Op) error {
	if op == batch.OpIgnore {
		return nil
	}
	kept := a.e.Edits.Kept.Of(g)
	k := a.w.t.floors.keys.At(g)
	floor, _ := a.rows.row(kept[0])
	switch op {
	case batch.OpInsert:
		a.w.version.keys++
	case batch.OpReplace:
		if err := a.remove(g, k); err != nil {
			return err
		}
	case batch.OpAppend:
		return a.join(g, k, floor, kept)
	}
	a.put(g, k, floor, kept)
	return a.inserted(k, floor, kept)
}

// remove takes the old rows of a key out of the sums and the digest, and into the change feed. Those of an inline group go when its value
// is written over; those of a spilled one by a range deletion (D-59).
func (a *applier) remove(g int, k []byte) error {
	w := a.w
	meta := w.t.floors.metas[g]
	rows, size := meta.rows(), int64(len(k))+meta.size()
	if meta.spilled() || w.feed != nil || w.digest != nil {
		old, err := a.oldGroup(k)
		if err != nil {
			return err
		}
		rows, size = old.rows, old.storedBytes(len(k))
		if w.feed != nil || w.digest != nil {
			if err := a.deleted(k, &old); err != nil {
				return err
			}
		}
		if old.spilled {
			from, to := rowsOf(k)
			must(w.b.DeleteRange(from, to, nil))
		}
	}
	w.version.rows -= rows
	w.version.bytes -= size
	w.out.Replaced += rows
	return nil
}

// oldGroup reads the group of a key. It belongs to the iterator.
func (a *applier) oldGroup(k []byte) (group, error) {
	if a.old == nil {
		var err error
		if a.old, err = a.w.rowsIter(); err != nil {
			return group{}, err
		}
	}
	v, err := a.w.seekGroup(a.old, k)
	if err != nil {
		return group{}, err
	}
	old, err := parseGroup(v)
	if err != nil {
		return group{}, a.w.t.store.readFailed(err)
	}
	return old, nil
}

// put writes the kept rows as the whole group of a key.
func (a *applier) put(g int, k, floor []byte, kept []int32) {
	value := a.rows.group(kept[0])
	if len(kept) > 1 {
		value = appendInlineHead(a.w.s.value[:0], floor, len(kept))
		for _, i := range kept {
			_, row := a.rows.row(i)
			value = append(value, row...)
		}
		a.w.s.value = value
	}
	a.w.version.rows += int64(len(kept))
	if len(value) <= spillAt {
		a.set(g, k, floor, value, inlineMeta(len(kept), len(value)))
		return
	}
	r := reader{b: value[len(appendInlineHead(nil, floor, len(kept))):]}
	size, last := a.spill(k, &r, len(kept))
	a.setSpilled(g, k, floor, int64(len(kept)), size, last)
}

// spill writes n rows of an inline group under keys of their own, and returns what they take and the last position.
func (a *applier) spill(k []byte, r *reader, n int) (size int64, last rowPosition) {
	for range n {
		p, row := nextRow(r)
		size += a.putRow(k, p, row)
		last = p
	}
	return size, last
}

func (a *applier) putRow(k []byte, p rowPosition, row []byte) int64 {
	a.w.s.key = appendRowKey(a.w.s.key[:0], k, p)
	must(a.w.b.Set(a.w.s.key, row, nil))
	return int64(len(a.w.s.key) + len(row))
}

// set writes the value of a group and its floor.
func (a *applier) set(g int, k, floor, value []byte, meta groupMeta) {
	must(a.w.b.Set(k, value, nil))
	a.w.version.bytes += int64(len(k) + len(value))
	a.w.t.floors.set(a.w.b, g, floor, meta)
}

func (a *applier) setSpilled(g int, k, floor []byte, rows, size int64, last rowPosition) {
	a.w.version.bytes += size
	a.set(g, k, floor, appendSpilledGroup(nil, floor, rows, size, last), metaSpilled)
}

// join adds the kept rows to those the key has, at the same sequence (RU-03).
func (a *applier) join(g int, k, floor []byte, kept []int32) error {
	old, err := parseGroup(a.tiedValue(g))
	if err != nil {
		return a.w.t.store.readFailed(err)
	}
	a.w.version.bytes -= old.storedBytes(len(k))
	a.w.version.rows += int64(len(kept))
	if old.spilled {
		a.joinSpilled(g, k, floor, kept, &old)
	} else if err := a.joinInline(g, k, floor, kept, &old); err != nil {
		return err
	}
	return a.inserted(k, floor, kept)
}

// tiedValue is what Redelivered read of group g.
func (a *applier) tiedValue(g int) []byte {
	for a.w.s.tiedGroups[a.tied] != int32(g) {
		a.tied++
	}
	return a.w.s.tied.At(a.tied)
}

// joinInline merges old and new rows in the order of positions, and spills the group when it has become too large.
func (a *applier) joinInline(g int, k, floor []byte, kept []int32, old *group) error {
	rows := int(old.rows) + len(kept)
	value := appendInlineHead(a.w.s.value[:0], floor, rows)
	head := len(value)
	r := reader{b: old.inline}
	for range old.rows {
		p, row := nextRow(&r)
		for len(kept) > 0 && positionAt(&a.e.Positions, kept[0]).compare(p) < 0 {
			_, row := a.rows.row(kept[0])
			value, kept = append(value, row...), kept[1:]
		}
		value = appendText(appendPosition(value, p), row)
	}
	if r.done() != nil {
		return a.w.t.store.readFailed(errShort)
	}
	for _, i := range kept {
		_, row := a.rows.row(i)
		value = append(value, row...)
	}
	a.w.s.value = value
	if len(value) <= spillAt {
		a.set(g, k, floor, value, inlineMeta(rows, len(value)))
		return nil
	}
	r = reader{b: value[head:]}
	size, last := a.spill(k, &r, rows)
	a.setSpilled(g, k, floor, int64(rows), size, last)
	return nil
}

// joinSpilled adds rows without reading those that are there.
func (a *applier) joinSpilled(g int, k, floor []byte, kept []int32, old *group) {
	size, last := old.bytes, old.last
	for _, i := range kept {
		_, encoded := a.rows.row(i)
		p, row := nextRow(&reader{b: encoded})
		size += a.putRow(k, p, row)
		if p.compare(last) > 0 {
			last = p
		}
	}
	a.setSpilled(g, k, floor, old.rows+int64(len(kept)), size, last)
}

// inserted tells the change feed of new rows.
func (a *applier) inserted(k, floor []byte, kept []int32) error {
	if a.w.feed == nil {
		return nil
	}
	for _, row := range kept {
		if err := a.w.feed.insert(k[tupleAt:], floor, positionAt(&a.e.Positions, row), int(row)); err != nil {
			return err
		}
	}
	return a.w.feed.keyEnd()
}

// deleted tells the change feed and the digest of the old rows of a key.
func (a *applier) deleted(k []byte, old *group) error {
	s := a.w.t.store
	var err error
	if !old.spilled {
		r := reader{b: old.inline}
		for i := int64(0); i < old.rows && err == nil; i++ {
			p, row := nextRow(&r)
			err = a.deletedRow(k, old.floor, p, row)
		}
	} else {
		floor := bytes.Clone(old.floor) // the iterator moves on
		err = eachSpilled(a.old, k, func(p rowPosition, row []byte) error { return a.deletedRow(k, floor, p, row) })
	}
	if err != nil {
		return s.readFailed(err)
	}
	return nil
}

func (a *applier) deletedRow(k, floor []byte, p rowPosition, row []byte) error {
	if a.w.digest != nil {
		if err := a.w.t.digester.remove(a.w.digest, row); err != nil {
			return err
		}
	}
	if a.w.feed == nil {
		return nil
	}
	return a.w.feed.delete(k[tupleAt:], floor, p, row)
}

// eachSpilled calls f with the rows of a spilled group, in the order of positions.
func eachSpilled(it *pebble.Iterator, k []byte, f func(p rowPosition, row []byte) error) error {
	from, to := rowsOf(k)
	for ok := it.SeekGE(from); ok && bytes.Compare(it.Key(), to) < 0; ok = it.Next() {
		v, err := it.ValueAndErr()
		if err != nil {
			return err
		}
		if err := f(parseRowKey(it.Key()), v); err != nil {
			return err
		}
	}
	return it.Error()
}
