// Package catalog reads a pipeline's definition: the spec file and the SQL files it names, and makes of them one graph of
// declared tables, flows and sinks with every name resolved.
//
// It promises that what it hands on is sound as far as names, clauses, rules between flows and the graph can tell, and
// that everything it found wrong is in Catalog.Problems, each with its place. It reads definition files and nothing else,
// looks into no query deeper than its FROM clauses (plan does that, with eval/dialect), and does not know any connector:
// what they offer comes in as data (Connectors).
package catalog
