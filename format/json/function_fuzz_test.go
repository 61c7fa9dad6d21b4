package json

import (
	stdjson "encoding/json"
	"testing"

	"sluice/batch"
	"sluice/fault"
	"sluice/format/formattest"
)

// FuzzFrom holds from_json to what it promises of any text: one value for each text, the same whatever came before it, NULLs
// that are counted, and an error with FAILFAST exactly where something became NULL; what the standard library takes for no JSON is no
// document.
func FuzzFrom(f *testing.F) {
	for _, seed := range seeds(f) {
		f.Add(seed)
	}
	for _, seed := range []string{"", " ", "null", "[1]", `[{"a":1}]`, `{"n":"1"}`, `{"l":[{"a":1},{"a":"x"}]}`, `{"m":{"a":1,"a":2}}`, `{"s":{"a": [1, 2]}}`, `{"f":"NaN"}`} {
		f.Add([]byte(seed))
	}
	fields, _ := formattest.Fields(f, "s STRING, n BIGINT, d DECIMAL(20,5), f DOUBLE, b BOOLEAN, bin BINARY, dt DATE, ts TIMESTAMP, l ARRAY<STRUCT<a: INT>>, m MAP<STRING, INT>, x STRUCT<y: STRUCT<z: ARRAY<STRING>>>")
	types := []batch.Type{batch.StructOf(fields...), batch.ArrayOf(batch.StructOf(fields...)), batch.ArrayOf(batch.Of(batch.Int)), batch.MapOf(batch.Of(batch.String), batch.Of(batch.String))}
	open := func(t testing.TB, typ batch.Type, strict bool) *From {
		from, err := NewFrom(FromOptions{Type: typ, CorruptRecord: -1, FailFast: strict})
		if err != nil {
			t.Fatal(err)
		}
		return from
	}
	f.Fuzz(func(t *testing.T, src []byte) {
		texts := batch.NewBuilder(batch.Of(batch.String), 2)
		texts.AppendString(`{"n":1,"s":"x","l":[{"a":1}],"q":{"n":2}}`)
		texts.AppendText(src)
		both := texts.Column()
		texts = batch.NewBuilder(batch.Of(batch.String), 1)
		texts.AppendText(src)
		alone := texts.Column()
		for i, typ := range types {
			column := []batch.Field{{Name: "v", Type: typ}}
			built := formattest.Builders(column, 0)
			nulled, err := open(t, typ, false).Append(&alone, &built[0])
			if err != nil {
				t.Fatalf("%q: %v", src, err)
			}
			want := formattest.Rows(formattest.Columns(t, column, built))
			again := formattest.Builders(column, 0)
			if _, err := open(t, typ, false).Append(&both, &again[0]); err != nil {
				t.Fatalf("%q: %v", src, err)
			}
			if got := formattest.Rows(formattest.Columns(t, column, again)); len(want) != 1 || len(got) != 2 || got[1] != want[0] {
				t.Fatalf("%q as %s: %q alone, %q after another", src, typ, want, got)
			}
			strict := batch.NewBuilder(typ, 0)
			_, err = open(t, typ, true).Append(&alone, strict)
			if failed := nulled.Documents+nulled.Fields > 0; failed != (err != nil) || err != nil && (err.Code != fault.MalformedRecord || strict.Len() != 0) {
				t.Fatalf("%q as %s: %+v became NULL, FAILFAST says %v", src, typ, nulled, err)
			}
			if i == 0 && nulled.Documents == 0 && blank(src, 0) < len(src) && !stdjson.Valid(src) {
				t.Fatalf("%q is taken for a document", src)
			}
		}
	})
}
