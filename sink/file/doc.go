// Package file is the sink that writes one file per batch into a folder: NDJSON, CSV, lines of text, or Parquet.
//
// A file is called <pipeline>.<flow>.<generation>.<number> with ten digits each, so that names sort as batches come. It is
// written under a name that starts with a dot, synced, renamed into place, and the folder is synced: a reader sees a whole
// file or none, and an accepted batch survives a crash of the machine. A batch that comes again replaces its file by one
// with the same rows, so each batch is there once. An empty batch is an empty file, or one with a header only. Nothing is ever deleted but what an
// interrupted write of the same flow left; after a full refresh the files of the old generation are still there.
//
// The rows of a change feed are written in order, with _change_type in front (D-43). Two daemons with copies of one store
// are not noticed.
package file
