package eval

import "sync/atomic"

// budget bounds the memory of what functions in Go make, of all threads and statements of an engine together.
type budget struct {
	most int64
	held atomic.Int64
}

// take takes bytes out of the budget, or gives back what is below zero, and reports whether they were there. It is a batch.Budget.
func (b *budget) take(bytes int64) bool {
	if b.held.Add(bytes) > b.most && bytes > 0 {
		b.held.Add(-bytes)
		return false
	}
	return true
}
