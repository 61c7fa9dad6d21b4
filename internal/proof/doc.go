// Package proof runs random pipelines in the engine and in the model, and wants the same.
//
// A Case is a random pipeline and what happens to it: records with ties, late rows, nulls, NaN and both zeros, expectations that
// drop, once flows that others wait for, change feeds, sinks; batches cut anywhere, partitions, restarts, crashes, checkpoint
// resets, full refreshes. Its script is a scenario (internal/scenario) whose answers are those of the model (internal/model);
// the engine must give the same: rows of tables, what sinks add up to, counts, what has been drained.
//
// When it does not, Reduce leaves out of the case what the difference does not need, and Case.File is a scenario file that can be
// committed as it is: it fails until the engine is corrected.
//
//	go test ./internal/proof                      a fixed set of seeds
//	go test ./internal/proof -seed 42             one seed, whose difference is reduced and written to a file
//	go test ./internal/proof -for 30m             new seeds, for that long
//
// It says nothing about how long things take, about the order of rows in a table, or about what no Case contains; generate.go
// is the list of what they do contain.
package proof
