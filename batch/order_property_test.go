package batch

import (
	"bytes"
	"cmp"
	"fmt"
	"math"
	"math/big"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// compareAt is the order of D-36 as the decision words it, without a byte of a key: null lowest at every depth, NaN highest,
// -0.0 equal to 0.0, structs field by field, arrays element by element and a prefix first, texts by their bytes. The two
// columns are of one type, which is Orderable.
func compareAt(a *Column, i int, b *Column, j int) int {
	switch {
	case a.IsNull(i) && b.IsNull(j):
		return 0
	case a.IsNull(i):
		return -1
	case b.IsNull(j):
		return 1
	}
	switch a.Type.Kind {
	case Boolean:
		return cmp.Compare(Values[uint8](a)[i], Values[uint8](b)[j])
	case TinyInt:
		return cmp.Compare(Values[int8](a)[i], Values[int8](b)[j])
	case SmallInt:
		return cmp.Compare(Values[int16](a)[i], Values[int16](b)[j])
	case Int, Date:
		return cmp.Compare(Values[int32](a)[i], Values[int32](b)[j])
	case BigInt, Timestamp, TimestampNTZ:
		return cmp.Compare(Values[int64](a)[i], Values[int64](b)[j])
	case Float:
		return compareFloats(float64(Values[float32](a)[i]), float64(Values[float32](b)[j]))
	case Double:
		return compareFloats(Values[float64](a)[i], Values[float64](b)[j])
	case Decimal:
		return unscaled(a, i).Cmp(unscaled(b, j))
	case String, Binary:
		return bytes.Compare(a.Text(i), b.Text(j))
	case Struct:
		for f := range a.Children {
			if c := compareAt(&a.Children[f], i, &b.Children[f], j); c != 0 {
				return c
			}
		}
		return 0
	case Array:
		x, y := a.Offsets[i], b.Offsets[j]
		for ; x < a.Offsets[i+1] && y < b.Offsets[j+1]; x, y = x+1, y+1 {
			if c := compareAt(&a.Children[0], int(x), &b.Children[0], int(y)); c != 0 {
				return c
			}
		}
		return cmp.Compare(a.Offsets[i+1]-x, b.Offsets[j+1]-y)
	}
	panic("no order for " + a.Type.String())
}

func unscaled(c *Column, i int) *big.Int {
	if c.Type.Width() == 8 {
		return big.NewInt(Values[int64](c)[i])
	}
	v := Values[Int128](c)[i]
	wide := new(big.Int).Lsh(big.NewInt(v.Hi), 64)
	return wide.Or(wide, new(big.Int).SetUint64(v.Lo))
}

// orderableKinds are those of which a key may be made, the nested ones last.
var orderableKinds = []Kind{Boolean, TinyInt, SmallInt, Int, BigInt, Float, Double, Decimal, String, Binary, Date, Timestamp,
	TimestampNTZ, Struct, Array}

func drawOrderable(t *rapid.T, depth int) Type {
	kinds := orderableKinds
	if depth == 0 {
		kinds = kinds[:len(kinds)-2]
	}
	switch k := rapid.SampledFrom(kinds).Draw(t, "kind"); k {
	case Decimal:
		precision := rapid.IntRange(1, 38).Draw(t, "precision")
		return DecimalOf(precision, rapid.IntRange(0, precision).Draw(t, "scale"))
	case Array:
		return ArrayOf(drawOrderable(t, depth-1))
	case Struct:
		var fields []Field
		for i := range rapid.IntRange(1, 3).Draw(t, "fields") {
			fields = append(fields, Field{Name: fmt.Sprintf("f%d", i), Type: drawOrderable(t, depth-1)})
		}
		return StructOf(fields...)
	default:
		return Of(k)
	}
}

var (
	hardFloats = []float64{math.NaN(), math.Float64frombits(0xfff8000000000001), math.Inf(1), math.Inf(-1), 0, math.Copysign(0, -1),
		math.MaxFloat64, -math.MaxFloat64, math.SmallestNonzeroFloat64, 1, -1}
	hardTexts = []string{"", "\x00", "\x00\x00", "\x00\x01", "\x00\xff", "\x01", "a", "a\x00", "a\x00b", "ab", "\xff", "\xff\xff"}
	hardInts  = []int64{math.MinInt64, -1, 0, 1, math.MaxInt64}
)

// drawAny draws a value that is often one of the few at the edges, so that equal and nearly equal ones meet.
func drawAny(t *rapid.T, b *Builder) {
	if rapid.IntRange(0, 4).Draw(t, "null") == 0 {
		b.AppendNull()
		return
	}
	switch b.Type.Kind {
	case Boolean:
		b.AppendBool(rapid.Bool().Draw(t, "boolean"))
	case Float:
		f := rapid.OneOf(rapid.SampledFrom(hardFloats), rapid.Float64()).Draw(t, "float")
		Append(b, float32(f))
	case Double:
		Append(b, rapid.OneOf(rapid.SampledFrom(hardFloats), rapid.Float64()).Draw(t, "double"))
	case String, Binary:
		b.AppendString(rapid.OneOf(rapid.SampledFrom(hardTexts), rapid.StringN(0, 4, -1)).Draw(t, "text"))
	case Struct:
		for i := range b.Type.Fields {
			drawAny(t, b.Child(i))
		}
		b.AppendNested()
	case Array:
		for range rapid.IntRange(0, 3).Draw(t, "elements") {
			drawAny(t, b.Child(0))
		}
		b.AppendNested()
	default:
		v := rapid.OneOf(rapid.SampledFrom(hardInts), rapid.Int64()).Draw(t, "integer")
		if b.Type.Width() == 16 {
			Append(b, Int128{Lo: rapid.OneOf(rapid.Just(uint64(v)), rapid.Uint64()).Draw(t, "low"), Hi: v >> rapid.IntRange(0, 63).Draw(t, "shift")})
			return
		}
		b.AppendInt(v)
	}
}

// keysAreOrdered is the property of keys, floors and sequences (D-36, A-13, A-14, A-16): of tuples of any types, the bytes
// compare as the tuples do, and no tuple's bytes are the start of another's.
func keysAreOrdered(t *rapid.T) {
	const rows = 4
	var cols []*Column
	for range rapid.IntRange(1, 3).Draw(t, "columns") {
		b := NewBuilder(drawOrderable(t, 3), rows)
		for range rows {
			drawAny(t, b)
		}
		c := b.Column()
		cols = append(cols, &c)
	}
	var keys Keys
	EncodeKeys(&keys, cols...)
	for i := range rows {
		for j := range rows {
			want := 0
			for _, c := range cols {
				want = cmp.Or(want, compareAt(c, i, c, j))
			}
			a, b := keys.At(i), keys.At(j)
			if got := bytes.Compare(a, b); got != want {
				t.Fatalf("row %d (%x) against row %d (%x) of %v: the bytes compare as %d, the values as %d", i, a, j, b, typesOf(cols), got, want)
			}
			if want != 0 && bytes.HasPrefix(a, b) {
				t.Fatalf("row %d (%x) begins with row %d (%x) of %v", i, a, j, b, typesOf(cols))
			}
		}
	}
}

func typesOf(cols []*Column) (types []string) {
	for _, c := range cols {
		types = append(types, c.Type.String())
	}
	return types
}

func TestKeysAreOrdered(t *testing.T) { rapid.Check(t, keysAreOrdered) }

func FuzzKeysAreOrdered(f *testing.F) {
	f.Add(bytes.Repeat([]byte{1, 2, 4, 8, 16, 32, 64, 128}, 512)) // enough to draw a few tuples from
	f.Fuzz(rapid.MakeFuzz(keysAreOrdered))
}

// a MAP or VARIANT has no order at any depth; its bytes say only whether two are the same, in whatever order a map's
// entries came.
func TestMapsAndVariantsHaveNoOrder(t *testing.T) {
	entries := MapOf(Of(String), Of(Int))
	for _, typ := range []Type{entries, Of(Variant), ArrayOf(entries), StructOf(Field{Name: "a", Type: Of(Int)}, Field{Name: "v", Type: ArrayOf(Of(Variant))})} {
		if typ.Orderable() {
			t.Errorf("%s has an order", typ)
		}
	}
	for _, k := range orderableKinds[:len(orderableKinds)-2] {
		if typ := StructOf(Field{Name: "a", Type: ArrayOf(Of(k))}); !typ.Orderable() {
			t.Errorf("%s has no order", typ)
		}
	}
	of := func(names string) []byte { // {"a":1,"b":2}, its entries in the order given
		b := NewBuilder(entries, 1)
		for _, name := range []byte(names) {
			b.Child(0).AppendString(string(name))
			b.Child(1).AppendInt(int64(name - 'a' + 1))
		}
		b.AppendNested()
		c := b.Column()
		return AppendKey(nil, []*Column{&c}, 0)
	}
	if ab, ba := of("ab"), of("ba"); !slices.Equal(ab, ba) || slices.Equal(ab, of("a")) || slices.Equal(ab, of("ac")) {
		t.Error("a map is not the set of its entries")
	}
}
