package state

import (
	"fmt"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"pgregory.net/rapid"

	"sluice/batch"
)

// inQuarantine reads the table that crash tests name, a line for each record.
func inQuarantine(tb rapid.TB, s *Store) (lines []string) {
	tb.Helper()
	snapshot := s.Snapshot()
	defer snapshot.Close()
	scan, err := snapshot.ScanQuarantine("quarantine", []string{"value", "flow", "offset", "generation", "timestamp"})
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
