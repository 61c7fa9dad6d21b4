package json

import (
	"bytes"
	stdjson "encoding/json"
	"testing"

	"sluice/batch"
)

// D-19: the goldens of eval/dialect have what Spark finds. Here: whatever text and path, nothing breaks, what is found at $ is the
// document itself, and what is found of a valid document is valid, or the text of a string.
func FuzzPath(f *testing.F) {
	for _, seed := range [][2]string{{`{"a":[{"b":1.50},{"b":"x"}]}`, "$.a[*].b"}, {`[[1,2],[3]]`, "$[*][*]"}, {`{"a":[[1]]}`, "$['a'][0][0]"}, {`{"a":"\ud83d\ude00"}`, "$"}, {`{"a":1,}`, "$.a"}, {`[`, "$[0]"}} {
		f.Add([]byte(seed[0]), seed[1])
	}
	f.Fuzz(func(t *testing.T, text []byte, path string) {
		p, ok := NewPath(path)
		if !ok {
			return
		}
		found := p.find(text)
		if found && stdjson.Valid(text) && !stdjson.Valid(p.out) && !bytes.Contains(text, []byte{'"'}) {
			t.Errorf("%s of %s is %s", path, text, p.out)
		}
		whole, _ := NewPath("$")
		var x, y any
		if stdjson.Unmarshal(text, &x) == nil && whole.find(text) {
			if _, isText := x.(string); !isText && stdjson.Unmarshal(whole.out, &y) != nil {
				t.Errorf("%s became %s", text, whole.out)
			}
		}
	})
}

func TestPathOverAColumn(t *testing.T) {
	in := batch.NewBuilder(batch.Of(batch.String), 0)
	in.AppendString(`{"a":{"b":[1,{"c":"x"}]}}`)
	in.AppendNull()
	in.AppendString(`{"a":`)
	texts := in.Column()
	for path, want := range map[string]string{"$.a.b[1].c": "x", "$.a.b[1]": `{"c":"x"}`, "$['a']": `{"b":[1,{"c":"x"}]}`} {
		p, ok := NewPath(path)
		if !ok {
			t.Fatal(path)
		}
		out := batch.NewBuilder(batch.Of(batch.String), 0)
		p.Append(&texts, out)
		got := out.Column()
		if string(got.Text(0)) != want || !got.IsNull(1) || !got.IsNull(2) {
			t.Errorf("%s: %s, %v, %v", path, got.Text(0), got.IsNull(1), got.IsNull(2))
		}
	}
	for _, path := range []string{"", "a", "$a", "$.", "$..a", "$[x]", "$[-1]", "$[0", "$['a]", "$.a[", "$[1 ]"} {
		if _, ok := NewPath(path); ok {
			t.Errorf("%q is taken for a path", path)
		}
	}
}
