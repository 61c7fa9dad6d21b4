package letters

import (
	"slices"
	"strconv"
	"strings"

	"sluice/batch"
	"sluice/state"
)

// Headers that a letter has behind those of its record. Of those of Kafka Connect and of Kafka Streams these are the ones that say something
// here: there is no task, stage, class or trace of a stack. For a record of a file the topic is the path and the offset a byte, for a row of
// a table they are the table and its commit.
const (
	connect = "__connect.errors."
	streams = "__streams.errors."

	connectTopic     = connect + "topic"
	connectPartition = connect + "partition"
	connectOffset    = connect + "offset"
	connectName      = connect + "connector.name"       // pipeline.flow
	connectException = connect + "exception.class.name" // the code of the error
	connectMessage   = connect + "exception.message"    // and what it says
	streamsTopic     = streams + "topic"
	streamsPartition = streams + "partition"
	streamsOffset    = streams + "offset"
	streamsException = streams + "exception"
	streamsMessage   = streams + "message"
	ownTimestamp     = "sluice.record.timestamp" // milliseconds since the epoch; that of the letter is when it was sent
	ownID            = "sluice.record.id"        // of the topic, the file or the table that the offset counts in
	ownIndex         = "sluice.record.index"     // among the rows at one offset, from 0; not of the first
	ownColumn        = "sluice.error.column"     // that the error is about, if it is about one
)

// headers are those of a letter.
func (s *Source) headers(q *state.Quarantined) []batch.Header {
	out := slices.Clone(q.Headers)
	add := func(value string, names ...string) {
		for _, name := range names {
			if value != "" {
				out = append(out, batch.Header{Key: name, Value: []byte(value)})
			}
		}
	}
	topic, partition := q.Split, ""
	if at := strings.LastIndexByte(topic, '/'); s.Kafka && at >= 0 {
		topic, partition = topic[:at], topic[at+1:]
	}
	add(topic, connectTopic, streamsTopic)
	add(partition, connectPartition, streamsPartition)
	add(strconv.FormatInt(q.At.At, 10), connectOffset, streamsOffset)
	add(s.Of, connectName)
	add(q.Code, connectException, streamsException)
	add(q.Message, connectMessage, streamsMessage)
	if q.Time != 0 {
		add(strconv.FormatInt(q.Time/1000, 10), ownTimestamp)
	}
	add(q.ID, ownID)
	if q.At.Index != 0 {
		add(strconv.Itoa(int(q.At.Index)), ownIndex)
	}
	add(q.Column, ownColumn)
	return out
}
