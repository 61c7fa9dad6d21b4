// Package json reads and writes JSON records: one object per record, its members the columns.
//
// Reading is one pass over the bytes of a record. It accepts exactly the documents of RFC 8259, and of those it refuses, as
// bad records: an object with a name twice at any depth (D-8, A-36), a string with invalid UTF-8 or a lone surrogate,
// nesting deeper than MaxDepth, anything but one object. A byte order mark in front is removed (D-8). Members
// that no column asks for are skipped, but what is in them must be valid too. Numbers go from their text to the column's
// type without a float64 in between (D-8, A-18). In a steady state nothing is allocated per record.
//
// Writing is exact as well: every digit of integers and decimals, six fraction digits of timestamps where they are not
// zero, bytes as base64, and the text "NaN", "Infinity" or "-Infinity" for what JSON has no number for.
//
// The package knows nothing of files or topics: a record is a slice of bytes, its position is the caller's business.
package json
