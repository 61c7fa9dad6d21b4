package json

import (
	stdjson "encoding/json"
	"strings"
	"testing"
	"time"

	"sluice/batch"
	"sluice/fault"
	"sluice/format"
	"sluice/format/formattest"
	"sluice/option"
)

// rescuing opens the format for columns of a schema, to which _rescued_data is added, in a file.
func rescuing(t testing.TB, ddl string, mode batch.Mode, columns ...string) (format.Reader, []batch.Field) {
	t.Helper()
	schema, quoted := formattest.Fields(t, ddl+", _rescued_data STRING")
	options, problems := ReadOptions().Parse("test", []option.Given{{Name: "rescuedDataColumn", Value: "_rescued_data"}}, fault.Pos{})
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	r := format.Reading{Schema: schema, Quoted: quoted, Mode: mode, Zone: time.UTC, Options: options}
	for _, f := range schema {
		for _, name := range columns {
			if f.Name == name {
				r.Columns = append(r.Columns, f)
			}
		}
	}
	if len(columns) == 0 {
		r.Columns = schema
	}
	reader, err := Open(r)
	if err != nil {
		t.Fatal(err)
	}
	return reader, r.Columns
}

const rescueSchema = "id INT, n STRUCT<a: INT, s: STRUCT<b: INT>>, l ARRAY<STRUCT<x: INT>>, m MAP<STRING, INT>, v VARIANT, must INT NOT NULL, `q` STRING"

var rescued = []struct{ record, row string }{
	{`{"must":1}`, `NULL | NULL | NULL | NULL | NULL | 1 | NULL | NULL`},
	{`{"must":1,"x": {"y" : [1, 2]} ,"id":1,"z\u0041":"é \"q"}`, `1 | NULL | NULL | NULL | NULL | 1 | NULL | {"x":{"y":[1,2]},"z\u0041":"é \"q"}`},
	{`{"must":1,"id":"one"}`, `NULL | NULL | NULL | NULL | NULL | 1 | NULL | {"id":"one"}`},
	{`{"must":1,"ID":"one","id":2}`, `2 | NULL | NULL | NULL | NULL | 1 | NULL | {"ID":"one"}`},
	{`{"must":1,"id":2,"ID":"one"}`, `2 | NULL | NULL | NULL | NULL | 1 | NULL | {"ID":"one"}`},
	{`{"must":1,"ID":1,"iD":2}`, `NULL | NULL | NULL | NULL | NULL | 1 | NULL | {"iD":2,"ID":1}`},
	{`{"must":1,"ID":1,"iD":2,"id":3}`, `3 | NULL | NULL | NULL | NULL | 1 | NULL | {"iD":2,"ID":1}`},
	{`{"must":1,"n":{"a":"x","c":1,"s":{"d":2,"b":3}}}`, `NULL | {a=NULL, s={b=3}} | NULL | NULL | NULL | 1 | NULL | {"n":{"c":1,"s":{"d":2},"a":"x"}}`},
	{`{"must":1,"n":{"s":{"b":"x"}},"o":0}`, `NULL | {a=NULL, s={b=NULL}} | NULL | NULL | NULL | 1 | NULL | {"n":{"s":{"b":"x"}},"o":0}`},
	{`{"must":1,"n":{"a":1,"s":[]}}`, `NULL | {a=1, s=NULL} | NULL | NULL | NULL | 1 | NULL | {"n":{"s":[]}}`},
	{`{"must":1,"n":7}`, `NULL | NULL | NULL | NULL | NULL | 1 | NULL | {"n":7}`},
	{`{"must":1,"l":[{"x":1},{"x":"2"}],"m":{"a":1,"b":[]}}`, `NULL | NULL | NULL | NULL | NULL | 1 | NULL | {"l":[{"x":1},{"x":"2"}],"m":{"a":1,"b":[]}}`},
	{`{"must":1,"l":[{"x":1,"y":2}],"m":{"a":1},"v":{"w":1}}`, `NULL | NULL | [{x=1}] | map("a": 1) | {"w":1} | 1 | NULL | NULL`},
	{`{"must":1,"q":"a","Q":"b","_rescued_data":"c"}`, `NULL | NULL | NULL | NULL | NULL | 1 | "a" | {"Q":"b","_rescued_data":"c"}`},
}

// Members that no column takes and values that are not of their column's type are in the rescued data, and the record is not bad.
func TestRescuedData(t *testing.T) {
	reader, fields := rescuing(t, rescueSchema, batch.FailFast)
	var values [][]byte
	for _, c := range rescued {
		values = append(values, []byte(c.record))
	}
	built := formattest.Builders(fields, 0)
	for _, b := range reader.Decoder.Decode(values, built) {
		t.Errorf("%s: %v", values[b.Index], b.Err)
	}
	rows := formattest.Columns(t, fields, built)
	last := &rows.Cols[len(rows.Cols)-1]
	for i, c := range rescued {
		parts := strings.Split(c.row, " | ")
		for k := range rows.Cols[:len(rows.Cols)-1] {
			if got := formattest.Value(&rows.Cols[k], i); got != parts[k] {
				t.Errorf("%s: column %s is %s, want %s", c.record, fields[k].Name, got, parts[k])
			}
		}
		got := "NULL"
		if !last.IsNull(i) {
			got = string(last.Text(i))
			if !stdjson.Valid(last.Text(i)) {
				t.Errorf("%s: %s is no JSON", c.record, got)
			}
		}
		if want := parts[len(parts)-1]; got != want {
			t.Errorf("%s: rescued %s, want %s", c.record, got, want)
		}
	}
}

// What is rescued does not depend on which columns are asked for, and the file's path is with it.
func TestRescuedDataIsOfAllColumns(t *testing.T) {
	reader, fields := rescuing(t, "id INT, a INT", batch.FailFast, "id", "_rescued_data")
	reader.File(`/data/é".json`)
	built := formattest.Builders(fields, 0)
	values := [][]byte{[]byte(`{"id":1,"a":"x"}`), []byte(`{"id":2,"a":2}`), []byte(`{"id":3,"_file_path":"mine"}`)}
	for range 2 { // the second time with rows there already
		if bad := reader.Decoder.Decode(values, built); len(bad) > 0 {
			t.Fatal(bad[0].Err)
		}
	}
	want := []string{`1 | "{\"a\":\"x\",\"_file_path\":\"/data/é\\\".json\"}"`, `2 | NULL`, `3 | "{\"_file_path\":\"mine\"}"`}
	if got := formattest.Rows(formattest.Columns(t, fields, built)); strings.Join(got, "\n") != strings.Join(append(want, want...), "\n") {
		t.Errorf("got %q", got)
	}
	reader, fields = rescuing(t, "id INT, a INT", batch.FailFast, "id")
	built = formattest.Builders(fields, 0)
	if bad := reader.Decoder.Decode(values, built); len(bad) > 0 || built[0].Len() != 3 {
		t.Errorf("%v, %d rows", bad, built[0].Len())
	}
}

// What is still bad with rescued data: no JSON, NULL where a value must be, a STRUCT in two spellings.
func TestWhatIsNotRescued(t *testing.T) {
	for _, mode := range []batch.Mode{batch.FailFast, batch.Permissive} {
		reader, fields := rescuing(t, "id INT, st STRUCT<a: INT>, must INT NOT NULL", mode)
		for record, code := range map[string]*fault.Code{
			`{"must":1,"x":1`: fault.MalformedRecord, `{"x":1}`: fault.NullInNotNull, `{"must":"one"}`: fault.NullInNotNull, `{"must":1,"ST":{"x":1},"sT":{}}`: fault.AmbiguousMember, `{"must":1,"ST":{"x":1},"st":{}}`: fault.AmbiguousMember,
			`{"must":1,"id":`: fault.MalformedRecord, `{"must":1,"x":1,"x":2}`: fault.MalformedRecord, `{"must":null,"o":1}`: fault.NullInNotNull,
		} {
			built := formattest.Builders(fields, 0)
			bad := reader.Decoder.Decode([][]byte{[]byte(record), []byte(`{"must":1}`)}, built)
			if len(bad) != 1 || bad[0].Index != 0 || bad[0].Err.Code != code {
				t.Errorf("%s: %v, want %s", record, bad, code)
			}
			rows := formattest.Rows(formattest.Columns(t, fields, built))
			if mode == batch.Permissive && len(rows) != 2 || mode != batch.Permissive && len(rows) != 1 {
				t.Errorf("%s: %d rows", record, len(rows))
			}
		}
	}
}

// FuzzRescue: what is rescued of any record is one well-formed object, and a record is bad only where it says so.
func FuzzRescue(f *testing.F) {
	for _, seed := range seeds(f) {
		f.Add(seed)
	}
	for _, c := range rescued {
		f.Add([]byte(c.record))
	}
	reader, fields := rescuing(f, "a INT, s STRING, n STRUCT<a: INT, s: STRUCT<b: ARRAY<STRUCT<c: INT>>>>, m MAP<STRING, INT>", batch.FailFast)
	f.Fuzz(func(t *testing.T, src []byte) {
		built := formattest.Builders(fields, 0)
		bad := reader.Decoder.Decode([][]byte{[]byte(`{"n":{"x":1}}`), src}, built)
		rows := formattest.Columns(t, fields, built)
		want := wellFormed(src, DefaultMaxDepth)
		if ok := len(bad) == 0; ok != want && (ok || bad[0].Err.Code != fault.AmbiguousMember) {
			t.Fatalf("%q: well formed is %v, the decoder says %v", src, want, bad)
		}
		if last := &rows.Cols[len(fields)-1]; rows.Len == 2 && !last.IsNull(1) && !wellFormed(last.Text(1), DefaultMaxDepth) {
			t.Fatalf("%q: rescued %q", src, last.Text(1))
		}
	})
}
