package dialect

import (
	"sluice/batch"
	"sluice/fault"
	"sluice/syntax"
)

// Moment is the query that gives the time of TIMESTAMP AS OF e in one row: NULL where the value of e is none. e reads nothing but the clock, which
// is the same for all of a statement (D-48).
func Moment(e syntax.Expr, opt Options) (*Compiled, fault.List) {
	at := e.Position()
	cast := &syntax.Cast{X: e, Type: &syntax.TypeExpr{Name: "TIMESTAMP", Pos: at}, Try: true, Pos: at}
	q := &syntax.Query{Pos: at, Body: &syntax.Select{Pos: at, Items: []syntax.SelectItem{{Expr: cast}}}}
	a, problems := Analyse(q, nothing{}, opt)
	if len(problems) > 0 {
		return nil, problems
	}
	if !constantValue(a.query.root.outputs[0].value) {
		return nil, fault.List{fault.New(fault.TimeTravelTimestamp, "%s has another value whenever it is computed", syntax.PrintExpr(e)).At(at).
			WithHint("write a timestamp, or reckon from current_timestamp()")}
	}
	return a.Compile(Projection{Columns: []Target{{Field: batch.Field{Name: "at", Type: batch.Of(batch.Timestamp)}}}})
}

// nothing is a scope without relations.
type nothing struct{}

// Relation implements Scope.
func (nothing) Relation(ref syntax.TableRef) (*Relation, *fault.Error) {
	return nil, fault.New(fault.TimeTravelTimestamp, "the time of TIMESTAMP AS OF cannot be read from a table").At(ref.Position()).
		WithHint("run the subquery first, and write its value")
}
