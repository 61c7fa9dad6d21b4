// Package kafka reads topics: read_kafka (D-14).
//
// A Source consumes partitions directly, from the positions its caller gives, with no consumer group of its own. It
// fetches with requests of its own rather than with the library's consumer, because three promises need what the library
// hides: a position that moves over transaction markers, aborted records and the holes of compaction up to the very end
// of a partition; a topic id in every fetch, so that a topic that was deleted and created again is a stop
// and never a silent continuation (A-67, D-6); and a range that can be read again at any time with the same rows.
// Connections, TLS, SASL, versions and metadata are franz-go's.
//
// It promises: read_committed unless told otherwise (D-12); the order of a partition is kept; the rows of one Read come
// partition by partition; nothing is created by reading (D-56); lost records, a topic that changed, an open transaction
// at the end of a drain, and missing topics are coded errors that say what, where and what to do. Rows are not allocated
// one by one: a record's bytes go from the fetched batch to the decoder as a slice.
//
// It does not read message formats older than Kafka 0.11 (record batches). Against brokers before 3.1, which know no
// topic ids in a fetch, a topic that was created again is recognised by its id in the metadata and by its end.
package kafka
