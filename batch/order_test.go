package batch

import (
	"bytes"
	"cmp"
	"encoding/hex"
	"fmt"
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// one builds a column of one value; v is nil, a Go value of the type, or []any for struct and array.
func one(typ Type, v any) Column {
	b := NewBuilder(typ, 1)
	appendAny(b, v)
	return b.Column()
}

func appendAny(b *Builder, v any) {
	switch v := v.(type) {
	case nil:
		b.AppendNull()
	case bool:
		b.AppendBool(v)
	case string:
		b.AppendString(v)
	case float64:
		if b.Type.Kind == Float {
			Append(b, float32(v))
			return
		}
		Append(b, v)
	case Int128:
		Append(b, v)
	case []any:
		for i, f := range v {
			if b.Type.Kind == Array {
				i = 0
			}
			appendAny(b.Child(i), f)
		}
		b.AppendNested()
	case int:
		b.AppendInt(int64(v))
	default:
		panic(fmt.Sprintf("%T", v))
	}
}

func encoded(typ Type, v any) []byte {
	c := one(typ, v)
	var k Keys
	EncodeKeys(&k, &c)
	return bytes.Clone(k.At(0))
}

// TestKeyBytesAreGolden pins the encoding: floors and keys on disk have these bytes.
func TestKeyBytesAreGolden(t *testing.T) {
	pair := StructOf(Field{Name: "a", Type: Of(Int)}, Field{Name: "b", Type: Of(String)})
	for _, c := range []struct {
		typ  Type
		v    any
		want string
	}{
		{Of(Boolean), nil, "01"},
		{Of(Boolean), false, "0200"},
		{Of(Boolean), true, "0201"},
		{Of(TinyInt), -128, "0200"},
		{Of(TinyInt), 1, "0281"},
		{Of(SmallInt), -1, "027fff"},
		{Of(Int), 0, "0280000000"},
		{Of(Date), 1, "0280000001"},
		{Of(BigInt), -1, "027fffffffffffffff"},
		{Of(Timestamp), 1, "028000000000000001"},
		{DecimalOf(10, 2), 500, "0280000000000001f4"}, // 5, 5.0 and 5.00 are this
		{DecimalOf(38, 0), Int128{Lo: 1}, "0280000000000000000000000000000001"},
		{DecimalOf(38, 0), Int128{Lo: math.MaxUint64, Hi: -1}, "027fffffffffffffffffffffffffffffff"},
		{Of(Double), 0.0, "028000000000000000"},
		{Of(Double), math.Copysign(0, -1), "028000000000000000"},
		{Of(Double), math.NaN(), "02ffffffffffffffff"},
		{Of(Double), math.Float64frombits(0xfff8000000000001), "02ffffffffffffffff"}, // every NaN is one
		{Of(Double), math.Inf(-1), "02000fffffffffffff"},
		{Of(Float), -1.0, "02407fffff"},
		{Of(Float), math.Copysign(0, -1), "0280000000"},
		{Of(String), "", "020001"},
		{Of(String), "ab", "0261620001"},
		{Of(String), "a\x00b", "026100ff620001"},
		{Of(Binary), "\xff", "02ff0001"},
		{pair, []any{1, nil}, "02028000000101"},
		{ArrayOf(Of(Int)), []any{}, "0200"},
		{ArrayOf(Of(Int)), []any{1, nil}, "02028000000101" + "00"},
	} {
		if got := hex.EncodeToString(encoded(c.typ, c.v)); got != c.want {
			t.Errorf("%v %v: got %s, want %s", c.typ, c.v, got, c.want)
		}
	}
}

// TestEncodedOrder goes through values in ascending order (D-36, RU-O8): each must be below the next, and equal to itself.
func TestEncodedOrder(t *testing.T) {
	pair := StructOf(Field{Name: "a", Type: Of(Int)}, Field{Name: "b", Type: Of(Double)})
	for _, c := range []struct {
		typ    Type
		values []any
	}{
		{Of(Boolean), []any{nil, false, true}},
		{Of(BigInt), []any{nil, math.MinInt64, -1, 0, 1, 9007199254740992, 9007199254740993, math.MaxInt64}},
		{Of(Double), []any{nil, math.Inf(-1), -math.MaxFloat64, -1.5, -math.SmallestNonzeroFloat64, 0.0, math.SmallestNonzeroFloat64, 1.5, math.MaxFloat64, math.Inf(1), math.NaN()}},
		{Of(Float), []any{nil, math.Inf(-1), -1.5, 0.0, 1.5, math.Inf(1), math.NaN()}},
		{Of(String), []any{nil, "", "\x00", "\x00\x00", "\x00a", "10", "9", "A", "a", "a\x00", "a\x00b", "aa", "b", "ä", "\U0001F600"}}, // text compares as text
		{DecimalOf(38, 2), []any{nil, Int128{Hi: math.MinInt64}, Int128{Lo: math.MaxUint64, Hi: -1}, Int128{}, Int128{Lo: math.MaxUint64}, Int128{Hi: 1}, Int128{Lo: 5, Hi: 1}}},
		{pair, []any{nil, []any{nil, nil}, []any{nil, 1.0}, []any{1, nil}, []any{1, math.Inf(-1)}, []any{1, math.NaN()}, []any{2, nil}}}, // {a: NULL} < {a: 1}
		{ArrayOf(Of(String)), []any{nil, []any{}, []any{nil}, []any{nil, nil}, []any{""}, []any{"", ""}, []any{"a"}, []any{"a", nil}, []any{"a", "b"}, []any{"b"}}},
	} {
		for i, v := range c.values {
			for j, w := range c.values {
				if got, want := bytes.Compare(encoded(c.typ, v), encoded(c.typ, w)), cmp.Compare(i, j); got != want {
					t.Errorf("%v: %v against %v compares as %d, not %d", c.typ, v, w, got, want)
				}
			}
		}
	}
}

// tuples that look alike have different bytes, and none is a prefix of another (state keeps rows of a key
// behind it).
func TestTuplesAreToldApart(t *testing.T) {
	var tuples [][2]any
	parts := []any{nil, "", "x", "__null__", "null", "doc-7", "doc-71", "12", "2", "\x00", "\x01", "a", "ab", "c", "bc"}
	for _, a := range parts {
		for _, b := range parts {
			tuples = append(tuples, [2]any{a, b})
		}
	}
	cols := [2]*Builder{NewBuilder(Of(String), 0), NewBuilder(Of(String), 0)}
	for _, tuple := range tuples {
		appendAny(cols[0], tuple[0])
		appendAny(cols[1], tuple[1])
	}
	a, b := cols[0].Column(), cols[1].Column()
	var k Keys
	EncodeKeys(&k, &a, &b)
	if k.Len() != len(tuples) {
		t.Fatalf("%d tuples", k.Len())
	}
	for i := range tuples {
		for j := range tuples {
			if i != j && bytes.HasPrefix(k.At(i), k.At(j)) {
				t.Errorf("%q begins with %q", tuples[i], tuples[j])
			}
		}
	}
}

func TestEncodingReusesMemoryAndNothingElse(t *testing.T) {
	c := one(Of(String), "something long")
	var k Keys
	EncodeKeys(&k, &c)
	c = one(Of(String), "b")
	EncodeKeys(&k, &c)
	if k.Len() != 1 || string(k.At(0)) != "\x02b\x00\x01" {
		t.Errorf("got %q", k.At(0))
	}
	EncodeKeys(&k)
	if k.Len() != 0 {
		t.Errorf("no columns give %d tuples", k.Len())
	}
}

// The order of tuples of random texts and numbers is that of their parts, nulls first, floats by value.
func TestTupleOrderIsThatOfTheParts(t *testing.T) {
	text := rapid.Ptr(rapid.StringOfN(rapid.RuneFrom([]rune{0, 1, 'a', 'b', 'ÿ', '\U0010FFFF'}), 0, 4, -1), true)
	number := rapid.Ptr(rapid.OneOf(rapid.Float64(), rapid.SampledFrom([]float64{0, math.Copysign(0, -1), math.NaN(), math.Inf(1)})), true)
	rapid.Check(t, func(t *rapid.T) {
		texts, numbers := NewBuilder(Of(String), 2), NewBuilder(Of(Double), 2)
		var s [2]*string
		var n [2]*float64
		for i := range 2 {
			if s[i] = text.Draw(t, "text"); s[i] == nil {
				texts.AppendNull()
			} else {
				texts.AppendString(*s[i])
			}
			if n[i] = number.Draw(t, "number"); n[i] == nil {
				numbers.AppendNull()
			} else {
				Append(numbers, *n[i])
			}
		}
		a, b := texts.Column(), numbers.Column()
		var k Keys
		EncodeKeys(&k, &a, &b)
		want := cmp.Or(compareNullsFirst(s[0], s[1], strings.Compare), compareNullsFirst(n[0], n[1], compareFloats))
		if got := bytes.Compare(k.At(0), k.At(1)); got != want {
			t.Fatalf("got %d, want %d", got, want)
		}
	})
}

func compareNullsFirst[T any](a, b *T, compare func(a, b T) int) int {
	switch {
	case a == nil && b == nil:
		return 0
	case a == nil:
		return -1
	case b == nil:
		return 1
	}
	return compare(*a, *b)
}

// compareFloats has NaN highest and equal to itself, unlike cmp.Compare.
func compareFloats(a, b float64) int {
	switch {
	case a != a && b != b:
		return 0
	case a != a:
		return 1
	case b != b:
		return -1
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

func TestNullOrNaN(t *testing.T) {
	pair, list := StructOf(Field{Name: "a", Type: Of(Int)}, Field{Name: "b", Type: Of(Float)}), ArrayOf(Of(Double))
	nested := StructOf(Field{Name: "a", Type: list})
	for _, c := range []struct {
		typ  Type
		v    any
		want bool
	}{
		{Of(BigInt), nil, true}, {Of(BigInt), 1, false}, {Of(Double), math.NaN(), true}, {Of(Float), math.NaN(), true}, {Of(Double), math.Inf(1), false},
		{pair, nil, true}, {pair, []any{1, 1.0}, false}, {pair, []any{nil, 1.0}, true}, {pair, []any{1, math.NaN()}, true}, {Of(String), "", false},
		{list, []any{}, false}, {list, []any{1.0, 2.0}, false}, {list, []any{1.0, nil}, true}, {list, []any{math.NaN(), 1.0}, true},
		{nested, []any{[]any{1.0}}, false}, {nested, []any{[]any{1.0, nil}}, true},
	} {
		col := one(c.typ, c.v)
		if got := NullOrNaN(&col, 0); got != c.want {
			t.Errorf("%v %v: got %v", c.typ, c.v, got)
		}
	}
}

// FuzzTextOrder: texts of any bytes keep their order and never run into each other.
func FuzzTextOrder(f *testing.F) {
	f.Add([]byte("a"), []byte("ab"))
	f.Add([]byte{}, []byte{0})
	f.Add([]byte{0, 255}, []byte{0, 1})
	f.Fuzz(func(t *testing.T, a, b []byte) {
		ea, eb := appendOrderedText(nil, a), appendOrderedText(nil, b)
		if bytes.Compare(ea, eb) != bytes.Compare(a, b) {
			t.Errorf("%q against %q", a, b)
		}
		if !bytes.Equal(a, b) && (bytes.HasPrefix(ea, eb) || bytes.HasPrefix(eb, ea)) {
			t.Errorf("%q and %q run into each other", a, b)
		}
	})
}
