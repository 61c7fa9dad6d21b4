// Package parquet writes columns as Parquet files, with exact types: decimals as decimals, timestamps in microseconds,
// VARIANT as JSON, NOT NULL as required.
//
// A file is one batch, so it is written from memory, in row groups of at most a million rows. Nested columns are taken
// apart into levels here (levels.go): the library's own bridge from Arrow would bring an RPC framework into the binary.
// Reading is not here: files that are read are text (source/file), and the store's own Parquet files are DuckDB's.
package parquet
