package format

import (
	"math"
	"math/big"
	"strconv"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// No text makes a cast panic, what is read as a DECIMAL is nearer to the number than any other with so many digits behind the point,
// and a time that was read is one of the years that a TIMESTAMP has, give or take a zone.
func FuzzCasts(f *testing.F) {
	for _, seed := range []string{" 12.345e-2 ", "-0.005", "1e38", "0e100", "٣.٥", "2024", "2024-1-5T1:2:3.4+1:0", "2024-01-05 10:11:12 Europe/Berlin", "+9999-12-31 23:59:59.9999999UTC-18", "0x1p3"} {
		f.Add([]byte(seed), 10, 2)
	}
	zones := NewTimeParser(time.UTC)
	f.Fuzz(func(t *testing.T, text []byte, precision, scale int) {
		precision = 1 + int(uint(precision)%38)
		scale = int(uint(scale) % uint(precision+1))
		ParseDay(text)
		if at, ok := zones.Parse(text, false); ok && (at < MinTimestamp-microsPerDay || at > MaxTimestamp+microsPerDay) {
			t.Errorf("%q is %d", text, at)
		}
		v, code := ParseDecimal(text, precision, scale)
		plain := strings.TrimFunc(string(text), func(r rune) bool { return r <= ' ' })
		if i := strings.IndexAny(plain, "eE"); code != nil || i >= 0 && len(plain)-i > 4 {
			return
		}
		want, ok := new(big.Rat).SetString(plain)
		if !ok || strings.IndexFunc(plain, func(r rune) bool { return r > 0x7f }) >= 0 {
			return
		}
		unit := new(big.Rat).SetInt(new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(scale)), nil))
		have, _ := new(big.Rat).SetString(string(AppendDecimal(nil, v, scale)))
		off := new(big.Rat).Sub(want.Mul(want, unit), have.Mul(have, unit))
		if off.Abs(off).Cmp(big.NewRat(1, 2)) > 0 {
			t.Errorf("%q as DECIMAL(%d,%d) is %s", text, precision, scale, AppendDecimal(nil, v, scale))
		}
	})
}

// What Java would write comes back as the same number, with at most seventeen digits.
func TestJavaFloatsComeBack(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		x := math.Float64frombits(rapid.Uint64().Draw(r, "bits"))
		text := string(AppendJavaFloat(nil, x, 64))
		if back, err := strconv.ParseFloat(text, 64); err != nil || back != x && x == x {
			r.Errorf("%v is written as %s", x, text)
		}
		y := math.Float32frombits(rapid.Uint32().Draw(r, "bits of a FLOAT"))
		text = string(AppendJavaFloat(nil, float64(y), 32))
		if back, err := strconv.ParseFloat(text, 32); err != nil || float32(back) != y && y == y {
			r.Errorf("%v is written as %s", y, text)
		}
	})
}
