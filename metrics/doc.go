// Package metrics turns events into Prometheus metrics.
//
// It is a listener of eventlog, plus a few values that are read when somebody scrapes (tables, the store) or handed over
// where they are measured (fsyncs). Nothing registers globally: New takes the registry, so a process can hold several.
//
// It promises: every name, type, label and help text is in testdata/manifest.txt, and a change of that file is a change
// of the product's interface; counters of a flow exist, at zero, from the moment the flow is defined, so that rate() sees
// the first event; Listen does not block.
//
// It does not keep history, and it does not reset a counter when a flow is reset: counters belong to the process.
package metrics
