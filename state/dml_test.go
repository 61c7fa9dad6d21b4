package state

import (
	"math"
	"testing"

	"sluice/batch"
	"sluice/fault"
)

// Places of the rows of one commit are numbered in 31 bits: a statement that adds more is refused, and nothing of it is stored.
func TestStatementTooLarge(t *testing.T) {
	r := &rewriting{t: &Table{name: "t"}, ordinal: math.MaxInt32 - 1}
	rows := batch.Columns{Len: 2}
	if _, err := r.placed(nil, &rows, nil); !fault.Of(err, fault.StatementTooLarge) {
		t.Errorf("%v", err)
	}
}
