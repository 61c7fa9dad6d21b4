package option

import (
	"strings"
	"testing"

	"sluice/fault"
)

func TestChange(t *testing.T) {
	set := Set{{Name: "path"}, {Name: "kafka.", Prefix: true}, {Name: "limit", Kind: Int, Default: "7"}}
	v, problems := set.Parse("test", []Given{{Name: "path", Value: "a"}, {Name: "kafka.sasl.password", Value: "b"}, {Name: "limit", Value: "3"}}, fault.Pos{})
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	w := v.Without(func(name string) bool { return strings.HasPrefix(name, "kafka.") || name == "limit" }).With(Given{Name: "path", Value: "c"})
	if w.String("path") != "c" || w.Int("limit") != 7 || w.Has("kafka.sasl.password") {
		t.Errorf("%v", w.All())
	}
	if v.String("path") != "a" || v.Int("limit") != 3 || !v.Has("kafka.sasl.password") {
		t.Errorf("the original changed: %v", v.All())
	}
	if !set.Has("PATH") || !set.Has("kafka.x") || set.Has("kafka.") || set.Has("other") {
		t.Error("Has")
	}
}
