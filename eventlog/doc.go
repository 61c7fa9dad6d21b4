// Package eventlog says what happened. The core emits events; the log, the metrics, the status page and the tests listen.
//
// Events are plain structs that print themselves in one line; their names and fields are those of Lakeflow's event log
// (semantics 14) where it has one. Emit calls every listener in turn on the caller's goroutine, so a listener must not
// block and must not emit.
//
// Durable is the listener that keeps the log: it turns events into records (JSON) and gives them to the store. Events of
// single batches are many, so it adds up their counts and writes one flow_progress record per flow and interval. Delivery
// of the last interval's counts is not promised over a crash; the counts themselves are in the store, committed with
// their batch.
package eventlog
