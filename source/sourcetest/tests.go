package sourcetest

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"sluice/batch"
)

func emptyInput(t *testing.T, in Input) {
	s := in.Open(t, batch.FailFast)
	defer closed(t, s)
	from, until := start(t, s), end(t, s)
	if !from.Reached(until) {
		t.Fatalf("start %v does not reach the end %v of an empty input", from, until)
	}
	if until == nil {
		until = batch.Position{} // nil would mean that there is no end
	}
	cols, covered, bad, err := s.Read(context.Background(), from, batch.Limit{Until: until})
	if err != nil || cols.Len != 0 || len(covered.Splits) != 0 || len(bad) != 0 {
		t.Fatalf("Read at the end gave %d rows, %v, %d bad, %v", cols.Len, covered, len(bad), err)
	}
}

func everyRecordOnce(t *testing.T, in Input) {
	in.Append(t, 0, records(0, 50)...)
	in.Append(t, 1, records(50, 80)...)
	s := in.Open(t, batch.FailFast)
	defer closed(t, s)
	got := drain(t, s, start(t, s), end(t, s), 0, 0)
	checkIDs(t, got, 0, 80)
	if got.records != 80 {
		t.Errorf("ranges count %d records, want 80", got.records)
	}
}

// checkIDs checks that rows hold the records from..to-1, each once, rising inside a split.
func checkIDs(t *testing.T, got reading, from, to int) {
	t.Helper()
	seen := map[int64]bool{}
	last := map[string]int64{}
	for _, r := range got.rows {
		if seen[r.id] {
			t.Errorf("read twice: %v", r)
		}
		if before, ok := last[r.split]; ok && before >= r.id {
			t.Errorf("split %s: %d comes after %d", r.split, r.id, before)
		}
		if want := fmt.Sprintf("row %d", r.id); r.text != want {
			t.Errorf("%v, want the text %q", r, want)
		}
		seen[r.id], last[r.split] = true, r.id
	}
	for id := from; id < to; id++ {
		if !seen[int64(id)] {
			t.Errorf("record %d was not read", id)
		}
	}
	if len(got.rows) != to-from {
		t.Errorf("%d rows, want %d", len(got.rows), to-from)
	}
}

// sameRangeSameRows reads one range again and again, with whatever limits, from sources old and new.
func sameRangeSameRows(t *testing.T, in Input) {
	in.Append(t, 0, records(0, 40)...)
	in.Append(t, 1, `{"id":`)
	in.Append(t, 1, records(40, 60)...)
	s := in.Open(t, batch.DropMalformed)
	from, until := start(t, s), end(t, s)
	want := drain(t, s, from, until, 0, 0)
	for _, limit := range []struct {
		rows  int
		bytes int64
	}{{1, 0}, {3, 0}, {7, 100}, {0, 1}, {0, 64}, {1000, 1 << 20}} {
		got := drain(t, s, from, until, limit.rows, limit.bytes)
		sameRows(t, fmt.Sprintf("limit %+v", limit), got.rows, want.rows)
		if len(got.bad) != len(want.bad) {
			t.Fatalf("limit %+v: %d bad records, want %d", limit, len(got.bad), len(want.bad))
		}
	}
	closed(t, s)
	again := in.Open(t, batch.DropMalformed)
	defer closed(t, again)
	sameRows(t, "another source", drain(t, again, from, until, 5, 0).rows, want.rows)
}

// resumeAnywhere stops after every record and goes on with a new source from the position alone.
func resumeAnywhere(t *testing.T, in Input) {
	in.Append(t, 0, records(0, 6)...)
	in.Append(t, 1, records(6, 12)...)
	s := in.Open(t, batch.FailFast)
	from, until := start(t, s), end(t, s)
	want := drain(t, s, from, until, 0, 0)
	closed(t, s)
	for stop := 1; stop <= 12; stop++ {
		s := in.Open(t, batch.FailFast)
		got := reading{at: from}
		for range stop {
			got.step(t, s, batch.Limit{Rows: 1, Until: until})
		}
		closed(t, s)
		s = in.Open(t, batch.FailFast)
		rest := drain(t, s, got.at, until, 0, 0)
		closed(t, s)
		sameRows(t, fmt.Sprintf("stopped after %d records", stop), append(got.rows, rest.rows...), want.rows)
	}
}

func untilIsKept(t *testing.T, in Input) {
	in.Append(t, 0, records(0, 10)...)
	s := in.Open(t, batch.FailFast)
	defer closed(t, s)
	from, until := start(t, s), end(t, s)
	half := reading{at: from}
	for range 5 {
		half.step(t, s, batch.Limit{Rows: 1, Until: until})
	}
	got := drain(t, s, from, half.at, 0, 0)
	sameRows(t, "up to the middle", got.rows, half.rows)
	cols, covered, _, err := s.Read(context.Background(), half.at, batch.Limit{Until: half.at})
	if err != nil || cols.Len != 0 || len(covered.Splits) != 0 {
		t.Fatalf("Read at until gave %d rows, %v, %v", cols.Len, covered, err)
	}
}

func endIsFixed(t *testing.T, in Input) {
	in.Append(t, 0, records(0, 10)...)
	s := in.Open(t, batch.FailFast)
	defer closed(t, s)
	from, until := start(t, s), end(t, s)
	in.Append(t, 0, records(10, 20)...)
	in.Append(t, 1, records(20, 30)...)
	checkIDs(t, drain(t, s, from, until, 4, 0), 0, 10)
	checkIDs(t, drain(t, s, from, end(t, s), 4, 0), 0, 30)
}

func laterRecords(t *testing.T, in Input) {
	in.Append(t, 0, records(0, 5)...)
	s := in.Open(t, batch.FailFast)
	defer closed(t, s)
	got := reading{at: start(t, s)}
	for len(got.rows) < 5 {
		got.step(t, s, batch.Limit{})
	}
	in.Append(t, 1, records(5, 8)...)
	in.Append(t, 0, records(8, 11)...)
	for len(got.rows) < 11 {
		got.step(t, s, batch.Limit{})
	}
	checkIDs(t, got, 0, 11)
	waits(t, s, got.at)
}

var malformed = []string{`{"id":3,"text":`, `{"id":"x","text":"y"}`, `[1]`, "{\"id\":1,\"text\":\"\xff\"}"}

func badRecords(t *testing.T, in Input) {
	in.Append(t, 0, record(0), malformed[0], record(1), malformed[1], malformed[2], record(2))
	in.Append(t, 1, malformed[3], record(3))
	for _, mode := range []batch.Mode{batch.FailFast, batch.DropMalformed, batch.Quarantine} {
		s := in.Open(t, mode)
		got := drain(t, s, start(t, s), end(t, s), 2, 0)
		closed(t, s)
		checkIDs(t, got, 0, 4)
		checkBad(t, got, false)
		if got.records != 8 {
			t.Errorf("ranges count %d records, want 8", got.records)
		}
	}
}

func keptBadRecords(t *testing.T, in Input) {
	in.Append(t, 0, record(0), malformed[0], record(1), malformed[1], malformed[2], record(2))
	in.Append(t, 1, malformed[3], record(3))
	s := in.Open(t, batch.Permissive)
	defer closed(t, s)
	got := drain(t, s, start(t, s), end(t, s), 0, 0)
	checkBad(t, got, true)
	rows := map[string]int{}
	for _, r := range got.rows {
		rows[fmt.Sprintf("%d %s", r.id, r.text)]++
	}
	for want, n := range map[string]int{"0 row 0": 1, "1 row 1": 1, "2 row 2": 1, "3 row 3": 1, "-1 y": 1, "-1 NULL": 3} {
		if rows[want] != n {
			t.Errorf("%d rows %q, want %d; all: %v", rows[want], want, n, rows)
		}
	}
}

// checkBad checks that each malformed record was reported once, with its bytes and a coded error.
func checkBad(t *testing.T, got reading, kept bool) {
	t.Helper()
	left := map[string]bool{}
	for _, m := range malformed {
		left[m] = true
	}
	for _, b := range got.bad {
		if !left[string(b.Value)] {
			t.Errorf("unexpected or repeated bad record %q at %s:%v", b.Value, b.Split, b.At)
		}
		delete(left, string(b.Value))
		if b.Kept != kept || b.Err == nil {
			t.Errorf("bad record %q: kept %v, error %v", b.Value, b.Kept, b.Err)
		}
	}
	for m := range left {
		t.Errorf("bad record %q was not reported", m)
	}
}

// columnsOutliveNextRead keeps the columns of each Read and looks at them again after the next one.
func columnsOutliveNextRead(t *testing.T, in Input) {
	in.Append(t, 0, records(0, 30)...)
	s := in.Open(t, batch.FailFast)
	defer closed(t, s)
	at, until := start(t, s), end(t, s)
	var before *batch.Columns
	var beforeRange batch.Range
	var beforeRows []row
	for !at.Reached(until) {
		cols, covered, _, err := s.Read(context.Background(), at, batch.Limit{Rows: 4, Until: until})
		if err != nil {
			t.Fatal(err)
		}
		if before != nil {
			sameRows(t, "columns after the next read", rowsOf(t, before, beforeRange), beforeRows)
		}
		before, beforeRange, beforeRows = &cols, covered, rowsOf(t, &cols, covered)
		at = at.With(covered)
	}
}

func cancelled(t *testing.T, in Input) {
	in.Append(t, 0, records(0, 3)...)
	s := in.Open(t, batch.FailFast)
	defer closed(t, s)
	got := reading{at: start(t, s)}
	for len(got.rows) < 3 {
		got.step(t, s, batch.Limit{})
	}
	waits(t, s, got.at)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, _, _, err := s.Read(ctx, got.at, batch.Limit{}); !errors.Is(err, context.Canceled) {
		t.Fatalf("Read with an ended context: %v", err)
	}
	in.Append(t, 0, records(3, 5)...)
	for len(got.rows) < 5 {
		got.step(t, s, batch.Limit{})
	}
	checkIDs(t, got, 0, 5)
}
