// Package lint holds the rules of the house as tests: which room may import which, who owns a heavy dependency, who may
// start goroutines, what is pure, how packages are named and described, and that every rule of the specification and every
// error code is carried by a test.
//
// The tables it checks stand where people read them: the arrows in docs/architecture.md, the dependencies in
// docs/dependencies.md. Every check is a function from a tree to problems, each of which says what to do; lint_test.go runs
// them over the repository, and each has a test of its own that shows it a tree which breaks it.
//
// It reads source text only. It does not build anything and knows no types.
package lint
