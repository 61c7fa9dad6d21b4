package json

import (
	"path/filepath"
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
		if len(n.Fields()) == 0 {
			t.Fatal(file, "no fields")
		}
		decodeAll(t, ddl(n.Fields()), values)
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
	if got := ddl(n.Fields()); got != want {
		t.Errorf("found %s, want %s", got, want)
	}
	if fields := new(Inference).Fields(); len(fields) > 0 {
		t.Errorf("nothing has %v", fields)
	}
}
