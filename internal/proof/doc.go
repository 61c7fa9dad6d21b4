// Package proof runs random pipelines in the engine and in the model, and wants the same.
//
// A Case is a random pipeline and what happens to it: records with ties, late rows, nulls, NaN, both zeros and fractions that no DOUBLE is,
// expectations that drop or stop, tables with windows under random predicates, with groups and sums, once flows that others wait for, change
// feeds, sinks; batches cut anywhere, partitions, restarts, crashes, outages in the middle of a write, checkpoint resets, full refreshes,
// overrides, statements, edits. Its script is a scenario (internal/scenario) whose answers are those of the model (internal/model); the engine must give the
// same: rows of tables, what sinks add up to, counts, what has been drained, who failed and who was skipped for it.
//
// When it does not, Reduce leaves out of the case what the difference does not need, and Case.File is a scenario file that can be
// committed as it is: it fails until the engine is corrected.
//
//	go test ./internal/proof                      a fixed set of seeds
//	go test ./internal/proof -seed 42             one seed, whose difference is reduced and written to a file
//	make soak FOR=30m                             new seeds, for that long
//
// It says nothing about how long things take, about the order of rows in a table, or about what no Case contains; generate.go
// is the list of what they do contain. That it would notice is tested, too (harm_test.go): each rule of the model is broken in turn,
// and sinks and a disk are made to lose and double things; all of that must be found.
package proof
