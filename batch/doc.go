// Package batch holds the data that travels the one path: types, columns, positions, ranges and the records that could
// not be read.
//
// Columns have Arrow's memory layout (little-endian value buffers, uint32 offsets beside bytes, validity bitmaps with the
// lowest bit first), with one exception: a BOOLEAN is one byte, as DuckDB has it. All buffers are free of Go pointers, so
// the collector does not scan them and they can be pinned and handed to C.
//
// The package also owns the canonical order of values (order.go): one encoding whose bytes compare as the values do,
// used by keys, floors, sequences and tests alike (D-36, RU-O8, RU-O9).
//
// It does no I/O, starts no goroutine and imports only fault.
package batch
