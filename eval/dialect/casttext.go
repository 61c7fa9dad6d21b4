package dialect

import (
	"fmt"
	"strings"

	"sluice/batch"
)

// blanks are the characters that Spark ignores around a text that is cast, as far as DuckDB's casts ignore them too.
const blanks = " \t\n\v\f\r"

// trimmed writes x without blanks around it.
func trimmed(x string) string { return fmt.Sprintf("trim(%s, %s)", x, quoteText(blanks)) }

// Texts of dates and times that casts take. Years have four digits; a time has hours and minutes at least, and seconds in
// front of a zone, which is Z, UTC, GMT or an offset.
const (
	dayForm     = `[0-9]{4}-(0?[1-9]|1[0-2])-(0?[1-9]|[12][0-9]|3[01])`
	clockForm   = `[ T]([01]?[0-9]|2[0-3]):[0-5]?[0-9](:[0-5]?[0-9]([.][0-9]*)?)?`
	secondsForm = `[ T]([01]?[0-9]|2[0-3]):[0-5]?[0-9]:[0-5]?[0-9]([.][0-9]*)?`
	zoneForm    = `( ?(Z|UTC|GMT)|[+-](0[0-9]|1[0-7])(:[0-5][0-9])?)`
)

// fromText casts a STRING. DuckDB takes texts that Spark refuses (1_000, 1e3 and 1.5 as integers, 2024/01/05), so the form is
// looked at first.
func (c *caster) fromText(x string, to batch.Type) string {
	switch to.Kind {
	case batch.TinyInt, batch.SmallInt, batch.Int, batch.BigInt:
		return c.guarded(fmt.Sprintf("trim(%s, %s) = ''", x, quoteText("0123456789+-"+blanks)), c.cast(x, to), x, to)
	case batch.Decimal: // DuckDB rounds texts with a negative exponent wrongly
		return c.guarded(fmt.Sprintf("NOT contains(%[1]s, '_') AND NOT contains(lower(%[1]s), 'x') AND NOT contains(lower(%[1]s), 'e-')", x), c.cast(x, to), x, to)
	case batch.Float, batch.Double:
		return c.guarded(fmt.Sprintf("NOT contains(%[1]s, '_') AND NOT contains(lower(%[1]s), 'x')", x), c.cast(x, to), x, to)
	case batch.Boolean:
		word := fmt.Sprintf("lower(%s)", trimmed(x))
		return fmt.Sprintf("CASE WHEN %[1]s IN ('t', 'true', 'y', 'yes', '1') THEN TRUE WHEN %[1]s IN ('f', 'false', 'n', 'no', '0') THEN FALSE ELSE %[2]s END",
			word, c.invalid(x, to))
	case batch.Binary:
		return fmt.Sprintf("encode(%s)", x)
	case batch.Date:
		return c.textToDate(x)
	case batch.TimestampNTZ:
		day := trimmed(x)
		return c.guarded(fullMatch(day, dayForm+"("+clockForm+")?"), c.cast(day, to), x, to)
	}
	return c.textToInstant(x)
}

// guarded casts where the text has the right form. NULL stays NULL.
func (c *caster) guarded(condition, cast, x string, to batch.Type) string {
	return fmt.Sprintf("CASE WHEN %s THEN %s ELSE %s END", condition, cast, c.invalid(x, to))
}

func fullMatch(x, pattern string) string {
	return fmt.Sprintf("regexp_full_match(%s, %s)", x, quoteText(pattern))
}

// textToDate takes yyyy-M-d, with anything behind a blank or T.
func (c *caster) textToDate(x string) string {
	day := trimmed(x)
	return fmt.Sprintf("CASE WHEN %s THEN %s WHEN %s THEN %s ELSE %s END",
		fullMatch(day, dayForm), c.cast(day, date),
		fullMatch(day, "(?s)"+dayForm+"[ T].*"), c.cast(fmt.Sprintf("regexp_extract(%s, '^[0-9-]+')", day), date),
		c.invalid(x, date))
}

// textToInstant takes a local time of the session's zone, or one with a zone of its own.
func (c *caster) textToInstant(x string) string {
	when := trimmed(x)
	zoned := fmt.Sprintf("regexp_replace(%s, ' ?(Z|UTC|GMT)$', '+00:00')", when)
	return fmt.Sprintf("CASE WHEN %s THEN %s WHEN %s THEN %s ELSE %s END",
		fullMatch(when, dayForm+"("+clockForm+")?"), c.zone.instant(c.cast(when, localTime)),
		fullMatch(when, dayForm+secondsForm+zoneForm), c.cast(zoned, timestamp),
		c.invalid(x, timestamp))
}

// toText casts to STRING.
func (c *caster) toText(x string, from batch.Type) string {
	switch from.Kind {
	case batch.Timestamp:
		return safe(c.zone.local(x), text)
	case batch.Double:
		return fractionalText(x)
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

// fractionalText writes a DOUBLE as Java does from version 19 on, with the fewest digits: plain from 0.001 up to ten million, else with an exponent.
func fractionalText(x string) string {
	t := safe(x, text)
	exponent := func(digits, power string) string { // one digit, a point, the others
		d := fmt.Sprintf("rtrim(%s, '0')", digits)
		return fmt.Sprintf("CASE WHEN %[1]s < 0 THEN '-' ELSE '' END || left(%[2]s, 1) || '.' || CASE WHEN length(%[2]s) > 1 THEN substring(%[2]s, 2) ELSE '0' END || 'E' || %[3]s", x, d, power)
	}
	plain := fmt.Sprintf("ltrim(%s, '-')", t)
	whole := fmt.Sprintf("split_part(%s, '.', 1)", plain)
	small := fmt.Sprintf("substring(%s, 3)", plain) // behind 0.
	var b strings.Builder
	b.WriteString("CASE")
	fmt.Fprintf(&b, " WHEN isnan(%s) THEN 'NaN' WHEN isinf(%s) THEN CASE WHEN %s < 0 THEN '-Infinity' ELSE 'Infinity' END", x, x, x)
	fmt.Fprintf(&b, " WHEN %[1]s = 0 OR abs(%[1]s) >= 0.001 AND abs(%[1]s) < 10000000 THEN %[2]s", x, t)
	fmt.Fprintf(&b, " WHEN contains(%s, 'e') THEN %s", t, exponent(
		fmt.Sprintf("replace(split_part(%s, 'e', 1), '.', '')", plain), fmt.Sprintf("CAST(CAST(split_part(%s, 'e', 2) AS INTEGER) AS VARCHAR)", t)))
	fmt.Fprintf(&b, " WHEN abs(%s) >= 1 THEN %s", x, exponent(
		fmt.Sprintf("replace(%s, '.', '')", plain), fmt.Sprintf("CAST(length(%s) - 1 AS VARCHAR)", whole)))
	fmt.Fprintf(&b, " ELSE %s END", exponent(
		fmt.Sprintf("ltrim(%s, '0')", small), fmt.Sprintf("CAST(length(ltrim(%[1]s, '0')) - length(%[1]s) - 1 AS VARCHAR)", small)))
	return b.String()
}
