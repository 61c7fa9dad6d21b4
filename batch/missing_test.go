package batch

import "testing"

// D-58: NOT NULL holds at every depth; what is not there has no parts that could be missing.
func TestMissing(t *testing.T) {
	number := Of(Int)
	member := func(notNull bool) Type {
		return Type{Kind: Struct, Fields: []Field{{Name: "a b", Type: number, NotNull: notNull}, {Name: "c", Type: number}}}
	}
	list := func(of Type) Type { return Type{Kind: Array, Fields: []Field{{Name: "element", Type: of}}} }
	for _, c := range []struct {
		name  string
		field Field
		fill  func(*Builder)
		want  string
	}{
		{"a value", Field{Name: "n", Type: number, NotNull: true}, func(b *Builder) { b.AppendInt(1) }, ""},
		{"null where it may be", Field{Name: "n", Type: number}, (*Builder).AppendNull, ""},
		{"null where it may not be", Field{Name: "n", Type: number, NotNull: true}, (*Builder).AppendNull, "n"},
		{"a member", Field{Name: "s", Type: member(true)}, func(b *Builder) { b.Child(0).AppendNull(); b.Child(1).AppendNull(); b.AppendNested() }, "s.`a b`"},
		{"a member of a struct that is not there", Field{Name: "s", Type: member(true)}, (*Builder).AppendNull, ""},
		{"the struct", Field{Name: "s", Type: member(true), NotNull: true}, (*Builder).AppendNull, "s"},
		{"a member of an element", Field{Name: "l", Type: list(member(true))}, func(b *Builder) {
			b.Child(0).AppendNull()
			for _, null := range []bool{false, true} {
				e := b.Child(0)
				if e.Child(0).AppendInt(1); null {
					e.Child(0).Truncate(e.Child(0).Len() - 1)
					e.Child(0).AppendNull()
				}
				e.Child(1).AppendNull()
				e.AppendNested()
			}
			b.AppendNested()
		}, "l.element.`a b`"},
		{"nothing demanded", Field{Name: "l", Type: list(member(false))}, func(b *Builder) { b.Child(0).AppendNull(); b.AppendNested() }, ""},
	} {
		b := NewBuilder(c.field.Type, 1)
		c.fill(b)
		col := b.Column()
		if got := Missing(c.field, &col, 0); got != c.want {
			t.Errorf("%s: got %q, want %q", c.name, got, c.want)
		}
		if c.want != "" && !c.field.Demands() {
			t.Errorf("%s: demands nothing", c.name)
		}
	}
}
