// Package sinktest is the conformance suite of sink.Sink: every kind of output passes it. It checks the contract, not a
// kind's own options.
//
// The suite writes batches through the Sink of the kind and reads what arrived through the kind's Target. Rows compare as
// JSON lines, which are exact for every type. It promises to tell apart lost, repeated, reordered and changed rows, and
// to find goroutines that outlive Close.
package sinktest

import (
	"context"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"sluice/batch"
	"sluice/format/json"
	"sluice/sink"
)

// Kind makes targets of one kind.
type Kind struct {
	// New makes an empty target for rows of the given fields. What it needs is cleaned up by t.
	New func(t *testing.T, fields []batch.Field) Target
	// Types leaves columns of AllTypes out that the kind cannot take; nil takes all.
	Types func(f batch.Field) bool
	// Text leaves texts out that the kind refuses, such as those with a NUL; nil takes all.
	Text func(s string) bool
	// OnceOnly says that a batch sent twice is there once (Kafka, Postgres, file). Otherwise it may be there twice.
	OnceOnly bool
	// Feed says that the rows of a change feed arrive one by one, in order, with a column _change_type (D-43).
	Feed bool
	// IgnoreGoroutines are those of the kind's servers, which live longer than a Sink.
	IgnoreGoroutines []goleak.Option
}

// Target is one target under test.
type Target interface {
	// Open returns a Sink on the target; it is called again after a Close, as after a restart. The suite calls Sink.Open.
	Open(t *testing.T) sink.Sink
	// Read returns everything the target holds, in order, as columns of the fields New got, and of _change_type STRING in
	// front when feed is true.
	Read(t *testing.T, feed bool) batch.Columns
	// Break makes the next Write fail with an error that is worth a retry, and returns what ends that. It returns nil
	// when the kind cannot be made to fail.
	Break(t *testing.T) (mend func())
}

// Run runs the suite.
func Run(t *testing.T, k Kind) {
	for name, test := range map[string]func(*testing.T, Kind){
		"batches arrive in order":             inOrder,
		"a batch sent twice":                  sentTwice,
		"every type and null arrives exactly": allTypes,
		"an empty batch 0 is accepted":        emptyBatch,
		"a failed write is repeated":          failedWrite,
		"a write in doubt is repeated":        inDoubt,
		"a sink is reopened":                  reopened,
		"an ended context stops a write":      cancelled,
		"a change feed keeps its order":       changeFeed,
		"a new generation starts at 0":        newGeneration,
	} {
		t.Run(name, func(t *testing.T) {
			ignore := append([]goleak.Option{goleak.IgnoreCurrent()}, k.IgnoreGoroutines...)
			test(t, k)
			if !t.Failed() && !t.Skipped() {
				goleak.VerifyNone(t, ignore...)
			}
		})
	}
}

// ID is the identity of batch number of the suite's flow.
func ID(generation, number uint64) batch.ID {
	return batch.ID{Pipeline: "conformance", Flow: "publish", Store: "5f1d0c2a", Epoch: 1, Generation: generation, Number: number,
		Time: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)}
}

// Lines prints rows as JSON lines.
func Lines(t *testing.T, rows batch.Columns) []string {
	t.Helper()
	text, _, err := json.NewEncoder(rows.Fields, json.EncodeOptions{Lines: true}).Encode(nil, nil, &rows, 0, rows.Len)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(string(text), "\n")
	return lines[:len(lines)-1]
}

func compare(t *testing.T, got, want []string) {
	t.Helper()
	for i := range max(len(got), len(want)) {
		g, w := "nothing", "nothing"
		if i < len(got) {
			g = got[i]
		}
		if i < len(want) {
			w = want[i]
		}
		if g != w {
			t.Fatalf("row %d of the target (it has %d, want %d)\n got %s\nwant %s", i, len(got), len(want), g, w)
		}
	}
}

// opened opens a sink, telling it the last batch that was accepted.
func opened(t *testing.T, target Target, last batch.ID, ok bool) sink.Sink {
	t.Helper()
	s := target.Open(t)
	if err := s.Open(context.Background(), last, ok); err != nil {
		t.Fatalf("Open: %v", err)
	}
	return s
}

func write(t *testing.T, s sink.Sink, id batch.ID, rows sink.Rows) {
	t.Helper()
	if err := s.Write(context.Background(), id, rows); err != nil {
		t.Fatalf("Write of batch %d/%d: %v", id.Generation, id.Number, err)
	}
}

func closed(t *testing.T, s sink.Sink) {
	t.Helper()
	if err := s.Close(); err != nil {
		t.Fatalf("Close: %v", err)
	}
}
