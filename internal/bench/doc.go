// Command bench measures flows beside a plain consume of the same topic, on one machine in one run (make bench).
//
// A broker of its own process holds the records in memory, in four partitions and uncompressed. Each measurement runs in a
// process of its own, next to a plain consume, and the figure to believe is the ratio of the two: machines that are shared
// change by a factor of two within minutes. Flows are run by the processor as users run it, with durable state on disk,
// without a setting that users do not have. A window of a REPLACE WHERE table is measured beside the whole of it.
//
// It promises that every measurement is checked: the rows and their sum are what the records say. It does not measure the
// network, a real broker, nor latency.
//
//	main.go       flags, the order of measurements
//	records.go    the records
//	broker.go     the broker's process
//	consume.go    plain consume, and consume and decode
//	decode.go     decoders alone, beside others on the same bytes
//	flows.go      the pipelines
//	windows.go    REPLACE WHERE: a window beside the whole table
//	process.go    running a process and what it used
//	report.go     the table
package main
