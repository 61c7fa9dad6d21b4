package csv

import (
	"bytes"
	stdcsv "encoding/csv"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
	"pgregory.net/rapid"

	"sluice/batch"
	"sluice/fault"
	"sluice/format"
	"sluice/format/formattest"
	"sluice/option"
)

// split returns the records of data as a reader finds them that gets chunk bytes at a time.
func split(t testing.TB, s format.Splitter, data []byte, chunk, most int) [][]byte {
	t.Helper()
	var out [][]byte
	for at, have := 0, 0; ; {
		have = min(have+chunk, len(data))
		for {
			spans, used, err := s.Split(data[at:have], have == len(data), most, nil)
			if err != nil {
				t.Fatal(err)
			}
			if len(spans) > most {
				t.Fatalf("%d records, at most %d were asked for", len(spans), most)
			}
			for _, r := range spans {
				out = append(out, data[at+r.Start:at+r.End])
			}
			at += used
			if len(spans) < most {
				break
			}
		}
		if have == len(data) {
			if at != have {
				t.Fatalf("%d bytes are left over", have-at)
			}
			return out
		}
	}
}

// TestDecode runs the cases of testdata/decode.txt.
func TestDecode(t *testing.T) {
	datadriven.RunTest(t, "testdata/decode.txt", func(t *testing.T, td *datadriven.TestData) string {
		o := optionsOf(t, td)
		data := []byte(strings.ReplaceAll(td.Input, `\r`, "\r") + "\n")
		records := split(t, NewSplitter(o.Dialect), data, len(data), 1000)
		for _, chunk := range []int{1, 2, 5} {
			if other := split(t, NewSplitter(o.Dialect), data, chunk, 2); !reflect.DeepEqual(records, other) {
				t.Errorf("%s: %d bytes at a time give %q, all at once %q", td.Pos, chunk, other, records)
			}
		}
		d, err := NewDecoder(o)
		if err != nil {
			return err.Error() + "\n"
		}
		if o.Header {
			if err := d.Header(records[0]); err != nil {
				return err.Error() + "\n"
			}
			records = records[1:]
		}
		if o.Rescue {
			d.file("a/b.csv")
		}
		built := formattest.Builders(o.Fields, 1)
		return formattest.Decoded(t, o.Fields, built, d.Decode(records, built), len(records))
	})
}

func optionsOf(t *testing.T, td *datadriven.TestData) Options {
	o := Options{CorruptRecord: -1}
	o.Fields, o.Quoted = formattest.Fields(t, strings.Join(td.CmdArgs[0].Vals, ", "))
	o.Width = len(o.Fields)
	for i := range o.Fields {
		o.Positions = append(o.Positions, i)
	}
	sep, quote, escape, dialect := ",", `"`, "", Dialect{}
	for _, a := range td.CmdArgs[1:] {
		number := func(i int) int {
			n, err := strconv.Atoi(a.Vals[i])
			if err != nil {
				t.Fatal(err)
			}
			return n
		}
		switch a.Key {
		case "header":
			o.Header = true
		case "positions":
			for i := range a.Vals {
				o.Positions[i] = number(i)
			}
		case "width":
			o.Width = number(0)
		case "sep":
			sep = a.Vals[0]
		case "quote":
			quote = a.Vals[0]
		case "escape":
			escape = a.Vals[0]
		case "null":
			o.NullValue = a.Vals[0]
		case "permissive":
			o.Mode = batch.Permissive
		case "empty":
			o.EmptyValue = a.Vals[0]
		case "names":
			o.NaN, o.PositiveInf, o.NegativeInf = a.Vals[0], a.Vals[1], a.Vals[2]
		case "comment":
			dialect.Comment = a.Vals[0][0]
		case "line":
			dialect.Line = a.Vals[0][0]
		case "oneline":
			dialect.OneLine = true
		case "leading":
			dialect.TrimLeading = true
		case "trailing":
			dialect.TrimTrailing = true
		case "unescaped":
			dialect.Unescaped = Unescaped(slices.Index(handlings, a.Vals[0]))
		case "most":
			o.MaxFields, o.MaxChars = number(0), number(1)
		case "rescue":
			o.Rescue, o.RescuedData = true, number(0)
		case "patterns":
			o.Times = patterns(t, a.Vals)
		case "corrupt":
			o.CorruptRecord = number(0)
		case "unit":
			o.TimestampUnit = format.ParseTimestampUnit(a.Vals[0])
		case "zone":
			zone, err := time.LoadLocation(a.Vals[0])
			if err != nil {
				t.Fatal(err)
			}
			o.Zone = zone
		default:
			t.Fatalf("%s: no argument %q", td.Pos, a.Key)
		}
	}
	d, err := ParseDialect(sep, quote, escape)
	if err != nil {
		t.Fatal(err)
	}
	dialect.Sep, dialect.Tail, dialect.Quote, dialect.Escape = d.Sep, d.Tail, d.Quote, d.Escape
	o.Dialect = dialect
	return o
}

// patterns are those of dateFormat, timestampFormat and timestampNTZFormat; ~ stands for a blank.
func patterns(t *testing.T, texts []string) format.Times {
	t.Helper()
	times, err := format.ParseTimes(true, func(name string) string {
		at := slices.IndexFunc(format.TimeOptions, func(s option.Spec) bool { return s.Name == name })
		if at >= len(texts) {
			return ""
		}
		return strings.ReplaceAll(texts[at], "~", " ")
	})
	if err != nil {
		t.Fatal(err)
	}
	return times
}

func TestDialectsThatMakeNoSense(t *testing.T) {
	for _, c := range [][3]string{{"", `"`, ""}, {`\`, `"`, ""}, {`\n`, `"`, ""}, {"\n", `"`, ""}, {`a"`, `"`, ""}, {",", ",", ""}, {",", `"`, ","}} {
		if _, err := ParseDialect(c[0], c[1], c[2]); !fault.Of(err, fault.InvalidOption) {
			t.Errorf("%q: %v", c, err)
		}
	}
}

func TestTypesThatCSVDoesNotHave(t *testing.T) {
	for _, ddl := range []string{"a ARRAY<INT>", "a STRUCT<x: INT>", "a MAP<STRING, INT>", "a VARIANT"} {
		fields, _ := formattest.Fields(t, ddl)
		if _, err := NewDecoder(Options{Fields: fields, CorruptRecord: -1}); !fault.Of(err, fault.UnsupportedTypes) {
			t.Errorf("reading %s: %v", ddl, err)
		}
		if _, err := NewEncoder(fields, EncodeOptions{}); !fault.Of(err, fault.UnsupportedTypes) {
			t.Errorf("writing %s: %v", ddl, err)
		}
	}
}

// TestRealFiles reads real files by header and compares with the standard library's reader.
func TestRealFiles(t *testing.T) {
	for file, ddl := range map[string]string{
		"trips-2019-01.csv": "Vendor_ID INT, pickup_datetime TIMESTAMP, passenger_count INT, store_and_fwd_flag STRING, total_amount DECIMAL(10,2), congestion_surcharge DOUBLE",
		"trips-2019-06.csv": "vendor_id INT, passenger_count INT, congestion_surcharge DOUBLE",
		"trips-2019-07.csv": "vendor_id INT, passenger_count INT, congestion_surcharge DOUBLE", // integers are 1.0 here
		"weather.csv":       "date STRING, precipitation DOUBLE, weather STRING",
	} {
		data, err := os.ReadFile(filepath.Join("testdata/real", file))
		if err != nil {
			t.Fatal(err)
		}
		want, err := stdcsv.NewReader(bytes.NewReader(data)).ReadAll()
		if err != nil {
			t.Fatal(err)
		}
		fields, _ := formattest.Fields(t, ddl)
		d, err := NewDecoder(Options{Dialect: RFC4180, Fields: fields, Header: true, CorruptRecord: -1})
		if err != nil {
			t.Fatal(err)
		}
		records := split(t, NewSplitter(RFC4180), data, 1000, 50)
		if err := d.Header(records[0]); err != nil {
			t.Fatal(err)
		}
		built := formattest.Builders(fields, 10)
		if bad := d.Decode(records[1:], built); len(bad) > 0 {
			t.Fatalf("%s: record %d: %v", file, bad[0].Index, bad[0].Err)
		}
		rows := formattest.Columns(t, fields, built)
		if rows.Len != len(want)-1 {
			t.Fatalf("%s: %d rows, want %d", file, rows.Len, len(want)-1)
		}
		compareTexts(t, file, rows, want)
	}
}

// compareTexts compares what the columns print with the texts of the file.
func compareTexts(t *testing.T, file string, rows batch.Columns, want [][]string) {
	for c, f := range rows.Fields {
		at := -1
		for i, name := range want[0] {
			if strings.EqualFold(name, f.Name) {
				at = i
			}
		}
		for i := range rows.Len {
			text := want[i+1][at]
			got := formattest.Value(&rows.Cols[c], i)
			switch {
			case text == "":
				text = "NULL"
			case f.Type.Kind == batch.String:
				text = strconv.Quote(text)
			case f.Type.Kind == batch.Timestamp:
				text += "Z"
			default:
				a, _ := strconv.ParseFloat(got, 64)
				b, err := strconv.ParseFloat(text, 64)
				if err == nil && a == b {
					continue
				}
			}
			if got != text {
				t.Fatalf("%s row %d: %s is %s, want %s", file, i, f.Name, got, text)
			}
		}
	}
}

// TestRoundTrip writes random rows in random dialects and reads them again.
func TestRoundTrip(t *testing.T) {
	var s format.Scalars
	rapid.Check(t, func(rt *rapid.T) {
		rows := formattest.DrawColumns(rt, "rows", s.Supports)
		d := rapid.SampledFrom([]Dialect{RFC4180, {Sep: '|', Tail: "|", Quote: '"', Escape: '"'}, {Sep: 'a', Tail: "ba", Quote: '"', Escape: '\\', Unescaped: StopAtDelimiter},
			{Sep: ',', Quote: '"', Escape: '"', Comment: '#', TrimLeading: true, TrimTrailing: true}, {Sep: ',', Quote: '"', Escape: '\\', Line: ';', Unescaped: StopAtClosingQuote}, {Sep: ';', Quote: '\'', Escape: '\\'}, {Sep: '\t', Quote: '"', Escape: '\\'}, {Sep: '|', Quote: '~', Escape: '~'}}).Draw(rt, "dialect")
		null := rapid.SampledFrom([]string{"", "NULL", "-"}).Draw(rt, "null")
		e, err := NewEncoder(rows.Fields, EncodeOptions{Dialect: d, NullValue: null, QuoteAll: rapid.Bool().Draw(rt, "all")})
		if err != nil {
			rt.Fatal(err)
		}
		text, err := e.Header(nil)
		if err != nil {
			rt.Fatal(err)
		}
		text, ends, err := e.Encode(text, nil, &rows, 0, rows.Len)
		if fault.Of(err, fault.CannotEncode) && null == "" && len(rows.Cols) == 1 {
			return
		}
		if err != nil || len(ends) != rows.Len {
			rt.Fatalf("%v, %d records of %d", err, len(ends), rows.Len)
		}
		records := split(t, NewSplitter(d), text, rapid.IntRange(1, 50).Draw(rt, "chunk"), 3)
		decoder, err := NewDecoder(Options{Dialect: d, NullValue: null, Fields: rows.Fields, Header: true, CorruptRecord: -1})
		if err != nil {
			rt.Fatal(err)
		}
		if err := decoder.Header(records[0]); err != nil {
			rt.Fatal(err)
		}
		built := formattest.Builders(rows.Fields, 0)
		for _, b := range decoder.Decode(records[1:], built) {
			rt.Fatalf("record %q: %v", records[1+b.Index], b.Err)
		}
		got, want := formattest.Rows(formattest.Columns(t, rows.Fields, built)), formattest.Rows(rows)
		if strings.Join(got, "\n") != strings.Join(want, "\n") {
			rt.Fatalf("got\n%s\nwant\n%s\nfile\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"), text)
		}
	})
}

func seeds(f *testing.F) {
	for _, s := range []string{"a,b\n1,2\n", "\"a\"\"b\",\"c\nd\"\n\n,\n", "a\"b\n", "\"a\"b,c\n", "\"open\nx", ",,,", "\"\"", "a\r\nb\r\n"} {
		f.Add([]byte(s), uint8(1))
	}
	files, _ := filepath.Glob("testdata/real/*")
	for _, name := range files {
		data, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data[:min(len(data), 500)], uint8(7))
	}
}

// FuzzCSV compares records and fields with the standard library's reader, which refuses the same stray quotes.
func FuzzCSV(f *testing.F) {
	seeds(f)
	f.Fuzz(func(t *testing.T, data []byte, _ uint8) {
		if bytes.IndexByte(data, '\r') >= 0 {
			return // the standard library rewrites line breaks inside quotes
		}
		std := stdcsv.NewReader(bytes.NewReader(data))
		std.FieldsPerRecord = -1
		for i, record := range split(t, NewSplitter(RFC4180), data, len(data)+1, 1<<20) {
			want, stdErr := std.Read()
			got, bad := fieldsOf(record)
			if (stdErr != nil) != bad {
				t.Fatalf("%q record %d %q: the standard library says %v, we %v", data, i, record, stdErr, bad)
			}
			if bad {
				return
			}
			if !reflect.DeepEqual(got, want) {
				t.Fatalf("%q record %d: got %q, want %q", data, i, got, want)
			}
		}
		if _, err := std.Read(); err != io.EOF {
			t.Fatalf("%q: the standard library finds more records: %v", data, err)
		}
	})
}

func fieldsOf(record []byte) (fields []string, bad bool) {
	d := RFC4180
	for i := 0; ; {
		f := d.field(record, i)
		if f.stray || f.open {
			return nil, true
		}
		text := record[f.start:f.end]
		if f.escapes {
			text = d.unescape(nil, text)
		}
		fields = append(fields, string(text))
		if f.next == len(record) {
			return fields, false
		}
		i = f.next + 1
	}
}

// FuzzSplit cuts the data anywhere: the records stay the same, and the decoder never sees more than one.
func FuzzSplit(f *testing.F) {
	seeds(f)
	dialects := []Dialect{RFC4180, {Sep: ';', Quote: '\'', Escape: '\\'}, {Sep: '\t'},
		{Sep: ',', Tail: "\"", Quote: '|', Escape: '\\', Unescaped: StopAtDelimiter},
		{Sep: ',', Quote: '"', Escape: '\\', Unescaped: StopAtClosingQuote, TrimLeading: true, TrimTrailing: true, Comment: 'a'},
		{Sep: 'b', Tail: "c", Quote: '"', Escape: '"', Unescaped: SkipValue, Line: ','},
		{Sep: ',', Quote: '"', Escape: '"', OneLine: true, TrimLeading: true},
	}
	f.Fuzz(func(t *testing.T, data []byte, chunk uint8) {
		for _, d := range dialects {
			whole := split(t, NewSplitter(d), data, len(data)+1, 1<<20)
			parts := split(t, NewSplitter(d), data, int(chunk)+1, int(chunk)%3+1)
			if !reflect.DeepEqual(whole, parts) {
				t.Fatalf("%q: all at once %q, %d bytes at a time %q", data, whole, int(chunk)+1, parts)
			}
			fields, _ := formattest.Fields(t, "a STRING, b STRING")
			decoder, err := NewDecoder(Options{Dialect: d, Fields: fields, Positions: []int{0, 1}, Width: 2, CorruptRecord: -1})
			if err != nil {
				t.Fatal(err)
			}
			built := formattest.Builders(fields, 1)
			for _, b := range decoder.Decode(whole, built) {
				if strings.Contains(b.Err.Message, "more than one record") {
					t.Fatalf("%q: record %q is more than one", data, whole[b.Index])
				}
			}
			formattest.Columns(t, fields, built)
		}
	})
}
