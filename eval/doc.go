// Package eval is the only SQL engine: it runs what dialect wrote over columns. It alone owns DuckDB and cgo.
//
// A Statement is prepared once per flow and run once per micro-batch. Its inputs are batches (columns in Go memory that
// DuckDB reads in place) or scans (a table, pulled piece by piece); its result is copied out column by column. Nothing
// is done per row by a call, an allocation or a lock.
//
// The package promises:
//   - the rows of one input come to DuckDB in their order, from one worker; on an engine with one thread a statement
//     without a sort or a join gives its rows in that order too, and the same inputs give the same result (D-22);
//   - no statement sees the wall clock, a file, the network or another statement; the batch time is a parameter (D-48);
//   - an error that a row caused has class Data, and RunIsolated tells which row it was (D-15);
//   - a context that ends interrupts DuckDB and leaves the statement as usable as before;
//   - buffers of the caller are read only until the call returns, and a panic in a scan is an error.
//
// It does not know Spark SQL (that is dialect), tables, flows or expectations, and keeps nothing between two runs.
//
// function.go computes in Go, a chunk at a time, the functions of Spark that DuckDB lacks (from_json); what they make NULL is counted
// once for each row of a run that succeeds.
//
// scan.c is the table function through which DuckDB reads inputs, clock.c the function that gives the batch time, function.c that which calls Go, result.c
// walks a result; layout.go describes types to all. duckdb.h is DuckDB's own header, of the version that go.mod pins; Open
// refuses to work with another one.
package eval
