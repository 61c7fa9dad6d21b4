package option

import (
	"strings"
	"testing"

	"sluice/fault"
)

// what an environment variable that was never filled leaves is refused by every kind, and stands for no default, no
// zero and no false.
func TestABlankValueIsRefusedByEveryKind(t *testing.T) {
	set := Set{
		{Name: "text", Default: "x"}, {Name: "needed", Required: true}, {Name: "hidden", Secret: true}, {Name: "kafka.", Prefix: true},
		{Name: "bool", Kind: Bool, Default: "true"}, {Name: "int", Kind: Int}, {Name: "duration", Kind: Duration, Default: "30s"},
		{Name: "size", Kind: Size, Default: "1MiB"}, {Name: "enum", Kind: Enum, Values: []string{"a", "b"}, Default: "a"}, {Name: "list", Kind: List},
	}
	for _, spec := range set {
		name := spec.Name
		if spec.Prefix {
			name += "anything"
		}
		for _, value := range []string{"", " ", "\t \n"} {
			_, problems := set.Parse("test", []Given{{Name: name, Value: value, Secret: true}}, fault.Pos{})
			if !fault.Of(problems, fault.InvalidOption) || !strings.Contains(problems.Error(), "leave the option out") {
				t.Errorf("%s %q: %v", name, value, problems)
			}
		}
	}
	if _, problems := set.Parse("test", []Given{{Name: "list", Value: " , ,"}, {Name: "needed", Value: "x"}}, fault.Pos{}); len(problems) != 1 {
		t.Errorf("a list of nothing: %v", problems)
	}
}

func TestABlankValueThatSaysSomething(t *testing.T) {
	set := Set{{Name: "null", Default: "NULL", Blank: true}, {Name: "check", Kind: Enum, Values: []string{"https", ""}, Default: "https"}}
	v, problems := set.Parse("test", []Given{{Name: "null"}, {Name: "check"}}, fault.Pos{})
	if len(problems) > 0 || v.String("null") != "" || v.String("check") != "" {
		t.Errorf("%v %v", problems, v.All())
	}
}

// what is no duration, or one that no clock counts, is refused, and is no short time.
func TestParseDurationDoesNotOverflow(t *testing.T) {
	for _, text := range []string{"2000000000 weeks", "200000 days", "1e9h", "7 d", "-1", "", " ", "foobar"} {
		if d, err := ParseDuration(text); err == nil {
			t.Errorf("%q is %v", text, d)
		}
	}
	if d, err := ParseDuration("100 weeks"); err != nil || d.Hours() != 100*7*24 {
		t.Errorf("%v %v", d, err)
	}
}

// One mistake is one problem: an option with a wrong value is not missing as well.
func TestAWrongValueIsNotMissing(t *testing.T) {
	set := Set{{Name: "format", Kind: Enum, Values: []string{"csv"}, Required: true}, {Name: "path", Required: true}}
	_, problems := set.Parse("test", []Given{{Name: "FORMAT", Value: "parquet"}, {Name: "path"}}, fault.Pos{})
	if len(problems) != 2 || problems[0].Code != fault.InvalidOption || problems[1].Code != fault.InvalidOption {
		t.Error(problems)
	}
}

// the nearest name is found where the mistake leaves out the first part of it, or joins its words in another way, too.
func TestNearest(t *testing.T) {
	candidates := []string{"subscribe", "kafka.isolation.level", "kafka.client.id", "sluice.memory_limit", "id"}
	for name, want := range map[string]string{"isolation_levl": "kafka.isolation.level", "isolationLevel": "kafka.isolation.level", "subscrib": "subscribe",
		"memory-limit": "sluice.memory_limit", "kafka.isolation.levl": "kafka.isolation.level", "ix": "id", "color": "", "isolation": ""} {
		if got := Nearest(name, candidates); got != want {
			t.Errorf("nearest to %q is %q, want %q", name, got, want)
		}
	}
}
