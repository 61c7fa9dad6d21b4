package model

import (
	"fmt"
	"slices"
	"strconv"
	"testing"

	"pgregory.net/rapid"
)

// The rule applied row by row, as a World does, is the closed form of section 1.1, in any order (RU-07, PT-01), with an expectation
// that drops rows as without the rows it drops (PT-02).
func TestRowByRowIsTheClosedForm(t *testing.T) {
	p := &Pipeline{
		Tables: []Table{{Name: "t", Columns: []string{"k", "s", "n"}, Keys: []string{"k"}, Expectations: []Expectation{{Name: "e", Cond: Call("<", Column("n"), Literal(int64(3))), Drop: true}}}},
		Flows: []Flow{{Name: "f", Target: "t", From: Source{Topic: "in"}, Sequence: &Expr{Op: "column", Name: "s"},
			Select: []Item{{Column("k"), "k"}, {Column("s"), "s"}, {Column("n"), "n"}}}},
	}
	rapid.Check(t, func(t *rapid.T) {
		w := NewWorld(p)
		w.Topic("in", 1)
		var delivered []KeyedRow
		for i := range rapid.IntRange(0, 20).Draw(t, "rows") {
			k, s, n := rapid.SampledFrom([]Value{nil, int64(1), int64(2)}).Draw(t, "key"), rapid.Int64Range(0, 3).Draw(t, "sequence"), rapid.Int64Range(0, 4).Draw(t, "n")
			w.Produce("in", Message{Row: Row{k, nil, nil, s, n}})
			if n < 3 {
				delivered = append(delivered, KeyedRow{Key: []any{k}, Sequence: s, Value: Row{k, s, n}.Text(), From: fmt.Sprint(i)})
			}
			if rapid.Bool().Draw(t, "run") {
				w.Run(nil, nil, false)
			}
		}
		if rapid.Bool().Draw(t, "again") {
			w.Reset("f")
		}
		w.Run(nil, nil, false)
		want := []string{}
		for _, r := range ReplaceUsing(delivered) {
			want = append(want, r.Value)
		}
		slices.Sort(want)
		if got := w.Rows("t"); !slices.Equal(got, want) {
			t.Fatalf("got %q, want %q", got, want)
		}
	})
}

// The rule for many rows is the closed form, too.
func TestLatestIsTheClosedForm(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var delivered []KeyedRow
		latest := Latest{}
		for i := range rapid.IntRange(0, 30).Draw(t, "rows") {
			k, s := rapid.Int64Range(0, 3).Draw(t, "key"), rapid.Int64Range(-2, 3).Draw(t, "sequence")
			delivered = append(delivered, KeyedRow{Key: []any{k}, Sequence: s, Value: strconv.Itoa(i), From: strconv.Itoa(i)})
			latest.Deliver(k, s, i)
		}
		var want []string
		for _, r := range ReplaceUsing(delivered) {
			want = append(want, r.Value)
		}
		var got []string
		for _, i := range latest.Rows() {
			got = append(got, strconv.Itoa(i))
		}
		if !slices.Equal(got, want) {
			t.Fatalf("got %q, want %q", got, want)
		}
	})
}

func TestConditionsHaveThreeValues(t *testing.T) {
	null, yes, no := Call("=", Literal(nil), Literal(int64(1))), Call("=", Literal(int64(1)), Literal(int64(1))), Call("<", Literal(int64(1)), Literal(int64(1)))
	for _, c := range []struct {
		e    Expr
		want Value
	}{
		{null, nil}, {Call("NOT", null), nil}, {Call("IS NULL", null), true},
		{Call("AND", null, no), false}, {Call("AND", null, yes), nil}, {Call("OR", null, yes), true}, {Call("OR", no, null), nil},
		{Call("=", Call("DOUBLE", Literal("NaN")), Call("DOUBLE", Literal("NaN"))), true},
		{Call(">", Call("DOUBLE", Literal("NaN")), Call("DOUBLE", Literal("Infinity"))), true},
		{Call("=", Call("DOUBLE", Literal("-0.0")), Call("DOUBLE", Literal("0.0"))), true},
		{Call("COALESCE", null, yes), true},
	} {
		if got, err := c.e.Eval(nil, nil); got != c.want || err != nil {
			t.Errorf("%s: got %v %v, want %v", c.e.SQL(), got, err, c.want)
		}
	}
	if _, err := Call("INT", Literal("a")).Eval(nil, nil); err == nil {
		t.Error("a text that is no number is cast to one")
	}
}
