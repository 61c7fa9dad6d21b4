package syntax

import (
	"strings"

	"sluice/fault"
)

// kind is what a token is.
type kind uint8

const (
	end    kind = iota // behind the last token: of the file, or the semicolon of a statement
	word               // an unquoted name or keyword
	quoted             // a name in backticks
	text               // a string literal
	number
	symbol
	bad // unreadable; the lexer has reported it
)

// token is one word of a definition file.
type token struct {
	kind   kind
	text   string // the word as written, the name, the value of the string, the digits, the symbol
	upper  string // of a word: upper case
	lit    LiteralKind
	suffix string // of a number
	secret bool   // of a string: it came from ${env:...}
	wrong  bool   // the lexer has reported a problem inside it
	from   int    // offsets in the source
	to     int
	pos    Pos
}

// is reports whether t is the given keyword or symbol. Keywords are given in upper case.
func (t *token) is(s string) bool {
	switch t.kind {
	case word:
		return t.upper == s
	case symbol:
		return t.text == s
	}
	return false
}

// isName reports whether t can be a name: any word is one, since keywords are not reserved (see reserved).
func (t *token) isName() bool { return t.kind == word || t.kind == quoted }

// reserved are the words that are not names by themselves, because a query or a statement that lacks something would
// otherwise be read with one of its keywords as a name, and the message would be about something else. In backticks they
// are names, and so they are where nothing but an operand can stand (see operandEnd).
var reserved = set("AND AS BETWEEN BY ELSE END EXCEPT FROM GROUP HAVING ILIKE IN INTERSECT INTO IS JOIN LIKE LIMIT MINUS ON OR " +
	"ORDER QUALIFY RLIKE SELECT THEN UNION USING WHEN WHERE")

// notTableAlias are the words besides reserved that never stand for a table without AS in front of them: Spark's strict
// words, and those that begin a clause.
var notTableAlias = set("ANTI CLUSTER CROSS DISTRIBUTE FULL INNER LATERAL LEFT NATURAL OFFSET PIVOT RIGHT SEMI SETMINUS SORT " +
	"TABLESAMPLE UNPIVOT WINDOW WITH")

// notColumnAlias are the words besides reserved that never name a column without AS in front of them.
var notColumnAlias = set("CLUSTER DISTRIBUTE LATERAL OFFSET SETMINUS SORT WINDOW")

// endsOperand are the words and symbols in front of which an operand is complete, so that a reserved word that stands
// before one of them is a name: SELECT from, to FROM t.
var endsOperand = set(", ) ] . [ :: -> = == <> != < > <= >= <=> + - * / % | || & ^ " +
	"AND AS ASC BETWEEN DESC DIV ELSE END FROM ILIKE IN IS LIKE NULLS OR REGEXP RLIKE THEN WHEN")

// operandEnd reports whether an operand is complete in front of t.
func operandEnd(t *token) bool {
	switch t.kind {
	case word:
		return endsOperand[t.upper]
	case symbol:
		return endsOperand[t.text]
	}
	return t.kind == end
}

func set(words string) map[string]bool {
	m := map[string]bool{}
	for _, w := range strings.Fields(words) {
		m[w] = true
	}
	return m
}

// nearest returns the candidate that is one slip away from a word, or two when the word is long, and "" when none is.
func nearest(word string, candidates []string) string {
	best, least := "", 1+len(word)/6
	for _, c := range candidates {
		if len(c) < 3 || len(word) < 3 {
			continue
		}
		if d := slips(word, c); d > 0 && d <= least {
			best, least = c, d
		}
	}
	return best
}

// slips counts the insertions, deletions, replacements and swaps of neighbours between two words.
func slips(a, b string) int {
	before, last, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := 1; i <= len(a); i++ {
		before, last, row = last, row, before
		row[0] = i
		for j := 1; j <= len(b); j++ {
			differ := 1
			if a[i-1] == b[j-1] {
				differ = 0
			}
			row[j] = min(last[j]+1, row[j-1]+1, last[j-1]+differ)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
	}
	return row[len(b)]
}

func syntaxError(at Pos, format string, args ...any) *fault.Error {
	return fault.New(fault.ParseSyntaxError, format, args...).At(at)
}
