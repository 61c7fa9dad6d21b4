// Package trial rehearses a pipeline in a sandbox: the same records again and again, in shuffled orders, cut into other
// batches, read twice, with power cuts in between, and every time the result has to be the same (D-23). It is what
// `processor test` does.
//
// A Case is a pipeline with samples for its topics, and perhaps with what shall come out (a test file, Read). The reference
// run takes the records in their order, in batches as large as they come; Expect is compared with it. Then come the rehearsed
// runs, each made of a seed. What is compared: the rows of every table, what every sink has got with its changes added up, and
// which flows failed. What the planner knows to depend on order (plan.Varies) is named and left out.
//
// It promises that nothing of the user's is touched. The plan that runs is a copy in which the store is a disk in memory,
// every topic one of a broker in the process, and every sink a fold in memory: no sink is made, no program started, nothing
// written. Files that read_files names are read; Latest reads the real topics, and only that.
//
// It does not promise that a seed repeats a run in every step: it fixes the order of records, their partitions, the sizes of
// batches and after how many steps the power fails, but flows that run side by side meet as the machine has it. Appends are not
// read twice: an append table then has its rows twice by rule (FR-13).
package trial
