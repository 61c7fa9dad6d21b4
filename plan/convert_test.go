package plan

import (
	"testing"

	"pgregory.net/rapid"

	"sluice/batch"
)

var simple = []batch.Type{
	batch.Of(batch.Boolean), batch.Of(batch.TinyInt), batch.Of(batch.SmallInt), batch.Of(batch.Int), batch.Of(batch.BigInt), batch.Of(batch.Float),
	batch.Of(batch.Double), batch.DecimalOf(10, 2), batch.DecimalOf(38, 38), batch.DecimalOf(38, 0), batch.Of(batch.String), batch.Of(batch.Binary), batch.Of(batch.Date),
	batch.Of(batch.Timestamp), batch.Of(batch.TimestampNTZ), batch.Of(batch.Variant), batch.ArrayOf(batch.Of(batch.Int)), batch.MapOf(batch.Of(batch.String), batch.Of(batch.Int)),
	batch.StructOf(batch.Field{Name: "a", Type: batch.Of(batch.Int)}),
}

// D-35
func TestWiden(t *testing.T) {
	for _, c := range []struct{ a, b, want string }{
		{"INT", "BIGINT", "BIGINT"}, {"TINYINT", "SMALLINT", "SMALLINT"}, {"FLOAT", "DOUBLE", "DOUBLE"}, {"DATE", "TIMESTAMP_NTZ", "TIMESTAMP_NTZ"},
		{"DATE", "TIMESTAMP", ""}, {"INT", "DOUBLE", ""}, {"INT", "STRING", ""}, {"DECIMAL(38,38)", "DECIMAL(38,0)", ""},
		{"ARRAY<INT>", "ARRAY<INT>", "ARRAY<INT>"}, {"INT", "DECIMAL(10,2)", ""},
	} {
		a, b := typeOf(t, c.a), typeOf(t, c.b)
		got, ok := widen(a, b)
		if ok != (c.want != "") || ok && got.String() != c.want {
			t.Errorf("%s and %s: %s %t, want %q", c.a, c.b, got, ok, c.want)
		}
	}
	if got, ok := widen(batch.DecimalOf(5, 2), batch.DecimalOf(6, 4)); !ok || got.String() != "DECIMAL(7,4)" {
		t.Errorf("DECIMAL(5,2) and DECIMAL(6,4): %s", got)
	}
	rapid.Check(t, func(t *rapid.T) {
		a, b := rapid.SampledFrom(simple).Draw(t, "a"), rapid.SampledFrom(simple).Draw(t, "b")
		ab, ok := widen(a, b)
		ba, back := widen(b, a)
		if ok != back || ok && !ab.Equal(ba) {
			t.Fatalf("%s and %s: %s one way and %s the other", a, b, ab, ba)
		}
		if ok && (!assignable(a, ab) || !assignable(b, ab)) {
			t.Fatalf("%s and %s widen to %s, which does not take them", a, b, ab)
		}
	})
}

func typeOf(t *testing.T, name string) batch.Type {
	for _, s := range simple {
		if s.String() == name {
			return s
		}
	}
	t.Fatalf("no type %s in the list", name)
	return batch.Type{}
}

// Spark's store assignment under ANSI (D-47).
func TestAssignable(t *testing.T) {
	for _, c := range []struct {
		from, to string
		want     bool
	}{
		{"INT", "BIGINT", true}, {"BIGINT", "TINYINT", true}, {"DOUBLE", "DECIMAL(10,2)", true}, {"DECIMAL(10,2)", "FLOAT", true},
		{"INT", "STRING", true}, {"STRING", "INT", false}, {"STRING", "DATE", false}, {"DATE", "TIMESTAMP", true}, {"TIMESTAMP", "DATE", true},
		{"TIMESTAMP", "TIMESTAMP_NTZ", true}, {"TIMESTAMP", "STRING", true}, {"TIMESTAMP", "BIGINT", false}, {"BIGINT", "TIMESTAMP", false},
		{"BOOLEAN", "INT", false}, {"INT", "BOOLEAN", false}, {"BOOLEAN", "STRING", true}, {"BINARY", "STRING", true}, {"STRING", "BINARY", false},
		{"VARIANT", "STRING", false}, {"STRING", "VARIANT", false}, {"ARRAY<INT>", "STRING", false}, {"ARRAY<INT>", "ARRAY<INT>", true},
	} {
		if got := assignable(typeOf(t, c.from), typeOf(t, c.to)); got != c.want {
			t.Errorf("%s into %s: %t", c.from, c.to, got)
		}
	}
}
