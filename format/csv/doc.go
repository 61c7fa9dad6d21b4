// Package csv reads and writes CSV: RFC 4180, and its variants by Dialect.
//
// Records are lines, a line break being a newline with or without a carriage return before it; blank lines are no records.
// A field in quotes may hold separators, line breaks and escaped quotes. Quotes anywhere else, a missing closing quote and
// a ragged record are bad records (D-58); a quote that nothing closes ends its record with its line. So is a value that is not
// of its column's type; numbers, dates and times follow the rules of package format, so 1.0 is the integer 1 and nothing is
// rounded. Columns are found by a header's names or by position. Nested types and VARIANT have no form in CSV and are refused.
// Options of Spark's make a reader more lenient (options.go).
//
// The splitter and the decoder agree on where a record ends, whatever the quotes in it: both go over it with Dialect.field, or
// where the dialect is not plain with reader.token.
//
// From, To and Infer are the functions of SQL over CSV. They do what Spark does, to the last quote, as far as its own reader loses
// nothing; the goldens of eval/dialect hold them against it.
package csv
