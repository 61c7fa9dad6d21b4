// Package syntax is the language of pipeline files: text to tree with positions, tree to text.
//
// It reads the statements of section 17 (CREATE STREAMING TABLE, CREATE FLOW, CREATE SINK, views, REFRESH, ALTER) and
// Spark SQL queries and expressions, with Spark's precedence and its words as names. It promises that every problem of a
// file is reported with its line and column, one per statement at least; that a statement it returns is whole; that
// reading what Print wrote gives the same tree up to positions; and that no text makes it panic, hang or return a tree
// deeper than a walk can bear.
//
// It knows no tables, types of expressions or functions: what a name means, what a flow may do and what a later version
// brings is for catalog and plan to say, so REPLACE WHERE, AUTO CDC, views, REFRESH and ALTER come back as trees. What
// the tree cannot hold (LATERAL VIEW, PIVOT, GROUPING SETS, hints of the older dialect) is refused by name.
package syntax
