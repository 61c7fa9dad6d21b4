package syntax

import (
	"strings"

	"sluice/fault"
)

// Options change how text is read. The zero Options read it as it stands.
type Options struct {
	// Substitute replaces ${...} in the text of a string literal, the only place where it is looked for (D-54). secret
	// says that the new text must never be printed. at is the place of the literal.
	Substitute func(text string, at Pos) (replaced string, secret bool, err *fault.Error)
}

// ParseFile reads the statements of a .sql file as Options.ParseFile does, with the zero Options.
func ParseFile(file, text string) ([]Statement, fault.List) { return Options{}.ParseFile(file, text) }

// ParseQuery reads one query as Options.ParseQuery does, with the zero Options.
func ParseQuery(file, text string) (*Query, fault.List) { return Options{}.ParseQuery(file, text) }

// ParseExpr reads one expression as Options.ParseExpr does, with the zero Options.
func ParseExpr(text string, at Pos) (Expr, fault.List) { return Options{}.ParseExpr(text, at) }

// ParseFile reads the statements of a .sql file, which semicolons separate. A statement in which anything is wrong is
// left out; the list has the problems of all statements, in order.
func (o Options) ParseFile(file, text string) ([]Statement, fault.List) {
	return o.parseStatements(file, text, (*parser).statement)
}

// parseStatements reads a text of statements, each of which is read by parse.
func (o Options) parseStatements(file, text string, parse func(*parser) Statement) ([]Statement, fault.List) {
	text = strings.TrimPrefix(text, "\ufeff")
	tokens, problems := lex(text, Pos{File: file}, o)
	var statements []Statement
	for _, part := range split(tokens) {
		p := newParser(text, part)
		if p.peek().kind == end {
			continue
		}
		var s Statement
		whole := p.attempt(func() {
			s = parse(p)
			p.finish()
		})
		if whole && len(p.problems) == 0 && !anyWrong(part) {
			statements = append(statements, s)
		}
		problems = append(problems, p.problems...)
	}
	problems.Sort()
	return statements, problems
}

// split cuts a file at its semicolons. Each part ends with a token of kind end in the semicolon's place.
func split(tokens []token) [][]token {
	var parts [][]token
	from := 0
	for i := range tokens {
		if tokens[i].is(";") {
			tokens[i].kind = end
		}
		if tokens[i].kind == end {
			parts = append(parts, tokens[from:i+1])
			from = i + 1
		}
	}
	return parts
}

func anyWrong(tokens []token) bool {
	for i := range tokens {
		if tokens[i].wrong {
			return true
		}
	}
	return false
}

// ParseQuery reads one query, with or without a semicolon behind it. The query is nil when anything is wrong.
func (o Options) ParseQuery(file, text string) (*Query, fault.List) {
	return parseOne(o, text, Pos{File: file}, (*parser).query)
}

// ParseExpr reads one expression. at is the place of its first character.
func (o Options) ParseExpr(text string, at Pos) (Expr, fault.List) {
	return parseOne(o, text, at, (*parser).expr)
}

// ParseSchema reads a column list as in schema => 'a BIGINT, b STRUCT<x: INT> NOT NULL' (D-58). at is the place of the
// text's first character: Literal.TextPos of the string it stands in.
func ParseSchema(text string, at Pos) ([]ColumnDef, fault.List) {
	return parseOne(Options{}, text, at, (*parser).schema)
}

// ParseType reads one type, such as STRUCT<a: INT>.
func ParseType(text string, at Pos) (*TypeExpr, fault.List) {
	return parseOne(Options{}, text, at, (*parser).dataType)
}

// parseOne reads a text that holds one thing.
func parseOne[T any](o Options, text string, at Pos, parse func(*parser) T) (T, fault.List) {
	var result, none T
	text = strings.TrimPrefix(text, "\ufeff")
	tokens, problems := lex(text, at, o)
	parts := split(tokens)
	p := newParser(text, parts[0])
	whole := p.attempt(func() {
		result = parse(p)
		p.finish()
		if rest := first(parts[1:]); rest != nil {
			p.abort(syntaxError(rest.pos, "found %s behind the ';', expected the end", p.describe(rest)))
		}
	})
	problems = append(problems, p.problems...)
	if !whole || len(problems) > 0 {
		problems.Sort()
		return none, problems
	}
	return result, nil
}

// first returns the first token of parts that is not an end.
func first(parts [][]token) *token {
	for _, part := range parts {
		if part[0].kind != end {
			return &part[0]
		}
	}
	return nil
}
