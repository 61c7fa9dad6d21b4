package syntax

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// stringLiteral reads '...', "...", and with prefix 1 the raw r'...' and r"...".
func (l *lexer) stringLiteral(prefix int) {
	s, open := l.rest(), l.pos
	n := stringLength(s, prefix)
	if n < 0 {
		l.report(open, "the string is not closed").WithHint("a quote inside a string is written twice or with a backslash")
		l.take(bad, len(s))
		return
	}
	t := l.take(text, n)
	known := len(l.problems)
	t.text = s[prefix+1 : n-1]
	if prefix == 0 {
		t.text = l.unescape(t.text, s[0], t.pos)
	}
	l.substitute(t)
	t.wrong = len(l.problems) > known
}

// substitute lets the caller replace ${...} (D-54).
func (l *lexer) substitute(t *token) {
	if l.options.Substitute == nil {
		return
	}
	replaced, secret, err := l.options.Substitute(t.text, t.pos)
	if err != nil {
		if !err.Pos.IsValid() {
			err = err.At(t.pos)
		}
		l.problems = append(l.problems, err)
		return
	}
	t.text, t.secret = replaced, secret
}

// stringLength is the length of the literal at the start of s, quotes included, or -1 when it is not closed.
func stringLength(s string, prefix int) int {
	quote, raw := s[prefix], prefix > 0
	for i := prefix + 1; i < len(s); i++ {
		switch {
		case s[i] == '\\' && !raw:
			i++
		case s[i] != quote:
		case !raw && i+1 < len(s) && s[i+1] == quote:
			i++
		default:
			return i + 1
		}
	}
	return -1
}

// unescape gives the value of a string literal by Spark's rules: doubled quotes, \n and its kin, \u0041, \U0001F600,
// octal \101, and any other character behind a backslash as itself, except that \% and \_ keep the backslash for LIKE.
func (l *lexer) unescape(s string, quote byte, at Pos) string {
	if !strings.ContainsAny(s, `\`+string(quote)) {
		return s
	}
	var b strings.Builder
	for len(s) > 0 {
		switch {
		case s[0] == quote: // and the next one too
			b.WriteByte(quote)
			s = s[2:]
		case s[0] != '\\':
			b.WriteByte(s[0])
			s = s[1:]
		default:
			value, n, err := escape(s)
			if err != nil {
				l.report(at, "%v", err)
			}
			b.WriteString(value)
			s = s[n:]
		}
	}
	return b.String()
}

var escapes = map[byte]string{'0': "\x00", 'b': "\b", 'n': "\n", 'r': "\r", 't': "\t", 'Z': "\x1a", '%': `\%`, '_': `\_`}

// escape reads the escape at the start of s and returns its value and its length.
func escape(s string) (string, int, error) {
	if code, ok := codePoint(s, 'U', 10); ok {
		if code > utf8.MaxRune || utf16.IsSurrogate(rune(code)) {
			return "", 10, fmt.Errorf("%s is not a character", s[:10])
		}
		return string(rune(code)), 10, nil
	}
	if code, ok := codePoint(s, 'u', 6); ok {
		if !utf16.IsSurrogate(rune(code)) {
			return string(rune(code)), 6, nil
		}
		low, _ := codePoint(s[6:], 'u', 6)
		if r := utf16.DecodeRune(rune(code), rune(low)); r != utf8.RuneError {
			return string(r), 12, nil
		}
		return "", 6, fmt.Errorf("%s is half of a surrogate pair", s[:6])
	}
	if len(s) >= 4 && (s[1] == '0' || s[1] == '1') {
		if code, err := strconv.ParseUint(s[1:4], 8, 8); err == nil {
			return string(rune(code)), 4, nil
		}
	}
	if value, ok := escapes[s[1]]; ok {
		return value, 2, nil
	}
	_, n := utf8.DecodeRuneInString(s[1:])
	return s[1 : 1+n], 1 + n, nil
}

// codePoint reads \uXXXX and \UXXXXXXXX of n bytes.
func codePoint(s string, letter byte, n int) (uint64, bool) {
	if len(s) < n || s[0] != '\\' || s[1] != letter {
		return 0, false
	}
	code, err := strconv.ParseUint(s[2:n], 16, 32)
	return code, err == nil
}

// quoteText writes a string literal that reads back as s.
func quoteText(s string) string {
	var b strings.Builder
	b.WriteByte('\'')
	for _, r := range s {
		switch {
		case r == '\'' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\r':
			b.WriteString(`\r`)
		case r == '\t':
			b.WriteString(`\t`)
		case r < ' ' || r == 0x7f:
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			b.WriteRune(r)
		}
	}
	b.WriteByte('\'')
	return b.String()
}
