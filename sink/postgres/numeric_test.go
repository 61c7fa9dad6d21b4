package postgres

import (
	"encoding/binary"
	"math/big"
	"testing"

	"github.com/jackc/pgx/v5/pgtype"
	"pgregory.net/rapid"

	"sluice/batch"
)

// The library's own decoder reads back what was written.
func TestNumericAgainstTheLibrary(t *testing.T) {
	m := pgtype.NewMap()
	rapid.Check(t, func(t *rapid.T) {
		digits := rapid.StringMatching(`[0-9]{1,38}`).Draw(t, "digits")
		scale := rapid.IntRange(0, 38).Draw(t, "scale")
		want, _ := new(big.Int).SetString(digits, 10)
		if rapid.Bool().Draw(t, "negative") {
			want.Neg(want)
		}
		b := appendNumeric(nil, int128Of(want), scale)
		if int(binary.BigEndian.Uint32(b)) != len(b)-4 {
			t.Fatal("length")
		}
		var n pgtype.Numeric
		if err := m.Scan(pgtype.NumericOID, pgtype.BinaryFormatCode, b[4:], &n); err != nil {
			t.Fatal(err)
		}
		got := new(big.Rat).SetInt(n.Int)
		ten := func(e int) *big.Rat {
			return new(big.Rat).SetInt(new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(e)), nil))
		}
		if n.Exp < 0 {
			got.Quo(got, ten(int(-n.Exp)))
		} else {
			got.Mul(got, ten(int(n.Exp)))
		}
		if wanted := new(big.Rat).Quo(new(big.Rat).SetInt(want), ten(scale)); got.Cmp(wanted) != 0 {
			t.Fatalf("got %s, want %s", got, wanted)
		}
	})
}

func int128Of(v *big.Int) batch.Int128 {
	low := new(big.Int).And(v, new(big.Int).SetUint64(^uint64(0)))
	return batch.Int128{Lo: low.Uint64(), Hi: new(big.Int).Rsh(v, 64).Int64()}
}

func TestHoldsDigits(t *testing.T) {
	typmod := func(precision, scale int) int32 { return int32(precision<<16|scale&0x7ff) + 4 }
	for _, c := range []struct {
		typmod          int32
		whole, fraction int
		want            bool
	}{
		{-1, 38, 10, true}, {typmod(10, 2), 8, 2, true}, {typmod(10, 2), 9, 1, false}, {typmod(10, 2), 8, 3, false},
		{typmod(10, -2), 8, 0, false}, {typmod(19, 0), 19, 0, true}, {typmod(3, 5), 0, 2, false},
	} {
		if got := holdsDigits(c.typmod, c.whole, c.fraction); got != c.want {
			t.Errorf("%+v: %v", c, got)
		}
	}
}
