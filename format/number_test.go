package format

import (
	"fmt"
	"math/big"
	"testing"

	"pgregory.net/rapid"

	"sluice/batch"
)

func bigOf(v batch.Int128) *big.Int {
	out := new(big.Int).Lsh(big.NewInt(v.Hi), 64)
	return out.Add(out, new(big.Int).SetUint64(v.Lo))
}

// TestNumbersAgreeWithRationals scales random number texts and compares with math/big (D-8).
func TestNumbersAgreeWithRationals(t *testing.T) {
	text := rapid.StringMatching(`-?(0|[1-9][0-9]{0,40})(\.[0-9]{1,40})?([eE][+-]?[0-9]{1,2})?`)
	rapid.Check(t, func(t *rapid.T) {
		s := text.Draw(t, "text")
		precision := rapid.IntRange(1, 38).Draw(t, "precision")
		scale := rapid.IntRange(0, precision).Draw(t, "scale")
		if !IsNumber([]byte(s)) {
			t.Fatalf("%s is a number", s)
		}
		v, _ := new(big.Rat).SetString(s)
		v.Mul(v, new(big.Rat).SetInt(new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(scale)), nil)))
		limit := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(precision)), nil)
		fits := v.IsInt() && v.Num().CmpAbs(limit) < 0
		got, ok := ParseNumber([]byte(s)).Scaled(precision, scale)
		if ok != fits || ok && bigOf(got).Cmp(v.Num()) != 0 {
			t.Fatalf("%s as DECIMAL(%d,%d): %v %v, want %v %v", s, precision, scale, bigOf(got), ok, v, fits)
		}
		if !ok {
			return
		}
		printed := string(AppendDecimal(nil, got, scale))
		again, _ := new(big.Rat).SetString(printed)
		want, _ := new(big.Rat).SetString(s)
		if again.Cmp(want) != 0 {
			t.Fatalf("%s is printed as %s", s, printed)
		}
	})
}

func TestInt64(t *testing.T) {
	for text, want := range map[string]string{
		"9223372036854775807": "9223372036854775807 true", "-9223372036854775808": "-9223372036854775808 true",
		"9223372036854775808": "false", "-9223372036854775809": "false", "0.1": "false", "-0.0": "0 true", "1e18": "1000000000000000000 true", "1e19": "false",
		"100e-2": "1 true", "123456789012345678901234567890123456789": "false",
	} {
		v, ok := ParseNumber([]byte(text)).Int64()
		got := fmt.Sprint(ok)
		if ok {
			got = fmt.Sprint(v, ok)
		}
		if got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
}

func TestIsNumber(t *testing.T) {
	for _, s := range []string{"", "-", "01", "1.", ".1", "1e", "1e+", "+1", " 1", "1 ", "0x1", "1_0", "NaN", "--1", "1.2.3"} {
		if IsNumber([]byte(s)) {
			t.Errorf("%q is taken for a number", s)
		}
	}
}
