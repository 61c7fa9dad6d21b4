// Package broker is the Kafka-compatible broker inside the binary (franz-go's kfake), for a first try, for examples and
// for tests: no Docker, no Java. It also fills topics from files.
//
// With a data folder it keeps topics, their ids, records, transactions and group offsets over a restart and over a kill of
// the process. It does not sync each write to disk, so a power cut may lose the last records. One process at a time may
// use a folder. It has one node and no replication: it is not for production.
package broker
