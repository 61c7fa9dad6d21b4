// Package flow is one flow at work: the one path from a source's columns to an atomic commit.
//
// step.go is the path and the file to read first: every step is a plain call. run.go is the loop around it, which reads
// one batch ahead. update.go is the other path, of REPLACE WHERE flows, which compute a window in one go. bad.go says what records that cannot be read or evaluated do (D-15).
//
// It promises:
//   - a batch is committed whole, with the positions it covers, or not at all;
//   - with FAILFAST the flow stops at the first bad record of a split: what stands before it is committed, nothing at or
//     after it, and the next start stops at the same place;
//   - a sink gets batches in order, each under a number that always brings the same rows (D-42);
//   - Run returns only when the goroutine it started has returned.
//
// It does not retry (schedule does), does not know when it may run, and keeps nothing: every number it needs is in the store.
package flow
