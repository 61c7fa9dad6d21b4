package state

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"math"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"sluice/batch"
	"sluice/digest"
)

// TestKeysAreGolden pins the layout: a change here is a change of the format.
func TestKeysAreGolden(t *testing.T) {
	group := []byte{1, 'k', 0, 0, 0, 7, 0xab, 2, 'x', 0, 1}
	from, to := rowsOf(group)
	for _, c := range []struct {
		what string
		got  []byte
		want string
	}{
		{"identity", identityKey, "0069"},
		{"meta", nameKey(kindMeta, "split"), "016d73706c6974"},
		{"definition", nameKey(kindDefinition, "q"), "016471"},
		{"event", eventKey(258), "01650000000000000102"},
		{"flow", nameKey(kindFlow, "f"), "016666"},
		{"progress", idKey(kindProgress, 3), "016700000003"},
		{"start", boundKey(3, 's'), "01620000000373"},
		{"position", positionKey(3, "t/0"), "017000000003742f30"},
		{"counter", counterKey(3, "late"), "0163000000036c617465"},
		{"plan", planKey(3, 1), "016e0000000300000001"},
		{"record in quarantine", quarantineKey(3, rowPosition{1, 2, 0}), "0171000000030000000180000000000000028" + "0000000"},
		{"split", splitKey(3, "t/0", "id"), "017300000003742f30006964"},
		{"table", nameKey(kindTable, "c.s.t"), "0174632e732e74"},
		{"version", idKey(kindVersion, 7), "017600000007"},
		{"reader", readerKey(7, 3), "01720000000700000003"},
		{"commit", commitKey(7, 9), "016a000000070000000000000009"},
		{"trim", idKey(kindTrim, 7), "017700000007"},
		{"digest", idKey(kindDigest, 7), "017800000007"},
		{"file", fileKey(7, FileID{258, 3}), "016900000007000000000000010200000003"},
		{"update", updateKey(7, 9), "0175000000070000000000000009"},
		{"appends", chunkKey(kindAppends, 7, batch.Offset{At: 9, Index: 4096}), "016100000007000000000000000900001000"},
		{"changes", chunkKey(kindChanges, 7, batch.Offset{At: 9}), "016800000007000000000000000900000000"},
		{"copy", copyKey(7, 3, 5), "0179000000070000000300000005"},
		{"floor", floorKey(nil, group), "016f00000007ab02780001"},
		{"row of a group", appendRowKey(nil, group, rowPosition{1, 2, 0}), "016b00000007ab0278000101000000018000000000000002" + "80000000"},
		{"rows from", from, "016b00000007ab0278000101"},
		{"rows to", to, "016b00000007ab02780001ff"},
		{"shard", []byte{shardOf(hashOf([]byte("\x02abc\x00\x01")))}, "e0"},
	} {
		if got := hex.EncodeToString(c.got); got != c.want {
			t.Errorf("%s: got %s, want %s", c.what, got, c.want)
		}
	}
}

// docs/state-format.md has a row for every kind of key, and for no other.
func TestKindsAreDocumented(t *testing.T) {
	source, err := os.ReadFile("keys.go")
	if err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile("../docs/state-format.md")
	if err != nil {
		t.Fatal(err)
	}
	kinds := func(text []byte, pattern string) []string {
		var out []string
		for _, m := range regexp.MustCompile(pattern).FindAllSubmatch(text, -1) {
			out = append(out, string(m[1]))
		}
		slices.Sort(out)
		return out
	}
	code, documented := kinds(source, `(?m)^\tkind\w+ += '(.)'`), kinds(page, "(?m)^\\| `(.)` \\|")
	if unique := slices.Compact(slices.Clone(code)); len(unique) < len(code) {
		t.Errorf("keys.go has a kind twice: %q", code)
	}
	if documented = slices.Compact(documented); len(code) == 0 || !slices.Equal(code, documented) {
		t.Errorf("keys.go has the kinds %q, the page %q", code, documented)
	}
}

func TestRowKeysSortByPosition(t *testing.T) {
	group := []byte{1, 'k', 0, 0, 0, 7, 0xab, 2, 'x', 0, 1}
	from, to := rowsOf(group)
	position := rapid.Custom(func(t *rapid.T) rowPosition {
		return rowPosition{rapid.Int32Range(0, math.MaxInt32).Draw(t, "split"), rapid.Int64().Draw(t, "offset"), rapid.Int32().Draw(t, "index")}
	})
	rapid.Check(t, func(t *rapid.T) {
		p, q := position.Draw(t, "p"), position.Draw(t, "q")
		a, b := appendRowKey(nil, group, p), appendRowKey(nil, group, q)
		if bytes.Compare(a, b) != p.compare(q) || parseRowKey(a) != p {
			t.Fatalf("%v %x, %v %x", p, a, q, b)
		}
		if bytes.Compare(a, from) < 0 || bytes.Compare(a, to) >= 0 || bytes.Compare(from, group) <= 0 {
			t.Fatalf("%x lies outside its group", a)
		}
	})
}

func TestPrefixEnd(t *testing.T) {
	for _, c := range []struct{ prefix, want []byte }{
		{[]byte{1, 'k'}, []byte{1, 'l'}}, {[]byte{1, 0xff}, []byte{2}}, {[]byte{0xff}, nil},
	} {
		if got := prefixEnd(c.prefix); !bytes.Equal(got, c.want) {
			t.Errorf("%x: got %x", c.prefix, got)
		}
	}
}

// everyType has a column of each type a table may have.
var everyType = []batch.Field{
	{Name: "b", Type: batch.Of(batch.Boolean)}, {Name: "i8", Type: batch.Of(batch.TinyInt)}, {Name: "i16", Type: batch.Of(batch.SmallInt)},
	{Name: "i32", Type: batch.Of(batch.Int)}, {Name: "i64", Type: batch.Of(batch.BigInt)}, {Name: "f32", Type: batch.Of(batch.Float)},
	{Name: "f64", Type: batch.Of(batch.Double)}, {Name: "d9", Type: batch.DecimalOf(9, 2)}, {Name: "d38", Type: batch.DecimalOf(38, 4)},
	{Name: "s", Type: batch.Of(batch.String)}, {Name: "bin", Type: batch.Of(batch.Binary)}, {Name: "d", Type: batch.Of(batch.Date)},
	{Name: "ts", Type: batch.Of(batch.Timestamp)}, {Name: "ntz", Type: batch.Of(batch.TimestampNTZ)}, {Name: "v", Type: batch.Of(batch.Variant)},
	{Name: "st", Type: batch.StructOf(batch.Field{Name: "x", Type: batch.Of(batch.Int)}, batch.Field{Name: "y", Type: batch.ArrayOf(batch.Of(batch.String))})},
	{Name: "a", Type: batch.ArrayOf(batch.StructOf(batch.Field{Name: "z", Type: batch.Of(batch.Boolean)}))},
	{Name: "m", Type: batch.MapOf(batch.Of(batch.String), batch.DecimalOf(20, 0))},
}

// drawValue appends a random value.
func drawValue(t *rapid.T, b *batch.Builder, nulls bool) {
	if nulls && rapid.IntRange(0, 3).Draw(t, "null") == 0 {
		b.AppendNull()
		return
	}
	switch k := b.Type.Kind; {
	case k == batch.Boolean:
		b.AppendBool(rapid.Bool().Draw(t, "bool"))
	case k == batch.Float:
		batch.Append(b, rapid.Float32().Draw(t, "float"))
	case k == batch.Double:
		batch.Append(b, rapid.Float64().Draw(t, "double"))
	case b.Type.Width() == 16:
		batch.Append(b, batch.Int128{Lo: rapid.Uint64().Draw(t, "lo"), Hi: rapid.Int64().Draw(t, "hi")})
	case b.Type.Width() > 0:
		b.AppendInt(rapid.Int64().Draw(t, "int"))
	case b.Type.IsText():
		b.AppendText(rapid.SliceOfN(rapid.Byte(), 0, 200).Draw(t, "text"))
	case k == batch.Struct:
		for f := range b.Type.Fields {
			drawValue(t, b.Child(f), nulls)
		}
		b.AppendNested()
	default:
		for range rapid.IntRange(0, 3).Draw(t, "elements") {
			for f := range b.Type.Fields {
				drawValue(t, b.Child(f), nulls && f == len(b.Type.Fields)-1)
			}
		}
		b.AppendNested()
	}
}

func drawColumns(t *rapid.T, fields []batch.Field, n int) batch.Columns {
	out := batch.Columns{Fields: fields, Len: n}
	for _, f := range fields {
		b := batch.NewBuilder(f.Type, n)
		nulls := rapid.Bool().Draw(t, "nulls")
		for range n {
			drawValue(t, b, nulls)
		}
		out.Cols = append(out.Cols, b.Column())
	}
	return out
}

func schemaOf(t interface{ Fatal(...any) }, fields ...[]batch.Field) *schema {
	s := &schema{}
	for _, f := range fields {
		next, problems := s.merge("t", f, nil)
		if len(problems) > 0 {
			t.Fatal(problems)
		}
		s = next
	}
	return s
}

func pointers(c *batch.Columns) (out []*batch.Column) {
	for i := range c.Cols {
		out = append(out, &c.Cols[i])
	}
	return out
}

// TestRowsAndChunksComeBack: whatever is encoded, row by row or as chunks, comes back, in whole or in part, with any
// choice of columns.
func TestRowsAndChunksComeBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 70).Draw(t, "rows")
		c := drawColumns(t, everyType, n)
		s := schemaOf(t, everyType)
		ids := rapid.SliceOfNDistinct(rapid.IntRange(0, len(everyType)-1), 0, len(everyType), rapid.ID).Draw(t, "ids")
		want := text(pick(&c, ids))

		rows := newRowDecoder(s, ids)
		enc := newRowEncoder(0, pointers(&c))
		for i := range n {
			if err := rows.append(enc.append(nil, i)); err != nil {
				t.Fatal(err)
			}
		}
		compare(t, "rows", rows.columns(), want)

		set := rowSet{cols: pointers(&c)}
		chunks := newChunkDecoder(s, ids)
		for from := 0; from < n; {
			to := rapid.IntRange(from+1, n).Draw(t, "chunk")
			parsed, err := parseChunk(appendChunk(nil, &set, from, to))
			if err != nil {
				t.Fatal(err)
			}
			middle := rapid.IntRange(0, to-from).Draw(t, "middle")
			for _, part := range [][2]int{{0, middle}, {middle, to - from}} {
				if err := chunks.append(&parsed, part[0], part[1]); err != nil {
					t.Fatal(err)
				}
			}
			from = to
		}
		compare(t, "chunks", chunks.columns(), want)
	})
}

func pick(c *batch.Columns, ids []int) batch.Columns {
	out := batch.Columns{Len: c.Len}
	for _, id := range ids {
		out.Fields, out.Cols = append(out.Fields, c.Fields[id]), append(out.Cols, c.Cols[id])
	}
	return out
}

func compare(t *rapid.T, what string, c batch.Columns, want []string) {
	if got := text(c); !slices.Equal(got, want) {
		t.Fatalf("%s: got\n%s\nwant\n%s", what, strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	for i := range c.Cols {
		if c.Cols[i].Len != c.Len {
			t.Fatalf("%s: column %d has %d of %d rows", what, i, c.Cols[i].Len, c.Len)
		}
	}
}

// TestOldRowsAreReadUnderTheNewSchema: columns added, left, come back, widened (FR-17, D-35).
func TestOldRowsAreReadUnderTheNewSchema(t *testing.T) {
	field := func(name string, t batch.Type) batch.Field { return batch.Field{Name: name, Type: t} }
	first := []batch.Field{field("i", batch.Of(batch.Int)), field("f", batch.Of(batch.Float)), field("d", batch.DecimalOf(5, 2)), field("day", batch.Of(batch.Date)), field("gone", batch.Of(batch.String))}
	second := []batch.Field{field("added", batch.Of(batch.String)), field("i", batch.Of(batch.BigInt)), field("f", batch.Of(batch.Double)), field("d", batch.DecimalOf(22, 4)), field("day", batch.Of(batch.TimestampNTZ))}
	third := append(slices.Clone(second), field("gone", batch.Of(batch.String)))
	build := func(fields []batch.Field, values ...any) batch.Columns {
		c := batch.Columns{Fields: fields, Len: 1}
		for i, v := range values {
			b := batch.NewBuilder(fields[i].Type, 1)
			switch v := v.(type) {
			case nil:
				b.AppendNull()
			case int:
				b.AppendInt(int64(v))
			case float32:
				batch.Append(b, v)
			case float64:
				batch.Append(b, v)
			case string:
				b.AppendString(v)
			}
			c.Cols = append(c.Cols, b.Column())
		}
		return c
	}
	one := build(first, -7, float32(1.5), -12345, -1, "old")
	leftBehind := append(slices.Clone(second), field("gone", batch.Of(batch.String))) // NULL in new rows
	two := build(leftBehind, "a", 1<<40, 2.5, 7, 86_400_000_000, nil)
	for _, c := range []struct {
		definitions [][]batch.Field
		names       string
		want        []string
	}{
		{[][]batch.Field{first, second}, "added,i,f,d,day,gone", []string{"NULL,-7,1.5,{18446744073708317116 -1},-86400000000,old", "a,1099511627776,2.5,{7 0},86400000000,NULL"}},
		{[][]batch.Field{first, second, third}, "added,i,f,d,day,gone", []string{"NULL,-7,1.5,{18446744073708317116 -1},-86400000000,NULL", "a,1099511627776,2.5,{7 0},86400000000,NULL"}},
	} {
		s := schemaOf(t, c.definitions...)
		var names []string
		for _, f := range s.fields() {
			names = append(names, f.Name)
		}
		if got := strings.Join(names, ","); got != c.names {
			t.Errorf("columns are %s", got)
		}
		rows, chunks := newRowDecoder(s, s.visible()), newChunkDecoder(s, s.visible())
		for version, cols := range []*batch.Columns{&one, &two} {
			enc := newRowEncoder(version, pointers(cols))
			ok(t, rows.append(enc.append(nil, 0)))
			set := rowSet{version: version, cols: pointers(cols)}
			parsed, err := parseChunk(appendChunk(nil, &set, 0, 1))
			ok(t, err)
			ok(t, chunks.append(&parsed, 0, 1))
		}
		same(t, "rows", text(rows.columns()), c.want...)
		same(t, "chunks", text(chunks.columns()), c.want...)
	}
}

func TestWidening(t *testing.T) {
	types := []batch.Type{batch.Of(batch.TinyInt), batch.Of(batch.SmallInt), batch.Of(batch.Int), batch.Of(batch.BigInt), batch.Of(batch.Float), batch.Of(batch.Double),
		batch.DecimalOf(5, 2), batch.DecimalOf(6, 2), batch.DecimalOf(6, 3), batch.DecimalOf(7, 3), batch.Of(batch.Date), batch.Of(batch.Timestamp), batch.Of(batch.TimestampNTZ), batch.Of(batch.String),
		nested("a", batch.Int, batch.Int), nested("a", batch.BigInt, batch.Int), nested("a", batch.Int, batch.BigInt), nested("b", batch.Int, batch.Int),
		batch.StructOf(append(nested("a", batch.BigInt, batch.Int).Fields, batch.Field{Name: "x", Type: batch.Of(batch.String)})...)}
	var got []string
	for _, a := range types {
		for _, b := range types {
			if !a.Equal(b) && widens(a, b) {
				got = append(got, fmt.Sprintf("%v to %v", a, b))
			}
		}
	}
	same(t, "widenings", got, "TINYINT to SMALLINT", "TINYINT to INT", "TINYINT to BIGINT", "SMALLINT to INT", "SMALLINT to BIGINT", "INT to BIGINT", "FLOAT to DOUBLE",
		"DECIMAL(5,2) to DECIMAL(6,2)", "DECIMAL(5,2) to DECIMAL(6,3)", "DECIMAL(5,2) to DECIMAL(7,3)", "DECIMAL(6,2) to DECIMAL(7,3)", "DECIMAL(6,3) to DECIMAL(7,3)", "DATE to TIMESTAMP_NTZ",
		"STRUCT<a: ARRAY<INT>, m: MAP<INT, STRING>> to STRUCT<a: ARRAY<BIGINT>, m: MAP<INT, STRING>>",
		"STRUCT<a: ARRAY<INT>, m: MAP<INT, STRING>> to STRUCT<a: ARRAY<BIGINT>, m: MAP<INT, STRING>, x: STRING>",
		"STRUCT<a: ARRAY<BIGINT>, m: MAP<INT, STRING>> to STRUCT<a: ARRAY<BIGINT>, m: MAP<INT, STRING>, x: STRING>")
}

// nested is a STRUCT with an ARRAY of one integer type and a MAP by another.
func nested(name string, element, key batch.Kind) batch.Type {
	return batch.StructOf(batch.Field{Name: name, Type: batch.ArrayOf(batch.Of(element))}, batch.Field{Name: "m", Type: batch.MapOf(batch.Of(key), batch.Of(batch.String))})
}

// TestValuesAreGolden pins the encodings that lie on disk.
func TestValuesAreGolden(t *testing.T) {
	c := columnsOf([]row{{"a", 5, "x", 0}, {"", -1, "y", 1}})
	enc := newRowEncoder(2, pointers(&c))
	set := rowSet{version: 1, cols: pointers(&c), change: []batch.Change{batch.InsertRow, batch.DeleteRow}, keys: &batch.Keys{Offsets: []uint32{0, 1, 3}, Bytes: []byte("kll")}}
	feed := set
	feed.places = &batch.Keys{Offsets: []uint32{0, 1, 3}, Bytes: []byte("pqq")}
	inline := appendInlineHead(nil, []byte{2, 9}, 1)
	inline = appendText(appendPosition(inline, rowPosition{1, 300, 0}), enc.append(nil, 0))
	file := fileRecord{added: 1, removed: 2, schema: 1, rows: 3, size: 4, weight: 5, first: batch.Offset{At: 6, Index: 7}, last: batch.Offset{At: 8, Index: 9},
		columns: []ColumnStats{{Nulls: 1, NaN: true, Min: []byte{2, 0}, Max: []byte{2, 1}, Known: true}, {Nulls: 2}}}
	summed := file
	summed.summed, summed.sum = true, digest.Sum{Hi: 1, Lo: 2, Rows: 3}
	record := Quarantined{Split: "t", ID: "id", Time: 5, Value: []byte{}, Headers: []batch.Header{{Key: "h"}, {Key: "g", Value: []byte{0}}}, Code: "C", Message: "E",
		Column: "c", BatchTime: 7, Generation: 3}
	for _, v := range []struct {
		what string
		got  []byte
		want string
	}{
		{"row", enc.append(nil, 0), "0401610a0178"},
		{"row with null", enc.append(nil, 1), "0506010179"},
		{"inline group", inline, "000202090101d80400060401610a0178"},
		{"spilled group", appendSpilledGroup(nil, []byte{2, 9}, 3, 70000, rowPosition{1, 300, 2}), "0102020903f0a20401d80404"},
		{"chunk", appendChunk(nil, &set, 0, 2), "03010203" + "0b000000" + "01010100000001000000" + "61" + "11000000" + "000500000000000000ffffffffffffffff" + "0b000000" + "0001000000020000007879" + "0001" + "01000000030000006b6c6c"},
		{"chunk of a feed", appendChunk(nil, &feed, 0, 2), "0b010203" + "0b000000" + "01010100000001000000" + "61" + "11000000" + "000500000000000000ffffffffffffffff" + "0b000000" + "0001000000020000007879" + "0001" + "01000000030000006b6c6c" + "0100000003000000707171"},
		{"version", tableVersion{1, 2, 3, 4, 5, 6}.encode(), "020406080a0c"},
		{"progress", progress{1, 2, 3}.encode(), "010406"},
		{"mark", encodeMark("id", batch.Offset{At: 5, Index: 1}), "0269640a02"},
		{"commit", commitRecord{1, 2, 3}.encode(), "020406"},
		{"trim", trimRecord{1, 2, 3}.encode(), "020406"},
		{"digest", digestRecord{1, 2, 3, digest.Sum{Hi: 4, Lo: 5, Rows: 6}}.encode(), "0202" + "0000000000000003" + "0000000000000004" + "0000000000000005" + "0c"},
		{"file", file.encode(), "0204" + "01" + "06080a" + "0c0e1012" + "02" + "0702" + "020200" + "020201" + "0004"},
		{"file with a digest", summed.encode(), "0204" + "01" + "06080a" + "0c0e1012" + "02" + "0702" + "020200" + "020201" + "0004" + "0100000000000000" + "0200000000000000"},
		{"update", mustJSON(updateRecord{1, "u", "c", "p", 2, 3}), hex.EncodeToString([]byte(`{"time":1,"update":"u","cause":"c","predicate":"p","rows_removed":2,"rows_added":3}`))},
		{"bound", mustJSON(boundRecord{Position: recordPosition(batch.Position{{Split: "t/0", ID: "i", Next: batch.Offset{At: 3}}}), Time: 9}), hex.EncodeToString([]byte(`{"position":[{"split":"t/0","id":"i","at":3}],"time":9}`))},
		{"flow", mustJSON(flowRecord{1, 2, "q", "t__quarantine"}), hex.EncodeToString([]byte(`{"id":1,"generation":2,"fingerprint":"q","quarantine":"t__quarantine"}`))},
		{"quarantine", record.encode(), "0174" + "026964" + "0a" + "00" + "01" + "02" + "016800" + "01670200" + "0143" + "0145" + "0163" + "0e" + "03"},
		{"quarantine's size", QuarantineSize{Records: 1, Bytes: 2}.encode(), "0204"},
		{"plan", mustJSON(planHeader{Number: 1, Tried: []uint64{3, 4}, Time: 2, Splits: recordSplits([]batch.SplitRange{everySplitField()}), Fields: recordFields(ticks.Fields[:1]), Rows: 1, Chunks: 1}),
			hex.EncodeToString([]byte(`{"number":1,"tried":[3,4],"time":2,"splits":[{"split":"t","id":"i","at":1,"index":2,"to":3,"to_index":4,"records":5,"bytes":6,"end":7,"time":8,"nulls":9,"lost":10}],"fields":[{"name":"k","type":{"kind":"STRING"}}],"rows":1,"chunks":1}`))},
		{"identity", mustJSON(identityRecord{1, "ab", 2, "p"}), hex.EncodeToString([]byte(`{"format":1,"id":"ab","epoch":2,"pipeline":"p"}`))},
	} {
		if got := hex.EncodeToString(v.got); got != v.want {
			t.Errorf("%s: got %s, want %s", v.what, got, v.want)
		}
	}
}

func everySplitField() batch.SplitRange {
	return batch.SplitRange{Split: "t", ID: "i", From: batch.Offset{At: 1, Index: 2}, To: batch.Offset{At: 3, Index: 4}, Records: 5, Bytes: 6, End: 7, Time: 8, Nulls: 9, Lost: 10}
}

// TestRangesComeBackWhole fails when a field of batch.SplitRange is added and not stored with planned batches.
func TestRangesComeBackWhole(t *testing.T) {
	s := everySplitField()
	for _, part := range []reflect.Value{reflect.ValueOf(s), reflect.ValueOf(s.From), reflect.ValueOf(s.To)} {
		for i := range part.NumField() {
			if part.Field(i).IsZero() {
				t.Errorf("the test leaves out %s", part.Type().Field(i).Name)
			}
		}
	}
	if got := splitsOf(recordSplits([]batch.SplitRange{s})); len(got) != 1 || got[0] != s {
		t.Errorf("got %+v", got)
	}
}

// A file is known by its name, and no other name is a file's.
func TestFileNames(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := FileID{rapid.Uint64().Draw(t, "epoch"), rapid.Uint32().Draw(t, "number")}
		if g, ok := parseFileName(f.fileName()); !ok || g != f {
			t.Fatalf("%s is %v %v", f.fileName(), g, ok)
		}
		if k := fileKey(7, f); parseFileKey(k[instancePrefix:]) != f {
			t.Fatalf("%x", k)
		}
	})
	for _, name := range []string{"", "1-1", "1-1.parquet.tmp", "tmp_1-1.parquet", "A-1.parquet", "01-1.parquet", "1.parquet", "1-100000000.parquet"} {
		if f, ok := parseFileName(name); ok {
			t.Errorf("%q is %v", name, f)
		}
	}
}

// The statistics of a file are bounds of its values in the order of D-36, whatever the type; NULL and NaN are none of them.
func TestStatisticsAreBounds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		typ := rapid.SampledFrom(everyType).Draw(t, "type").Type
		s := newStats(typ)
		var least, most []byte
		nulls, nan := int64(0), false
		for range rapid.IntRange(0, 3).Draw(t, "pieces") {
			c := drawColumns(t, []batch.Field{{Name: "c", Type: typ}}, rapid.IntRange(0, 20).Draw(t, "rows"))
			col := &c.Cols[0]
			s.add(col)
			for i := range col.Len {
				switch {
				case col.IsNull(i):
					nulls++
				case (typ.Kind == batch.Float || typ.Kind == batch.Double) && batch.NullOrNaN(col, i):
					nan = true
				default:
					if k := batch.AppendKey(nil, []*batch.Column{col}, i); least == nil || bytes.Compare(k, least) < 0 {
						least = k
					}
					if k := batch.AppendKey(nil, []*batch.Column{col}, i); bytes.Compare(k, most) > 0 {
						most = k
					}
				}
			}
		}
		got := s.done()
		if got.Nulls != nulls || got.Known && got.NaN != nan || got.Known == (typ.IsNested() || !typ.Orderable()) {
			t.Fatalf("%s: %+v, there are %d NULLs, NaN %v", typ, got, nulls, nan)
		}
		if !got.Known {
			return
		}
		if (got.Min == nil) != (least == nil) || bytes.Compare(got.Min, least) > 0 || bytes.Compare(got.Max, most) < 0 ||
			len(most) <= statsBytes && !bytes.Equal(got.Max, most) || len(least) <= statsBytes && !bytes.Equal(got.Min, least) {
			t.Fatalf("%s: %x to %x, the values are %x to %x", typ, got.Min, got.Max, least, most)
		}
	})
}

func TestMicros(t *testing.T) {
	if micros(time.Time{}) != 0 || !fromMicros(0).IsZero() || !fromMicros(micros(noon)).Equal(noon) {
		t.Error("times do not come back")
	}
}

// FuzzDecoders: whatever lies in the store, decoders return an error or rows, and do not panic or ask for endless memory.
func FuzzDecoders(f *testing.F) {
	c := columnsOf([]row{{"a", 5, "x", 0}, {"", -1, "y", 1}})
	set := rowSet{cols: pointers(&c), change: make([]batch.Change, 2), keys: &batch.Keys{Offsets: []uint32{0, 1, 3}, Bytes: []byte("kll")}}
	f.Add(appendChunk(nil, &set, 0, 2))
	enc := newRowEncoder(0, pointers(&c))
	f.Add(enc.append(nil, 1))
	f.Add(appendText(appendPosition(appendInlineHead(nil, []byte{2, 9}, 1), rowPosition{1, 300, 0}), enc.append(nil, 0)))
	f.Add(appendSpilledGroup(nil, []byte{2, 9}, 3, 70000, rowPosition{1, 300, 2}))
	f.Add((&fileRecord{added: 1, rows: 2, summed: true, sum: digest.Sum{Hi: 1, Lo: 2, Rows: 2}}).encode())
	f.Add((&fileRecord{added: 1, rows: 2, columns: []ColumnStats{{Nulls: 1, Min: []byte{2, 0}, Max: []byte{2, 1}, Known: true}}}).encode())
	s := schemaOf(f, ticks.Fields)
	nested := schemaOf(f, everyType)
	f.Fuzz(func(t *testing.T, b []byte) {
		for _, s := range []*schema{s, nested} {
			if parsed, err := parseChunk(b); err == nil {
				d := newChunkDecoder(s, s.visible())
				_ = d.append(&parsed, 0, parsed.rows)
			}
			_ = newRowDecoder(s, s.visible()).append(b)
		}
		if g, err := parseGroup(b); err == nil {
			r := reader{b: g.inline}
			for i := int64(0); i < g.rows && r.err == nil; i++ {
				nextRow(&r)
			}
		}
		_, _ = decodeTableVersion(b)
		_, _, _ = decodeMark(b)
		_, _ = decodeQuarantined(rowPosition{}, b)
		if f, err := decodeFile(b); err == nil {
			if again, err := decodeFile(f.encode()); err != nil || !reflect.DeepEqual(f, again) {
				t.Errorf("%+v comes back as %+v, %v", f, again, err)
			}
		}
	})
}
