package builtin

import (
	"math/big"

	"sluice/batch"
	"sluice/fault"
	"sluice/format"
)

// newRoundDecimal rounds a DECIMAL to the option "places" behind the point, in front of it where negative; the option "half" says
// where halves go: "up", away from zero, or to the "even" digit.
func newRoundDecimal(s *Spec) (Function, error) {
	places, mode := atoi(s.Options["places"]), s.Options["half"]
	scale, result := int(s.Args[0].Scale), s.Result
	drop := max(scale-places, 0) // digits
	unit := powerOfTen(drop)
	grow := powerOfTen(max(int(result.Scale)-scale+drop, 0))
	half := new(big.Int).Rsh(unit, 1)
	limit := powerOfTen(int(result.Precision))
	var n, rest big.Int
	return strict(func(args []batch.Column, i int, out *batch.Builder) *fault.Error {
		setInt128(&n, format.DecimalAt(&args[0], i))
		negative := n.Sign() < 0
		n.QuoRem(n.Abs(&n), unit, &rest)
		if drop > 0 && away(mode, negative, n.Bit(0) == 1, rest.Sign() != 0, rest.Cmp(half)) {
			n.Add(&n, one)
		}
		if n.Mul(&n, grow); n.Cmp(limit) >= 0 {
			return fault.New(fault.NumericOutOfRange, "the rounded number has too many digits for %s", result)
		}
		v := batch.Int128{Lo: new(big.Int).And(&n, lowWord).Uint64(), Hi: new(big.Int).Rsh(&n, 64).Int64()}
		if negative {
			v = format.Negate(v)
		}
		format.AppendDecimalValue(out, v)
		return nil
	}), nil
}

// away reports whether a number is rounded away from zero, which has a rest that compares with a half as cmp says.
func away(mode string, negative, odd, rest bool, cmp int) bool {
	switch mode {
	case "ceil":
		return rest && !negative
	case "floor":
		return rest && negative
	case "even":
		return cmp > 0 || cmp == 0 && odd
	}
	return cmp >= 0
}

var (
	one     = big.NewInt(1)
	lowWord = new(big.Int).SetUint64(1<<64 - 1)
)

func powerOfTen(n int) *big.Int { return new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(n)), nil) }

func setInt128(n *big.Int, v batch.Int128) {
	n.SetInt64(v.Hi)
	n.Lsh(n, 64)
	n.Add(n, new(big.Int).SetUint64(v.Lo))
}
