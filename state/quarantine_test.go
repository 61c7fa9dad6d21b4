package state

import (
	"fmt"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"pgregory.net/rapid"

	"sluice/batch"
	"sluice/fault"
)

// inQuarantine reads the table that crash tests name, a line for each record, with more columns at its end.
func inQuarantine(tb rapid.TB, s *Store, more ...string) (lines []string) {
	tb.Helper()
	snapshot := s.Snapshot()
	defer snapshot.Close()
	scan, err := snapshot.ScanQuarantine("quarantine", append([]string{"value", "flow", "offset", "generation", "timestamp"}, more...))
	ok(tb, err)
	defer scan.Close()
	for {
		rows, err := scan.Next(3)
		ok(tb, err)
		if rows.Len == 0 {
			return lines
		}
		lines = append(lines, text(rows)...)
	}
}

// A record comes back as it was put in: null and empty are told apart in key, value and headers, names of headers come
// repeatedly and in order, and bytes are any bytes.
func TestQuarantinedComesBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		bytes := rapid.OneOf(rapid.Just[[]byte](nil), rapid.SliceOfN(rapid.Byte(), 0, 20))
		want := Quarantined{Split: rapid.String().Draw(t, "split"), ID: rapid.String().Draw(t, "id"), At: batch.Offset{At: rapid.Int64().Draw(t, "at"), Index: 3},
			Time: rapid.Int64().Draw(t, "time"), Key: bytes.Draw(t, "key"), Value: bytes.Draw(t, "value"), Code: "C", Message: rapid.String().Draw(t, "message"),
			Column: rapid.String().Draw(t, "column"), BatchTime: rapid.Int64().Draw(t, "batch"), Generation: rapid.Uint64().Draw(t, "generation")}
		for range rapid.IntRange(0, 3).Draw(t, "headers") {
			want.Headers = append(want.Headers, batch.Header{Key: string(rapid.SliceOfN(rapid.Byte(), 0, 3).Draw(t, "name")), Value: bytes.Draw(t, "header")})
		}
		at := rowPosition{7, want.At.At, want.At.Index}
		got, err := decodeQuarantined(parseRowKey(quarantineKey(1, at)), want.encode())
		if err != nil || fmt.Sprintf("%#v", got) != fmt.Sprintf("%#v", want) {
			t.Fatalf("got %#v, want %#v (%v)", got, want, err)
		}
	})
}

// D-31: a position is in quarantine once, however often it is read; the sum follows, through resets and openings.
func TestQuarantineIsKeyedByPosition(t *testing.T) {
	fs := vfs.NewMem()
	s := open(t, fs)
	f, err := s.Flow("f")
	ok(t, err)
	ok(t, f.SetQuarantine("quarantine"))
	put := func(at ...int64) (q Quarantine) {
		for _, at := range at {
			q.Put = append(q.Put, Quarantined{Split: "src", At: batch.Offset{At: at}, Value: fmt.Append(nil, "v", at), Code: "C"})
		}
		return q
	}
	ok(t, f.Skip(Advance{Range: spanOf(f, 10), Time: noon, Quarantine: put(1, 9, 3)}))
	same(t, "quarantine", inQuarantine(t, s), "v1,f,1,0,NULL", "v3,f,3,0,NULL", "v9,f,9,0,NULL")
	size := f.Quarantined()

	ok(t, s.Reset(nil, []string{"f"}))
	same(t, "after the reset", inQuarantine(t, s), "v1,f,1,0,NULL", "v3,f,3,0,NULL", "v9,f,9,0,NULL")
	r := spanOf(f, 4)
	held, err := f.QuarantinedIn(&r)
	ok(t, err)
	if len(held) != 2 || held[0].At.At != 1 || held[1].At.At != 3 {
		t.Errorf("in %v are %v", r, held)
	}
	q := put(3)
	q.Drop = held[:1]
	ok(t, f.Skip(Advance{Range: r, Time: noon, Quarantine: q}))
	same(t, "read again", inQuarantine(t, s), "v3,f,3,1,NULL", "v9,f,9,0,NULL")
	if got := f.Quarantined(); got.Records != 2 || got.Bytes >= size.Bytes {
		t.Errorf("%v in quarantine, before %v", got, size)
	}
	closeChecked(t, s)
	s = open(t, fs)
	f, err = s.Flow("f")
	ok(t, err)
	if got := f.Quarantined(); got.Records != 2 {
		t.Errorf("%v in quarantine", got)
	}
	tables, err := s.Quarantines()
	ok(t, err)
	if len(tables) != 1 || tables[0].Name != "quarantine" || tables[0].Rows != 2 {
		t.Errorf("the tables are %v", tables)
	}
}

// D-31: an edit is read instead of the record from its replay on, whenever the position is read again; a record without one leaves. A
// second replay, and an edit of what was replayed, do nothing. What is refused again keeps its edit, and itself as it came.
func TestMendedRecords(t *testing.T) {
	fs := vfs.NewMem()
	s := open(t, fs)
	f, err := s.Flow("f")
	ok(t, err)
	ok(t, f.SetQuarantine("quarantine"))
	record := func(at int64, value string) Quarantined {
		return Quarantined{Split: "src", At: batch.Offset{At: at}, Value: []byte(value), Code: "C"}
	}
	ok(t, f.Skip(Advance{Range: spanOf(f, 10), Time: noon, Quarantine: Quarantine{Put: []Quarantined{record(1, "v1"), record(2, "v2"), record(3, "v3")}}}))
	one := func(at int64) Chosen { return Chosen{At: &batch.Offset{At: at}} }
	look := func(what string, lines ...string) {
		t.Helper()
		same(t, what, inQuarantine(t, s, "edited_value", "status"), lines...)
		ok(t, s.Check())
	}
	said := func(what string, want int) func(int, error) {
		return func(n int, err error) {
			t.Helper()
			if n != want || err != nil {
				t.Errorf("%s: %d, %v; want %d", what, n, err, want)
			}
		}
	}
	said("edit", 1)(f.Edit(one(1), nil, []byte("e1")))
	said("edit of another", 1)(f.Edit(one(3), nil, []byte("e3")))
	if _, err := f.Edit(Chosen{}, nil, make([]byte, mendBytes+1)); !fault.Of(err, fault.RecordNameAmbiguous) { // large enough to be written at once
		t.Errorf("an edit of three: %v", err)
	}
	said("order", 3)(f.OrderReplay(Chosen{}))
	look("ordered", "v1,f,1,0,NULL,e1,ordered", "v2,f,2,0,NULL,NULL,ordered", "v3,f,3,0,NULL,e3,ordered")
	closeChecked(t, s)
	s = open(t, fs)
	f, err = s.Flow("f")
	ok(t, err)
	first, more, err := f.Ordered(nil, 2, 1<<20)
	ok(t, err)
	rest, end, err := f.Ordered(more, 2, 1<<20)
	ok(t, err)
	if len(first) != 2 || len(rest) != 1 || rest[0].At.At != 3 || end != nil {
		t.Errorf("ordered are %v and %v", first, rest)
	}
	ok(t, f.Skip(Advance{Time: noon, Quarantine: Quarantine{Put: []Quarantined{record(3, "e3")}, Drop: []Place{{Split: "src", At: first[0].At}, {Split: "src", At: first[1].At}}}}))
	look("replayed", "v1,f,1,0,NULL,e1,replayed", "v3,f,3,0,NULL,e3,refused")
	if got := f.Quarantined(); got.Records != 1 || got.Ordered != 0 || got.InForce != 1 {
		t.Errorf("%+v in quarantine", got)
	}
	if _, err := f.Edit(one(1), nil, []byte("e")); !fault.Of(err, fault.AlreadyReplayed) {
		t.Errorf("an edit of what was replayed: %v", err)
	}
	said("a second order", 0)(f.OrderReplay(one(1)))

	ok(t, s.Reset(nil, []string{"f"}))
	r := spanOf(f, 10)
	edits, err := f.InForceIn(&r)
	ok(t, err)
	if len(edits) != 1 || edits[0].At.At != 1 {
		t.Errorf("in force are %v", edits)
	}
	said("an order in the next generation", 1)(f.OrderReplay(one(1)))
	ok(t, f.Skip(Advance{Range: r, Time: noon, Quarantine: Quarantine{Put: []Quarantined{record(1, "e1"), record(3, "v3")}}}))
	look("read again", "v1,f,1,1,NULL,e1,refused", "v3,f,3,1,NULL,e3,refused")
	said("an order of both", 2)(f.OrderReplay(Chosen{}))
	if edits, err = f.InForceIn(&r); err != nil || len(edits) != 2 {
		t.Errorf("ordered are %v (%v)", edits, err)
	}
	ok(t, f.Skip(Advance{Time: noon, Quarantine: Quarantine{Put: []Quarantined{record(1, "e1"), record(3, "e3")}}}))
	if edits, err = f.InForceIn(&r); err != nil || len(edits) != 1 || edits[0].At.At != 1 {
		t.Errorf("refused once more, in force are %v (%v)", edits, err)
	}
	ok(t, s.Reset(nil, []string{"f"}))
	ok(t, f.Skip(Advance{Range: spanOf(f, 10), Time: noon, Quarantine: Quarantine{Drop: []Place{{Split: "src", At: batch.Offset{At: 3}}}}}))
	look("a row as it came", "v1,f,1,1,NULL,e1,refused")
	said("forget", 1)(f.Forget(one(1)))
	said("forget nothing", 0)(f.Forget(one(1)))
	look("forgotten")
	closeChecked(t, s)
}
