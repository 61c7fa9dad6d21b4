package replaceusing

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"sluice/batch"
)

// TestRule runs testdata. Commands:
//
//	table keys=(a, b)       an empty table with these key columns
//	batch [drop]            applies rows (see parse); prints each row's verdict, the operations and the table.
//	                        With drop, rows without a device_type are taken out first, as an expectation would
//	                        (known_device, ON VIOLATION DROP ROW).
//	bad-sequences           prints the rows that BadSequences names
func TestRule(t *testing.T) {
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		at, tab := int64(0), newTable("region_id")
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			lines := strings.Split(strings.TrimSpace(d.Input), "\n")
			switch d.Cmd {
			case "table":
				var keys []string
				for _, a := range d.CmdArgs {
					keys = append(keys, a.Vals...)
				}
				at, tab = 0, newTable(keys...)
				return "ok"
			case "batch":
				return runBatch(t, tab, lines, d.HasArg("drop"), &at)
			case "bad-sequences":
				rows, err := parse(lines, &at)
				if err != nil {
					t.Fatal(err)
				}
				return fmt.Sprint(BadSequences(nil, rows.Col("seq")))
			}
			t.Fatalf("unknown command %s", d.Cmd)
			return ""
		})
	})
}

func runBatch(t *testing.T, tab *table, lines []string, drop bool, at *int64) string {
	rows, err := parse(lines, at)
	if err != nil {
		t.Fatal(err)
	}
	if drop {
		var keep []int32
		for i := range rows.Len {
			if !rows.Col("device_type").IsNull(i) {
				keep = append(keep, int32(i))
			}
		}
		rows = rows.Take(keep)
	}
	tab.apply(&rows)
	var b strings.Builder
	for i := range rows.Len {
		fmt.Fprintf(&b, "%s: %s\n", rowText(&rows, i), tab.d.Verdicts[i])
	}
	fmt.Fprintf(&b, "%v %+v\n", tab.d.Ops, tab.d.Counts)
	fmt.Fprintf(&b, "table:\n")
	for _, r := range tab.contents() {
		fmt.Fprintf(&b, "  %s\n", r)
	}
	return b.String()
}

func TestKeptRowsAreInTheOrderOfPositions(t *testing.T) {
	// whatever order partitions are polled in, a tie group has one order.
	at := int64(0)
	rows, err := parse([]string{"1 c x 5 at 1/7", "1 a x 5 at 0/9", "1 b x 5 at 1/3", "1 d x 5 at 0/2", "1 b x 5 at 1/3"}, &at)
	if err != nil {
		t.Fatal(err)
	}
	tab := newTable("region_id")
	tab.apply(&rows)
	if want := []int32{3, 1, 2, 0}; !slices.Equal(tab.d.Kept.Rows, want) {
		t.Errorf("kept %v, want %v", tab.d.Kept.Rows, want)
	}
	if tab.d.Verdicts[4] != Redelivered {
		t.Errorf("a second row of the same position is %v", tab.d.Verdicts[4])
	}
}

func TestBadSequencesLookInsideStructs(t *testing.T) {
	// RU-O4: a tuple sequence with a null or NaN field counts as null.
	typ := batch.StructOf(batch.Field{Name: "a", Type: batch.Of(batch.Double)}, batch.Field{Name: "b", Type: batch.Of(batch.Int)})
	b := batch.NewBuilder(typ, 4)
	nan := 0.0
	nan /= nan
	for i, v := range []float64{1, nan, 2, 3} {
		batch.Append(b.Child(0), v)
		if i == 2 {
			b.Child(1).AppendNull()
		} else {
			batch.Append(b.Child(1), int32(1))
		}
		b.AppendNested()
	}
	c := b.Column()
	if got := BadSequences(nil, &c); !slices.Equal(got, []int32{1, 2}) {
		t.Errorf("got %v", got)
	}
}
