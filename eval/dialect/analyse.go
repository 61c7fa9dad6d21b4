package dialect

import (
	"sluice/fault"
	"sluice/syntax"
)

// bound is a query with every name resolved and every expression typed.
type bound struct{}

func analyse(q *syntax.Query, scope Scope, opt Options) (*Analysis, fault.List) {
	return nil, fault.List{fault.New(fault.UnsupportedFeature, "queries are not understood yet").At(q.Pos)}
}

func compile(a *Analysis, p Projection) (*Compiled, fault.List) {
	return nil, fault.List{fault.New(fault.UnsupportedFeature, "queries are not written yet")}
}
