package eval

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"sluice/batch"
	"sluice/eval/dialect"
	"sluice/format/formattest"
)

// hostile are values that records had which broke other systems, as they stand in JSON.
var hostile = []string{
	`1`, `1.0`, `1e0`, `"1"`, `1.5`, `9223372036854775808.0`,
	`2882429806056571125`, `9007199254740993`, `327267367867168100000`,
	`"NaN"`, `"-Infinity"`, `-0.0`, `1e400`,
	`"9999-12-31T23:59:59.999999Z"`, `253402300799999999`, `1700000000000`, `1700000000000000`,
	`"2026-04-01T10:00:00Z"`, `"2026-04-01T19:00:00+09:00"`, `"2026-04-01T10:00:00.123789"`, `"2026-04-01"`,
	`"a\u0000b"`, "\"\xff\x01\"", "\"\xc3\xa9\"", "\"e\xcc\x81\"", "\"\xc0\x80\"", `"\ud800"`, `"\udc00"`, `"\ud83d\ude00"`,
	`{"ID":1}`, `{"id":1}`, `{"foo":"x","fOO":"y"}`, `{"id":1,"id":2,"s":1}`,
	`null`, `true`, `"x"`, `"AAEC"`, `[]`, `{}`, `[[1],null,{"m0":"x"}]`, `01`, `nul`, `[1,]`, `12345678901234567890.12345`, `0.1`,
}

// drawDocument draws the text of a record for a schema: members that fit it, that do not, twice, in another case, and what is no JSON.
func drawDocument(t *rapid.T, schema batch.Type) string {
	text := drawJSON(t, schema)
	switch rapid.IntRange(0, 12).Draw(t, "harm") {
	case 0:
		return text[:rapid.IntRange(0, len(text)).Draw(t, "cut")]
	case 1:
		return text + rapid.SampledFrom([]string{" garbage", "\n", `{"id":2}`, "\x00"}).Draw(t, "behind")
	case 2:
		return rapid.SampledFrom([]string{"\xef\xbb\xbf", " ", "\r\n"}).Draw(t, "before") + text
	case 3:
		at := rapid.IntRange(0, len(text)).Draw(t, "at")
		return text[:at] + rapid.SampledFrom([]string{"\xff", "\\", "\"", ",", "}"}).Draw(t, "byte") + text[at:]
	}
	return text
}

func drawJSON(t *rapid.T, typ batch.Type) string {
	if rapid.IntRange(0, 9).Draw(t, "other") == 0 || !typ.IsNested() {
		return rapid.SampledFrom(hostile).Draw(t, "value")
	}
	var parts []string
	member := func(name string, of batch.Type) { parts = append(parts, fmt.Sprintf("%q: %s", name, drawJSON(t, of))) }
	switch typ.Kind {
	case batch.Struct:
		for _, f := range typ.Fields {
			switch rapid.IntRange(0, 9).Draw(t, "member") {
			case 0:
			case 1:
				member(strings.ToUpper(f.Name), f.Type)
			case 2:
				member("other", f.Type)
				fallthrough
			default:
				member(f.Name, f.Type)
			}
		}
	case batch.Map:
		for i := range rapid.IntRange(0, 3).Draw(t, "entries") {
			member(fmt.Sprintf("k%d", i), typ.Fields[1].Type)
		}
	default:
		for range rapid.IntRange(0, 3).Draw(t, "elements") {
			parts = append(parts, drawJSON(t, typ.Fields[0].Type))
		}
		return "[" + strings.Join(parts, ", ") + "]"
	}
	return "{" + strings.Join(parts, ", ") + "}"
}

// drawPath draws the way to a part of a STRUCT, as it is written behind it.
func drawPath(t *rapid.T, typ batch.Type) string {
	path := ""
	for typ.Kind == batch.Struct && (path == "" || rapid.Bool().Draw(t, "deeper")) {
		f := rapid.SampledFrom(typ.Fields).Draw(t, "field")
		path, typ = path+"."+f.Name, f.Type
	}
	return path
}

// portable are queries as pipelines write them. In them CALL is a call of from_json, OTHER one with another schema, .P and .Q are
// parts of its value, and SOURCE is what they read.
var portable = []string{
	"SELECT CALL AS j FROM SOURCE",
	"SELECT a, CALL.P AS p, CALL.Q AS q, CALL.P AS r FROM SOURCE",
	"SELECT j.P AS p, j.Q AS q, a FROM (SELECT CALL AS j, a FROM SOURCE)",
	"SELECT j.P AS p, a FROM (SELECT CALL AS j, a FROM SOURCE) WHERE j.Q IS NOT NULL",
	"SELECT CALL.P AS p FROM SOURCE WHERE CALL.Q IS NULL",
	"SELECT CALL.P AS p FROM SOURCE WHERE a = 'x'",
	"SELECT j.P AS p FROM (SELECT CALL AS j, a FROM SOURCE) WHERE a = 'x' AND j.Q IS NOT NULL",
	"SELECT CASE WHEN a = 'x' THEN CALL.P END AS p, CASE WHEN a = 'y' THEN OTHER END AS q FROM SOURCE",
	"SELECT CALL.P AS p, OTHER AS q FROM SOURCE",
	"WITH r AS (SELECT * FROM SOURCE), s AS (SELECT CALL AS j, a FROM r) SELECT j.P AS p, j, a FROM s WHERE a <> 'x'",
	"SELECT j.*, try_cast(to_json(CALL) AS INT) AS n FROM (SELECT *, CALL AS j FROM SOURCE)",
	"SELECT coalesce(to_json(CALL), '?') AS p, to_json(OTHER) AS q FROM SOURCE WHERE to_json(CALL) <> '{}'",
}

// D-14: over the bytes of a stream from_json is read beside SQL, and gives what it gives when SQL hands over the text: the same rows,
// counts and errors, whichever parts are asked for, whatever the records are, read ahead or not, whole or in pieces.
func TestFusedFromJSON(outer *testing.T) {
	engine := open(outer, 1)
	rapid.Check(outer, func(t *rapid.T) {
		schemas := [2]batch.Type{}
		calls := [2]string{}
		spelling := rapid.SampledFrom([]string{"CAST(b AS STRING)", "string(b)"}).Draw(t, "spelling")
		for i := range schemas {
			fields := formattest.DrawColumns(t, "schema", nil).Fields
			if rapid.IntRange(0, 3).Draw(t, "corrupt") == 0 {
				fields = append(fields, field("_corrupt_record", str))
			}
			schemas[i] = batch.StructOf(fields...)
			options := rapid.SampledFrom([]string{"", "", ", map('mode', 'FAILFAST')", ", map('numbers_as_strings', 'true', 'timestampUnit', 'milliseconds')"}).Draw(t, "options")
			calls[i] = fmt.Sprintf("from_json(%s, '%s'%s)", spelling, batch.DDL(fields), options)
		}
		source, bytes := texts(), batch.NewBuilder(batch.Of(batch.Binary), 0)
		for range rapid.IntRange(0, 12).Draw(t, "records") {
			source.AppendString(rapid.SampledFrom([]string{"x", "y"}).Draw(t, "a"))
			if rapid.IntRange(0, 9).Draw(t, "null") == 0 {
				bytes.AppendNull()
			} else {
				bytes.AppendString(drawDocument(t, schemas[0]))
			}
		}
		in := columns([]batch.Field{field("a", str), field("b", batch.Of(batch.Binary))}, source, bytes)
		if in.Len > 0 && !strings.Contains(calls[0]+calls[1], "FAILFAST") && rapid.IntRange(0, 19).Draw(t, "many") == 0 { // several chunks; isolated one by one they would take long
			index := make([]int32, 2500)
			for i := range index {
				index[i] = int32(i*i) % int32(in.Len)
			}
			many := in.Take(index)
			in = &many
		}
		query := strings.NewReplacer("CALL", calls[0], "OTHER", calls[1], ".P", drawPath(t, schemas[0]), ".Q", drawPath(t, schemas[0])).
			Replace(rapid.SampledFrom(portable).Draw(t, "query"))
		fused := compiled(outer, strings.ReplaceAll(query, "SOURCE", "STREAM(t)"), "")
		apart := compiled(outer, strings.ReplaceAll(query, "SOURCE", "(SELECT a, coalesce(b, b) AS b FROM STREAM(t))"), "")
		if len(fused.Documents) == 0 || len(apart.Documents) > 0 {
			t.Fatalf("%d and %d documents in %s", len(fused.Documents), len(apart.Documents), query)
		}
		want := outcomes(t, engine, apart, in, false)
		for _, ahead := range []bool{true, false} {
			if got := outcomes(t, engine, fused, in, ahead); got != want {
				t.Fatalf("%s\nfused, read ahead %t:\n%s\napart:\n%s", query, ahead, got, want)
			}
		}
	})
}

// Rows that a condition leaves over get what is theirs, in every chunk: of the same document, read ahead or late.
func TestPartsOfSomeRows(t *testing.T) {
	const n = 5000
	a, b := texts(), batch.NewBuilder(batch.Of(batch.Binary), n)
	for i := range n {
		a.AppendString([]string{"x", "y"}[i%2])
		b.AppendString(fmt.Sprintf(`{"n":%d,"s":{"text":"the text of %d","l":[%d]}}`, i, i, i))
	}
	in := columns([]batch.Field{field("a", str), field("b", batch.Of(batch.Binary))}, a, b)
	const call = "from_json(string(b), 'n INT, s STRUCT<text: STRING, l: ARRAY<INT>>')"
	for where, keeps := range map[string]func(int) bool{
		call + ".n % 7 = 3":                  func(i int) bool { return i%7 == 3 },
		"a = 'x'":                            func(i int) bool { return i%2 == 0 },
		"a = 'y' AND " + call + ".n % 5 = 0": func(i int) bool { return i%2 == 1 && i%5 == 0 },
	} {
		s := prepare(t, open(t, 1), compiled(t, "SELECT "+call+".n AS n, "+call+".s.text AS t, "+call+".s.l[0] AS l FROM STREAM(t) WHERE "+where, ""))
		out, err := s.Run(t.Context(), []Input{{Batch: in}}, batchTime)
		if err != nil {
			t.Fatal(err)
		}
		row := 0
		for i := range n {
			if !keeps(i) {
				continue
			}
			if row >= out.Rows.Len || values32(&out.Rows.Cols[0])[row] != int32(i) || string(out.Rows.Cols[1].Text(row)) != fmt.Sprintf("the text of %d", i) || values32(&out.Rows.Cols[2])[row] != int32(i) {
				t.Fatalf("WHERE %s: row %d of %d is not that of record %d", where, row, out.Rows.Len, i)
			}
			row++
		}
		if row != out.Rows.Len {
			t.Errorf("WHERE %s: %d rows, want %d", where, out.Rows.Len, row)
		}
	}
}

// outcomes prints all that runs of a query say: as a whole, and isolated.
func outcomes(t *rapid.T, e *Engine, c *dialect.Compiled, in *batch.Columns, ahead bool) string {
	s, err := e.Prepare(c)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	input := Input{Batch: in}
	if ahead {
		d, err := s.Decoder()
		if err != nil {
			t.Fatal(err)
		}
		if input.Documents, err = d.Decode(in); err != nil {
			t.Fatal(err)
		}
	}
	var b strings.Builder
	show := func(out Result, err error) {
		if err != nil {
			fmt.Fprintf(&b, "%v\n", err)
			return
		}
		fmt.Fprintf(&b, "%s\nrows %v, nulled %+v\n", strings.Join(formattest.Rows(out.Rows), "\n"), out.Row, out.Nulled)
	}
	show(s.Run(t.Context(), []Input{input}, batchTime))
	out, refused, err := s.RunIsolated(t.Context(), []Input{input}, batchTime, true)
	show(out, err)
	for _, r := range refused {
		fmt.Fprintf(&b, "refused %d, kept %t: %v\n", r.Row, r.Kept, r.Err)
	}
	return b.String()
}
