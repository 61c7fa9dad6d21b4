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

func TestListIsSortedByPosition(t *testing.T) {
	l := List{New(InternalError, "2").At(Pos{"b.sql", 1, 1}), New(InternalError, "1").At(Pos{"a.sql", 9, 1}), New(InternalError, "0").At(Pos{"a.sql", 2, 8})}
	if got := l.Err().(List); got[0].Message+got[1].Message+got[2].Message != "012" {
		t.Errorf("wrong order:\n%v", l)
	}
	if (List{}).Err() != nil {
		t.Error("an empty list is no error")
	}
}
