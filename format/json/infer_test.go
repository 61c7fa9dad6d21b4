package json

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"sluice/batch"
	"sluice/fault"
)

// The schema that is found reads every record it was found in, also in records of which each has other fields.
func TestTheSchemaFoundReadsItsRecords(t *testing.T) {
	files, _ := filepath.Glob("testdata/real/*.ndjson")
	if len(files) == 0 {
		t.Fatal("no files")
	}
	for _, file := range files {
		var n Inference
		values := lines(t, file)
		for _, v := range values {
			if err := n.Add(v); err != nil {
				t.Fatal(file, err)
			}
		}
		fields, left := n.Fields()
		if len(fields) == 0 || left != nil {
			t.Fatal(file, "fields", fields, "left", left)
		}
		decodeAll(t, ddl(fields), values)
	}
}

func ddl(fields []batch.Field) (out string) {
	for i, f := range fields {
		if i > 0 {
			out += ", "
		}
		out += batch.QuoteName(f.Name) + " " + f.Type.String()
	}
	return out
}

func TestInference(t *testing.T) {
	var n Inference
	for _, record := range []string{"\xef\xbb\xbf{\"a\":1,\"b\":null}", `{"a":2.5,"c":[],"z y":{"x":1}}`, `{"a":null,"c":[{"d":"x"}],"z y":{"y":true}}`} {
		if err := n.Add([]byte(record)); err != nil {
			t.Fatal(err)
		}
	}
	for _, bad := range []string{"", "[1]", `{"a":1,"a":2}`, "oops", `{"a":1} 2`} {
		if err := n.Add([]byte(bad)); !fault.Of(err, fault.MalformedRecord) {
			t.Errorf("%q: %v", bad, err)
		}
	}
	const want = "a DOUBLE, b STRING, c ARRAY<STRUCT<d: STRING>>, `z y` STRUCT<x: BIGINT, y: BOOLEAN>"
	if fields, left := n.Fields(); ddl(fields) != want || left != nil {
		t.Errorf("found %s, want %s, left %q", ddl(fields), want, left)
	}
	if fields, _ := new(Inference).Fields(); len(fields) > 0 {
		t.Errorf("nothing has %v", fields)
	}
}

// D-9: what cannot be declared is left out, at every depth, and told.
func TestInferenceOfWhatCannotBeDeclared(t *testing.T) {
	var n Inference
	for _, record := range []string{`{"A":1,"a":2.5,"":1,"h":{},"g":[{}],"n":{"BAR":1,"":2,"e":{}}}`, `{"N":{"bar":"x"}}`} {
		if err := n.Add([]byte(record)); err != nil {
			t.Fatal(err)
		}
	}
	fields, left := n.Fields()
	want := []string{"a field without a name", "A and a differ only in case and are one column", "N and n differ only in case and are one column",
		"g has nothing but objects without fields", "h has nothing but objects without fields", "n.a field without a name",
		"n.BAR and bar differ only in case and are one column", "n.e has nothing but objects without fields"}
	slices.Sort(left)
	slices.Sort(want)
	if got := ddl(fields); got != "a DOUBLE, n STRUCT<bar: STRING>" || !slices.Equal(left, want) {
		t.Errorf("found %s, left\n%s", got, strings.Join(left, "\n"))
	}
}
