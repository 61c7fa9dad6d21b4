package syntax

import (
	"fmt"
	"strings"

	"sluice/fault"
)

// maxDepth bounds the height of every tree the parser makes: nesting, and chains such as a OR b OR c, which lean to the
// left. It keeps those who walk the tree off the end of their stack, and is the depth of an expression that the SQL
// engine takes.
const maxDepth = 1000

// parser reads the tokens of one statement by recursive descent. The first error ends the statement: fail unwinds to
// attempt, which puts it on the list. What is wrong but does not hide the rest is reported and read on.
type parser struct {
	src      string
	tokens   []token // the last one is of kind end
	i        int
	problems fault.List

	depth  int // of the nesting now
	height int // of the tallest tree read at this level of nesting

	tried   []string // keywords asked for at triedAt, for "did you mean"
	triedAt int
	aliasAt int          // index of the last name taken for an alias without AS, -1 for none
	windows []*windowUse // OVER name, until WINDOW says what it means
	close   []int        // for each opening parenthesis, the index of its partner
	queries []bool       // for each opening parenthesis, whether a query stands in it
}

func newParser(src string, tokens []token) *parser {
	p := &parser{src: src, tokens: tokens, aliasAt: -1, close: partners(tokens)}
	p.findQueries()
	return p
}

// partners finds for each "(" the index of its ")", or of the end.
func partners(tokens []token) []int {
	close, open := make([]int, len(tokens)), []int(nil)
	for i := range tokens {
		switch {
		case tokens[i].is("("):
			close[i] = len(tokens) - 1
			open = append(open, i)
		case tokens[i].is(")") && len(open) > 0:
			close[open[len(open)-1]] = i
			open = open[:len(open)-1]
		}
	}
	return close
}

// bailout is the panic of fail; err is nil where the lexer has reported the problem already.
type bailout struct{ err *fault.Error }

// attempt runs parse and reports whether it came to its end.
func (p *parser) attempt(parse func()) (ok bool) {
	defer func() {
		switch r := recover().(type) {
		case nil:
		case bailout:
			if r.err != nil {
				p.problems = append(p.problems, r.err)
			}
		default:
			panic(r)
		}
	}()
	parse()
	return true
}

func (p *parser) report(e *fault.Error) { p.problems = append(p.problems, e) }

// fail ends the statement: at the next token, something else was expected.
func (p *parser) fail(format string, args ...any) {
	t := p.peek()
	if t.kind == bad {
		panic(bailout{})
	}
	e := syntaxError(t.pos, "found %s, expected %s", p.describe(t), fmt.Sprintf(format, args...))
	if hint := p.hint(t); hint != "" {
		e.WithHint("%s", hint)
	}
	panic(bailout{e})
}

// abort ends the statement with the given error.
func (p *parser) abort(e *fault.Error) { panic(bailout{e}) }

// refuse ends the statement: it is Spark SQL, but not offered.
func (p *parser) refuse(at Pos, what, hint string) {
	p.abort(fault.New(fault.UnsupportedFeature, "%s is not supported", what).At(at).WithHint("%s", hint))
}

// describe names a token by its source text; the value of a string is not shown, since it may be a secret.
func (p *parser) describe(t *token) string {
	switch t.kind {
	case end:
		if t.to > t.from {
			return "';'"
		}
		return "the end"
	case text:
		if s := p.src[t.from:t.to]; len(s) <= 40 && !strings.Contains(s, "\n") {
			return "the string " + s
		}
		return "a string"
	case word, quoted, number:
		return p.src[t.from:t.to]
	}
	return "'" + t.text + "'"
}

// hint guesses what was meant: the next word is one slip away from a keyword that fits, or the word before it, which was
// taken for an alias, is.
func (p *parser) hint(t *token) string {
	if p.aliasAt >= 0 && p.aliasAt == p.i-1 {
		if near := nearest(p.tokens[p.aliasAt].upper, clauseWords); near != "" {
			return fmt.Sprintf("did you mean %s instead of %s?", near, p.tokens[p.aliasAt].text)
		}
	}
	if t.kind == word && p.triedAt == p.i {
		if near := nearest(t.upper, p.tried); near != "" {
			return fmt.Sprintf("did you mean %s?", near)
		}
	}
	if t.is("CREATE") || p.is("REFRESH", "STREAMING") || p.is("REFRESH", "MATERIALIZED") || p.is("ALTER", "STREAMING") {
		return "is a ';' missing in front of it?"
	}
	return ""
}

var clauseWords = strings.Fields("FROM WHERE GROUP HAVING QUALIFY ORDER LIMIT OFFSET UNION EXCEPT INTERSECT JOIN LEFT RIGHT INNER " +
	"CROSS WINDOW")

func (p *parser) peek() *token { return &p.tokens[p.i] }

// ahead returns the token n places after the next one.
func (p *parser) ahead(n int) *token { return &p.tokens[min(p.i+n, len(p.tokens)-1)] }

// next takes a token. The last one, of kind end, is never passed.
func (p *parser) next() *token {
	t := p.peek()
	if p.i < len(p.tokens)-1 {
		p.i++
	}
	return t
}

// last is the token taken last.
func (p *parser) last() *token { return &p.tokens[max(p.i-1, 0)] }

// is reports whether the given keywords and symbols come next, and remembers the first for "did you mean".
func (p *parser) is(words ...string) bool {
	if p.triedAt != p.i {
		p.tried, p.triedAt = p.tried[:0], p.i
	}
	p.tried = append(p.tried, words[0])
	for n, w := range words {
		if !p.ahead(n).is(w) {
			return false
		}
	}
	return true
}

// isAny reports whether one of the given keywords or symbols comes next.
func (p *parser) isAny(words ...string) bool {
	for _, w := range words {
		if p.is(w) {
			return true
		}
	}
	return false
}

// accept takes the given keywords and symbols if they come next.
func (p *parser) accept(words ...string) bool {
	if !p.is(words...) {
		return false
	}
	p.i += len(words)
	return true
}

// acceptAny takes one of the given keywords or symbols and returns it, or "".
func (p *parser) acceptAny(words ...string) string {
	for _, w := range words {
		if p.accept(w) {
			return w
		}
	}
	return ""
}

// expect takes the given keywords and symbols, one after the other.
func (p *parser) expect(words ...string) {
	for n, w := range words {
		if !p.accept(w) {
			p.fail("%s", spell(words[n:]))
		}
	}
}

// spell writes keywords as they are and symbols in quotes.
func spell(words []string) string {
	out := make([]string, len(words))
	for i, w := range words {
		out[i] = w
		if wordLength(w) == 0 {
			out[i] = "'" + w + "'"
		}
	}
	return strings.Join(out, " ")
}

// nested runs parse one level deeper.
func nested[T any](p *parser, parse func() T) T {
	outer := p.height
	p.height = 0
	p.depth++
	p.limit(p.depth)
	result := parse()
	p.depth--
	p.height = max(outer, p.height+1)
	p.limit(p.height)
	return result
}

// beside runs parse for the right side of an operator whose left side has been read: both hang from one new node.
func beside[T any](p *parser, parse func() T) T {
	left := p.height
	p.height = 0
	result := parse()
	p.height = max(left, p.height) + 1
	p.limit(p.height)
	return result
}

func (p *parser) limit(n int) {
	if n > maxDepth {
		p.abort(syntaxError(p.peek().pos, "the statement is nested more than %d levels deep", maxDepth).
			WithHint("write a long chain of OR as IN (...)"))
	}
}

// list reads items separated by commas.
func list[T any](p *parser, item func() T) []T {
	items := []T{item()}
	for p.accept(",") {
		items = append(items, item())
	}
	return items
}

// parenthesised reads ( item, ... ).
func parenthesised[T any](p *parser, item func() T) []T {
	p.expect("(")
	items := list(p, item)
	p.closing()
	return items
}

// closing takes the closing parenthesis of a list.
func (p *parser) closing() {
	if !p.accept(")") {
		p.fail("',' or ')'")
	}
}

// ident reads one name; any word will do. what says for messages what it names.
func (p *parser) ident(what string) Ident {
	t := p.peek()
	if !t.isName() {
		p.fail("%s", what)
	}
	p.next()
	return t.ident()
}

func (t *token) ident() Ident { return Ident{Text: t.text, Quoted: t.kind == quoted, Pos: t.pos} }

// name reads the name of an object, of one to three parts (catalog.schema.table).
func (p *parser) name(what string) Name {
	if t := p.peek(); t.kind == word && reserved[t.upper] {
		p.fail("%s", what)
	}
	n := p.path(what)
	if len(n.Parts) > 3 {
		p.abort(syntaxError(n.Pos, "the name has %d parts; %s has at most three (catalog.schema.name)", len(n.Parts), what))
	}
	if p.is("-") && p.peek().from == p.last().to {
		p.abort(syntaxError(n.Pos, "%s with a '-' in it stands in backticks", what).WithHint("write `%s-%s`", n.Parts[len(n.Parts)-1].Text, p.ahead(1).text))
	}
	return n
}

// path reads a name of any number of parts.
func (p *parser) path(what string) Name {
	first := p.ident(what)
	n := Name{Parts: []Ident{first}, Pos: first.Pos}
	for p.is(".") && p.ahead(1).isName() {
		p.next()
		n.Parts = append(n.Parts, p.ident("a name"))
	}
	return n
}

func (p *parser) idents(what string) []Ident {
	return parenthesised(p, func() Ident { return p.ident(what) })
}

// textLiteral reads a string; adjacent strings are one.
func (p *parser) textLiteral(what string) *Literal {
	t := p.peek()
	if t.kind != text {
		p.fail("%s", what)
	}
	lit := &Literal{Kind: StringLiteral, Pos: t.pos, TextPos: p.inside(t)}
	for p.peek().kind == text {
		t := p.next()
		lit.Text += t.text
		lit.Secret = lit.Secret || t.secret
	}
	return lit
}

// inside is the place where the text of a string begins.
func (p *parser) inside(t *token) Pos {
	at := t.pos
	at.Column++
	if c := p.src[t.from]; c == 'r' || c == 'R' {
		at.Column++
	}
	return at
}

// after is the place behind the token taken last.
func (p *parser) after() Pos {
	t := p.last()
	l := lexer{src: p.src[:t.to], at: t.from, pos: t.pos}
	l.advance(t.to - t.from)
	return l.pos
}

// text reads a string for a clause that keeps its value only. A secret cannot stand there, since nothing would hide it.
func (p *parser) text(what string) string {
	lit := p.textLiteral(what)
	if lit.Secret {
		p.report(secretMisplaced(lit.Pos))
	}
	return lit.Text
}

// noSecretIn reports the secrets of an expression that is kept as text.
func (p *parser) noSecretIn(e Expr) {
	Inspect(e, func(node any) bool {
		if lit, ok := node.(*Literal); ok && lit.Secret {
			p.report(secretMisplaced(lit.Pos))
		}
		return true
	})
}

func secretMisplaced(at Pos) *fault.Error {
	return fault.New(fault.InvalidVariable, "a secret stands where it cannot be hidden").At(at).WithHint("${env:...} is for the values of options")
}

// source is the text of the tokens from i on to the next one, with one blank where there was space or a comment.
func (p *parser) source(i int) string {
	var b strings.Builder
	for n := i; n < p.i; n++ {
		if n > i && p.tokens[n].from > p.tokens[n-1].to {
			b.WriteByte(' ')
		}
		b.WriteString(p.src[p.tokens[n].from:p.tokens[n].to])
	}
	return b.String()
}

// finish checks that the statement ends here.
func (p *parser) finish() {
	if p.peek().kind != end {
		p.fail("the end")
	}
	p.resolveWindows(nil)
}
