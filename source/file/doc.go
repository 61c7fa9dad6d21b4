// Package file is the source read_files (D-14): a file, a folder or a pattern, each file once, as a stream or to an end.
//
// A split is a file; its name is the path, relative to the pipeline's folder where the pipeline wrote it so. A mark's ID is
// the file's size and modification time, its offset a byte: the start of the next record. A folder stands for all files in
// and below it. Names that start with a dot or an underscore are skipped, as are things that are neither files nor folders;
// symbolic links to folders are not followed. Files are taken in the order of their time, then of their path (D-53).
//
// Files must be complete when they appear: writers rename them into place. A file that is being read is read up to the
// size it had when it was listed; when its size or time differ from the listing, reading stops with FILE_CHANGED. A file that
// was read whole is done for good: a change of it is ignored with one warning, its removal without one.
//
// A stream looks for new files whenever it has nothing to read, every pollInterval. There is no goroutine and no state but
// the file that the last Read stopped in; every Read could be the first.
//
// Decoding is the business of the format.Reader that the source is made with.
package file
