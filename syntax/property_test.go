package syntax

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// TestPrintedExpressionsReadBack makes trees that no text was at the beginning of.
func TestPrintedExpressionsReadBack(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		e := anyExpr(r, 4)
		printed := PrintExpr(e)
		again, problems := ParseExpr(printed, Pos{})
		if problems != nil {
			r.Fatalf("the print does not read back:\n%s\n%v", printed, problems)
		}
		sameTree(t, e, again, printed, nil)
	})
}

var someNames = []string{"a", "b", "from", "order", "interval", "date", "distinct", "all", "select", "end", "x y", "`", "1st", "größe", "not_x", "value"}

func anyIdent(r *rapid.T) Ident {
	i := Ident{Text: rapid.SampledFrom(someNames).Draw(r, "name")}
	i.Quoted = strings.ContainsAny(i.Text, " `") || rapid.Bool().Draw(r, "quoted")
	return i
}

func anyPath(r *rapid.T) Name {
	return Name{Parts: rapid.SliceOfN(rapid.Custom(anyIdent), 1, 3).Draw(r, "path")}
}

func anyExpr(r *rapid.T, depth int) Expr {
	if depth == 0 {
		return anyLeaf(r)
	}
	sub := func() Expr { return anyExpr(r, depth-1) }
	switch rapid.IntRange(0, 16).Draw(r, "kind") {
	case 0, 1, 2:
		ops := []string{"OR", "AND", "=", "==", "<>", "!=", "<", "<=", ">", ">=", "<=>", "|", "^", "&", "<<", ">>", ">>>", "+", "-", "||", "*", "/", "%", "DIV"}
		return &Binary{Op: rapid.SampledFrom(ops).Draw(r, "op"), X: sub(), Y: sub()}
	case 3, 4:
		return &Unary{Op: rapid.SampledFrom([]string{"-", "+", "~", "NOT"}).Draw(r, "op"), X: sub()}
	case 5:
		return &Between{X: sub(), Low: sub(), High: sub(), Not: rapid.Bool().Draw(r, "not")}
	case 6:
		return &In{X: sub(), List: []Expr{sub(), sub()}, Not: rapid.Bool().Draw(r, "not")}
	case 7:
		return &Like{Op: rapid.SampledFrom([]string{"LIKE", "ILIKE", "RLIKE"}).Draw(r, "op"), X: sub(), Pattern: sub(), Not: rapid.Bool().Draw(r, "not")}
	case 8:
		if rapid.Bool().Draw(r, "distinct") {
			return &Is{X: sub(), Y: sub(), What: "DISTINCT", Not: rapid.Bool().Draw(r, "not")}
		}
		return &Is{X: sub(), What: rapid.SampledFrom([]string{"NULL", "TRUE", "FALSE", "UNKNOWN"}).Draw(r, "what")}
	case 9:
		return &Case{X: sub(), Whens: []When{{If: sub(), Then: sub()}}, Else: sub()}
	case 10:
		return &Cast{X: sub(), Type: &TypeExpr{Name: "DECIMAL", Params: []int{10, 2}}, Try: rapid.Bool().Draw(r, "try")}
	case 11:
		names := []string{"f", "position", "trim", "substring", "extract", "struct", "dateadd", "left", "if"}
		f := &Func{Name: Name{Parts: []Ident{{Text: rapid.SampledFrom(names).Draw(r, "function")}}}, Args: []Expr{sub(), sub()}}
		f.Distinct = rapid.Bool().Draw(r, "distinct")
		return f
	case 12:
		return &Index{X: sub(), I: sub()}
	case 13:
		return &Field{X: sub(), Name: anyIdent(r)}
	case 14:
		return &Tuple{Items: []Expr{sub(), sub()}}
	case 15:
		return &Lambda{Params: rapid.SliceOfN(rapid.Custom(anyIdent), 1, 2).Draw(r, "params"), Body: sub()}
	default:
		q := &Query{Body: &Select{Items: []SelectItem{{Expr: sub()}}, From: []TableRef{&TableName{Name: Name{Parts: []Ident{{Text: "t"}}}}}, Where: sub()}}
		return &Subquery{Query: q, Exists: rapid.Bool().Draw(r, "exists")}
	}
}

func anyLeaf(r *rapid.T) Expr {
	switch rapid.IntRange(0, 5).Draw(r, "leaf") {
	case 0:
		return &Column{Name: anyPath(r)}
	case 1:
		return &Literal{Kind: IntegerLiteral, Text: rapid.SampledFrom([]string{"0", "1", "-1"}).Draw(r, "number"), Suffix: rapid.SampledFrom([]string{"", "L", "Y"}).Draw(r, "suffix")}
	case 2:
		return &Literal{Kind: DecimalLiteral, Text: rapid.SampledFrom([]string{"1.", ".5", "-2.25"}).Draw(r, "number")}
	case 3:
		return &Literal{Kind: StringLiteral, Text: rapid.String().Draw(r, "text")}
	case 4:
		part := &Literal{Kind: IntegerLiteral, Text: rapid.SampledFrom([]string{"1", "-1"}).Draw(r, "amount")}
		return &Literal{Kind: IntervalLiteral, Parts: []IntervalPart{{Value: part, Unit: "DAY"}}}
	default:
		return &Literal{Kind: NullLiteral}
	}
}
