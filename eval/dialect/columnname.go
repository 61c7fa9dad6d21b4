package dialect

import (
	"strings"

	"sluice/syntax"
)

// columnName is what Spark calls a column of the select list that has no alias: the name of a column or field, also under a
// cast, else the text of the expression in Spark's own spelling.
func columnName(e syntax.Expr) string {
	if c, ok := e.(*syntax.Cast); ok {
		switch c.X.(type) {
		case *syntax.Column, *syntax.Field:
			return columnName(c.X)
		}
	}
	return pretty(e)
}

func pretty(e syntax.Expr) string {
	switch e := e.(type) {
	case *syntax.Column:
		return e.Name.Parts[len(e.Name.Parts)-1].Text
	case *syntax.Field:
		if !ofColumn(e.X) {
			return pretty(e.X) + "." + e.Name.Text
		}
		return e.Name.Text
	case *syntax.Literal:
		if e.Kind == syntax.StringLiteral && !e.Secret {
			return e.Text
		}
	case *syntax.Binary:
		op := e.Op
		switch op {
		case "==":
			op = "="
		case "<>", "!=":
			return "(NOT (" + pretty(e.X) + " = " + pretty(e.Y) + "))"
		case "DIV":
			op = "div"
		case "||":
			return "concat(" + pretty(e.X) + ", " + pretty(e.Y) + ")"
		}
		return "(" + pretty(e.X) + " " + op + " " + pretty(e.Y) + ")"
	case *syntax.Unary:
		if e.Op == "NOT" {
			return "(NOT " + pretty(e.X) + ")"
		}
		return "(" + e.Op + " " + pretty(e.X) + ")"
	case *syntax.Is:
		if e.What == "NULL" && e.Not {
			return "(" + pretty(e.X) + " IS NOT NULL)"
		}
		if e.What == "NULL" {
			return "(" + pretty(e.X) + " IS NULL)"
		}
	case *syntax.Func:
		if e.Filter == nil && e.Over == nil && !e.Distinct && len(e.OrderBy) == 0 && len(e.Name.Parts) == 1 {
			return prettyCall(e)
		}
	}
	return syntax.PrintExpr(e)
}

// ofColumn reports whether e is a column, or a field of one.
func ofColumn(e syntax.Expr) bool {
	switch e := e.(type) {
	case *syntax.Column:
		return true
	case *syntax.Field:
		return ofColumn(e.X)
	}
	return false
}

func prettyCall(e *syntax.Func) string {
	if e.Star {
		return "count(1)"
	}
	name, shown := strings.ToLower(e.Name.Parts[0].Text), e.Args
	if (name == "from_json" || name == "from_csv") && len(shown) > 1 { // schema and options do not show
		shown = shown[:1]
	}
	args := make([]string, len(shown))
	for i, a := range shown {
		args[i] = pretty(a)
	}
	return name + "(" + strings.Join(args, ", ") + ")"
}
