package eval

import (
	"fmt"
	"regexp"
	"testing"

	"github.com/cockroachdb/datadriven"

	"sluice/fault"
)

// foreign are words of DuckDB's, whose types and hints are not those of the people who wrote the query.
var foreign = regexp.MustCompile(`(?i)\b(u?int(8|16|32|64|128)|integer|varchar|hugeint|blob|timestamptz|overflow in|overflow on|explicit cast|could not|destination type|source column|out of range|conversion|decode|scalar subqueries)\b`)

// Whatever a value does to a query, the error has a code of Spark's and is said in words of Spark's (D-47).
func TestMessages(t *testing.T) {
	e, err := Open(Options{Threads: 1, MemoryLimit: 1 << 28, Zone: "Europe/Berlin"})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	datadriven.RunTest(t, "testdata/messages.txt", func(t *testing.T, d *datadriven.TestData) string {
		rows, _, err := sparkRows(t, e, "Europe/Berlin", d.Input)
		if err == nil {
			return fmt.Sprintf("%q\n", rows)
		}
		f := fault.From(err)
		if f.Code == fault.EvaluationFailed || f.Code == fault.InternalError {
			t.Errorf("%s\n fails without a code of its own: %v", d.Input, err)
		}
		if word := foreign.FindString(f.Message); word != "" {
			t.Errorf("%s\n fails with %q, in which %q is DuckDB's", d.Input, f.Message, word)
		}
		return fmt.Sprintf("%s: %s\n", f.Code.Name, f.Message)
	})
}
