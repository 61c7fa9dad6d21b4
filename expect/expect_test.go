package expect

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"sluice/batch"
	"sluice/fault"
)

// verdicts makes a verdict of letters: t TRUE, f FALSE, n NULL, e an error.
func verdicts(letters string) Verdict {
	b := batch.NewBuilder(batch.Of(batch.Boolean), len(letters))
	var ran batch.Bitmap
	for i, l := range letters {
		switch l {
		case 't', 'f':
			b.AppendBool(l == 't')
		default:
			b.AppendNull()
		}
		if l == 'e' {
			if ran == nil {
				ran = reset(nil, len(letters), ^uint64(0))
			}
			ran[i/64] &^= 1 << (i % 64)
		}
	}
	c := b.Column()
	return Verdict{&c, ran}
}

// outcome judges and prints: counts per check as passed/failed/null/raised, the kept rows, the refused row and who is to blame.
func outcome(checks []Check, columns ...string) string {
	var r Result
	var vs []Verdict
	for _, c := range columns {
		vs = append(vs, verdicts(c))
	}
	n := 0
	if len(columns) > 0 {
		n = len(columns[0])
	}
	r.Judge(checks, vs, n)
	var parts []string
	for _, c := range r.Counts {
		parts = append(parts, fmt.Sprintf("%d/%d/%d/%d", c.Passed, c.Failed, c.Null, c.Raised))
	}
	return fmt.Sprintf("%s keep %v dropped %d refused %d %v", strings.Join(parts, " "), r.Kept(nil), r.Dropped, r.Refused, r.Blamed)
}

func TestJudge(t *testing.T) {
	warn, drop, fail := Check{"w", Warn}, Check{"d", DropRow}, Check{"f", FailUpdate}
	for _, c := range []struct {
		name    string
		checks  []Check
		columns []string
		want    string
	}{
		{"EX-08 warn keeps the row and counts it", []Check{warn}, []string{"tft"}, "2/1/0/0 keep [0 1 2] dropped 0 refused -1 []"},
		{"EX-09 drop leaves the row out", []Check{drop}, []string{"tft"}, "2/1/0/0 keep [0 2] dropped 1 refused -1 []"},
		{"EX-10 fail refuses the batch at its first violation", []Check{fail}, []string{"tff"}, "1/2/0/0 keep [0 1 2] dropped 0 refused 1 [0]"},
		{"EX-O1, A-90: NULL is a violation under warn", []Check{warn}, []string{"tfn"}, "1/2/1/0 keep [0 1 2] dropped 0 refused -1 []"},
		{"EX-O1, A-90: NULL is a violation under drop", []Check{drop}, []string{"tfn"}, "1/2/1/0 keep [0] dropped 2 refused -1 []"},
		{"EX-O1, A-90: NULL is a violation under fail", []Check{fail}, []string{"tn"}, "1/1/1/0 keep [0 1] dropped 0 refused 1 [0]"},
		{"D-4, EX-O2: an error is a violation with a counter of its own", []Check{warn, drop}, []string{"te", "et"}, "1/1/0/1 1/1/0/1 keep [1] dropped 1 refused -1 []"},
		{"EX-11, EX-O3: a dropped row is judged by every expectation and dropped once", []Check{drop, drop, warn}, []string{"ff", "ft", "tf"}, "0/2/0/0 1/1/0/0 1/1/0/0 keep [] dropped 2 refused -1 []"},
		{"EX-O4: fail wins over drop on the same row", []Check{drop, fail}, []string{"f", "f"}, "0/1/0/0 0/1/0/0 keep [] dropped 1 refused 0 [1]"},
		{"all failing expectations of the row are named", []Check{fail, fail, fail}, []string{"tf", "tt", "tn"}, "1/1/0/0 2/0/0/0 1/1/1/0 keep [0 1] dropped 0 refused 1 [0 2]"},
		{"a batch without rows", []Check{warn, drop, fail}, []string{"", "", ""}, "0/0/0/0 0/0/0/0 0/0/0/0 keep [] dropped 0 refused -1 []"},
		{"no expectations", nil, nil, " keep [] dropped 0 refused -1 []"},
	} {
		if got := outcome(c.checks, c.columns...); got != c.want {
			t.Errorf("%s:\n got %s\nwant %s", c.name, got, c.want)
		}
	}
}

func TestRowsWithoutExpectationsAreAllKept(t *testing.T) {
	var r Result
	r.Judge(nil, nil, 130)
	if got := r.Kept(nil); len(got) != 130 || !r.All() || got[129] != 129 {
		t.Errorf("kept %v", got)
	}
}

// TestJudgeAgreesWithTheRule compares with the rule read row by row, with one Result for batches of every size.
func TestJudgeAgreesWithTheRule(t *testing.T) {
	var r Result
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(0, 200).Draw(t, "rows")
		checks := make([]Check, rapid.IntRange(0, 4).Draw(t, "checks"))
		columns := make([]string, len(checks))
		var vs []Verdict
		for i := range checks {
			checks[i].Action = Action(rapid.IntRange(0, 2).Draw(t, "action"))
			letters := rapid.SliceOfN(rapid.SampledFrom([]byte("tttttttfne")), n, n).Draw(t, "verdicts")
			columns[i] = string(letters)
			vs = append(vs, verdicts(columns[i]))
		}
		r.Judge(checks, vs, n)
		kept := []int32{}
		counts := make([]Count, len(checks))
		refused := -1
		for row := range n {
			keep := true
			for i, c := range checks {
				letter := columns[i][row]
				if letter == 't' {
					counts[i].Passed++
					continue
				}
				counts[i].Failed++
				if letter == 'n' {
					counts[i].Null++
				}
				if letter == 'e' {
					counts[i].Raised++
				}
				if c.Action == FailUpdate && refused < 0 {
					refused = row
				}
				keep = keep && c.Action != DropRow
			}
			if keep {
				kept = append(kept, int32(row))
			}
		}
		if got := r.Kept([]int32{}); !reflect.DeepEqual(got, kept) || r.Dropped != int64(n-len(kept)) {
			t.Fatalf("kept %v, dropped %d, want %v", got, r.Dropped, kept)
		}
		if !reflect.DeepEqual(append([]Count{}, r.Counts...), counts) || r.Refused != refused || (len(r.Blamed) > 0) != (refused >= 0) {
			t.Fatalf("counts %v refused %d %v, want %v %d", r.Counts, r.Refused, r.Blamed, counts, refused)
		}
	})
}

// EX-10, EX-O8: the error names the flow and the expectations and shows the record.
func TestViolation(t *testing.T) {
	checks := []Check{{"positive", FailUpdate}, {"known", FailUpdate}}
	var r Result
	r.Judge(checks, []Verdict{verdicts("tf"), verdicts("tn")}, 2)
	e := r.Violation("live", checks, `{"volume":-1}`)
	want := `EXPECTATION_VIOLATION: the flow live met a row that violates positive, known ({"volume":-1}); hint: correct the data, or let the expectation drop such rows, and start the flow again`
	if e.Error() != want || e.Code != fault.ExpectationViolation {
		t.Errorf("got  %s\nwant %s", e, want)
	}
	if e := r.Violation("live", checks, ""); e.Detail != "" {
		t.Errorf("an empty record is shown: %s", e)
	}
}

func TestJudgeAllocatesNothing(t *testing.T) {
	checks := []Check{{"w", Warn}, {"d", DropRow}}
	vs := []Verdict{verdicts(strings.Repeat("tfn", 1000)), verdicts(strings.Repeat("ttf", 1000))}
	var r Result
	kept := make([]int32, 0, 3000)
	r.Judge(checks, vs, 3000)
	if n := testing.AllocsPerRun(20, func() { r.Judge(checks, vs, 3000); kept = r.Kept(kept[:0]) }); n > 0 {
		t.Errorf("%v allocations per batch", n)
	}
}
