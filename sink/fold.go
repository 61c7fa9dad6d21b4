package sink

import (
	"bytes"
	"hash/maphash"
	"slices"

	"sluice/batch"
)

// Net is what a batch comes to, key by key: of changes that undo each other nothing is left (D-43). It is made of
// columns: key i has the rows Live[Start[i]:Start[i+1]], in their order in the batch.
type Net struct {
	Key     []int32 // a row that has the key; keys are in the order in which they first appear
	Start   []int32 // one more than Key
	Live    []int32 // rows that are there after the batch
	Deleted []int32 // the last row that the batch took away and that was there before it, or -1
}

// Fold computes the net effect of a batch. keys are the tuples to fold by, one per row: of the columns that a sink
// takes for keys, which need not be those of the table.
func Fold(rows *Rows, keys *batch.Keys) Net {
	group, first := groups(keys)
	n := Net{Key: first, Start: make([]int32, len(first)+1), Deleted: make([]int32, len(first))}
	order := byGroup(group, len(first), n.Start)
	if rows.Change == nil {
		for i := range n.Deleted {
			n.Deleted[i] = -1
		}
		n.Live = order
		return n
	}
	f := folder{rows: rows}
	n.Live = make([]int32, 0, len(order))
	begin := n.Start[0]
	for i := range first {
		end := n.Start[i+1]
		n.Start[i] = int32(len(n.Live))
		n.Deleted[i] = f.fold(order[begin:end])
		n.Live = append(n.Live, f.live[f.head:]...)
		begin = end
	}
	n.Start[len(first)] = int32(len(n.Live))
	return n
}

// Differences counts by how much a batch changes the number of rows of each key: first is a row that has it, in the order in which they first
// appear.
func Differences(rows *Rows, keys *batch.Keys) (first, net []int32) {
	group, first := groups(keys)
	net = make([]int32, len(first))
	for row, g := range group {
		if rows.Change == nil || rows.Change[row] == InsertRow || rows.Change[row] == UpdatePostimage {
			net[g]++
		} else {
			net[g]--
		}
	}
	return first, net
}

// groups numbers the distinct keys in the order in which they appear: the number of each row's key, and the first row of
// each number. The index holds row numbers only; a hit is checked against the whole key.
func groups(keys *batch.Keys) (group, first []int32) {
	rows := keys.Len()
	group = make([]int32, rows)
	size := 16
	for size < 2*rows {
		size *= 2
	}
	index := make([]int32, size) // group + 1
	seed := maphash.MakeSeed()
	for row := range rows {
		key := keys.At(row)
		slot := int(maphash.Bytes(seed, key)) & (size - 1)
		for index[slot] != 0 && !bytes.Equal(keys.At(int(first[index[slot]-1])), key) {
			slot = (slot + 1) & (size - 1)
		}
		if index[slot] == 0 {
			first = append(first, int32(row))
			index[slot] = int32(len(first))
		}
		group[row] = index[slot] - 1
	}
	return group, first
}

// byGroup returns the rows sorted by group, in their order inside a group, and sets where each group starts.
func byGroup(group []int32, groups int, start []int32) []int32 {
	for _, g := range group {
		start[g+1]++
	}
	for g := range groups {
		start[g+1] += start[g]
	}
	next := slices.Clone(start)
	order := make([]int32, len(group))
	for row, g := range group {
		order[next[g]] = int32(row)
		next[g]++
	}
	return order
}

// folder folds the rows of one key.
type folder struct {
	rows *Rows
	live []int32 // from head on; deletes mostly come in the order of the inserts, so most take the head
	head int
}

// fold leaves the rows that remain in live[head:], and returns the last one deleted that was not inserted here, or -1.
func (f *folder) fold(rows []int32) (deleted int32) {
	f.live, f.head = f.live[:0], 0
	deleted = -1
	for _, row := range rows {
		switch f.rows.Change[row] {
		case InsertRow, UpdatePostimage:
			f.live = append(f.live, row)
		default:
			if !f.cancel(row) {
				deleted = row
			}
		}
	}
	return deleted
}

// cancel takes away the live row that a delete means: the same row, or, where the query computes something else for the
// two, one with the same key and sequence of the table.
func (f *folder) cancel(row int32) bool {
	similar := -1
	for i := f.head; i < len(f.live); i++ {
		if !f.sameOrigin(f.live[i], row) {
			continue
		}
		if f.sameRow(f.live[i], row) {
			f.remove(i)
			return true
		}
		if similar < 0 {
			similar = i
		}
	}
	if similar < 0 || f.rows.Sequence.Len() == 0 {
		return false
	}
	f.remove(similar)
	return true
}

func (f *folder) remove(i int) {
	if i == f.head {
		f.head++
		return
	}
	f.live = slices.Delete(f.live, i, i+1)
}

// sameOrigin reports whether two rows come from rows of the table with one key and one sequence.
func (f *folder) sameOrigin(a, b int32) bool {
	return sameTuple(&f.rows.Keys, a, b) && sameTuple(&f.rows.Sequence, a, b)
}

func sameTuple(k *batch.Keys, a, b int32) bool {
	return k.Len() == 0 || bytes.Equal(k.At(int(a)), k.At(int(b)))
}

func (f *folder) sameRow(a, b int32) bool {
	for c := range f.rows.Columns.Cols {
		if !sameValue(&f.rows.Columns.Cols[c], int(a), int(b)) {
			return false
		}
	}
	return true
}

// sameValue compares two values of a column bit by bit.
func sameValue(c *batch.Column, a, b int) bool {
	if c.IsNull(a) || c.IsNull(b) {
		return c.IsNull(a) == c.IsNull(b)
	}
	switch {
	case c.Type.Width() > 0:
		w := c.Type.Width()
		return bytes.Equal(c.Fixed[a*w:(a+1)*w], c.Fixed[b*w:(b+1)*w])
	case c.Type.IsText():
		return bytes.Equal(c.Text(a), c.Text(b))
	case c.Type.Kind == batch.Struct:
		for i := range c.Children {
			if !sameValue(&c.Children[i], a, b) {
				return false
			}
		}
		return true
	}
	n := c.Offsets[a+1] - c.Offsets[a]
	if n != c.Offsets[b+1]-c.Offsets[b] {
		return false
	}
	for i := range n {
		for j := range c.Children {
			if !sameValue(&c.Children[j], int(c.Offsets[a]+i), int(c.Offsets[b]+i)) {
				return false
			}
		}
	}
	return true
}
