package sink

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"sluice/batch"
	"sluice/fault"
)

// change is a row of a test's feed: +key:sequence=value or -key:sequence=value.
type change struct {
	op         byte
	key, value string
	sequence   int64
}

func feed(changes []change) (*Rows, *batch.Keys) {
	key, value, seq := batch.NewBuilder(batch.Of(batch.String), 0), batch.NewBuilder(batch.Of(batch.String), 0), batch.NewBuilder(batch.Of(batch.BigInt), 0)
	r := &Rows{}
	for _, c := range changes {
		key.AppendString(c.key)
		value.AppendString(c.value)
		seq.AppendInt(c.sequence)
		r.Change = append(r.Change, map[byte]Change{'+': InsertRow, '-': DeleteRow}[c.op])
	}
	k, s := key.Column(), seq.Column()
	r.Columns = batch.Columns{Fields: []batch.Field{{Name: "key"}, {Name: "value"}}, Cols: []batch.Column{k, value.Column()}, Len: len(changes)}
	batch.EncodeKeys(&r.Keys, &k)
	batch.EncodeKeys(&r.Sequence, &s)
	var keys batch.Keys
	batch.EncodeKeys(&keys, &k)
	return r, &keys
}

func parse(text string) (out []change) {
	for _, f := range strings.Fields(text) {
		c := change{op: f[0]}
		head, value, _ := strings.Cut(f[1:], "=")
		c.value = value
		c.key, head, _ = strings.Cut(head, ":")
		fmt.Sscan(head, &c.sequence)
		out = append(out, c)
	}
	return out
}

func show(n Net, changes []change) string {
	var out []string
	for i, row := range n.Key {
		text := changes[row].key
		if n.Deleted[i] >= 0 {
			text += "-" + changes[n.Deleted[i]].value
		}
		for _, live := range n.Live[n.Start[i]:n.Start[i+1]] {
			text += "+" + changes[live].value
		}
		out = append(out, text)
	}
	return strings.Join(out, " ")
}

// D-43: fold to the net effect per key.
func TestFold(t *testing.T) {
	for _, c := range []struct{ feed, want string }{
		{"", ""},
		{"+a:1=x", "a+x"},
		{"-a:1=x +a:2=y", "a-x+y"},
		{"+a:1=x -a:1=x +a:2=y", "a+y"},
		{"+a:1=x -a:1=x", "a"},
		{"-a:1=x", "a-x"},
		{"-a:1=x -a:1=y +a:2=z", "a-y+z"},
		{"+a:1=x +a:1=y -a:1=x -a:1=y +a:2=z", "a+z"},
		{"+a:1=x +a:1=x -a:1=x", "a+x"},
		{"+a:1=x +b:1=y -a:1=x +a:2=z", "a+z b+y"},
		{"-a:1=x +a:2=y -a:2=y +a:3=x", "a-x+x"},
		{"+a:1=x +a:1=y -a:1=y", "a+x"},
		{"+a:1=now1 -a:1=now2", "a"},         // the same row of the table, though the query says something else
		{"+a:1=x -a:2=y", "a-y+x"},           // another row of the table with the sink's key
		{"+a:1=x +a:1=y -a:1=y -a:1=x", "a"}, // not in the order of the inserts
	} {
		changes := parse(c.feed)
		rows, keys := feed(changes)
		if got := show(Fold(rows, keys), changes); got != c.want {
			t.Errorf("%q: got %q, want %q", c.feed, got, c.want)
		}
	}
	changes := parse("+a:1=x +b:1=y +a:2=z")
	rows, keys := feed(changes)
	rows.Change = nil
	if got := show(Fold(rows, keys), changes); got != "a+x+z b+y" {
		t.Errorf("without a feed: %q", got)
	}
}

// Applying the net effect gives what applying every change gives.
func TestFoldAgainstApplyingEveryChange(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		table := map[string][]string{} // before the batch
		var changes []change
		sequence := int64(10)
		for _, key := range []string{"a", "b", "c"} {
			for range rapid.IntRange(0, 2).Draw(t, "before") {
				table[key] = append(table[key], "old")
			}
		}
		now := map[string][]change{}
		for key, values := range table {
			for _, v := range values {
				now[key] = append(now[key], change{'+', key, v, 0})
			}
		}
		for range rapid.IntRange(0, 12).Draw(t, "steps") {
			key := rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "key")
			value := rapid.SampledFrom([]string{"x", "y"}).Draw(t, "value")
			if tie := rapid.Bool().Draw(t, "tie"); !tie || len(now[key]) == 0 {
				sequence++
				for _, old := range now[key] {
					old.op = '-'
					changes = append(changes, old)
				}
				now[key] = nil
			} else {
				sequence = now[key][0].sequence
			}
			c := change{'+', key, value, sequence}
			changes, now[key] = append(changes, c), append(now[key], c)
			sequence = 10 + int64(len(changes))
		}
		rows, keys := feed(changes)
		n := Fold(rows, keys)
		for i, row := range n.Key {
			key := changes[row].key
			var got, want []string
			if n.Deleted[i] < 0 {
				got = append(got, table[key]...) // nothing that was there before was taken away
			}
			for _, live := range n.Live[n.Start[i]:n.Start[i+1]] {
				got = append(got, changes[live].value)
			}
			for _, c := range now[key] {
				want = append(want, c.value)
			}
			if !slices.Equal(got, want) {
				t.Fatalf("%s: got %v, want %v", key, got, want)
			}
		}
	})
}

// D-18.
func TestAdmit(t *testing.T) {
	next := batch.ID{Pipeline: "p", Flow: "f", Store: "s", Epoch: 5, Generation: 2, Number: 10}
	next.Replay = true
	for _, c := range []struct {
		have    Identity
		running bool
		code    *fault.Code
	}{
		{Identity{"s", 5, 2, 9}, false, nil},
		{Identity{"s", 4, 2, 10}, false, nil}, // accepted, and the daemon died before it could note that
		{Identity{"s", 4, 1, 900}, false, nil},
		{Identity{"t", 1, 0, 0}, false, fault.SinkOtherStore},
		{Identity{"t", 1, 0, 0}, true, fault.SinkOtherStore},
		{Identity{"s", 4, 2, 11}, false, fault.SinkAhead},
		{Identity{"s", 4, 3, 0}, false, fault.SinkAhead},
		{Identity{"s", 6, 2, 9}, false, fault.SinkAhead},
		{Identity{"s", 6, 2, 9}, true, fault.Fenced},
		{Identity{"s", 6, 2, 11}, true, fault.Fenced},
	} {
		err := c.have.Admit("topic t", next, c.running)
		if c.code == nil && err != nil || c.code != nil && !fault.Of(err, c.code) {
			t.Errorf("%v, running %v: got %v, want %v", c.have, c.running, err, c.code)
		}
		if back, ok := ParseIdentity(c.have.String()); !ok || back != c.have {
			t.Errorf("%v became %v", c.have, back)
		}
	}
	// A batch that was sent, but not as the one that is there: a copy of the store has sent its own (under an epoch between two of ours).
	for _, tried := range [][]uint64{{2, 5}, {2, 4, 5}} {
		next.Tried = tried
		for running, code := range map[bool]*fault.Code{false: fault.SinkAhead, true: fault.Fenced} {
			err := Identity{"s", 4, 2, 10}.Admit("topic t", next, running)
			if mine := len(tried) == 3; mine && err != nil || !mine && !fault.Of(err, code) {
				t.Errorf("sent under %v, running %v: %v", tried, running, err)
			}
		}
		if err := (Identity{"s", 4, 2, 9}).Admit("topic t", next, true); err != nil {
			t.Errorf("the batch before, from another start: %v", err)
		}
	}
	// A batch that was never sent and is there all the same: a newer copy of the store has sent it.
	next.Replay = false
	for running, code := range map[bool]*fault.Code{false: fault.SinkAhead, true: fault.Fenced} {
		if err := (Identity{"s", 4, 2, 10}).Admit("topic t", next, running); !fault.Of(err, code) {
			t.Errorf("running %v: got %v, want %v", running, err, code)
		}
	}
	for _, text := range []string{"", "a", "a/b/c/d", "/1/2/3", "a/1/2", "a/1/2/3/4", "a/-1/2/3"} {
		if _, ok := ParseIdentity(text); ok {
			t.Errorf("%q is taken for an identity", text)
		}
	}
	if !(Identity{"s", 1, 2, 10}).Holds(next) || (Identity{"s", 1, 2, 9}).Holds(next) || (Identity{"s", 1, 1, 99}).Holds(next) {
		t.Error("Holds")
	}
}
