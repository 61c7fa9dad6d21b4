// Package model holds the semantics of pipelines a second time, slow and plain: slices, maps and loops, no encodings, no
// store, no batches. Engine and model are run on the same random input; they must agree.
//
// It is written from the specification alone (sections 1, 8, 9, 10, 11 and the decisions) and imports nothing of what it
// checks. A World is a whole pipeline with its topics, tables and sinks; ReplaceUsing is the closed form of one keyed table.
//
// What the specification leaves to chance the model does not say: in which batch a row came, the order of rows of a table,
// which of several counters a row falls under that another row of its key beat. Rules names what can be got wrong; a rule
// that is switched off makes a model that is wrong in a known way, so that tests can show that they would notice.
package model
