package sink

import (
	"testing"

	"sluice/batch"
	"sluice/fault"
)

func TestColumns(t *testing.T) {
	of := func(names ...string) (out []batch.Field) {
		for _, n := range names {
			out = append(out, batch.Field{Name: n, Type: batch.Of(batch.Int)})
		}
		return out
	}
	for _, c := range []struct {
		name   string
		fields []batch.Field
		want   int
	}{
		{"a", of("b", "a"), 1},
		{"A", of("b", "a"), 1},
		{"a", of("A", "a"), 1},
		{"aA", of("A", "a", "Aa", "AA", "aA"), 4},
		{"aA", of("Aa", "AA"), -1},
		{"aA", of("Aa", "AA", "aa"), -1},
		{"c", of("a", "b"), -1},
	} {
		got, err := Columns("keys", []string{c.name}, c.fields)
		if c.want < 0 && !fault.Of(err, fault.SinkColumnNotFound) || c.want >= 0 && (err != nil || got[0] != c.want) {
			t.Errorf("%s in %s: %v %v", c.name, batch.DDL(c.fields), got, err)
		}
	}
	_, err := Columns("keys", []string{"m"}, []batch.Field{{Name: "m", Type: batch.MapOf(batch.Of(batch.String), batch.Of(batch.Int))}})
	if !fault.Of(err, fault.InvalidOption) {
		t.Error(err)
	}
}
