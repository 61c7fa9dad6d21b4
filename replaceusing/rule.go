package replaceusing

import (
	"bytes"
	"slices"

	"sluice/batch"
)

// Verdict says what became of a row.
type Verdict uint8

const (
	Kept        Verdict = iota // stored
	Tied                       // stored beside rows the key had before, at an equal sequence (RU-03)
	Superseded                 // a higher sequence of its key stands in the same batch (RU-05)
	Late                       // below the key's floor (RU-02)
	Redelivered                // stored already from the same position (D-1)
)

func (v Verdict) String() string {
	return [...]string{"kept", "tied", "superseded", "late", "redelivered"}[v]
}

// Counts adds the verdicts up.
type Counts struct {
	Written     int64 // rows stored, tied ones included
	Tied        int64
	Superseded  int64
	Late        int64
	Redelivered int64
	TieGroups   int64 // keys of which the batch stores several rows at one sequence, or a row beside older ones
}

// Decision is what a batch does. Its memory is used again by the next Apply.
type Decision struct {
	batch.Edits
	Verdicts []Verdict // one per row
	Counts   Counts
}

// Apply decides what the rows of a batch do to their keys. groups are the rows by key, floors has one entry per group:
// the key's floor, or nothing when the key has no rows; sequences and pos have one entry per row of the batch. The kept
// rows of a key come out in the order of their positions (D-1), whatever the order they came in; of two rows with the
// same position one is kept. For groups with the operation OpAppend the caller finds out which rows are stored already,
// and passes them to DropRedelivered.
func Apply(d *Decision, groups *batch.Groups, sequences, floors *batch.Keys, pos batch.Positions) {
	d.Ops = slices.Grow(d.Ops[:0], groups.Len())
	d.Verdicts = slices.Grow(d.Verdicts[:0], len(groups.Rows))[:len(groups.Rows)]
	d.Kept.Reset()
	for g := range groups.Len() {
		d.Ops = append(d.Ops, d.decide(groups.Of(g), sequences, floors.At(g), pos))
		d.Kept.Starts = append(d.Kept.Starts, int32(len(d.Kept.Rows)))
	}
	d.count()
}

// decide judges the rows of one key and appends those that are stored to d.Kept.Rows.
func (d *Decision) decide(rows []int32, sequences *batch.Keys, floor []byte, pos batch.Positions) batch.Op {
	highest := sequences.At(int(rows[0]))
	for _, r := range rows[1:] {
		if s := sequences.At(int(r)); bytes.Compare(s, highest) > 0 {
			highest = s
		}
	}
	op, winner := batch.OpInsert, Kept
	if len(floor) > 0 {
		switch bytes.Compare(highest, floor) {
		case 1:
			op = batch.OpReplace
		case 0:
			op, winner = batch.OpAppend, Tied
		default:
			op, winner = batch.OpIgnore, Late
		}
	}
	if len(rows) == 1 {
		d.Verdicts[rows[0]] = winner
		if op != batch.OpIgnore {
			d.Kept.Rows = append(d.Kept.Rows, rows[0])
		}
		return op
	}
	first := len(d.Kept.Rows)
	for _, r := range rows {
		switch {
		case op == batch.OpIgnore:
			d.Verdicts[r] = Late // every row of the key is below the floor
		case bytes.Equal(sequences.At(int(r)), highest):
			d.Verdicts[r] = winner
			d.Kept.Rows = append(d.Kept.Rows, r)
		default:
			d.Verdicts[r] = Superseded
		}
	}
	d.arrange(first, pos)
	return op
}

// arrange puts the kept rows from first on into the order of their positions and takes out a second row of the same
// position. Rows come in this order except where one key's rows come from several splits, so the check is what is paid.
func (d *Decision) arrange(first int, pos batch.Positions) {
	if pos.Len() == 0 {
		return
	}
	rows := d.Kept.Rows[first:]
	if !slices.IsSortedFunc(rows, pos.Compare) {
		slices.SortStableFunc(rows, pos.Compare)
	}
	kept := 1
	for _, r := range rows[min(1, len(rows)):] {
		if pos.Compare(rows[kept-1], r) == 0 {
			d.Verdicts[r] = Redelivered
			continue
		}
		rows[kept] = r
		kept++
	}
	d.Kept.Rows = d.Kept.Rows[:first+min(kept, len(rows))]
}

// DropRedelivered takes rows out of what is kept because the store has them from the same position already (D-1). A key
// of which nothing is left is ignored.
func (d *Decision) DropRedelivered(rows []int32) {
	if len(rows) == 0 {
		return
	}
	for _, r := range rows {
		d.Verdicts[r] = Redelivered
	}
	to, from := int32(0), int32(0)
	for g := range d.Ops {
		end := d.Kept.Starts[g+1]
		start := to
		for ; from < end; from++ {
			if r := d.Kept.Rows[from]; d.Verdicts[r] != Redelivered {
				d.Kept.Rows[to] = r
				to++
			}
		}
		d.Kept.Starts[g+1] = to
		if start == to {
			d.Ops[g] = batch.OpIgnore
		}
	}
	d.Kept.Rows = d.Kept.Rows[:to]
	d.count()
}

// FirstTwin is the first row that is kept beside another one of the same batch and key, or -1.
func (d *Decision) FirstTwin() int32 {
	first := int32(-1)
	for g := range d.Ops {
		if start := d.Kept.Starts[g]; d.Kept.Starts[g+1]-start > 1 && (first < 0 || d.Kept.Rows[start+1] < first) {
			first = d.Kept.Rows[start+1]
		}
	}
	return first
}

func (d *Decision) count() {
	var by [Redelivered + 1]int64
	for _, v := range d.Verdicts {
		by[v]++
	}
	d.Counts = Counts{Written: by[Kept] + by[Tied], Tied: by[Tied], Superseded: by[Superseded], Late: by[Late], Redelivered: by[Redelivered]}
	for g, op := range d.Ops {
		if op == batch.OpAppend || d.Kept.Starts[g+1]-d.Kept.Starts[g] > 1 {
			d.Counts.TieGroups++
		}
	}
}
