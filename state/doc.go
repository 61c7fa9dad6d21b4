// Package state is the one durable store of a pipeline: tables, floors, positions, planned batches, completions, change
// feeds, definitions and events, all in one Pebble store under one folder, and files of rows beside it.
//
// # What it promises
//
// A batch is one atomic commit: its rows, the positions of its flow, its number and time, its counters, its change feed, and,
// where it is kept, the digest of the table's rows. A crash at any moment leaves either all of it or nothing. What is committed is
// durable after at most SyncInterval, and at once after Sync; commits become durable in the order they were made, so what
// follows from a commit never survives it.
//
// Nothing that was made durable is lost without an error: a failed write, a failed sync and corruption found while
// reading end the store's work and are reported once through Options.OnFault, whose caller ends the process.
//
// Readers see whole commits only. A Snapshot shows several tables as they were at one moment.
//
// A file of a table never changes and is durable, name and all, before the commit that names it. Append tables put what is old into files, which
// nobody who reads them can tell; tables with windows have nothing else, and a swap of files is one commit (Flow.Swap). Files that a snapshot
// sees are kept until it is closed.
//
// # What it does not
//
// It does not know what a file looks like inside (a Sealer does), and merges small ones of tables with windows only.
// It does not decide what a batch does to a key (replaceusing does), knows no SQL, no source and no sink, and reads no
// clock but to measure: the time of a batch comes from its flow.
//
// # How it is used
//
// The daemon opens the store once. A flow has a Flow, used by one goroutine; a table has a Table, from which writers take
// turns (Begin) and any number of readers read. See keys.go for the layout, and docs/state-format.md for the same in
// prose.
package state
