package model

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// Expr is an expression over the columns of a row: a column (Op "column", named by Name), a literal (Op "literal"), or an
// operator over Args. The operators are those of the switch in Eval.
type Expr struct {
	Op    string
	Name  string
	Value Value
	Args  []Expr
}

// Column and Literal make the leaves.
func Column(name string) Expr           { return Expr{Op: "column", Name: name} }
func Literal(value Value) Expr          { return Expr{Op: "literal", Value: value} }
func Call(op string, args ...Expr) Expr { return Expr{Op: op, Args: args} }

// errCast is a run-time error of SQL: a text that is not a number (D-47).
var errCast = errors.New("the text is not a number")

// Eval evaluates the expression on a row, NULL where SQL says NULL (D-4, D-36).
func (e Expr) Eval(columns []string, row Row) (Value, error) {
	switch e.Op {
	case "column":
		for i, c := range columns {
			if c == e.Name {
				return row[i], nil
			}
		}
		return nil, fmt.Errorf("no column %s", e.Name)
	case "literal":
		return e.Value, nil
	}
	args := make([]Value, len(e.Args))
	for i, a := range e.Args {
		var err error
		if args[i], err = a.Eval(columns, row); err != nil {
			return nil, err
		}
	}
	return e.apply(args)
}

func (e Expr) apply(args []Value) (Value, error) {
	switch e.Op {
	case "IS NULL":
		return args[0] == nil, nil
	case "<=>":
		return sameKey(args[:1], args[1:]), nil
	case "COALESCE":
		for _, a := range args {
			if a != nil {
				return a, nil
			}
		}
		return nil, nil
	case "AND", "OR":
		return connect(e.Op == "OR", args[0], args[1]), nil
	case "IN": // an OR of equations: NULL where nothing is equal and something is NULL
		var found Value = false
		for _, a := range args[1:] {
			equal, _ := Call("=", Literal(args[0]), Literal(a)).Eval(nil, nil)
			found = connect(true, found, equal)
		}
		return found, nil
	case "BETWEEN": // an AND of two comparisons, one of which may decide though the other is NULL
		low, _ := Call("<=", Literal(args[1]), Literal(args[0])).Eval(nil, nil)
		high, _ := Call("<=", Literal(args[0]), Literal(args[2])).Eval(nil, nil)
		return connect(false, low, high), nil
	}
	for _, a := range args {
		if a == nil {
			return nil, nil
		}
	}
	switch e.Op {
	case "NOT":
		return !args[0].(bool), nil
	case "+":
		return args[0].(int64) + args[1].(int64), nil
	case "=":
		return compare(args[0], args[1]) == 0, nil
	case "<":
		return compare(args[0], args[1]) < 0, nil
	case ">":
		return compare(args[0], args[1]) > 0, nil
	case "<=":
		return compare(args[0], args[1]) <= 0, nil
	case ">=":
		return compare(args[0], args[1]) >= 0, nil
	case "<>":
		return compare(args[0], args[1]) != 0, nil
	case "%":
		return args[0].(int64) % args[1].(int64), nil
	case "UPPER":
		return strings.ToUpper(args[0].(string)), nil
	case "LENGTH":
		return int64(len(args[0].(string))), nil
	case "TRY INT":
		n, err := strconv.ParseInt(args[0].(string), 10, 32)
		if err != nil {
			return nil, nil
		}
		return n, nil
	case "INT":
		n, err := strconv.ParseInt(args[0].(string), 10, 32)
		if err != nil {
			return nil, errCast
		}
		return n, nil
	case "DOUBLE":
		d, err := strconv.ParseFloat(args[0].(string), 64)
		if err != nil {
			return nil, errCast
		}
		return d, nil
	}
	panic("no operator " + e.Op)
}

// connect is AND and OR in three values: the deciding one (FALSE for AND, TRUE for OR) wins over NULL.
func connect(deciding bool, a, b Value) Value {
	switch {
	case a == deciding || b == deciding:
		return deciding
	case a == nil || b == nil:
		return nil
	}
	return !deciding
}

// SQL is the expression as SQL.
func (e Expr) SQL() string {
	args := make([]string, len(e.Args))
	for i, a := range e.Args {
		args[i] = a.SQL()
	}
	switch e.Op {
	case "column":
		return e.Name
	case "literal":
		if s, ok := e.Value.(string); ok {
			return "'" + s + "'"
		}
		return text(e.Value)
	case "IS NULL":
		return args[0] + " IS NULL"
	case "NOT":
		return "NOT (" + args[0] + ")"
	case "INT", "DOUBLE":
		return "CAST(" + args[0] + " AS " + e.Op + ")"
	case "TRY INT":
		return "TRY_CAST(" + args[0] + " AS INT)"
	case "COALESCE", "UPPER", "LENGTH", "SUM", "AVG", "MIN", "MAX":
		return strings.ToLower(e.Op) + "(" + strings.Join(args, ", ") + ")"
	case "COUNT":
		return "count(*)"
	case "IN":
		return args[0] + " IN (" + strings.Join(args[1:], ", ") + ")"
	case "BETWEEN":
		return "(" + args[0] + " BETWEEN " + args[1] + " AND " + args[2] + ")"
	}
	return "(" + strings.Join(args, " "+e.Op+" ") + ")"
}
