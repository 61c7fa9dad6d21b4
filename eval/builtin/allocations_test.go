package builtin

import (
	"fmt"
	"testing"

	"sluice/batch"
)

// A function allocates for a chunk of rows, not for each row; those over regular expressions do so for each match, as package regexp does.
func TestAllocationsOfAChunk(t *testing.T) {
	const rows = 1000
	text := func(of func(i int) string) batch.Column {
		texts := make([]string, rows)
		for i := range texts {
			texts[i] = of(i)
		}
		return textColumn(texts...)
	}
	number := func(n int32) batch.Column {
		all := make([]int32, rows)
		for i := range all {
			all[i] = n
		}
		return intColumn(all...)
	}
	words := text(func(i int) string { return fmt.Sprintf("Order %d of 28 items, shipped to %0200d", i, i) })
	code := text(func(i int) string { return "U2x1aWNlIHdyaXRlcyB3aGF0IGl0IHJlYWRzLCBhbmQgbm90aGluZyBlbHNlLg==" })
	comma, star := text(func(int) string { return " " }), text(func(int) string { return "*" })
	str, integer, binary := batch.Of(batch.String), batch.Of(batch.Int), batch.Of(batch.Binary)
	for _, f := range []struct {
		name    string
		result  batch.Type
		options map[string]string
		most    float64
		args    []batch.Column
	}{
		{"upper", str, nil, 4, []batch.Column{words}},
		{"lower", str, nil, 4, []batch.Column{words}},
		{"initcap", str, nil, 4, []batch.Column{words}},
		{"lpad", str, nil, 4, []batch.Column{words, number(300), star}},
		{"rpad", str, nil, 4, []batch.Column{words, number(300), star}},
		{"split_part", str, nil, 4, []batch.Column{words, comma, number(2)}},
		{"substring_index", str, nil, 4, []batch.Column{words, comma, number(2)}},
		{"overlay", str, nil, 4, []batch.Column{words, star, number(3), number(-1)}},
		{"unbase64", binary, nil, 4, []batch.Column{code}},
		{"regexp_extract", str, map[string]string{"regex": "of ([0-9]+)", "group": "1"}, rows + 4, []batch.Column{words}},
		{"regexp_count", integer, map[string]string{"regex": "of [0-9]+"}, rows + 4, []batch.Column{words}},
	} {
		s := Spec{Name: f.name, Result: f.result, Options: f.options}
		for i := range f.args {
			s.Args = append(s.Args, f.args[i].Type)
		}
		function, err := New(s)
		if err != nil {
			t.Fatal(err)
		}
		out := batch.NewBuilder(f.result, 0)
		got := testing.AllocsPerRun(3, func() {
			out.Reset()
			if err := function(f.args, rows, out); err != nil {
				t.Fatalf("%s: %v", f.name, err)
			}
		})
		if got > f.most {
			t.Errorf("%s allocates %v times for %d rows", f.name, got, rows)
		}
	}
}
