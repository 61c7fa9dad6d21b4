// Package expect judges the rows of a batch by their expectations: which are kept, which are dropped, and whether the
// batch is refused (section 11 of the specification, D-4).
//
// It promises that every expectation is judged on every row before any row is dropped, so that passed and failed always
// add up to the rows of the batch; that only TRUE passes (EX-O1); and that refusing beats dropping, which beats keeping
// (EX-O4). It is pure: verdicts are columns the query has already computed (D-49), and what to do with a refused batch
// is for flow to say.
package expect

import (
	"math/bits"
	"strings"

	"sluice/batch"
	"sluice/fault"
)

// Action is what a violation does.
type Action uint8

const (
	Warn       Action = iota // the row is kept and the violation counted (EX-08)
	DropRow                  // the row is left out (EX-09)
	FailUpdate               // the batch is refused (EX-10)
)

// Check is one expectation.
type Check struct {
	Name   string
	Action Action
}

// Verdict is what one expectation said of every row of a batch.
type Verdict struct {
	Column *batch.Column // BOOLEAN
	Ran    batch.Bitmap  // a clear bit is a row whose condition raised an error; such rows are NULL in Column. Nil: all ran.
}

// Count is how one expectation fared in one batch. Null and Raised are parts of Failed.
type Count struct {
	Passed int64
	Failed int64
	Null   int64 // the condition was NULL
	Raised int64 // the condition raised an error
}

// Result is the outcome of one batch. Its memory is used again.
type Result struct {
	Counts  []Count // one per check
	Dropped int64   // rows left out, each counted once however many expectations it violates (EX-O3)
	Refused int     // the first row that violates a FAIL UPDATE expectation, -1 when there is none
	Blamed  []int   // the FAIL UPDATE checks that row violates

	keep   batch.Bitmap
	failed batch.Bitmap
	rows   int
}

// Judge judges a batch of n rows. verdicts are parallel to checks.
func (r *Result) Judge(checks []Check, verdicts []Verdict, n int) {
	r.Counts = append(r.Counts[:0], make([]Count, len(checks))...)
	r.Blamed = r.Blamed[:0]
	r.keep = reset(r.keep, n, ^uint64(0))
	r.failed = reset(r.failed, n, 0)
	r.rows, r.Refused = n, -1
	for i, c := range checks {
		r.count(i, verdicts[i], c.Action)
	}
	r.Dropped = int64(n) - ones(r.keep)
	r.refuse(checks, verdicts)
}

// reset returns a bitmap for n rows whose bits are all those of fill; bits beyond n are clear.
func reset(b batch.Bitmap, n int, fill uint64) batch.Bitmap {
	b = b[:0]
	for i := 0; i < n; i += 64 {
		b = append(b, fill&tail(n-i))
	}
	return b
}

// tail has a set bit for each of the next rows of which left remain.
func tail(left int) uint64 {
	if left >= 64 {
		return ^uint64(0)
	}
	return 1<<left - 1
}

func ones(b batch.Bitmap) (n int64) {
	for _, w := range b {
		n += int64(bits.OnesCount64(w))
	}
	return n
}

// count counts check i and notes its violations, 64 rows at a time.
func (r *Result) count(i int, v Verdict, action Action) {
	values := batch.Values[uint8](v.Column)
	count := &r.Counts[i]
	for w := range r.keep {
		from := w * 64
		rows := tail(r.rows - from)
		valid := rows
		if v.Column.Valid != nil {
			valid &= v.Column.Valid[w]
		}
		var raised uint64
		if v.Ran != nil {
			raised = rows &^ v.Ran[w]
		}
		passed := truth(values[from:min(from+64, r.rows)]) & valid &^ raised
		count.Passed += int64(bits.OnesCount64(passed))
		count.Raised += int64(bits.OnesCount64(raised))
		count.Null += int64(bits.OnesCount64(rows &^ valid &^ raised))
		switch action {
		case DropRow:
			r.keep[w] &= passed
		case FailUpdate:
			r.failed[w] |= rows &^ passed
		}
	}
	count.Failed = int64(r.rows) - count.Passed
}

// truth packs up to 64 booleans of one byte each, 0 or 1, into bits.
func truth(values []uint8) (word uint64) {
	for i, v := range values {
		word |= uint64(v&1) << i
	}
	return word
}

// refuse finds the first row with a violation that fails the batch.
func (r *Result) refuse(checks []Check, verdicts []Verdict) {
	for w, word := range r.failed {
		if word == 0 {
			continue
		}
		r.Refused = w*64 + bits.TrailingZeros64(word)
		for i, c := range checks {
			if c.Action == FailUpdate && !verdicts[i].passes(r.Refused) {
				r.Blamed = append(r.Blamed, i)
			}
		}
		return
	}
}

func (v Verdict) passes(row int) bool {
	return !v.Column.IsNull(row) && batch.Values[uint8](v.Column)[row] != 0 && (v.Ran == nil || v.Ran.Get(row))
}

// All reports whether every row is kept.
func (r *Result) All() bool { return r.Dropped == 0 }

// Kept appends the rows that are kept to dst, in order.
func (r *Result) Kept(dst []int32) []int32 {
	for w, word := range r.keep {
		for ; word != 0; word &= word - 1 {
			dst = append(dst, int32(w*64+bits.TrailingZeros64(word)))
		}
	}
	return dst
}

// Violation is the error of a refused batch: it names the flow and the expectations, and shows the record (EX-10, EX-O8).
// An empty record is left out.
func (r *Result) Violation(flow string, checks []Check, record string) *fault.Error {
	var names []string
	for _, i := range r.Blamed {
		names = append(names, checks[i].Name)
	}
	e := fault.New(fault.ExpectationViolation, "the flow %s met a row that violates %s", flow, strings.Join(names, ", ")).
		WithHint("correct the data, or let the expectation drop such rows, and start the flow again")
	if record != "" {
		e.WithDetail("%s", fault.Payload(record))
	}
	return e
}
