package dialect

import (
	"fmt"

	"sluice/batch"
)

// fromText casts a STRING. DuckDB takes texts that Spark refuses (1_000, 1e3 and 1.5 as integers, 2024/01/05) and refuses some that
// Spark takes (2024, 10:11:12Europe/Berlin), so it has no part in it.
func (c *caster) fromText(x string, to batch.Type) string {
	if to.Kind == batch.Binary {
		return fmt.Sprintf("encode(%s)", x)
	}
	c.raises = true
	return c.builtin("cast_text", x, text, to)
}

// toText casts to STRING.
func (c *caster) toText(x string, from batch.Type) string {
	switch from.Kind {
	case batch.Timestamp:
		return safe(c.zone.local(x), text)
	case batch.Float, batch.Double:
		return (&caster{binder: c.binder}).builtin("to_text", x, from, text)
	case batch.Decimal:
		if from.Precision == from.Scale { // DuckDB writes no zero in front of the point
			return fmt.Sprintf("CASE WHEN %[1]s < 0 THEN '-0' ELSE '0' END || ltrim(CAST(%[1]s AS VARCHAR), '-')", x)
		}
	case batch.Binary:
		c.raises = true
		return fmt.Sprintf("decode(%s)", x)
	}
	return safe(x, text)
}

// plainText writes the digits of a DOUBLE without a negative exponent: DuckDB rounds texts that have one wrongly when
// it makes a DECIMAL of them.
func plainText(x string) string {
	t := safe(x, text)
	digits := fmt.Sprintf("replace(ltrim(split_part(%s, 'e', 1), '-'), '.', '')", t)
	return fmt.Sprintf("CASE WHEN contains(%[1]s, 'e-') THEN CASE WHEN %[2]s < 0 THEN '-0.' ELSE '0.' END || repeat('0', CAST(split_part(%[1]s, 'e-', 2) AS BIGINT) - 1) || %[3]s ELSE %[1]s END",
		t, x, digits)
}
