package dialect

import (
	"fmt"
	"math/big"

	"sluice/batch"
	"sluice/syntax"
)

const (
	caseDomain  = "exact for letters that change into one letter; ß and its kind stay one letter"
	plainLetter = "exact for text without combining characters"
)

var texts = []*function{
	{name: "upper ucase", args: "text", min: 1, max: 1, exact: caseDomain, bind: simple(text, "upper(%s)", text)},
	{name: "lower lcase", args: "text", min: 1, max: 1, exact: caseDomain, bind: simple(text, "lower(%s)", text)},
	{name: "length char_length character_length len", args: "text or binary", min: 1, max: 1, exact: exact, bind: bindLength},
	{name: "octet_length", args: "text or binary", min: 1, max: 1, exact: exact, bind: func(c *call) value {
		return compose(integer, "CAST(octet_length(%s) AS INTEGER)", c.asBytes())
	}},
	{name: "trim", args: "[characters,] text", min: 1, max: 3, exact: exact, bind: bindTrim},
	{name: "btrim", args: "text [, characters]", min: 1, max: 2, exact: exact, bind: func(c *call) value { return c.trim("trim", 0, 1) }},
	{name: "ltrim", args: "[characters,] text", min: 1, max: 2, exact: exact, bind: func(c *call) value { return c.trim("ltrim", len(c.args)-1, 0) }},
	{name: "rtrim", args: "[characters,] text", min: 1, max: 2, exact: exact, bind: func(c *call) value { return c.trim("rtrim", len(c.args)-1, 0) }},
	{name: "substring substr", args: "text, position [, length]", min: 2, max: 3, exact: exact, bind: bindSubstring},
	{name: "left", args: "text, length", min: 2, max: 2, exact: exact, bind: func(c *call) value {
		return compose(text, "substring(%s, 1, %s)", c.as(0, text), notNegative(c.as(1, integer)))
	}},
	{name: "right", args: "text, length", min: 2, max: 2, exact: exact, bind: func(c *call) value {
		return compose(text, "substring(%[1]s, CASE WHEN %[2]s < length(%[1]s) THEN length(%[1]s) - %[2]s + 1 WHEN %[2]s IS NOT NULL THEN 1 END)",
			c.as(0, text), notNegative(c.as(1, integer)))
	}},
	{name: "concat", args: "x, ...", min: 0, max: -1, exact: "exact; null if any is null; arrays are refused", bind: func(c *call) value { return c.concat(c.args, c.pos) }},
	{name: "concat_ws", args: "separator, text, ...", min: 1, max: -1, exact: "exact; arrays are refused", bind: bindConcatWS},
	{name: "replace", args: "text, search [, by]", min: 2, max: 3, exact: exact, bind: bindReplace},
	{name: "translate", args: "text, from, to", min: 3, max: 3, exact: exact, bind: simple(text, "translate(%s, %s, %s)", text)},
	{name: "lpad", args: "text, length [, pad]", min: 2, max: 3, exact: plainLetter, bind: bindPad},
	{name: "rpad", args: "text, length [, pad]", min: 2, max: 3, exact: plainLetter, bind: bindPad},
	{name: "instr", args: "text, search", min: 2, max: 2, exact: exact, bind: func(c *call) value { return c.locate(0, 1, -1) }},
	{name: "locate position", args: "search, text [, from]", min: 2, max: 3, exact: exact, bind: func(c *call) value { return c.locate(1, 0, 2) }},
	{name: "startswith", args: "text, prefix", min: 2, max: 2, exact: exact, bind: simple(boolean, "starts_with(%s, %s)", text)},
	{name: "endswith", args: "text, suffix", min: 2, max: 2, exact: exact, bind: simple(boolean, "ends_with(%s, %s)", text)},
	{name: "contains", args: "text, search", min: 2, max: 2, exact: exact, bind: simple(boolean, "contains(%s, %s)", text)},
	{name: "regexp_like", args: "text, pattern", min: 2, max: 2, exact: "as RLIKE", bind: bindRegexpLike},
	{name: "regexp_extract", args: "text, pattern [, group]", min: 2, max: 3, exact: "as RLIKE; group is a constant", bind: bindRegexpExtract},
	{name: "split", args: "text, pattern", min: 2, max: 2, exact: "exact; the pattern is constant, literal text that is not empty", bind: bindSplit},
	{name: "reverse", args: "text", min: 1, max: 1, exact: plainLetter, bind: simple(text, "reverse(%s)", text)},
	{name: "repeat", args: "text, times", min: 2, max: 2, exact: exact, bind: func(c *call) value {
		return compose(text, "repeat(%s, CAST(%s AS BIGINT))", c.as(0, text), notNegative(c.as(1, integer)))
	}},
	{name: "ascii", args: "text", min: 1, max: 1, exact: "exact for ASCII and empty text; code points beyond 65535 differ", bind: simple(integer, "CASE WHEN %[1]s = '' THEN 0 ELSE CAST(unicode(%[1]s) AS INTEGER) END", text)},
	{name: "md5", args: "text or binary", min: 1, max: 1, exact: exact, bind: func(c *call) value { return c.ofBytes("md5(%s)") }},
	{name: "sha sha1", args: "text or binary", min: 1, max: 1, exact: exact, bind: func(c *call) value { return c.ofBytes("sha1(%s)") }},
	{name: "sha2", args: "text or binary, 256", min: 2, max: 2, exact: "exact; 0 is 256, other lengths are refused", bind: bindSha2},
	{name: "hex", args: "x", min: 1, max: 1, exact: exact, bind: bindHex},
	{name: "unhex", args: "text", min: 1, max: 1, exact: exact, bind: simple(binary,
		"CASE WHEN regexp_full_match(%[1]s, '[0-9A-Fa-f]*') THEN unhex(CASE WHEN length(%[1]s) %% 2 = 1 THEN '0' || %[1]s ELSE %[1]s END) END", text)},
	{name: "base64", args: "text or binary", min: 1, max: 1, exact: exact, bind: func(c *call) value {
		return compose(text, "to_base64(%s)", c.convert(c.bytes(), binary, false))
	}},
}

// notNegative is an INT, or 0 where it is below. (greatest() would make 0 of a null.)
func notNegative(n value) value {
	if i, ok := constantInt(n); ok && i >= 0 {
		return n
	}
	return compose(integer, "CASE WHEN %[1]s < 0 THEN 0 ELSE %[1]s END", n)
}

// bytes is argument 0, a text or bytes; other types are not made text here.
func (c *call) bytes() value {
	if k := c.args[0].typ.Kind; k == batch.Binary || k == batch.String {
		return c.args[0]
	}
	if c.args[0].typ.Kind != batch.Void {
		return c.mistyped(0, "BINARY or STRING")
	}
	return c.as(0, text)
}

// asBytes is argument 0 as BINARY.
func (c *call) asBytes() value {
	if c.args[0].typ.Kind == batch.Binary {
		return c.args[0]
	}
	return c.convert(c.as(0, text), binary, false)
}

func (c *call) ofBytes(format string) value { return compose(text, format, c.bytes()) }

func bindLength(c *call) value {
	if c.args[0].typ.Kind == batch.Binary {
		return compose(integer, "CAST(octet_length(%s) AS INTEGER)", c.args[0])
	}
	return compose(integer, "CAST(length(%s) AS INTEGER)", c.as(0, text))
}

// trim takes characters, blanks if none are given, off the ends of a text. Only the blank itself counts as one.
func (c *call) trim(function string, x, characters int) value {
	chars := textValue(" ")
	if len(c.args) > 1 {
		chars = c.as(characters, text)
	}
	return compose(text, function+"(%s, %s)", c.as(x, text), chars)
}

var trimSides = map[string]string{"BOTH": "trim", "LEADING": "ltrim", "TRAILING": "rtrim"}

// bindTrim takes trim(x), trim(characters, x) and TRIM(side [characters] FROM x), which the parser hands over with the side in
// front.
func bindTrim(c *call) value {
	if side, ok := c.trimSide(); ok {
		rest := *c
		rest.args = c.args[1:]
		return rest.trim(trimSides[side], len(rest.args)-1, 0)
	}
	if len(c.args) == 3 {
		return c.refuse("write trim(BOTH characters FROM text)", "trim with three arguments is not supported")
	}
	return c.trim("trim", len(c.args)-1, 0)
}

// trimSide reports the side of a TRIM that was written with FROM. A plain call that has the text 'BOTH' in front means the
// same only by chance; the parser tells them apart by the place of the text's inside.
func (c *call) trimSide() (string, bool) {
	lit, ok := c.expr.Args[0].(*syntax.Literal)
	if !ok || lit.Kind != syntax.StringLiteral || trimSides[lit.Text] == "" || len(c.args) < 2 {
		return "", false
	}
	return lit.Text, lit.TextPos == lit.Pos
}

// bindSubstring counts from 1, from the end where the position is negative; 0 is the same as 1.
func bindSubstring(c *call) value {
	if c.args[0].typ.Kind == batch.Binary {
		return c.refuse("CAST to STRING, or take it apart before", "substring of BINARY is not supported")
	}
	x, pos, length := c.as(0, text), c.as(1, integer), integerValue(big.NewInt(1<<31-1), integer)
	if c.has(2) {
		length = c.as(2, integer)
	}
	if isBroken(x, pos, length) {
		return wrong(c.pos)
	}
	if n, ok := constantInt(pos); ok && n >= 0 {
		if !c.has(2) {
			return compose(text, fmt.Sprintf("substring(%%s, %d)", max(n, 1)), x)
		}
		return compose(text, fmt.Sprintf("substring(%%s, %d, %%s)", max(n, 1)), x, notNegative(length))
	}
	// start counts from 0 and may lie before the text; then as much of the length is used up.
	start := compose(bigint, "CASE WHEN %[2]s > 0 THEN CAST(%[2]s AS BIGINT) - 1 WHEN %[2]s < 0 THEN length(%[1]s) + %[2]s WHEN %[2]s = 0 THEN 0 END", x, pos)
	return compose(text, "CASE WHEN %[2]s >= 0 THEN substring(%[1]s, %[2]s + 1, %[4]s) WHEN %[2]s + %[3]s <= 0 THEN CASE WHEN %[1]s IS NOT NULL THEN '' END "+
		"ELSE substring(%[1]s, 1, %[2]s + %[3]s) END", x, start, length, notNegative(length))
}

func constantInt(v value) (int, bool) {
	var n int
	if v.konst == nil || v.konst.null || !v.typ.IsInteger() {
		return 0, false
	}
	_, err := fmt.Sscanf(v.konst.text, "%d", &n)
	return n, err == nil
}

// concat puts texts together, or bytes; anything else becomes text.
func (f *frame) concat(args []value, pos syntax.Pos) value {
	if isBroken(args...) {
		return wrong(pos)
	}
	if len(args) == 0 {
		return textValue("")
	}
	typ, nulls := binary, true
	for _, a := range args {
		if a.typ.Kind != batch.Binary && a.typ.Kind != batch.Void {
			typ = text
		}
		nulls = nulls && a.typ.Kind == batch.Void
		if a.typ.IsNested() {
			return f.fail(unsupported("concat of %s is not supported", a.typ).At(a.pos).WithHint("concat takes texts"))
		}
	}
	if nulls {
		typ = text
	}
	parts := make([]value, len(args))
	for i, a := range args {
		parts[i] = f.argument(a, typ, "concat")
	}
	return compose(typ, "("+repeated(len(parts), " || ")+")", parts...)
}

func bindConcatWS(c *call) value {
	parts := c.all(text)
	switch {
	case isBroken(parts...):
		return wrong(c.pos)
	case len(parts) == 1:
		return compose(text, "CASE WHEN %s IS NOT NULL THEN '' END", parts[0])
	}
	return compose(text, "concat_ws("+placeholders(len(parts))+")", parts...)
}

func bindReplace(c *call) value {
	by := textValue("")
	if c.has(2) {
		by = c.as(2, text)
	}
	return compose(text, "replace(%s, %s, %s)", c.as(0, text), c.as(1, text), by)
}

// bindPad cuts off where the text is longer than asked for.
func bindPad(c *call) value {
	pad := textValue(" ")
	if c.has(2) {
		pad = c.as(2, text)
	}
	x, n := c.as(0, text), c.as(1, integer)
	if isBroken(x, n, pad) {
		return wrong(c.pos)
	}
	if s, ok := pad.text(); ok && s != "" {
		return compose(text, c.name+"(%s, %s, %s)", x, notNegative(n), pad)
	}
	return compose(text, "CASE WHEN %[3]s = '' OR length(%[1]s) >= %[2]s THEN CASE WHEN %[3]s IS NOT NULL THEN substring(%[1]s, 1, %[2]s) END ELSE "+
		c.name+"(%[1]s, %[2]s, %[3]s) END", x, notNegative(n), pad)
}

// locate is the place of a text in another one, 0 if it has none.
func (c *call) locate(x, search, from int) value {
	in, what := c.as(x, text), c.as(search, text)
	if !c.has(from) || from < 0 {
		return compose(integer, "CAST(instr(%s, %s) AS INTEGER)", in, what)
	}
	n := c.as(from, integer)
	if isBroken(in, what, n) {
		return wrong(c.pos)
	}
	found := "instr(substring(%[1]s, %[3]s), %[2]s)"
	return compose(integer, "CASE WHEN %[1]s IS NULL OR %[2]s IS NULL THEN NULL WHEN %[3]s IS NULL OR %[3]s < 1 THEN 0 WHEN %[2]s = '' THEN 1 "+
		"WHEN "+found+" = 0 THEN 0 ELSE CAST("+found+" + %[3]s - 1 AS INTEGER) END", in, what, n)
}

func bindRegexpLike(c *call) value {
	regex, isNull, ok := c.regex(1)
	if !ok {
		return wrong(c.pos)
	}
	if isNull {
		return c.convert(null(), boolean, false)
	}
	return compose(boolean, "regexp_matches(%s, "+quoteFormat(regex)+")", c.as(0, text))
}

// regex is argument i, a constant regular expression, as RE2 has it.
func (c *call) regex(i int) (regex string, isNull, ok bool) {
	p, isNull, ok := c.constText(i)
	if !ok || isNull {
		return "", isNull, ok
	}
	regex, err := javaRegex(p)
	if err != nil {
		c.report(regexError(p, err).At(c.args[i].pos))
		return "", false, false
	}
	return regex, false, true
}

func bindRegexpExtract(c *call) value {
	group := 1
	if c.has(2) {
		n, ok := c.constInt(2)
		if !ok {
			return wrong(c.pos)
		}
		group = n
	}
	regex, isNull, ok := c.regex(1)
	if !ok {
		return wrong(c.pos)
	}
	if isNull {
		return c.convert(null(), text, false)
	}
	if groups := captures(regex); group < 0 || group > groups || group > 9 {
		return c.refuse("count the opening parentheses, from 1", "the pattern has %d groups, and group %d is asked for", groups, group)
	}
	return compose(text, fmt.Sprintf("regexp_extract(%%s, %s, %d)", quoteFormat(regex), group), c.as(0, text))
}

// bindSplit cuts at a text. Spark's pattern is a regular expression; only those that mean one text are taken.
func bindSplit(c *call) value {
	p, isNull, ok := c.constText(1)
	if !ok {
		return wrong(c.pos)
	}
	if isNull {
		return c.convert(null(), batch.ArrayOf(text), false)
	}
	plain, ok := plainPattern(p)
	if !ok {
		return c.fail(unsupported("split at the pattern %q is not supported", p).At(c.args[1].pos).WithHint("split at a literal text; \\\\ stands in front of special characters"))
	}
	return compose(batch.ArrayOf(text), "string_split(%s, "+quoteFormat(plain)+")", c.as(0, text))
}

func bindSha2(c *call) value {
	n, ok := c.constInt(1)
	if !ok {
		return wrong(c.pos)
	}
	if n != 0 && n != 256 {
		return c.refuse("use sha2(x, 256)", "sha2 of %d bits is not supported", n)
	}
	return compose(text, "sha256(%s)", c.bytes())
}

func bindHex(c *call) value {
	x := c.args[0]
	switch {
	case x.typ.Kind == batch.Binary:
	case x.typ.IsNumeric():
		x = c.as(0, bigint)
	default:
		x = c.as(0, text)
	}
	return compose(text, "hex(%s)", x)
}
