package syntax

import (
	"encoding/hex"
	"fmt"
	"strings"
)

// timeUnits are the words EXTRACT and DATEADD know; those of an interval are among them.
var (
	timeUnits     = set("YEAR QUARTER MONTH WEEK DAY DAYOFYEAR HOUR MINUTE SECOND MILLISECOND MICROSECOND")
	intervalUnits = set("YEAR MONTH WEEK DAY HOUR MINUTE SECOND MILLISECOND MICROSECOND NANOSECOND")
)

// intervalUnit gives the unit of an interval that a word names, in upper case and singular, or "".
func intervalUnit(word string) string {
	word = strings.ToUpper(word)
	if one := strings.TrimSuffix(word, "S"); intervalUnits[one] {
		return one
	}
	return ""
}

// interval reads INTERVAL 1 DAY 2 HOURS, INTERVAL '1' DAY, INTERVAL '1-2' YEAR TO MONTH and INTERVAL '1 day 2 hours'. It
// returns nil, and takes nothing, when INTERVAL is a name.
func (p *parser) interval() *Literal {
	lit := &Literal{Kind: IntervalLiteral, Pos: p.peek().pos}
	whole, amount := p.ahead(1), p.amountAt(1)
	switch {
	case amount > 0:
		p.next()
		for n := p.amountAt(0); n > 0; n = p.amountAt(0) {
			p.amount(lit, n)
		}
		return lit
	case whole.kind == text:
		p.i += 2
		lit.Secret = whole.secret
		parts, err := wholeInterval(whole.text)
		p.addParts(lit, whole, parts, err)
		return lit
	}
	return nil
}

// amountAt reports whether an amount and its unit stand n tokens on, and of how many tokens the amount is, its sign
// included.
func (p *parser) amountAt(n int) int {
	size := 1
	if p.ahead(n).is("-") || p.ahead(n).is("+") {
		size = 2
	}
	value, unit := p.ahead(n+size-1), p.ahead(n+size)
	if (value.kind == number || value.kind == text) && unit.kind == word && intervalUnit(unit.text) != "" {
		return size
	}
	return 0
}

// amount reads an amount of the given number of tokens, and its unit or units.
func (p *parser) amount(lit *Literal, size int) {
	sign := ""
	if size == 2 && p.next().is("-") {
		sign = "-"
	}
	value := p.next()
	from := intervalUnit(p.next().text)
	lit.Secret = lit.Secret || value.secret
	if value.kind == text && p.accept("TO") {
		to := intervalUnit(p.ident("a unit").Text)
		parts, err := rangeInterval(sign, value.text, from, to)
		p.addParts(lit, value, parts, err)
		return
	}
	if value.suffix != "" || value.lit == DoubleLiteral {
		p.abort(syntaxError(value.pos, "found %s, expected a plain number in front of %s", p.describe(value), from))
	}
	part, err := newPart(sign, strings.TrimSpace(value.text), from)
	p.addParts(lit, value, []IntervalPart{part}, err)
}

func (p *parser) addParts(lit *Literal, value *token, parts []IntervalPart, err error) {
	if err != nil {
		p.abort(syntaxError(value.pos, "the interval is not readable: %v", err).WithHint("write INTERVAL 1 DAY 2 HOURS, or INTERVAL '1 02:00:00' DAY TO SECOND"))
	}
	for _, part := range parts {
		part.Value.(*Literal).Pos = value.pos
		lit.Parts = append(lit.Parts, part)
	}
}

// newPart makes one amount. Only seconds have a fraction.
func newPart(sign, value, unit string) (IntervalPart, error) {
	sign, value = signed(sign, value)
	for len(value) > 1 && value[0] == '0' && isDigit(value[1]) { // 02:03
		value = value[1:]
	}
	lit := &Literal{Kind: IntegerLiteral, Text: sign + value}
	if n := digits(value); n < len(value) || n == 0 {
		whole, fraction, ok := strings.Cut(value, ".")
		if !ok || digits(whole) != len(whole) || digits(fraction) != len(fraction) || whole+fraction == "" || unit != "SECOND" {
			return IntervalPart{}, fmt.Errorf("%s takes a whole number, or a decimal one if it is SECOND", unit)
		}
		lit.Kind = DecimalLiteral
	}
	return IntervalPart{Value: lit, Unit: unit}, nil
}

// signed takes the sign in front of s, if there is one, and joins it with the one before: two minuses are none.
func signed(sign, s string) (string, string) {
	switch {
	case strings.HasPrefix(s, "+"):
		return sign, s[1:]
	case strings.HasPrefix(s, "-") && sign == "-":
		return "", s[1:]
	case strings.HasPrefix(s, "-"):
		return "-", s[1:]
	}
	return sign, s
}

// wholeInterval reads '1 day 2 hours', with or without the word interval in front.
func wholeInterval(s string) ([]IntervalPart, error) {
	words := strings.Fields(s)
	if len(words) > 0 && strings.EqualFold(words[0], "INTERVAL") {
		words = words[1:]
	}
	var parts []IntervalPart
	for len(words) > 0 {
		sign := ""
		if words[0] == "-" || words[0] == "+" {
			sign, words = strings.TrimPrefix(words[0], "+"), words[1:]
		}
		if len(words) < 2 || intervalUnit(words[1]) == "" {
			return nil, fmt.Errorf("a number and a unit were expected")
		}
		part, err := newPart(sign, words[0], intervalUnit(words[1]))
		if err != nil {
			return nil, err
		}
		parts, words = append(parts, part), words[2:]
	}
	if parts == nil {
		return nil, fmt.Errorf("it is empty")
	}
	return parts, nil
}

// rangeSeparators stand in front of each unit of a range.
var rangeSeparators = []struct{ unit, before string }{{"YEAR", ""}, {"MONTH", "-"}, {"DAY", ""}, {"HOUR", " "}, {"MINUTE", ":"}, {"SECOND", ":"}}

// rangeInterval reads '1-2' YEAR TO MONTH, '1 02:03:04.5' DAY TO SECOND and their kin. A sign in front counts for all.
func rangeInterval(sign, s, from, to string) ([]IntervalPart, error) {
	first, last := rangeIndex(from), rangeIndex(to)
	if first < 0 || last <= first || (first < 2) != (last < 2) {
		return nil, fmt.Errorf("%s TO %s is not a range", from, to)
	}
	sign, s = signed(sign, strings.TrimSpace(s))
	var parts []IntervalPart
	for i := first; i <= last; i++ {
		value := s
		if i < last {
			var found bool
			if value, s, found = strings.Cut(s, rangeSeparators[i+1].before); !found {
				return nil, fmt.Errorf("%s TO %s needs %d numbers", from, to, last-first+1)
			}
		}
		if value == "" || !isDigit(value[0]) {
			return nil, fmt.Errorf("%s TO %s needs %d numbers", from, to, last-first+1)
		}
		part, err := newPart(sign, value, rangeSeparators[i].unit)
		if err != nil {
			return nil, err
		}
		parts = append(parts, part)
	}
	return parts, nil
}

func rangeIndex(unit string) int {
	for i, r := range rangeSeparators {
		if r.unit == unit {
			return i
		}
	}
	return -1
}

// intervalParts writes the amounts of an interval: 1 DAY 2 HOUR.
func intervalParts(lit *Literal) string {
	parts := make([]string, len(lit.Parts))
	for i, part := range lit.Parts {
		parts[i] = part.Value.(*Literal).Text + " " + part.Unit
	}
	return strings.Join(parts, " ")
}

// hexBytes reads the digits of X'...'; a missing leading zero is filled in, as in Spark.
func hexBytes(s string) (string, error) {
	if len(s)%2 == 1 {
		s = "0" + s
	}
	b, err := hex.DecodeString(s)
	return string(b), err
}
