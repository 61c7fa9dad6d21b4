package option_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"sluice/fault"
	"sluice/option"
)

func TestMaskHidesValuesAndWhatIsInThem(t *testing.T) {
	mask := option.NewMask("postgres://ann:p%40ssword@db.example:5432/x", "one.example:9092, two.example", `org.x.PlainLoginModule required username="bob" password="top secret";`,
		"host=h password=plain user=u", "abc", "")
	for text, want := range map[string]string{
		"at postgres://ann:p%40ssword@db.example:5432/x": "at ******",
		"the passwords p%40ssword and p@ssword":          "the passwords ****** and ******",
		"no answer from one.example:9092,two.example":    "no answer from ******,******",
		"lookup one.example: no such host":               "lookup ******: no such host",
		`said "top secret" and plain`:                    `said "******" and ******`,
		"abc is too short to be looked for":              "abc is too short to be looked for",
	} {
		if got := mask.Text(text); got != want {
			t.Errorf("%s\ngot  %s\nwant %s", text, got, want)
		}
	}
	if (option.Mask{}).Text("as it is") != "as it is" {
		t.Error("the zero Mask hides something")
	}
}

// An error loses its secrets however it is looked at, and stays what it is.
func TestMaskKeepsWhatAnErrorIs(t *testing.T) {
	mask := option.NewMask("hush-hush")
	cause := fmt.Errorf("dial hush-hush: %w", context.DeadlineExceeded)
	coded := fault.New(fault.KafkaUnavailable, "no answer from hush-hush").WithDetail("hush-hush").WithHint("hush-hush").At(fault.Pos{File: "a.sql", Line: 1, Column: 2}).Because(cause)
	list := fault.List{coded, fault.New(fault.UnknownTopic, "fine")}
	for name, err := range map[string]error{
		"coded": coded, "list": list, "wrapped": fmt.Errorf("hush-hush: %w", coded), "wrapped list": fmt.Errorf("hush-hush: %w", list),
		"joined": errors.Join(errors.New("hush-hush"), coded), "plain": cause,
	} {
		got := mask.Error(err)
		var e *fault.Error
		var l fault.List
		switch {
		case !errors.Is(got, context.DeadlineExceeded) && name != "list" && name != "wrapped list": // a list unwraps to nothing
			t.Errorf("%s: no longer a deadline", name)
		case fault.Of(got, fault.KafkaUnavailable) != fault.Of(err, fault.KafkaUnavailable):
			t.Errorf("%s: another code", name)
		case errors.As(got, &e) && strings.Contains(e.Error(), "hush"), errors.As(got, &l) && strings.Contains(l.Error(), "hush"), strings.Contains(got.Error(), "hush"):
			t.Errorf("%s: the secret is told: %v", name, got)
		}
	}
	if !strings.Contains(coded.Error(), "hush-hush") {
		t.Error("the error itself was changed")
	}
	if err := errors.New("nothing to hide"); mask.Error(err) != err || mask.Error(nil) != nil {
		t.Error("an error without a secret was changed")
	}
}
