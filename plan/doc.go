// Package plan turns a checked catalog into work: for every flow the columns to decode, the statement to run, the checks,
// the rule and the target, all as data.
//
// It promises that a pipeline that planned has no error a user could have been told before it ran without connecting
// anywhere (D-56), and that all such errors come in one list. It opens nothing and runs nothing.
package plan
