// Package schedule decides which flow runs when, and is the only place that starts a goroutine for a flow.
//
// It promises: a flow starts only after everything it waits for has ended well (DO-02, DO-26); a failed flow is tried
// again as its error and the mode allow (D-51) and then takes its dependents out of this run (DO-O3), never anybody else
// (PM-06); a soft stop lets every running flow finish its batch; when Run returns, everything it started has returned.
//
// It does not know what a flow does: it is given a Job per flow. Time is the runtime's, so tests fake it with synctest;
// that of turns is asked of a function.
//
// Turns says which tables with a schedule have their turn, from what a store keeps of each (Record).
package schedule
