package state

import (
	"context"
	"fmt"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"sluice/batch"
)

// D-15, D-31: a record that goes into quarantine has one dead letter, with its number, until the flow that sends it has committed it; through openings,
// resets of both flows and what is forgotten. What is read again has none, unless it had left.
func TestDeadLetters(t *testing.T) {
	fs := vfs.NewMem()
	var s *Store
	var f, sender *Flow
	reopen := func() {
		t.Helper()
		var err error
		s = open(t, fs)
		f, err = s.Flow("f")
		ok(t, err)
		sender, err = s.Flow("f.dlq")
		ok(t, err)
		sender.SendLettersOf(f)
	}
	reopen()
	put := func(at ...int64) (q Quarantine) {
		q.Letters = true
		for _, at := range at {
			q.Put = append(q.Put, Quarantined{Split: "src", At: batch.Offset{At: at, Index: 2}, Value: fmt.Append(nil, "v", at), Code: "C"})
		}
		return q
	}
	skip := func(q Quarantine) { t.Helper(); ok(t, f.Skip(Advance{Time: noon, Quarantine: q})) }
	read := func(rows int) (batch.Range, string) {
		t.Helper()
		some, r, err := sender.ReadLetters(sender.Position(), batch.Limit{Rows: rows})
		ok(t, err)
		text := ""
		for _, q := range some {
			text += fmt.Sprintf("%s@%v ", q.Value, q.At)
		}
		return r, text
	}
	look := func(what string, waiting int64, want string) {
		t.Helper()
		if _, got := read(0); got != want {
			t.Errorf("%s: there are %s, want %s", what, got, want)
		}
		if got := f.Info().Letters; got.Waiting != waiting || (got.Bytes > 0) != (waiting > 0) {
			t.Errorf("%s: waiting are %+v, want %d", what, got, waiting)
		}
		ok(t, s.Check())
	}
	ok(t, sender.SetStart(sender.LettersStart()))
	arrived := make(chan error)
	go func() { arrived <- sender.WaitForLetters(context.Background(), sender.Position()) }()
	skip(put(1, 2, 3))
	ok(t, <-arrived)
	skip(put(2, 4))
	look("refused", 4, "v1@1.2 v2@2.2 v3@3.2 v4@4.2 ")
	r, _ := read(2)
	ok(t, sender.Skip(Advance{Range: r, Time: noon}))
	look("two are sent", 2, "v3@3.2 v4@4.2 ")
	if _, err := f.Forget(Chosen{}); err != nil {
		t.Fatal(err)
	}
	closeChecked(t, s)
	reopen()
	look("forgotten, and opened again", 2, "v3@3.2 v4@4.2 ")
	skip(put(1))
	look("one that had left is refused again", 3, "v3@3.2 v4@4.2 v1@1.2 ")

	ok(t, s.Reset(nil, []string{"f", "f.dlq"}))
	ok(t, sender.SetStart(sender.LettersStart()))
	look("after resets", 3, "v3@3.2 v4@4.2 v1@1.2 ")
	r, _ = read(0)
	ok(t, sender.Skip(Advance{Range: r, Time: noon}))
	skip(put(1))
	look("all are sent", 0, "")
	skip(put(9))
	look("and another", 1, "v9@9.2 ")
	closeChecked(t, s)
}
