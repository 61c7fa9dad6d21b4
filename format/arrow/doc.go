// Package arrow shows columns as Arrow record batches, for the edges where other programs take them: IPC streams and
// Parquet.
//
// Types map one to one: TIMESTAMP is timestamp[us, UTC], TIMESTAMP_NTZ timestamp[us], DECIMAL decimal128, VARIANT utf8 with
// the extension type arrow.json. Buffers are shared where the layouts agree, which is everywhere but for BOOLEAN and
// narrow decimals; a record batch is valid as long as its columns.
package arrow
