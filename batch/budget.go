package batch

// Budget is asked for the memory by which builders grow, in bytes, and says whether it is there. What is below zero is given back.
type Budget func(bytes int64) bool

// Exceeded is what a Builder panics with when it would pass its Budget: hundreds of functions append to one, and none has another way to end.
// Whoever gave it the budget recovers, and frees it.
type Exceeded struct{}

// Within has b take the memory by which it grows out of a budget.
func (b *Builder) Within(budget Budget) {
	b.budget = budget
	for i := range b.children {
		b.children[i].Within(budget)
	}
}

// Held is how much b has taken out of its budget.
func (b *Builder) Held() int64 {
	n := b.held
	for i := range b.children {
		n += b.children[i].Held()
	}
	return n
}

// Free gives up all rows and all memory.
func (b *Builder) Free() {
	if b.budget != nil {
		b.budget(-b.held)
	}
	b.n, b.held, b.valid, b.fixed, b.bytes = 0, 0, nil, nil, nil
	if b.offsets != nil {
		b.offsets = []uint32{0}
	}
	for i := range b.children {
		b.children[i].Free()
	}
}

// Room makes room for a text of n bytes. Who makes a long text elsewhere asks first.
func (b *Builder) Room(n int) {
	if b.budget != nil {
		b.room(n)
	}
}

// room grows within the budget what append would grow without one.
func (b *Builder) room(n int) {
	if need := len(b.bytes) + n; need > cap(b.bytes) {
		b.bytes = grown(b, b.bytes, need, 1)
	}
	if need := len(b.offsets) + 1; b.offsets != nil && need > cap(b.offsets) {
		b.offsets = grown(b, b.offsets, need, 4)
	}
}

func grown[T any](b *Builder, old []T, need, width int) []T {
	size := max(need, cap(old)+cap(old)/2, 64)
	b.hold(int64(size-cap(old)) * int64(width))
	return append(make([]T, 0, size), old...)
}

// hold takes n bytes more.
func (b *Builder) hold(n int64) {
	if b.budget == nil {
		return
	}
	if !b.budget(n) {
		panic(Exceeded{})
	}
	b.held += n
}
