package kafka

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"

	"sluice/batch"
)

// Layout of a record batch (message format v2).
const (
	atLength     = 8  // int32: bytes after this field
	atMagic      = 16 // int8: 2
	atChecksum   = 17 // uint32 CRC-32C of everything from atAttributes on
	atAttributes = 21 // int16
	atLastDelta  = 23 // int32: last offset minus first offset
	atBaseTime   = 27 // int64 ms
	atMaxTime    = 35 // int64 ms
	atProducer   = 43 // int64
	atCount      = 57 // int32
	headerSize   = 61
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// recordBatch is a record batch as fetched: its header, and its records, which may be compressed. A batch without
// records stands for offsets that hold none: aborted records, control records, holes of compaction.
type recordBatch struct {
	first      int64 // offset of the first record
	next       int64 // offset after the last
	count      int32 // records inside
	codec      int8
	appendTime bool  // the broker's time counts, and is the same for all records
	time       int64 // ms: base of the records' times, or the broker's time
	producer   int64
	control    bool
	txn        bool
	records    []byte
}

// parseBatch reads the batch at the start of data and returns its size. A size of 0 means that the batch is not whole:
// brokers cut an answer at its limit.
func parseBatch(data []byte) (b recordBatch, size int, err error) {
	if len(data) < atMagic+1 {
		return b, 0, nil
	}
	length := int64(int32(binary.BigEndian.Uint32(data[atLength:]))) + atLength + 4
	if magic := data[atMagic]; magic != 2 {
		return b, 0, fmt.Errorf("message format v%d is not supported, only record batches (v2)", magic)
	}
	if length < headerSize {
		return b, 0, fmt.Errorf("a record batch of %d bytes is too short", length)
	}
	if int64(len(data)) < length {
		return b, 0, nil
	}
	data = data[:length]
	if want, got := binary.BigEndian.Uint32(data[atChecksum:]), crc32.Checksum(data[atAttributes:], castagnoli); want != got {
		return b, 0, fmt.Errorf("checksum %08x, not %08x as sent", got, want)
	}
	attributes := binary.BigEndian.Uint16(data[atAttributes:])
	lastDelta := int32(binary.BigEndian.Uint32(data[atLastDelta:]))
	b = recordBatch{
		first:      int64(binary.BigEndian.Uint64(data)),
		count:      int32(binary.BigEndian.Uint32(data[atCount:])),
		codec:      int8(attributes & 7),
		appendTime: attributes&8 != 0,
		txn:        attributes&16 != 0,
		control:    attributes&32 != 0,
		time:       int64(binary.BigEndian.Uint64(data[atBaseTime:])),
		producer:   int64(binary.BigEndian.Uint64(data[atProducer:])),
		records:    data[headerSize:],
	}
	if b.appendTime {
		b.time = int64(binary.BigEndian.Uint64(data[atMaxTime:]))
	}
	if b.count < 0 || lastDelta < 0 || b.first < 0 {
		return b, 0, fmt.Errorf("a record batch at offset %d counts %d records", b.first, b.count)
	}
	b.next = b.first + int64(lastDelta) + 1
	return b, int(length), nil
}

// record is one record of a batch; the slices belong to the batch. Key and value are nil when they are null.
type record struct {
	offset  int64
	time    int64 // ms
	key     []byte
	value   []byte
	headers []byte // count and pairs, not parsed

	logAppend bool // time is the broker's
}

// parseRecord reads the record at data[at:], the uncompressed records of b, and returns where the next one begins.
func (b *recordBatch) parseRecord(r *record, data []byte, at int) (next int, err error) {
	length, at, ok := varint(data, at)
	if !ok || length < 0 || length > int64(len(data)-at) {
		return 0, errShortRecord
	}
	next = at + int(length)
	body := data[:next]
	at++ // attributes, unused so far
	timeDelta, at, ok1 := varint(body, at)
	offsetDelta, at, ok2 := varint(body, at)
	if !ok1 || !ok2 || offsetDelta < 0 {
		return 0, errShortRecord
	}
	r.offset, r.time, r.logAppend = b.first+offsetDelta, b.time, b.appendTime
	if !b.appendTime {
		r.time += timeDelta
	}
	var ok3, ok4 bool
	r.key, at, ok3 = field(body, at)
	r.value, at, ok4 = field(body, at)
	if !ok3 || !ok4 || r.offset >= b.next {
		return 0, errShortRecord
	}
	r.headers = body[at:]
	return next, nil
}

var errShortRecord = fmt.Errorf("a record is not whole")

// varint reads a zigzag varint at data[at:].
func varint(data []byte, at int) (v int64, next int, ok bool) {
	if at < len(data) && data[at] < 0x80 {
		u := data[at]
		return int64(u>>1) ^ -int64(u&1), at + 1, true
	}
	if at > len(data) {
		return 0, 0, false
	}
	v, n := binary.Varint(data[at:])
	return v, at + n, n > 0
}

// field reads a length and so many bytes; a length of -1 is null.
func field(data []byte, at int) (v []byte, next int, ok bool) {
	length, at, ok := varint(data, at)
	if !ok || length < -1 || length > int64(len(data)-at) {
		return nil, 0, false
	}
	if length < 0 {
		return nil, at, true
	}
	next = at + int(length)
	return data[at:next:next], next, true
}

// eachHeader calls f for each header, in order; repeated names come repeatedly, a null value is nil.
func (r *record) eachHeader(f func(key, value []byte)) error {
	count, at, ok := varint(r.headers, 0)
	if !ok || count < 0 {
		return errShortRecord
	}
	for range count {
		var key, value []byte
		if key, at, ok = field(r.headers, at); !ok {
			return errShortRecord
		}
		if value, at, ok = field(r.headers, at); !ok {
			return errShortRecord
		}
		f(key, value)
	}
	return nil
}

// cloneHeaders returns the headers as memory of their own.
func (r *record) cloneHeaders() (out []batch.Header) {
	// A record whose headers are broken is bad for another reason already; what can be read is kept.
	_ = r.eachHeader(func(key, value []byte) {
		h := batch.Header{Key: string(key)}
		if value != nil {
			h.Value = append([]byte{}, value...)
		}
		out = append(out, h)
	})
	return out
}
