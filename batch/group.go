package batch

// Groups are the rows of a batch by key: group g is the rows Rows[Starts[g]:Starts[g+1]] of the batch. Groups are in the
// order of their keys.
type Groups struct {
	Rows   []int32
	Starts []int32 // one more than there are groups, once filled
}

// Len is the number of groups.
func (g *Groups) Len() int { return max(0, len(g.Starts)-1) }

// Of returns the rows of group i. They belong to g.
func (g *Groups) Of(i int) []int32 { return g.Rows[g.Starts[i]:g.Starts[i+1]] }

// Reset empties g and keeps its memory.
func (g *Groups) Reset() {
	g.Rows = g.Rows[:0]
	g.Starts = append(g.Starts[:0], 0)
}

// Op is what a batch does to the rows of one key.
type Op uint8

const (
	OpIgnore  Op = iota // the key's rows stay as they are
	OpInsert            // the key is new
	OpReplace           // the batch's rows take the place of the key's rows
	OpAppend            // the batch's rows join the key's rows
)

func (o Op) String() string { return [...]string{"ignore", "insert", "replace", "append"}[o] }

// Edits are what a batch does to a keyed table: one operation per key, and the rows it stores. A rule makes them, state
// applies them in one write.
type Edits struct {
	Ops  []Op   // one per group of the batch
	Kept Groups // the rows to store, group by group; none where the operation is OpIgnore
}
