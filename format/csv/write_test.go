package csv

import (
	"bufio"
	"bytes"
	stdjson "encoding/json"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"sluice/batch"
	"sluice/fault"
	"sluice/format"
	"sluice/format/formattest"
	"sluice/option"
)

func writeOptions(t testing.TB, of map[string]string) option.Values {
	t.Helper()
	var given []option.Given
	for name, value := range of {
		given = append(given, option.Given{Name: name, Value: value})
	}
	v, problems := append(WriteOptions(), HeaderOption).Parse("csv", given, fault.Pos{})
	if err := problems.Err(); err != nil {
		t.Fatal(err)
	}
	return v
}

// sparkRows are those of testdata/spark/writer.py.
func sparkRows(t *testing.T) batch.Columns {
	fields, _ := formattest.Fields(t, "s STRING, i INT, d DOUBLE, n DECIMAL(10,2), b BOOLEAN, day DATE, ts TIMESTAMP")
	built := formattest.Builders(fields, 0)
	s := format.Scalars{Zone: format.NewZone(time.UTC)}
	for n, text := range []string{"plain", "", "NULL", " blanks ", "a,b", "a;b", `say "x"`, `"begins`, `back\slash`, "line\nbreak", "cr\rin", "NULL", "#c", "'single'", "tab\tin", "é世", "a|b", `""`, "-"} {
		if n == 2 {
			for i := range built {
				built[i].AppendNull()
			}
			continue
		}
		built[0].AppendString(text)
		at := time.Date(2024, 2, 1+n, n, 59, 1, n*1001*1000, time.UTC)
		for i, v := range []string{strconv.Itoa(n - 5), strconv.FormatFloat(float64(n)*1.5-3, 'g', -1, 64), strconv.FormatFloat(float64(n)/4, 'f', 2, 64), strconv.FormatBool(n%2 == 0), at.Format("2006-01-02"), at.Format(time.RFC3339Nano)} {
			if why, ok := s.Append(&built[i+1], []byte(v)); !ok {
				t.Fatal(v, why)
			}
		}
	}
	return formattest.Columns(t, fields, built)
}

// With the same options files are those of Spark's writer, but for some quotes.
func TestAsSparkWrites(t *testing.T) {
	data, err := os.ReadFile("testdata/spark/writer.txt")
	if err != nil {
		t.Fatal(err)
	}
	rows := sparkRows(t)
	cases, differ := 0, 0
	for lines := bufio.NewScanner(bytes.NewReader(data)); lines.Scan(); cases++ {
		var c struct {
			Options map[string]string
			Text    string
		}
		if err := stdjson.Unmarshal(lines.Bytes(), &c); err != nil {
			t.Fatal(err)
		}
		delete(c.Options, "charToEscapeQuoteEscaping") // our escape always has itself in front
		v := writeOptions(t, c.Options)
		o, err := ParseWrite(v, time.UTC)
		if err != nil {
			t.Fatal(err)
		}
		e, err := NewEncoder(rows.Fields, o)
		if err != nil {
			t.Fatal(err)
		}
		var text []byte
		if v.Bool("header") {
			text, _ = e.Header(nil)
		}
		text, _, err = e.Encode(text, nil, &rows, 0, rows.Len)
		if err != nil {
			t.Fatal(err)
		}
		spark := strings.Split(c.Text, "\n")
		for _, d := range differences {
			if at := slices.Index(spark, d.spark); at >= 0 && c.Options[d.option] == d.value {
				spark[at] = d.ours
				differ++
			}
		}
		if want := strings.Join(spark, "\n"); string(text) != want {
			t.Errorf("%v\n%s\nwant\n%s", c.Options, text, want)
		}
	}
	if cases < 11 || differ != len(differences) {
		t.Errorf("%d cases, %d differences", cases, differ)
	}
}

// differences are lines of Spark's where an option has a value, and what stands here for them: NULL is never quoted, an empty text has the
// quotes of the dialect, and a text with an escape, or with a part of a separator, is quoted for readers that are stricter than Spark's.
var differences = []struct{ option, value, spark, ours string }{
	{"quoteAll", "true", strings.Repeat("\"\"\t", 6) + "\"\"", "\t\t\t\t\t\t"},
	{"quote", "'", `"",-4,-1.5,0.25,false,2024-02-02,2024-02-02T01:59:01.001001Z`, `'',-4,-1.5,0.25,false,2024-02-02,2024-02-02T01:59:01.001001Z`},
	{"escape", `\`, `back\slash,3,9.0,2.00,true,2024-02-09,2024-02-09T08:59:01.008008Z`, `"back\\slash",3,9.0,2.00,true,2024-02-09,2024-02-09T08:59:01.008008Z`},
	{"sep", "||", `a|b||11||21.0||4.00||true||2024-02-17||2024-02-17T16:59:01.016016Z`, `"a|b"||11||21.0||4.00||true||2024-02-17||2024-02-17T16:59:01.016016Z`},
}

// What a sink writes with any of its options a source reads with the same.
func TestWrittenIsRead(t *testing.T) {
	var s format.Scalars
	rapid.Check(t, func(rt *rapid.T) {
		rows := formattest.DrawColumns(rt, "rows", s.Supports)
		if len(rows.Cols) == 0 {
			return
		}
		of := map[string]string{"sep": rapid.SampledFrom([]string{",", ";", `\t`, "||", "a"}).Draw(rt, "sep"), "quote": rapid.SampledFrom([]string{`"`, "'"}).Draw(rt, "quote"),
			"escape": rapid.SampledFrom([]string{"", `\`}).Draw(rt, "escape"), "nullValue": rapid.SampledFrom([]string{"", "NULL", "-"}).Draw(rt, "null")}
		line := rapid.SampledFrom([]string{"\n", "\r\n", "#"}).Draw(rt, "line")
		w := map[string]string{"quoteAll": strconv.FormatBool(rapid.Bool().Draw(rt, "all")), "lineSep": line}
		if rapid.Bool().Draw(rt, "patterns") {
			of["timestampFormat"], of["timestampNTZFormat"], of["dateFormat"] = "dd.MM.yyyy HH:mm:ss.SSSSSSXXX", "yyyyMMdd HHmmss.SSSSSS", "dd/MM/yyyy"
		}
		r := map[string]string{"header": "true"}
		if line == "#" {
			r["lineSep"] = line
		}
		for name, value := range of {
			w[name], r[name] = value, value
		}
		o, err := ParseWrite(writeOptions(t, w), time.UTC)
		if err != nil {
			rt.Fatal(err)
		}
		e, err := NewEncoder(rows.Fields, o)
		if err != nil {
			rt.Fatal(err)
		}
		text, err := e.Header(nil)
		if err != nil {
			rt.Fatal(err)
		}
		text, ends, err := e.Encode(text, nil, &rows, 0, rows.Len)
		if fault.Of(err, fault.CannotEncode) && of["nullValue"] == "" && len(rows.Cols) == 1 {
			return // a blank line
		}
		if err != nil || len(ends) != rows.Len {
			rt.Fatalf("%v, %d records of %d", err, len(ends), rows.Len)
		}
		var given []option.Given
		for name, value := range r {
			given = append(given, option.Given{Name: name, Value: value})
		}
		v, problems := ReadOptions().Parse("csv", given, fault.Pos{})
		if err := problems.Err(); err != nil {
			rt.Fatal(err)
		}
		reader, err := Open(format.Reading{Schema: rows.Fields, Columns: rows.Fields, Mode: batch.FailFast, Zone: time.UTC, Options: v})
		if err != nil {
			rt.Fatal(err)
		}
		records := split(t, reader.Splitter, text, len(text), 1<<20)
		if err := reader.Header(records[0]); err != nil {
			rt.Fatal(err)
		}
		built := formattest.Builders(rows.Fields, 0)
		for _, b := range reader.Decoder.Decode(records[1:], built) {
			rt.Fatalf("record %q: %v", records[1+b.Index], b.Err)
		}
		got, want := formattest.Rows(formattest.Columns(t, rows.Fields, built)), formattest.Rows(rows)
		if strings.Join(got, "\n") != strings.Join(want, "\n") {
			rt.Fatalf("got\n%s\nwant\n%s\nfile\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"), text)
		}
	})
}

// A text that begins as a byte order mark does is no mark.
func TestAByteOrderMarkInAValue(t *testing.T) {
	fields, _ := formattest.Fields(t, "s STRING")
	built := formattest.Builders(fields, 0)
	built[0].AppendString("\ufeffx")
	rows := formattest.Columns(t, fields, built)
	e, err := NewEncoder(fields, EncodeOptions{Dialect: RFC4180})
	if err != nil {
		t.Fatal(err)
	}
	if text, _, err := e.Encode(nil, nil, &rows, 0, 1); err != nil || string(text) != "\"\ufeffx\"\n" {
		t.Errorf("%q %v", text, err)
	}
}
