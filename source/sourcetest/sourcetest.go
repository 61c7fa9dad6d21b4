// Package sourcetest is the conformance suite of source.Source: every kind of input passes it. It checks the contract,
// not a kind's own options.
//
// The suite writes records that are JSON objects {"id":1,"text":"x"}, good and bad, through the Input of the kind and
// reads them back through its Source. It promises to tell apart lost, repeated, reordered and changed rows, and to find
// goroutines that outlive Close. It does not know how splits are named or offsets are counted.
package sourcetest

import (
	"fmt"
	"testing"

	"go.uber.org/goleak"

	"sluice/batch"
	"sluice/source"
)

// Columns are what a Source of the suite has to deliver, in this order.
func Columns() []source.Column {
	return []source.Column{
		{Field: batch.Field{Name: "id", Type: batch.Of(batch.BigInt)}},
		{Field: batch.Field{Name: "text", Type: batch.Of(batch.String)}},
	}
}

// Kind makes inputs of one kind.
type Kind struct {
	// New makes an input without records. What it needs is cleaned up by t.
	New func(t *testing.T) Input
	// IgnoreGoroutines are those of the kind's servers, which live longer than a Source.
	IgnoreGoroutines []goleak.Option
}

// Input is one input under test.
type Input interface {
	// Append adds values, each one record, in order. They are visible to every End and Read that starts afterwards. Part,
	// 0 or 1, says which of two splits takes them where a writer can choose (Kafka: the partition); a kind that cannot,
	// such as files, starts a new split at every Append.
	Append(t *testing.T, part int, values ...string)
	// Open returns a Source over the input that decodes Columns from JSON under mode.
	Open(t *testing.T, mode batch.Mode) source.Source
}

// Run runs the suite.
func Run(t *testing.T, k Kind) {
	for name, test := range map[string]func(*testing.T, Input){
		"an empty input has an end that is reached at once": emptyInput,
		"every record is read once and in order":            everyRecordOnce,
		"the same from and until give the same rows":        sameRangeSameRows,
		"reading resumes at any record":                     resumeAnywhere,
		"nothing past until is read":                        untilIsKept,
		"the end is fixed when it is asked":                 endIsFixed,
		"records that appear later are read":                laterRecords,
		"bad records have positions and stop nothing":       badRecords,
		"a kept bad record has a row":                       keptBadRecords,
		"columns outlive the next read":                     columnsOutliveNextRead,
		"waiting ends with the context":                     cancelled,
	} {
		t.Run(name, func(t *testing.T) {
			in := k.New(t)
			ignore := append([]goleak.Option{goleak.IgnoreCurrent()}, k.IgnoreGoroutines...)
			test(t, in)
			if !t.Failed() {
				goleak.VerifyNone(t, ignore...)
			}
		})
	}
}

// record is the n-th record of the suite.
func record(n int) string { return fmt.Sprintf(`{"id":%d,"text":"row %d"}`, n, n) }

func records(from, to int) []string {
	var out []string
	for n := from; n < to; n++ {
		out = append(out, record(n))
	}
	return out
}
