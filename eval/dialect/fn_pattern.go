package dialect

import (
	"fmt"
	"strconv"

	"sluice/batch"
	"sluice/eval/builtin"
	"sluice/fault"
)

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

// bindRegexp is a function of a text and a pattern.
func bindRegexp(name string, typ batch.Type) func(*call) value {
	return func(c *call) value { return c.matched(name, typ, nil) }
}

// matched calls a function of package builtin over argument 0, with the pattern that argument 1 is.
func (c *call) matched(name string, typ batch.Type, options func(regex string) ([][2]string, bool)) value {
	regex, isNull, ok := c.regex(1)
	x := c.as(0, text)
	if !ok || isBroken(x) {
		return wrong(c.pos)
	}
	if isNull {
		return c.convert(null(), typ, false)
	}
	var all [][2]string
	if options != nil {
		if all, ok = options(regex); !ok {
			return wrong(c.pos)
		}
	}
	return c.builtin(name, typ, append(all, [2]string{"regex", regex}), x)
}

func bindMatch(name string, typ batch.Type) func(*call) value {
	return func(c *call) value {
		return c.matched(name, typ, func(regex string) ([][2]string, bool) {
			group := 1
			if c.has(2) {
				n, ok := c.constInt(2)
				if !ok {
					return nil, false
				}
				group = n
			}
			if groups := captures(regex); group < 0 || group > groups {
				c.report(fault.New(fault.InvalidParameter, "the pattern has %s, and group %d is asked for", counted(groups, "group"), group).At(c.pos).
					WithHint("count the opening parentheses, from 1; group 0 is the whole match"))
				return nil, false
			}
			return [][2]string{{"group", strconv.Itoa(group)}}, true
		})
	}
}

func bindRegexpReplace(c *call) value {
	by, isNull, ok := c.constText(2)
	position := 1
	switch {
	case !ok:
		return wrong(c.pos)
	case isNull || c.has(3) && c.args[3].isNull():
		return c.convert(null(), text, false)
	case c.has(3):
		if position, ok = c.constInt(3); !ok {
			return wrong(c.pos)
		}
		if position < 1 {
			return c.fail(fault.New(fault.ValueOutOfRange, "the position is %d; the first character is 1", position).At(c.args[3].pos))
		}
	}
	return c.matched("regexp_replace", text, func(regex string) ([][2]string, bool) {
		if _, ok := builtin.ParseReplacement(by, captures(regex)); !ok {
			c.report(fault.New(fault.InvalidReplacement, "the replacement %q names a group that the pattern does not have", by).At(c.args[2].pos).
				WithHint("$1 is the first group; in '...' a $ itself is written \\\\$, and a backslash four times"))
			return nil, false
		}
		return [][2]string{{"by", by}, {"skipped", strconv.Itoa(position - 1)}}, true
	})
}

// bindSplit leaves the cuts at one plain text to DuckDB.
func bindSplit(c *call) value {
	typ := batch.ArrayOf(text)
	p, isNull, ok := c.constText(1)
	if !ok {
		return wrong(c.pos)
	}
	if isNull || c.has(2) && c.args[2].isNull() {
		return c.convert(null(), typ, false)
	}
	limit := 0
	if c.has(2) {
		if limit, ok = c.constInt(2); !ok {
			return wrong(c.pos)
		}
	}
	if plain, ok := plainPattern(p); ok && limit <= 0 {
		return compose(typ, "string_split(%s, "+quoteFormat(plain)+")", c.as(0, text))
	}
	if p == "" {
		return c.builtin("characters", typ, [][2]string{{"limit", fmt.Sprint(limit)}}, c.as(0, text))
	}
	return c.matched("split", typ, func(string) ([][2]string, bool) { return [][2]string{{"limit", fmt.Sprint(limit)}}, true })
}
