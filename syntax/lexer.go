package syntax

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"sluice/fault"
)

// lexer cuts text into tokens. Positions count characters.
type lexer struct {
	src      string
	options  Options
	at       int // offset of the next character
	pos      Pos // its place
	tokens   []token
	problems fault.List
}

// lex returns the tokens of src, the last of which is of kind end, and every problem of its literals and comments. at is
// the place of the first character.
func lex(src string, at Pos, o Options) ([]token, fault.List) {
	if at.Line == 0 {
		at.Line, at.Column = 1, 1
	}
	l := &lexer{src: src, options: o, pos: at, tokens: make([]token, 0, len(src)/4+1)}
	if i := invalidUTF8(l.src); i >= 0 {
		l.advance(i)
		l.report(l.pos, "the text is not UTF-8")
		return []token{{kind: end, pos: l.pos}}, l.problems
	}
	for l.skipSpace(); l.at < len(l.src); l.skipSpace() {
		l.next()
	}
	l.tokens = append(l.tokens, token{kind: end, from: l.at, to: l.at, pos: l.pos})
	return l.tokens, l.problems
}

func invalidUTF8(s string) int {
	for i, r := range s {
		if r == utf8.RuneError {
			if _, n := utf8.DecodeRuneInString(s[i:]); n == 1 {
				return i
			}
		}
	}
	return -1
}

func (l *lexer) report(at Pos, format string, args ...any) *fault.Error {
	e := syntaxError(at, format, args...)
	l.problems = append(l.problems, e)
	return e
}

// rest is the text not yet read.
func (l *lexer) rest() string { return l.src[l.at:] }

// advance moves n bytes on.
func (l *lexer) advance(n int) {
	for _, r := range l.src[l.at : l.at+n] {
		if r == '\n' {
			l.pos.Line++
			l.pos.Column = 1
		} else {
			l.pos.Column++
		}
	}
	l.at += n
}

// take makes a token of the next n bytes.
func (l *lexer) take(k kind, n int) *token {
	t := token{kind: k, text: l.src[l.at : l.at+n], from: l.at, to: l.at + n, pos: l.pos}
	l.advance(n)
	l.tokens = append(l.tokens, t)
	return &l.tokens[len(l.tokens)-1]
}

func (l *lexer) skipSpace() {
	for l.at < len(l.src) {
		rest := l.rest()
		r, n := utf8.DecodeRuneInString(rest)
		switch {
		case unicode.IsSpace(r):
			l.advance(n)
		case strings.HasPrefix(rest, "--"):
			l.advance(lineComment(rest))
		case strings.HasPrefix(rest, "/*"):
			l.blockComment(rest)
		default:
			return
		}
	}
}

// lineComment is the length of a comment to the end of its line; a backslash before the line break continues it.
func lineComment(s string) int {
	for i := 0; i < len(s); i++ {
		if s[i] == '\n' && s[i-1] != '\\' {
			return i
		}
	}
	return len(s)
}

// blockComment skips a comment; comments nest.
func (l *lexer) blockComment(s string) {
	depth, deepest := 0, 0
	for i := 0; i+1 < len(s); i++ {
		switch s[i : i+2] {
		case "/*":
			depth++
			deepest = max(deepest, depth)
			i++
		case "*/":
			depth--
			i++
		}
		if depth == 0 {
			l.advance(i + 1)
			return
		}
	}
	e := l.report(l.pos, "the comment is not closed")
	if deepest > 1 {
		e.WithHint("comments nest: each /* needs its own */")
	}
	l.advance(len(s))
}

func (l *lexer) next() {
	rest := l.rest()
	switch c := rest[0]; {
	case (c == 'r' || c == 'R') && len(rest) > 1 && (rest[1] == '\'' || rest[1] == '"'):
		l.stringLiteral(1)
	case c == '\'' || c == '"':
		l.stringLiteral(0)
	case c == '`':
		l.quotedName()
	case isDigit(c) || c == '.' && len(rest) > 1 && isDigit(rest[1]):
		l.number()
	default:
		if n := wordLength(rest); n > 0 {
			l.word(n)
		} else {
			l.symbol()
		}
	}
}

func (l *lexer) word(n int) {
	t := l.take(word, n)
	t.upper = strings.ToUpper(t.text)
}

// wordLength is the length of the letters, digits and underscores at the start of s.
func wordLength(s string) int {
	for i, r := range s {
		if r != '_' && !unicode.IsLetter(r) && (r < '0' || r > '9') {
			return i
		}
	}
	return len(s)
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

func (l *lexer) quotedName() {
	s := l.rest()
	for i := 1; i < len(s); i++ {
		if s[i] != '`' {
			continue
		}
		if i+1 < len(s) && s[i+1] == '`' {
			i++
			continue
		}
		t := l.take(quoted, i+1)
		t.text = strings.ReplaceAll(t.text[1:i], "``", "`")
		if t.text == "" {
			t.wrong = true
			l.report(t.pos, "a name in backticks is empty")
		}
		return
	}
	l.report(l.pos, "the name in backticks is not closed")
	l.take(bad, len(s))
}

// symbols, longest first. ">" is never joined with another ">", since it closes nested types; shifts are found by the
// parser.
var symbols = []string{"<=>", "<=", ">=", "<>", "!=", "!<", "!>", "==", "=>", "->", "::", "||", "|>", "<<",
	"(", ")", "[", "]", ",", ";", ".", "+", "-", "*", "/", "%", "~", "&", "|", "^", "!", "<", ">", "=", ":", "?"}

func (l *lexer) symbol() {
	rest := l.rest()
	for _, s := range symbols {
		if strings.HasPrefix(rest, s) {
			l.take(symbol, len(s))
			return
		}
	}
	r, n := utf8.DecodeRuneInString(rest)
	e := l.report(l.pos, "found the character %q", r)
	if strings.HasPrefix(rest, "${") {
		e.WithHint("${...} is replaced inside string literals only")
		n = 1 + max(strings.IndexByte(rest, '}'), 1)
	}
	l.take(bad, n)
}

// number reads 1, 1.5, .5, 1e3 and their suffixes. What goes on with letters is a name, as in Spark: 1st.
func (l *lexer) number() {
	s := l.rest()
	whole := digits(s)
	if whole < len(s) && s[whole] == '.' {
		if l.numberOf(whole+1+digits(s[whole+1:]), DecimalLiteral) {
			return
		}
	}
	if whole > 0 && l.numberOf(whole, IntegerLiteral) {
		return
	}
	if whole == 0 {
		l.take(symbol, 1)
		return
	}
	l.word(wordLength(s))
}

// suffixes of numbers, and the kinds they make. The first three need an integer.
var suffixes = []struct {
	text string
	kind LiteralKind
}{{"L", IntegerLiteral}, {"S", IntegerLiteral}, {"Y", IntegerLiteral}, {"F", DoubleLiteral}, {"D", DoubleLiteral}, {"BD", DecimalLiteral}}

// numberOf takes a number whose digits end at n, unless letters follow that are neither an exponent nor a suffix.
func (l *lexer) numberOf(n int, k LiteralKind) bool {
	s := l.rest()
	if e := exponent(s[n:]); e > 0 {
		n, k = n+e, DoubleLiteral
	}
	tail := s[n : n+wordLength(s[n:])]
	if tail == "" {
		l.take(number, n).lit = k
		return true
	}
	for _, suffix := range suffixes {
		if strings.EqualFold(tail, suffix.text) && (suffix.kind != IntegerLiteral || k == IntegerLiteral) {
			t := l.take(number, n+len(tail))
			t.text, t.lit, t.suffix = t.text[:n], suffix.kind, suffix.text
			return true
		}
	}
	return false
}

func digits(s string) int {
	n := 0
	for n < len(s) && isDigit(s[n]) {
		n++
	}
	return n
}

// exponent is the length of e10, E+10 or e-10 at the start of s.
func exponent(s string) int {
	if s == "" || s[0] != 'e' && s[0] != 'E' {
		return 0
	}
	n := 1
	if n < len(s) && (s[n] == '+' || s[n] == '-') {
		n++
	}
	d := digits(s[n:])
	if d == 0 {
		return 0
	}
	return n + d
}
