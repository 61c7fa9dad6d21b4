package syntax

import (
	"sluice/batch"
	"sluice/fault"
)

// Options change how text is read. The zero Options read it as it stands.
type Options struct {
	// Substitute replaces ${...} in the text of a string literal, the only place where it is looked for (D-54). secret
	// says that the new text must never be printed. at is the place of the literal.
	Substitute func(text string, at Pos) (replaced string, secret bool, err *fault.Error)
}

// ParseFile, ParseQuery and ParseExpr read with the zero Options.
func ParseFile(file, text string) ([]Statement, fault.List) { return Options{}.ParseFile(file, text) }

// ParseQuery reads one query.
func ParseQuery(file, text string) (*Query, fault.List) { return Options{}.ParseQuery(file, text) }

// ParseExpr reads one expression that begins at the given place.
func ParseExpr(text string, at Pos) (Expr, fault.List) { return Options{}.ParseExpr(text, at) }

// ParseFile reads the statements of a .sql file. Statements with an error are left out; every problem is in the list.
func (o Options) ParseFile(file, text string) ([]Statement, fault.List) { return nil, nil }

// ParseQuery reads one query, with or without a semicolon behind it.
func (o Options) ParseQuery(file, text string) (*Query, fault.List) { return nil, nil }

// ParseExpr reads one expression. at is the place of its first character.
func (o Options) ParseExpr(text string, at Pos) (Expr, fault.List) { return nil, nil }

// ParseSchema reads a column list as in schema => 'a BIGINT, b STRUCT<x: INT> NOT NULL' (D-58). at is the place of the
// text's first character: Literal.TextPos of the string it stands in.
func ParseSchema(text string, at Pos) ([]ColumnDef, fault.List) { return nil, nil }

// ResolveType gives the type that was written.
func ResolveType(t *TypeExpr) (batch.Type, *fault.Error) { return batch.Type{}, nil }

// Fields resolves the types of a column list.
func Fields(columns []ColumnDef) ([]batch.Field, fault.List) { return nil, nil }

// Print writes a statement as text that reads back as the same tree.
func Print(s Statement) string { return "" }

// PrintQuery writes a query.
func PrintQuery(q *Query) string { return "" }

// PrintExpr writes an expression.
func PrintExpr(e Expr) string { return "" }

// Inspect visits a node and everything below it in the order of the text: queries, CTEs, select lists, table references,
// expressions. f is called with *Query, SetExpr, TableRef and Expr values; where it returns false, the node's children
// are left out.
func Inspect(node any, f func(node any) bool) {}

// Tables lists the *TableName and *TableFunc references a query reads, in the order of the text, those in subqueries and
// common table expressions included; names that mean a common table expression are left out.
func Tables(q *Query) []TableRef { return nil }
