// Package daemon is a pipeline at work: it builds the store, the SQL engines and one job per flow once, joins them, and
// stops them in reverse. It is the one place of the product that knows every room; the command line and the scenarios of
// the tests start the same daemon through it.
//
// It promises:
//   - Start reads nothing from outside and changes nothing but the store; what it refuses, it refuses before any flow runs;
//   - a flow's sources, sinks and statements are opened at each try and closed after it;
//   - Close undoes all of Start and Serve, in reverse, whatever had been built.
//
// It does not decide when a flow runs (schedule does) nor what a batch does (flow does), and does not end the process:
// Options.Fatal is told when the store cannot go on.
package daemon
