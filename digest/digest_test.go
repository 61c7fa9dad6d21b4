package digest

import (
	"math"
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"

	"sluice/batch"
)

var (
	text   = batch.Of(batch.String)
	number = batch.Of(batch.Double)
	pairs  = batch.Type{Kind: batch.Map, Fields: []batch.Field{{Name: "key", Type: text}, {Name: "value", Type: text}}}
	fields = []batch.Field{{Name: "id", Type: text}, {Name: "x", Type: number}, {Name: "tags", Type: pairs}}
)

// row is an id, a number and the entries of a map, in turn keys and values; nil is a map that is not there.
type row struct {
	id   string
	x    float64
	tags []string
}

func columns(rows ...row) *batch.Columns {
	ids, xs, tags := batch.NewBuilder(text, 0), batch.NewBuilder(number, 0), batch.NewBuilder(pairs, 0)
	for _, r := range rows {
		ids.AppendString(r.id)
		batch.Append(xs, r.x)
		if r.tags == nil {
			tags.AppendNull()
			continue
		}
		for i, t := range r.tags {
			tags.Child(i % 2).AppendString(t)
		}
		tags.AppendNested()
	}
	return &batch.Columns{Fields: fields, Cols: []batch.Column{ids.Column(), xs.Column(), tags.Column()}, Len: len(rows)}
}

func of(f []batch.Field, batches ...*batch.Columns) (s Sum) {
	h := New(f)
	for _, b := range batches {
		h.Add(&s, b)
	}
	return s
}

// Golden: a digest that is written down stays comparable over versions.
func TestGolden(t *testing.T) {
	rows := []row{{"a", 1.5, []string{"k", "v", "l", "w"}}, {"b", math.Copysign(0, -1), nil}, {"", math.NaN(), []string{}}}
	if got, want := of(fields, columns(rows...)).String(), "370dce7d2b1b8e34c6beee46a4c3763d"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// What is one value is one digest; what is not differs.
func TestValues(t *testing.T) {
	sum := func(rows ...row) Sum { return of(fields, columns(rows...)) }
	same := [][2]Sum{
		{sum(row{"a", 0, nil}), sum(row{"a", math.Copysign(0, -1), nil})},
		{sum(row{"a", math.NaN(), nil}), sum(row{"a", math.Float64frombits(0xfff8000000000001), nil})},
		{sum(row{"a", 1, []string{"k", "v", "l", "w"}}), sum(row{"a", 1, []string{"l", "w", "k", "v"}})},
	}
	for i, s := range same {
		if s[0] != s[1] {
			t.Errorf("pair %d differs: %s, %s", i, s[0], s[1])
		}
	}
	a := row{"a", 1, nil}
	different := []Sum{{}, sum(a), sum(a, a), sum(row{"b", 1, nil}), sum(row{"a", 2, nil}), sum(row{"a", 1, []string{}}), sum(row{"a", 1, []string{"", ""}}),
		of([]batch.Field{{Name: "ID", Type: text}, fields[1], fields[2]}, columns(a))}
	for i, s := range different {
		for j := range i {
			if s == different[j] {
				t.Errorf("%d and %d are the same: %s", i, j, s)
			}
		}
	}
}

// D-29: the digest does not depend on the order of rows, nor on how they are cut into batches.
func TestAnyOrderAndCut(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rows := rapid.SliceOf(rapid.Custom(func(t *rapid.T) row {
			r := row{id: rapid.StringN(0, 3, -1).Draw(t, "id"), x: rapid.Float64().Draw(t, "x")}
			if rapid.Bool().Draw(t, "tagged") {
				r.tags = []string{"k", rapid.StringN(0, 2, -1).Draw(t, "tag")}
			}
			return r
		})).Draw(t, "rows")
		want := of(fields, columns(rows...))
		shuffled := append([]row(nil), rows...)
		rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0)).Shuffle(len(shuffled), func(i, j int) { shuffled[i], shuffled[j] = shuffled[j], shuffled[i] })
		cut := rapid.IntRange(0, len(rows)).Draw(t, "cut")
		if got := of(fields, columns(shuffled[:cut]...), columns(shuffled[cut:]...)); got != want {
			t.Fatalf("got %s of %d rows, want %s of %d", got, got.Rows, want, want.Rows)
		}
	})
}

// Rows that go away are taken out: what is left is the digest of the rows that are left.
func TestPlusAndMinus(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		draw := func(name string) Sum {
			return Sum{rapid.Uint64().Draw(t, name+" high"), rapid.Uint64().Draw(t, name+" low"), rapid.Int64Range(0, 1000).Draw(t, name+" rows")}
		}
		a, b, c := draw("a"), draw("b"), draw("c")
		if a.Plus(b) != b.Plus(a) || a.Plus(b).Plus(c) != a.Plus(b.Plus(c)) || a.Plus(b).Minus(b) != a || a.Minus(b).Plus(b) != a || a.Minus(a) != (Sum{}) {
			t.Fatalf("%v %v %v", a, b, c)
		}
	})
	a, b := columns(row{"a", 1, nil}), columns(row{"b", 2, []string{"k", "v"}})
	if got, want := of(fields, a, b).Minus(of(fields, a)), of(fields, b); got != want {
		t.Errorf("got %v, want %v", got, want)
	}
}

// What a column's comment says, and what must have a value, is no part of the shape, at no depth.
func TestShape(t *testing.T) {
	inner := batch.Type{Kind: batch.Struct, Fields: []batch.Field{{Name: "a", Type: text}}}
	commented := batch.Type{Kind: batch.Struct, Fields: []batch.Field{{Name: "a", Type: text, NotNull: true, Comment: "first"}}}
	renamed := batch.Type{Kind: batch.Struct, Fields: []batch.Field{{Name: "b", Type: text}}}
	seed := func(t batch.Type) uint64 { return New([]batch.Field{{Name: "x", Type: t}}).Seed() }
	if seed(inner) != seed(commented) || seed(inner) == seed(renamed) || commented.Fields[0].Comment == "" {
		t.Error("the shape is wrong")
	}
}

// No row is paid for with memory.
func TestRowsAllocateNothing(t *testing.T) {
	rows, h := columns(row{"a", 1.5, []string{"k", "v", "l", "w"}}, row{"b", 2, nil}), New(fields)
	var s Sum
	h.Add(&s, rows)
	if n := testing.AllocsPerRun(100, func() { h.Add(&s, rows) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
