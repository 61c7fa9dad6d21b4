package eval

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"sluice/batch"
	"sluice/eval/dialect"
)

// everyType has each type, each physical width of DECIMAL, and nesting of each kind in each other.
var everyType = []batch.Type{
	batch.Of(batch.Boolean), batch.Of(batch.TinyInt), batch.Of(batch.SmallInt), batch.Of(batch.Int), bigint,
	batch.Of(batch.Float), double, batch.Of(batch.Date), batch.Of(batch.Timestamp), batch.Of(batch.TimestampNTZ),
	batch.DecimalOf(4, 2), batch.DecimalOf(9, 0), batch.DecimalOf(18, 18), batch.DecimalOf(19, 1), batch.DecimalOf(38, 10),
	str, batch.Of(batch.Binary), batch.Of(batch.Variant),
	batch.ArrayOf(bigint), batch.ArrayOf(str), batch.ArrayOf(batch.DecimalOf(3, 1)), batch.ArrayOf(batch.ArrayOf(str)),
	batch.StructOf(field("a", bigint), field("b", str)),
	batch.StructOf(field("x", batch.StructOf(field("y", batch.ArrayOf(str)), field("z", batch.Of(batch.Boolean)))), field("w", str)),
	batch.ArrayOf(batch.StructOf(field("a", bigint), field("b", batch.DecimalOf(8, 2)))),
	batch.MapOf(str, double), batch.MapOf(batch.Of(batch.Int), batch.ArrayOf(str)),
	batch.StructOf(field("m", batch.MapOf(str, batch.StructOf(field("n", str))))),
	batch.ArrayOf(batch.MapOf(str, bigint)),
}

// appendRandom appends a value, or null with the given probability at each level.
func appendRandom(b *batch.Builder, r *rand.Rand, nulls float64) {
	if r.Float64() < nulls {
		b.AppendNull()
		return
	}
	switch t := b.Type; t.Kind {
	case batch.Boolean:
		b.AppendBool(r.IntN(2) == 0)
	case batch.Float:
		batch.Append(b, float32(r.NormFloat64()))
	case batch.Double:
		batch.Append(b, []float64{r.NormFloat64(), math.NaN(), math.Inf(1), math.Copysign(0, -1)}[r.IntN(4)])
	case batch.Decimal:
		limit := int64(math.Pow10(min(int(t.Precision), 18)))
		b.AppendInt(r.Int64N(2*limit-1) - limit + 1)
	case batch.TinyInt:
		b.AppendInt(int64(int8(r.Uint32())))
	case batch.SmallInt:
		b.AppendInt(int64(int16(r.Uint32())))
	case batch.Int:
		b.AppendInt(int64(int32(r.Uint32())))
	case batch.Date:
		b.AppendInt(r.Int64N(100_000) - 50_000)
	case batch.BigInt:
		b.AppendInt(int64(r.Uint64()))
	case batch.Timestamp, batch.TimestampNTZ:
		b.AppendInt(r.Int64N(1e16) - 5e15)
	case batch.Binary:
		text := make([]byte, r.IntN(30))
		for i := range text {
			text[i] = byte(r.Uint32())
		}
		b.AppendText(text)
	case batch.String, batch.Variant:
		b.AppendString(strings.Repeat("aé€😀"[:r.IntN(2)], r.IntN(20)) + randomText(r))
	case batch.Struct:
		for i := range t.Fields {
			appendRandom(b.Child(i), r, nulls)
		}
		b.AppendNested()
	case batch.Array:
		for range r.IntN(4) {
			appendRandom(b.Child(0), r, nulls)
		}
		b.AppendNested()
	case batch.Map:
		for i := range r.IntN(4) {
			if t.Fields[0].Type.IsText() {
				b.Child(0).AppendString(fmt.Sprint(i, randomText(r)))
			} else {
				b.Child(0).AppendInt(int64(i))
			}
			appendRandom(b.Child(1), r, nulls)
		}
		b.AppendNested()
	default:
		panic("no random " + t.String())
	}
}

// randomText has each length around the twelve bytes that DuckDB keeps inside a string.
func randomText(r *rand.Rand) string {
	text := []rune("aé€😀zb0ßñ京x-y_q")
	r.Shuffle(len(text), func(i, j int) { text[i], text[j] = text[j], text[i] })
	return string(text[:r.IntN(len(text))])
}

// show prints row i of a column, so that a difference can be read.
func show(c *batch.Column, i int) string {
	if c.IsNull(i) {
		return "NULL"
	}
	switch c.Type.Kind {
	case batch.Boolean:
		return fmt.Sprint(batch.Values[uint8](c)[i] != 0)
	case batch.Float:
		return fmt.Sprintf("%08x", math.Float32bits(batch.Values[float32](c)[i]))
	case batch.Double:
		return fmt.Sprintf("%016x", math.Float64bits(batch.Values[float64](c)[i]))
	case batch.String, batch.Binary, batch.Variant:
		return fmt.Sprintf("%q", c.Text(i))
	}
	var parts []string
	switch c.Type.Kind {
	case batch.Struct:
		for f := range c.Children {
			parts = append(parts, show(&c.Children[f], i))
		}
		return "(" + strings.Join(parts, " ") + ")"
	case batch.Array, batch.Map:
		for j := c.Offsets[i]; j < c.Offsets[i+1]; j++ {
			for f := range c.Children {
				parts = append(parts, show(&c.Children[f], int(j)))
			}
		}
		return "[" + strings.Join(parts, " ") + "]"
	}
	w := c.Type.Width()
	return fmt.Sprintf("%x", c.Fixed[i*w:(i+1)*w])
}

// expectEqual compares row i of got with row at[i] of want; at nil means the same row.
func expectEqual(t *testing.T, got, want *batch.Column, at []int32) {
	t.Helper()
	if !got.Type.Equal(want.Type) {
		t.Fatalf("got type %s, want %s", got.Type, want.Type)
	}
	n := want.Len
	if at != nil {
		n = len(at)
	}
	if got.Len != n {
		t.Fatalf("got %d rows, want %d", got.Len, n)
	}
	for i := range n {
		j := i
		if at != nil {
			j = int(at[i])
		}
		if g, w := show(got, i), show(want, j); g != w {
			t.Fatalf("%s: row %d is %s, want row %d: %s", got.Type, i, g, j, w)
		}
	}
}

// Every type goes to DuckDB and comes back unchanged, with and without nulls, in batches of every size that crosses a
// limit of DuckDB: one vector (2048) and one row group (122880).
func TestEveryTypeComesBack(t *testing.T) {
	e := open(t, 1)
	for k, typ := range everyType {
		c := &dialect.Compiled{SQL: `SELECT v FROM t`, Columns: []batch.Field{field("v", typ)}, Reads: []dialect.Read{read("t", field("v", typ))}}
		s := prepare(t, e, c)
		for _, n := range []int{0, 1, 2047, 2048, 2049, 8000, 123_000} {
			for _, nulls := range []float64{0, 0.2, 1} {
				if n > 10_000 && (nulls != 0.2 || k%4 != 0) { // enough, and quick
					continue
				}
				r := rand.New(rand.NewPCG(uint64(n), uint64(nulls*10)))
				b := batch.NewBuilder(typ, 0)
				for range n {
					appendRandom(b, r, nulls)
				}
				in := columns(c.Columns, b)
				for _, input := range []Input{{Batch: in}, pieces(in, 1000), pieces(in, 5000)} {
					out, err := s.Run(t.Context(), []Input{input}, batchTime)
					if err != nil {
						t.Fatalf("%s, %d rows: %v", typ, n, err)
					}
					expectEqual(t, &out.Rows.Cols[0], &in.Cols[0], nil)
					if n > 10_000 {
						break
					}
				}
			}
		}
	}
}

// The filter makes DuckDB select from its vectors; what comes out must be gathered right at every depth.
func TestEveryTypeIsFilteredAndReversed(t *testing.T) {
	e := open(t, 1)
	for _, typ := range everyType {
		fields := []batch.Field{field("i", bigint), field("v", typ)}
		c := &dialect.Compiled{Columns: fields[1:], Reads: []dialect.Read{read("t", fields...)}, Row: true,
			SQL: `SELECT v, _row FROM (SELECT * FROM t WHERE i % 3 <> 1) ORDER BY i DESC`}
		s := prepare(t, e, c)
		r := rand.New(rand.NewPCG(1, 2))
		i, v := ints(), batch.NewBuilder(typ, 0)
		for n := range 5000 {
			i.AppendInt(int64(n))
			appendRandom(v, r, 0.1)
		}
		in := columns(fields, i, v)
		for _, input := range []Input{{Batch: in}, pieces(in, 700)} {
			out, err := s.Run(t.Context(), []Input{input}, batchTime)
			if err != nil {
				t.Fatal(err)
			}
			if len(out.Row) != 3333 || out.Row[0] != 4998 {
				t.Fatalf("%d rows, the first is %d", len(out.Row), out.Row[0])
			}
			for k := 1; k < len(out.Row); k++ {
				if out.Row[k] >= out.Row[k-1] || out.Row[k]%3 == 1 {
					t.Fatalf("row %d after %d", out.Row[k], out.Row[k-1])
				}
			}
			expectEqual(t, &out.Rows.Cols[0], &in.Cols[1], out.Row)
		}
	}
}

// The value under a null bit is not defined (see batch.Column), here neither the members of a null struct.
func TestValuesUnderNullsDoNotShow(t *testing.T) {
	e := open(t, 1)
	typ := batch.StructOf(field("a", bigint), field("b", batch.StructOf(field("c", str))))
	b := batch.NewBuilder(typ, 0)
	for i := range 300 {
		b.Child(0).AppendInt(int64(i))
		b.Child(1).Child(0).AppendString(strings.Repeat("x", i%20))
		b.Child(1).AppendNested()
		b.AppendNested()
	}
	in := columns([]batch.Field{field("v", typ)}, b)
	in.Cols[0].Valid = batch.FullBitmap(300)
	for i := 0; i < 300; i += 2 {
		in.Cols[0].Valid.Clear(i)
	}
	s := prepare(t, e, &dialect.Compiled{Columns: []batch.Field{field("n", bigint)}, Reads: []dialect.Read{read("t", in.Fields...)},
		SQL: `SELECT count(v.a) + count(v.b) + count(v.b.c) + count(v) FROM t`})
	out, err := s.Run(t.Context(), []Input{{Batch: in}}, batchTime)
	if err != nil {
		t.Fatal(err)
	}
	if n := batch.Values[int64](&out.Rows.Cols[0])[0]; n != 4*150 {
		t.Errorf("counted %d values that are not null, want %d", n, 4*150)
	}
}

// Functions over lists leave vectors in other forms than flat; the result must be flat all the same.
func TestListsMadeByFunctions(t *testing.T) {
	e := open(t, 1)
	list := batch.ArrayOf(str)
	s := prepare(t, e, &dialect.Compiled{Reads: []dialect.Read{read("t", field("v", list))},
		Columns: []batch.Field{field("a", list), field("b", list), field("c", list), field("d", batch.ArrayOf(list)), field("e", batch.MapOf(str, list))},
		SQL: `SELECT list_reverse(v), list_sort(v, 'DESC', 'NULLS LAST'), list_filter(list_transform(v, x -> x || '-a long enough tail'), x -> x > 'b'),
			[v, NULL, v[2:3]], CASE WHEN len(v) > 1 THEN map([v[1]], [v]) END FROM t WHERE len(v) > 0`})
	b := batch.NewBuilder(list, 0)
	for i := range 5000 {
		for j := range i % 4 {
			b.Child(0).AppendString(fmt.Sprintf("%c%d", 'a'+(i+j)%3, i))
		}
		b.AppendNested()
	}
	in := columns([]batch.Field{field("v", list)}, b)
	out, err := s.Run(t.Context(), []Input{{Batch: in}}, batchTime)
	if err != nil {
		t.Fatal(err)
	}
	if out.Rows.Len != 3750 {
		t.Fatalf("%d rows", out.Rows.Len)
	}
	last := out.Rows.Len - 1 // i = 4999: three elements a4999 b4999 c4999 or a rotation of them
	var got bytes.Buffer
	for c := range out.Rows.Cols {
		fmt.Fprintln(&got, show(&out.Rows.Cols[c], last))
	}
	want := `["a4999" "c4999" "b4999"]
["c4999" "b4999" "a4999"]
["b4999-a long enough tail" "c4999-a long enough tail"]
[["b4999" "c4999" "a4999"] NULL ["c4999" "a4999"]]
["b4999" ["b4999" "c4999" "a4999"]]
`
	if got.String() != want {
		t.Errorf("got\n%swant\n%s", got.String(), want)
	}
}
