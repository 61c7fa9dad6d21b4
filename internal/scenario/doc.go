// Package scenario runs whole pipelines in one process from text files that a person can read and a flag can rewrite
// (go test ./internal/scenario -rewrite).
//
// A file in testdata is a pipeline, what happens around it, and what tables and sinks hold afterwards. The daemon is the
// product's own; around it are an embedded broker, a disk in memory that can crash, sinks that outlive it, and real
// DuckDB. Each file is a family: it runs in several variants (variant.go), whose tables and folded sinks must be the
// same. A file opts out of a variant with "only" and gives the reason.
//
// Each ends with the digests that are kept of tables held against their rows (D-29).
//
// It does not check how long anything takes, and a file shows no number that depends on how records fell into batches
// unless it fixes the variant.
//
// # Commands
//
//	only limit=... partitions=... restart=... mode=... stop=... files=...    fixes axes of the variants; the input is the reason
//	pipeline [name=N] [features=F] [digests=declared] [setting=value ...]
//	                                                               declares the pipeline; the input is SQL. Digests are kept of two tables
//	                                                               of three, or of those that say so
//	topic NAME [partitions=N] | topic NAME delete | trim=OFFSET    makes, deletes or shortens a topic
//	produce TOPIC [key=MEMBER] [times=N] [literal] [headers=(NAME:VALUE, NAME)] [partition=N] [time=T] [in=TRANSACTION]
//	                                                               one JSON document a line; "null" alone is a null value. With "literal" a line is a
//	                                                               Go string literal. A header without a value is null. A transaction is begun
//	                                                               by its first record
//	end TRANSACTION commit | abort                                 ends it
//	file PATH                                                      writes a file
//	run [refresh=(T, ...)] [full-refresh=(T, ...)] [full-refresh-all] [accept-data-loss] [messages | brief | states]
//	                                                               runs until everything has been applied; shows who failed
//	step FLOW [batches=N] [messages | states]                      runs until the flow has committed N batches, then stops
//	stop | crash                                                   stops a daemon that stays up between commands
//	outage WRITES [survives=PERCENT] [stays]                       the power fails before that write of the next run, reset or override; it goes on after
//	                                                               it, or ends there
//	fault REQUEST ANSWER [times=N] [done] [topic=T]                what the broker answers to requests of a kind in the next run: an error code, with
//	                                                               "done" after it has carried out the request, or cut, lost, never, slow, throttle
//	                                                               (broker.go). It stops a daemon that is up. A fault that is not reached, or of
//	                                                               which nobody takes notice, fails the test
//	fault sink SINK [times=N] [done]                               a sink of any kind refuses its next batches; with "done", after it has taken them
//	reset FLOW                                                     resets the flow's checkpoint
//	override TABLE                                                 an update of a REPLACE WHERE table under the predicate in the input
//	dlq edit | replay | forget [flow=F] [code=C]                   edits, replays or forgets records in quarantine: those with the values in the input, all
//	                                                               without one. Of edit the input is a value, and the new one, for each
//	undo TABLE at=TIME | to=VERSION                                puts a table back to an earlier version
//	fail SINK [times=N] [final]                                    the sink refuses its next batches
//	hold SINK                                                      the sink gives no answer to its next batch
//	table NAME | query                                             rows of a table, or of the query in the input, sorted
//	digest [kept]                                                  digests of all tables, or of those of which one is kept
//	sink NAME [count | order]                                      what the sink holds, changes folded, sorted; as it came
//	letters TOPIC [HEADER ...]                                     key, value and those headers of what a committed reader finds in a topic, as Go string
//	                                                               literals, sorted
//	batches SINK                                                   what a memory sink was given, batch by batch
//	show FILE                                                      a file that something outside wrote
//	flow NAME                                                      where the flow stands: generation, drained or not
//	group FLOW                                                     the offsets in the flow's consumer group
//	counters FLOW [NAME ...]                                       what the flow's batches added up, as committed with them; a+b is a sum
//	outcomes FLOW                                                  metrics of batches in the event log, added up
//	quality FLOW                                                   data_quality of the event log, added up
//	events [type=T] [flow=F] [level=L] [code=C]                    messages of the event log, each once
//	metrics PREFIX [flow=F]                                        what the daemon exposes
package scenario
