// Package fault holds the errors Sluice shows to people and to code.
//
// An error is coded once, where it is understood: fault.New(fault.NullSequence, ...). Above that it is wrapped with
// context in the usual way (fmt.Errorf with %w). Only schedule, admin and cmd/processor decide anything by class or
// retry; everybody else passes errors on.
//
// The package promises that every code is declared here, in one of the codes_*.go files, with the class, the retry rule
// and one sentence that says when it occurs; docs/errors.md is generated from them. It does not log, print or count.
package fault
