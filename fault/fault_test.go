package fault

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

func TestEveryCodeIsUniqueAndExplained(t *testing.T) {
	seen := map[string]bool{}
	for _, c := range Catalogue() {
		if seen[c.Name] {
			t.Errorf("%s is declared twice", c.Name)
		}
		seen[c.Name] = true
		if strings.TrimRight(c.When, ".") == c.When || c.When == "" {
			t.Errorf("%s: When must be a sentence, got %q", c.Name, c.When)
		}
	}
}

func TestErrorPrintsPositionCodeMessageAndHint(t *testing.T) {
	e := New(InternalError, "found %q", "x").At(Pos{"a.sql", 3, 7}).WithDetail("sample").WithHint("do that").Because(errors.New("boom"))
	want := `a.sql:3:7: INTERNAL_ERROR: found "x": boom (sample); hint: do that`
	if e.Error() != want {
		t.Errorf("got  %s\nwant %s", e, want)
	}
	if got := New(InternalError, "m").Because(errors.New("a\nb\n  b\n\nc")).Error(); got != "INTERNAL_ERROR: m: a; b; c" {
		t.Errorf("an error is one line, got %q", got)
	}
	if !Of(fmt.Errorf("flow f: %w", e), InternalError) || !Of(List{e}, InternalError) {
		t.Error("Of does not see through wrapping")
	}
	if From(errors.New("x")).Code != InternalError {
		t.Error("an uncoded error must become INTERNAL_ERROR")
	}
}

// What came out of a record is in an error's text, and in none that may stand in a log.
func TestPayloadsAreLeftOut(t *testing.T) {
	for _, c := range []struct {
		err         *Error
		whole, left string
	}{
		{New(NullSequence, "column %s: %q is none", "n", Payload("secret")), `column n: "secret" is none`, `column n: "…" is none`},
		{New(NullSequence, "%s", Payload("all secret")), "all secret", strings.TrimSuffix(NullSequence.When, ".")},
		{New(NullSequence, "a row").WithDetail("%s", Payload("secret")).Within("at %d", 5), "a row (at 5; secret)", "a row (at 5)"},
		{New(NullSequence, "a row").Because(errors.New("secret")), "a row: secret", "a row"},
		{New(StoreFailed, "a file").Because(errors.New("disk")).WithHint("look"), "a file: disk; hint: look", "a file: disk; hint: look"},
	} {
		name := c.err.Code.Name + ": "
		if got := c.err.Error(); got != name+c.whole {
			t.Errorf("got %s, want %s", got, c.whole)
		}
		if got := c.err.WithoutPayload().Error(); got != name+c.left {
			t.Errorf("in a log: got %s, want %s", got, c.left)
		}
	}
}

func TestListIsSortedByPosition(t *testing.T) {
	l := List{New(InternalError, "2").At(Pos{"b.sql", 1, 1}), New(InternalError, "1").At(Pos{"a.sql", 9, 1}), New(InternalError, "0").At(Pos{"a.sql", 2, 8})}
	if got := l.Err().(List); got[0].Message+got[1].Message+got[2].Message != "012" {
		t.Errorf("wrong order:\n%v", l)
	}
	if (List{}).Err() != nil {
		t.Error("an empty list is no error")
	}
}
