package dialect

import (
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"

	"sluice/eval/builtin"
	"sluice/fault"
	"sluice/syntax"
)

// like is LIKE, ILIKE and RLIKE. Patterns are constants: they are checked and rewritten here.
func (f *frame) like(e *syntax.Like) value {
	x, pattern := f.argument(f.bind(e.X), text, e.Op), f.bind(e.Pattern)
	if isBroken(x, pattern) {
		return wrong(e.Pos)
	}
	p, ok := pattern.text()
	if !ok {
		if pattern.isNull() {
			return f.convert(null(), boolean, false)
		}
		return f.fail(fault.New(fault.NonFoldable, "the pattern of %s must be a constant text", e.Op).At(pattern.pos).
			WithHint("contains, startswith and endswith take any expression"))
	}
	var out value
	if e.Op == "RLIKE" {
		regex, err := javaRegex(p)
		if err != nil {
			return f.fail(regexError(p, err).At(pattern.pos))
		}
		out = derive(boolean, fmt.Sprintf("regexp_matches(%s, %s)", x.sql, quoteText(regex)), x)
	} else {
		escape := f.escape(e)
		if err := checkLike(p, escape); err != nil {
			return f.fail(err.At(pattern.pos))
		}
		out = derive(boolean, fmt.Sprintf("(%s %s %s ESCAPE %s)", x.sql, e.Op, quoteText(p), quoteText(escape)), x)
	}
	if e.Not {
		return not(out)
	}
	return out
}

// escape is the escape character of a LIKE: the backslash unless another one is given.
func (f *frame) escape(e *syntax.Like) string {
	if lit, ok := e.Escape.(*syntax.Literal); ok {
		if lit.Kind == syntax.StringLiteral && utf8.RuneCountInString(lit.Text) == 1 && len(lit.Text) == 1 {
			return lit.Text
		}
		f.report(fault.New(fault.InvalidLikePattern, "the escape character is %q, not one ASCII character", lit.Text).At(lit.Pos))
	}
	return `\`
}

// checkLike refuses what Spark refuses: an escape in front of anything but %, _ and itself.
func checkLike(pattern, escape string) *fault.Error {
	for i := 0; i < len(pattern); i++ {
		if pattern[i] != escape[0] {
			continue
		}
		i++
		switch {
		case i == len(pattern):
			return fault.New(fault.InvalidLikePattern, "the pattern %q ends with its escape character", pattern).WithHint("write %s%s for the character itself", escape, escape)
		case !strings.ContainsRune("%_"+escape, rune(pattern[i])):
			return fault.New(fault.InvalidLikePattern, "the pattern %q has %s in front of %q", pattern, escape, pattern[i:i+1]).
				WithHint("the escape stands before %%, _ or itself; in '...' a backslash is written \\\\")
		}
	}
	return nil
}

func regexError(pattern string, err error) *fault.Error {
	return fault.New(fault.UnsupportedMeaning, "the regular expression %q has %v, which would not mean the same", pattern, err).
		WithHint("literals, classes, groups, alternatives, anchors and repetitions are supported")
}

// regexReader walks over a regular expression of Java and writes one of RE2 that matches the same texts.
type regexReader struct {
	in    []rune
	at    int
	tails int // of $ so far
	out   strings.Builder
}

// Character classes as Java has them; RE2's . and \s are smaller or larger.
const (
	lineEnds  = `\n\r\x{85}\x{2028}\x{2029}`
	javaSpace = `\t\n\x0B\f\r `
)

// javaRegex translates a regular expression that is searched for in a text. It refuses what RE2 does not have, or has with
// another meaning.
func javaRegex(pattern string) (string, error) {
	r := &regexReader{in: []rune(pattern)}
	for r.at < len(r.in) {
		if err := r.step(); err != nil {
			return "", err
		}
	}
	if _, err := regexp.Compile(r.out.String()); err != nil { // Go's syntax is RE2's
		return "", err
	}
	return r.out.String(), nil
}

func (r *regexReader) step() error {
	c := r.in[r.at]
	r.at++
	switch c {
	case '\\':
		return r.escape(false)
	case '[':
		return r.class()
	case '.':
		r.out.WriteString("[^" + lineEnds + "]")
	case '^':
		r.out.WriteString(builtin.AtStart)
	case '$':
		if r.at < len(r.in) && r.in[r.at] != ')' && r.in[r.at] != '|' {
			return fmt.Errorf("a $ before the end")
		}
		r.tails++ // Java's $ stands before a last line break too, which is no part of the match
		fmt.Fprintf(&r.out, `(?P<tail%d>(?:\r\n|[%s])?)\z`, r.tails, lineEnds)
	case '(':
		return r.group()
	case '*', '+', '?', '}':
		r.out.WriteRune(c)
		if r.at < len(r.in) && r.in[r.at] == '+' {
			return fmt.Errorf("a possessive repetition")
		}
	default:
		r.out.WriteRune(c)
	}
	return nil
}

func (r *regexReader) group() error {
	rest := string(r.in[r.at:])
	switch {
	case strings.HasPrefix(rest, "?:"):
		r.at += 2
		r.out.WriteString("(?:")
	case strings.HasPrefix(rest, "?"):
		return fmt.Errorf("a group with flags, a name or a look around")
	default:
		r.out.WriteByte('(')
	}
	return nil
}

// escape reads what stands behind a backslash.
func (r *regexReader) escape(inClass bool) error {
	if r.at == len(r.in) {
		return fmt.Errorf("a backslash at the end")
	}
	c := r.in[r.at]
	r.at++
	switch c {
	case 'd', 'D', 'w', 'W':
		r.out.WriteString(`\` + string(c))
	case 's':
		if inClass {
			r.out.WriteString(javaSpace)
		} else {
			r.out.WriteString("[" + javaSpace + "]")
		}
	case 'S':
		if inClass {
			return fmt.Errorf(`\S in a class`)
		}
		r.out.WriteString("[^" + javaSpace + "]")
	case 't', 'n', 'r', 'f':
		r.out.WriteString(`\` + string(c))
	default:
		if c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c > 126 {
			return fmt.Errorf(`\%c`, c)
		}
		r.out.WriteString(`\` + string(c))
	}
	return nil
}

// class reads [...], which has no set operations here.
func (r *regexReader) class() error {
	r.out.WriteByte('[')
	if r.at < len(r.in) && r.in[r.at] == '^' {
		r.out.WriteByte('^')
		r.at++
	}
	for first := true; r.at < len(r.in); first = false {
		c := r.in[r.at]
		r.at++
		switch {
		case c == ']' && !first:
			r.out.WriteByte(']')
			return nil
		case c == '[' || c == '&' && r.at < len(r.in) && r.in[r.at] == '&' || c == ']':
			return fmt.Errorf("a class inside a class")
		case c == '\\':
			if err := r.escape(true); err != nil {
				return err
			}
		default:
			r.out.WriteRune(c)
		}
	}
	return fmt.Errorf("a class without its ]")
}

// captures counts the groups of a regular expression that are Java's.
func captures(regex string) (n int) {
	for _, name := range regexp.MustCompile(regex).SubexpNames()[1:] {
		if name == "" {
			n++
		}
	}
	return n
}

// plainPattern returns the one text that a regular expression means, if it means one.
func plainPattern(pattern string) (string, bool) {
	var b strings.Builder
	for i := 0; i < len(pattern); i++ {
		c := pattern[i]
		switch {
		case c == '[' && i+2 < len(pattern) && pattern[i+2] == ']' && !strings.ContainsRune(`^\[]`, rune(pattern[i+1])):
			c = pattern[i+1]
			i += 2
		case c == '\\' && i+1 < len(pattern) && strings.IndexByte(`\.[]{}()*+-?^$|&/,:;`, pattern[i+1]) >= 0:
			i++
			c = pattern[i]
		case strings.IndexByte(`\.[{(*+?^$|`, c) >= 0:
			return "", false
		}
		b.WriteByte(c)
	}
	return b.String(), b.Len() > 0
}
