package main

import (
	"bytes"
	"context"
	"math"
	"os"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestMain lets the test binary play the roles of processes of their own.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && roles[os.Args[1]] != nil {
		main()
		return
	}
	os.Exit(m.Run())
}

// Every measurement runs, and is checked by what it read and stored.
func TestBenchMeasuresEverything(t *testing.T) {
	if testing.Short() {
		t.Skip("builds the processor")
	}
	var out bytes.Buffer
	if err := run(context.Background(), []string{"-keys", "3000", "-pairs", "1", "-windows", "20000", "-dir", t.TempDir()}, &out); err != nil {
		t.Fatalf("%v\n%s", err, &out)
	}
	for _, name := range []string{"plain consume", "consume + decode", "pass-through flow", "REPLACE USING flow", "pass-through flow, digest: ", "REPLACE USING flow, digest: ",
		"pass-through flow, from_json: ", "pass-through flow, from_json in SQL: ",
		"decode JSON ", "decode JSON, fastjson: ", "decode JSON, " + standardName + ": ", "decode CSV: ", "REPLACE WHERE, "} {
		if !strings.Contains(out.String(), name) {
			t.Errorf("the report does not name %s:\n%s", name, &out)
		}
	}
}

func TestAWrongResultIsRefused(t *testing.T) {
	if newestRows(10).check(newestRows(10)) != nil || (rows{10, 444}).check(newestRows(10)) == nil {
		t.Error("the check lets a wrong sum pass")
	}
}

func TestSizesOfWindows(t *testing.T) {
	if got, err := sizes("1000, 20000"); err != nil || !slices.Equal(got, []int64{1000, 20000}) {
		t.Errorf("sizes: %v, %v", got, err)
	}
	for _, text := range []string{"", "0", "-1000", "1500", "1000,", "many"} {
		if got, err := sizes(text); err == nil {
			t.Errorf("%q is taken for %v", text, got)
		}
	}
}

// The records are what the figures of others were measured with: their size, their share of late ones, their order.
func TestRecords(t *testing.T) {
	const keys = 20_000
	newest, seen := make([]int64, keys), make([]int, keys)
	var late, bytes int
	var all rows
	sequences := map[int64]bool{}
	err := eachRecord(keys, func(r record) error {
		seq := r.sequence()
		bytes += len(r.appendValue(nil))
		if seq < newest[r.key] {
			late++
		}
		newest[r.key] = max(newest[r.key], seq)
		seen[r.key]++
		sequences[seq] = true
		all.Rows++
		all.Sum += seq - epoch
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if all != allRows(keys) || len(sequences) != keys*versions {
		t.Errorf("%+v with %d sequences", all, len(sequences))
	}
	var kept rows
	for key, seq := range newest {
		if seen[key] != versions {
			t.Fatalf("key %d has %d records", key, seen[key])
		}
		kept.Rows++
		kept.Sum += seq - epoch
	}
	if err := kept.check(newestRows(keys)); err != nil {
		t.Error(err)
	}
	n := float64(keys * versions)
	if share := float64(late) / n; math.Abs(share-0.3) > 0.01 {
		t.Errorf("%.3f of the records are late", share)
	}
	if size := float64(bytes) / n; math.Abs(size-123) > 3 {
		t.Errorf("a record has %.1f bytes", size)
	}
}

func TestARecord(t *testing.T) {
	got := string(record{key: 190_488, version: 0, keys: 1_000_000}.appendValue(nil))
	want := `{"id":"acct-00000190488","seq":1700000190488,"status":"DELIVERED","amount":929.18,"ts":"2023-11-14T22:16:30.488Z","qty":16}`
	if got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestTimeOfFlowsIsThatOfTheEvents(t *testing.T) {
	const events = `{"timestamp":"2026-01-01T00:00:01Z","event_type":"update_progress","message":"update is RUNNING"}
{"timestamp":"2026-01-01T00:00:02Z","event_type":"flow_progress","message":"flow f is COMPLETED"}
{"timestamp":"2026-01-01T00:00:04Z","event_type":"update_progress","message":"update is COMPLETED"}
`
	if got, err := running([]byte(events)); got != 3*time.Second || err != nil {
		t.Error(got, err)
	}
	if _, err := running([]byte(strings.SplitAfter(events, "\n")[0])); err == nil {
		t.Error("a run that did not end has a time")
	}
}

func TestMedians(t *testing.T) {
	samples := func(seconds ...int) (out []sample) {
		for _, s := range seconds {
			out = append(out, sample{took: time.Duration(s) * time.Second})
		}
		return out
	}
	if got := middle(samples(9, 1, 4), seconds); got != 4 {
		t.Error(got)
	}
	if got := spread(speedups(samples(2, 2, 3), samples(4, 2, 2))); got != "1.00\t0.50 to 1.50" {
		t.Error(got)
	}
}
