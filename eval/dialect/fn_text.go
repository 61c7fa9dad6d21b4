package dialect

import (
	"fmt"
	"math/big"
	"slices"

	"sluice/batch"
	"sluice/fault"
	"sluice/syntax"
)

const (
	caseDomain = "exact for the letters of Unicode 15"
)

var texts = []*function{
	{name: "upper ucase", args: "text", min: 1, max: 1, exact: caseDomain, bind: computed("upper", text, text)},
	{name: "lower lcase", args: "text", min: 1, max: 1, exact: caseDomain, bind: computed("lower", text, text)},
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
	{name: "concat", args: "x, ...", min: 0, max: -1, exact: "exact; null if any is null; also of arrays", bind: func(c *call) value { return c.concat(c.args, c.pos) }},
	{name: "concat_ws", args: "separator, text or array, ...", min: 1, max: -1, exact: exact, bind: bindConcatWS},
	{name: "replace", args: "text, search [, by]", min: 2, max: 3, exact: exact, bind: bindReplace},
	{name: "translate", args: "text, from, to", min: 3, max: 3, exact: exact, bind: simple(text, "translate(%s, %s, %s)", text)},
	{name: "lpad", args: "text, length [, pad]", min: 2, max: 3, exact: exact, bind: bindPad},
	{name: "rpad", args: "text, length [, pad]", min: 2, max: 3, exact: exact, bind: bindPad},
	{name: "instr", args: "text, search", min: 2, max: 2, exact: exact, bind: func(c *call) value { return c.locate(0, 1, -1) }},
	{name: "locate position", args: "search, text [, from]", min: 2, max: 3, exact: exact, bind: func(c *call) value { return c.locate(1, 0, 2) }},
	{name: "startswith", args: "text, prefix", min: 2, max: 2, exact: exact, bind: simple(boolean, "starts_with(%s, %s)", text)},
	{name: "endswith", args: "text, suffix", min: 2, max: 2, exact: exact, bind: simple(boolean, "ends_with(%s, %s)", text)},
	{name: "contains", args: "text, search", min: 2, max: 2, exact: exact, bind: simple(boolean, "contains(%s, %s)", text)},
	{name: "regexp_like", args: "text, pattern", min: 2, max: 2, exact: "as RLIKE", bind: bindRegexpLike},
	{name: "regexp_extract", args: "text, pattern [, group]", min: 2, max: 3, exact: "as RLIKE; group is a constant", bind: bindMatch("regexp_extract", text)},
	{name: "regexp_extract_all", args: "text, pattern [, group]", min: 2, max: 3, exact: "as RLIKE; group is a constant", bind: bindMatch("regexp_extract_all", batch.ArrayOf(text))},
	{name: "regexp_replace", args: "text, pattern, by [, position]", min: 3, max: 4, exact: "as RLIKE; pattern, by and position are constants", bind: bindRegexpReplace},
	{name: "regexp_count", args: "text, pattern", min: 2, max: 2, exact: "as RLIKE", bind: bindRegexp("regexp_count", integer)},
	{name: "regexp_substr", args: "text, pattern", min: 2, max: 2, exact: "as RLIKE", bind: bindRegexp("regexp_substr", text)},
	{name: "regexp_instr", args: "text, pattern", min: 2, max: 2, exact: "as RLIKE", bind: bindRegexp("regexp_instr", integer)},
	{name: "split", args: "text, pattern [, limit]", min: 2, max: 3, exact: "as RLIKE; pattern and limit are constants", bind: bindSplit},
	{name: "reverse", args: "text or array", min: 1, max: 1, exact: exact, bind: bindReverse},
	{name: "initcap", args: "text", min: 1, max: 1, exact: caseDomain, bind: computed("initcap", text, text)},
	{name: "split_part", args: "text, separator, part", min: 3, max: 3, exact: exact, bind: computed("split_part", text, text, text, integer)},
	{name: "substring_index", args: "text, separator, count", min: 3, max: 3, exact: exact, bind: computed("substring_index", text, text, text, integer)},
	{name: "overlay", args: "text, by, position [, length]", min: 3, max: 4, exact: exact, bind: bindOverlay},
	{name: "levenshtein", args: "text, text [, limit]", min: 2, max: 3, exact: exact, bind: computed("levenshtein", integer, text, text, integer)},
	{name: "find_in_set", args: "text, list", min: 2, max: 2, exact: exact, bind: computed("find_in_set", integer, text)},
	{name: "soundex", args: "text", min: 1, max: 1, exact: exact, bind: computed("soundex", text, text)},
	{name: "chr char", args: "number", min: 1, max: 1, exact: exact, bind: computed("chr", text, bigint)},
	{name: "space", args: "number", min: 1, max: 1, exact: exact, bind: func(c *call) value {
		return c.builtin("repeat", text, nil, textValue(" "), c.as(0, integer))
	}},
	{name: "bit_length", args: "text or binary", min: 1, max: 1, exact: exact, bind: func(c *call) value {
		return compose(integer, "CAST(octet_length(%s) * 8 AS INTEGER)", c.asBytes())
	}},
	{name: "unbase64", args: "text", min: 1, max: 1, exact: exact, bind: computed("unbase64", binary, text)},
	{name: "crc32", args: "text or binary", min: 1, max: 1, exact: exact, bind: func(c *call) value { return c.builtin("crc32", bigint, nil, c.bytes()) }},
	{name: "hash", args: "x, ...", min: 1, max: -1, exact: "exact; Murmur3 with the seed 42; maps are refused", bind: bindHash(integer)},
	{name: "xxhash64", args: "x, ...", min: 1, max: -1, exact: "exact; with the seed 42; maps are refused", bind: bindHash(bigint)},
	{name: "repeat", args: "text, times", min: 2, max: 2, exact: exact, bind: computed("repeat", text, text, integer)},
	{name: "ascii", args: "text", min: 1, max: 1, exact: exact, bind: simple(integer, "CASE WHEN %[1]s = '' THEN 0 ELSE CAST(unicode(%[1]s) AS INTEGER) END", text)},
	{name: "md5", args: "text or binary", min: 1, max: 1, exact: exact, bind: func(c *call) value { return c.ofBytes("md5(%s)") }},
	{name: "sha sha1", args: "text or binary", min: 1, max: 1, exact: exact, bind: func(c *call) value { return c.ofBytes("sha1(%s)") }},
	{name: "sha2", args: "text or binary, bits", min: 2, max: 2, exact: "exact; bits is a constant", bind: bindSha2},
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
	if slices.ContainsFunc(args, func(a value) bool { return a.typ.Kind == batch.Array }) {
		return f.concatArrays(args, pos)
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

func bindReplace(c *call) value {
	by := textValue("")
	if c.has(2) {
		by = c.as(2, text)
	}
	return c.builtin("replace", text, nil, c.as(0, text), c.as(1, text), by)
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

// bindSha2 leaves the usual length to DuckDB; one that does not exist is NULL.
func bindSha2(c *call) value {
	n, ok := c.constInt(1)
	x := c.bytes()
	switch {
	case !ok || isBroken(x):
		return wrong(c.pos)
	case n == 0 || n == 256:
		return compose(text, "sha256(%s)", x)
	case n == 224 || n == 384 || n == 512:
		return c.builtin("sha2", text, [][2]string{{"bits", fmt.Sprint(n)}}, x)
	}
	return derive(text, "CAST(NULL AS VARCHAR)", x)
}

// bindConcatWS leaves nulls out, also those in arrays.
func bindConcatWS(c *call) value {
	separator := c.as(0, text)
	parts := []value{separator}
	for i, a := range c.args[1:] {
		if a.typ.Kind == batch.Array {
			parts = append(parts, c.joined(a, separator))
		} else {
			parts = append(parts, c.as(i+1, text))
		}
	}
	switch {
	case isBroken(parts...):
		return wrong(c.pos)
	case len(parts) == 1:
		return compose(text, "CASE WHEN %s IS NOT NULL THEN '' END", parts[0])
	}
	return compose(text, "concat_ws("+placeholders(len(parts))+")", parts...)
}

// joined is the texts of an array with a separator between them, NULL when there are none.
func (c *call) joined(array, separator value) value {
	typ := batch.ArrayOf(text)
	if !castable(array.typ, typ) {
		return c.fail(fault.New(fault.UnexpectedInput, "%s takes texts and arrays of texts, not %s", c.name, array.typ).At(array.pos))
	}
	texts := c.builtin("array_compact", typ, nil, c.convert(array, typ, false))
	if isBroken(texts, separator) {
		return wrong(c.pos)
	}
	some := compose(typ, "CASE WHEN len(%[1]s) > 0 THEN %[1]s END", texts)
	return c.builtin("array_join", text, nil, some, separator)
}

// bindPad cuts off where the text is longer than asked for.
func bindPad(c *call) value {
	pad := textValue(" ")
	if c.has(2) {
		pad = c.as(2, text)
	}
	return c.builtin(c.name, text, nil, c.as(0, text), c.as(1, integer), pad)
}

func bindOverlay(c *call) value {
	length := integerValue(big.NewInt(-1), integer)
	if c.has(3) {
		length = c.as(3, integer)
	}
	return c.builtin("overlay", text, nil, c.as(0, text), c.as(1, text), c.as(2, integer), length)
}

func bindReverse(c *call) value {
	if typ := c.args[0].typ; typ.Kind == batch.Array {
		return c.builtin("reverse", typ, nil, c.args[0])
	}
	return c.builtin("reverse", text, nil, c.as(0, text))
}

func bindHash(typ batch.Type) func(*call) value {
	return func(c *call) value {
		for _, a := range c.args {
			if holds(a.typ, batch.Map) || holds(a.typ, batch.Interval) || holds(a.typ, batch.Variant) {
				return c.fail(fault.New(fault.HashMapType, "%s does not take %s", c.name, a.typ).At(a.pos).WithHint("take map_entries() or parts of it"))
			}
		}
		return c.builtin(c.name, typ, nil, slices.Clone(c.args)...)
	}
}

// concatArrays puts arrays together; null if one is null.
func (f *frame) concatArrays(args []value, pos syntax.Pos) value {
	for _, a := range args {
		if a.typ.Kind == batch.Void {
			return f.fail(fault.New(fault.DataDiffTypes, "concat has an array and a NULL without a type").At(a.pos).WithHint("CAST(NULL AS ARRAY<...>)"))
		}
	}
	args, ok := f.unify("concat", args, pos)
	if !ok {
		return wrong(pos)
	}
	c := &call{frame: f, name: "concat", pos: pos}
	return c.builtin("array_concat", args[0].typ, nil, args...)
}
