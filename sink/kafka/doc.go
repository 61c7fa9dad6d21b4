// Package kafka is the sink that writes topics (D-18, D-45).
//
// Each batch is one transaction, with the transactional id <pipeline>.<flow>: a read_committed consumer sees it once and
// whole, or not at all. In the same transaction the identity of the batch (store, epoch, generation, number) is committed
// as an offset of the group <pipeline>.<flow>.sink, on partition 0 of the topic: the offset is the number, the metadata
// the rest. It also stands in a header of every record. From these the sink knows after any crash which batch was the last,
// drops the one that comes again, and refuses to write next to another store, behind a newer run of its own, or after the
// target lost its memory. A newer run fences an older one; the older one stops with FENCED.
//
// An empty batch moves only the identity, by a plain commit, since a transaction without records is none. Idle identities
// are written again daily, because brokers forget the offsets of groups without members after offsets.retention.minutes.
//
// mode => append writes one record per row; of a change feed every change, in order, with _change_type in front.
// mode => upsert writes the net effect of the batch per key: the row, or a tombstone. The record key is a JSON object of the
// key columns, in the order of keys, so that equal keys, and only those, are equal bytes.
//
// On a doubt (no acknowledgement in time, a broken connection, the end of the context) the client is thrown away, the batch
// comes again, and the identity tells whether it is there already. A transaction that a cluster left open after a restart is
// ended as it was to end. It does not create topics unless create_topic says so.
package kafka
