// Package model holds the semantics of flows a second time, slow and plain: slices and loops, no encodings, no store, no
// batches. Property tests run engine and model on the same random input; they must agree.
//
// It is written from the specification alone and imports nothing of what it checks.
package model
