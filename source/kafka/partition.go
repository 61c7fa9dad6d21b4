package kafka

import (
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// partition is what a Source knows about one partition. Fields up to the line are guarded by Source.mu; those below
// belong to the goroutine that calls Read.
type partition struct {
	split  string // "topic/partition"
	topic  string
	number int32
	id     kadm.TopicID // of the topic that is being read
	idText string       // the same, as in marks
	leader int32

	wanted bool   // the last Read reads it
	until  int64  // no need to fetch from here on
	next   int64  // where the next fetch begins
	turn   uint64 // rises when next is set by Read: answers to older fetches are dropped
	queue  []recordBatch
	size   int // bytes of the records in queue

	end, stable, start int64 // high watermark, last stable offset and log start of the last answer; -1 unknown
	ended              bool  // the last answer had nothing behind next that may be read
	blockedAt          int64 // the last stable offset that has held up reading since blockedSince
	blockedSince       time.Time
	holder             *holder // of the open transaction at blockedAt, once it was asked for
	outOfRange         bool    // the broker has nothing at next: Read finds out why
	gone               bool    // the topic is not there any more, or is another one: Read finds out which
	err                error   // Read returns it

	//----------------------------------------------------------------
	pos   int64 // next offset to return
	empty int64 // from pos to here there is nothing
	lost  int64 // offsets before pos that were gone, not yet reported
	batch recordBatch
	frame int32 // index of the batch in Source.frames once its first record was taken in this Read, else -1
	data  []byte
	at    int   // next record in data
	left  int32 // records left in data
}

func newPartition(topic string, number int32, id kadm.TopicID, leader int32) *partition {
	return &partition{split: splitName(topic, number), topic: topic, number: number, id: id, idText: id.String(), leader: leader, pos: -1, end: -1, stable: -1, start: -1, frame: -1}
}

// seek makes reading go on at offset, and forgets what was fetched. s.mu is held.
func (p *partition) seek(offset int64) {
	p.pos, p.next, p.lost = offset, offset, 0
	p.turn++
	p.queue, p.size = nil, 0
	p.empty = 0
	p.data, p.at, p.left = nil, 0, 0
	p.outOfRange, p.err, p.ended = false, nil, false
	p.blockedSince = time.Time{}
}

// absorb takes a partition's part of an answer: its batches go to the queue, with those that hold nothing to read
// emptied. alone says that the whole answer has no records, so that no limit can have kept any back. s.mu is held.
func (p *partition) absorb(r *kmsg.FetchResponseTopicPartition, committed, alone bool) error {
	p.end, p.stable, p.start = r.HighWatermark, r.LastStableOffset, r.LogStartOffset
	bound := p.end
	if committed {
		bound = p.stable
	}
	aborted := abortedTransactions(r)
	data := r.RecordBatches
	for len(data) > 0 {
		b, size, err := parseBatch(data)
		if err != nil {
			return err
		}
		if size == 0 {
			break
		}
		data = data[size:]
		switch {
		case b.control:
			aborted.end(&b)
			b.empty()
		case committed && aborted.contains(&b):
			b.empty()
		}
		p.push(b)
	}
	if alone && len(r.RecordBatches) == 0 && p.next < bound && p.start <= p.next {
		// Compaction or deletion left nothing between here and the end: A-63.
		p.push(recordBatch{first: p.next, next: bound})
	}
	p.ended = p.next >= bound
	p.noteBlocked(committed)
	return nil
}

func (b *recordBatch) empty() { b.count, b.records = 0, nil }

// push appends a batch, unless a repeated answer brings it again.
func (p *partition) push(b recordBatch) {
	if b.next <= p.next {
		return
	}
	p.next = b.next
	p.queue = append(p.queue, b)
	p.size += len(b.records)
}

// noteBlocked notes since when an open transaction has kept back records that are there (D-7).
func (p *partition) noteBlocked(committed bool) {
	switch {
	case !committed || p.next < p.stable || p.stable >= p.end:
		p.blockedSince = time.Time{}
	case p.blockedSince.IsZero() || p.blockedAt != p.stable:
		p.blockedAt, p.blockedSince = p.stable, time.Now()
	}
}

// pop returns the next fetched batch. s.mu is held.
func (p *partition) pop() (recordBatch, bool) {
	if len(p.queue) == 0 {
		return recordBatch{}, false
	}
	b := p.queue[0]
	p.queue[0] = recordBatch{}
	p.queue = p.queue[1:]
	if len(p.queue) == 0 {
		p.queue, p.size = nil, 0
	} else {
		p.size -= len(b.records)
	}
	return b, true
}

// buffered is the number of records that can be taken without waiting.
func (p *partition) buffered() (n int) {
	n = int(p.left)
	for i := range p.queue {
		n += int(p.queue[i].count)
	}
	return n
}

// aborts are the first offsets of a producer's aborted transactions that an answer touches, lowest first.
type aborts map[int64][]int64

func abortedTransactions(r *kmsg.FetchResponseTopicPartition) aborts {
	if len(r.AbortedTransactions) == 0 {
		return nil
	}
	a := aborts{}
	for _, t := range r.AbortedTransactions {
		a[t.ProducerID] = append(a[t.ProducerID], t.FirstOffset)
	}
	for _, firsts := range a {
		slices.Sort(firsts) // brokers need not sort them
	}
	return a
}

func (a aborts) contains(b *recordBatch) bool {
	firsts := a[b.producer]
	return b.txn && len(firsts) > 0 && b.first >= firsts[0]
}

// end takes an abort marker: the producer's next records are of another transaction.
func (a aborts) end(marker *recordBatch) {
	if firsts := a[marker.producer]; len(firsts) > 0 && marker.first >= firsts[0] && isAbort(marker) {
		a[marker.producer] = firsts[1:]
	}
}

// isAbort reads a control record's key: version, then type, where 0 is abort.
func isAbort(marker *recordBatch) bool {
	var r record
	if _, err := marker.parseRecord(&r, marker.records, 0); err != nil || len(r.key) < 4 {
		return false
	}
	return r.key[2] == 0 && r.key[3] == 0
}
