package kafka

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"slices"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
	"pgregory.net/rapid"

	"sluice/batch"
)

// encodeBatch makes a record batch as a producer does.
func encodeBatch(first int64, attributes int16, producer int64, records ...kmsg.Record) []byte {
	var body []byte
	last := int32(0)
	for _, r := range records {
		r.Length = int32(len(r.AppendTo(nil)) - 1) // a zero length is one byte
		body = r.AppendTo(body)
		last = r.OffsetDelta
	}
	b := kmsg.RecordBatch{FirstOffset: first, Magic: 2, Attributes: attributes, LastOffsetDelta: last, FirstTimestamp: 1000, MaxTimestamp: 2000,
		ProducerID: producer, ProducerEpoch: 0, FirstSequence: -1, NumRecords: int32(len(records)), Records: body}
	return seal(b.AppendTo(nil))
}

// seal fills in length and checksum.
func seal(b []byte) []byte {
	binary.BigEndian.PutUint32(b[atLength:], uint32(len(b)-atLength-4))
	binary.BigEndian.PutUint32(b[atChecksum:], crc32.Checksum(b[atAttributes:], castagnoli))
	return b
}

func TestRecordBatchRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.OneOf(rapid.Just([]byte(nil)), rapid.SliceOfN(rapid.Byte(), 0, 300))
		var records []kmsg.Record
		delta := int32(0)
		for range rapid.IntRange(1, 10).Draw(t, "records") {
			r := kmsg.Record{OffsetDelta: delta, TimestampDelta64: rapid.Int64Range(-500, 1<<40).Draw(t, "time"), Key: text.Draw(t, "key"), Value: text.Draw(t, "value")}
			for range rapid.IntRange(0, 3).Draw(t, "headers") {
				r.Headers = append(r.Headers, kmsg.Header{Key: rapid.StringN(0, 9, 20).Draw(t, "name"), Value: text.Draw(t, "header")})
			}
			records = append(records, r)
			delta += int32(rapid.IntRange(1, 300).Draw(t, "hole"))
		}
		first := rapid.Int64Range(0, 1<<50).Draw(t, "first")
		data := encodeBatch(first, 0, -1, records...)
		b, size, err := parseBatch(append(data, "a part of the next"...))
		if err != nil || size != len(data) || b.first != first || int(b.count) != len(records) || b.next != first+int64(records[len(records)-1].OffsetDelta)+1 {
			t.Fatalf("%+v %d %v", b, size, err)
		}
		at := 0
		for _, want := range records {
			var r record
			if at, err = b.parseRecord(&r, b.records, at); err != nil {
				t.Fatal(err)
			}
			if r.offset != first+int64(want.OffsetDelta) || r.time != 1000+want.TimestampDelta64 || !same(r.key, want.Key) || !same(r.value, want.Value) {
				t.Fatalf("%+v, want %+v", r, want)
			}
			headers := r.cloneHeaders()
			if !slices.EqualFunc(headers, want.Headers, func(a batch.Header, b kmsg.Header) bool { return a.Key == b.Key && same(a.Value, b.Value) }) {
				t.Fatalf("%+v, want %+v", headers, want.Headers)
			}
		}
		if at != len(b.records) {
			t.Fatal("bytes are left")
		}
		// A damaged byte is found; a cut batch is just not whole.
		i := rapid.IntRange(atChecksum, len(data)-1).Draw(t, "damage")
		damaged := slices.Clone(data)
		damaged[i] ^= 1
		if _, _, err := parseBatch(damaged); err == nil {
			t.Fatalf("byte %d is wrong and nobody noticed", i)
		}
		if _, size, err := parseBatch(data[:i]); size != 0 || err != nil {
			t.Fatalf("a cut batch: %d, %v", size, err)
		}
	})
}

// same tells null from empty.
func same(a, b []byte) bool { return (a == nil) == (b == nil) && bytes.Equal(a, b) }

func TestOldMessageFormatsAreRefused(t *testing.T) {
	data := encodeBatch(0, 0, -1, kmsg.Record{Value: []byte("v")})
	data[atMagic] = 1
	if _, _, err := parseBatch(data); err == nil || err.Error() != "message format v1 is not supported, only record batches (v2)" {
		t.Fatal(err)
	}
}

// answer is a partition's part of a fetch answer.
func answer(end, stable int64, data ...[]byte) *kmsg.FetchResponseTopicPartition {
	r := kmsg.NewFetchResponseTopicPartition()
	r.HighWatermark, r.LastStableOffset, r.LogStartOffset = end, stable, 0
	r.RecordBatches = slices.Concat(data...)
	return &r
}

const (
	transactional = 16
	control       = 32
)

func marker(first, producer int64, kind byte) []byte {
	return encodeBatch(first, transactional|control, producer, kmsg.Record{Key: []byte{0, 0, 0, kind}, Value: []byte{0, 0, 0, 0, 0, 0}})
}

// spans lists what absorb put into the queue: first-next:records.
func spans(p *partition) (out []string) {
	for _, b := range p.queue {
		out = append(out, fmt.Sprintf("%d-%d:%d", b.first, b.next, b.count))
	}
	return out
}

// what aborted transactions and markers leave behind.
func TestAbsorbTransactions(t *testing.T) {
	v := kmsg.Record{Value: []byte("v")}
	data := [][]byte{
		encodeBatch(0, transactional, 7, v), // aborted
		encodeBatch(1, transactional, 8, v), // committed
		encodeBatch(2, 0, 7, v),             // no transaction
		marker(3, 7, 0),
		encodeBatch(4, transactional, 7, v), // the same producer's next one: committed
		marker(5, 7, 1),
		marker(6, 8, 1),
		encodeBatch(7, transactional, 7, v), // and the one after: aborted
		marker(8, 7, 0),
	}
	a := answer(9, 9, data...)
	for _, first := range []int64{7, 0} { // not sorted
		at := kmsg.NewFetchResponseTopicPartitionAbortedTransaction()
		at.ProducerID, at.FirstOffset = 7, first
		a.AbortedTransactions = append(a.AbortedTransactions, at)
	}
	for _, c := range []struct {
		committed bool
		want      []string
	}{
		{true, []string{"0-1:0", "1-2:1", "2-3:1", "3-4:0", "4-5:1", "5-6:0", "6-7:0", "7-8:0", "8-9:0"}},
		{false, []string{"0-1:1", "1-2:1", "2-3:1", "3-4:0", "4-5:1", "5-6:0", "6-7:0", "7-8:1", "8-9:0"}},
	} {
		p := newPartition("t", 0, [16]byte{1}, 0)
		p.seek(0)
		if err := p.absorb(a, c.committed, false); err != nil {
			t.Fatal(err)
		}
		if got := spans(p); !slices.Equal(got, c.want) {
			t.Errorf("committed %v:\ngot  %v\nwant %v", c.committed, got, c.want)
		}
	}
}

// nothing between the position and the end; but only an answer without any records can tell, since a full one leaves
// partitions out.
func TestAbsorbHoleAtTheEnd(t *testing.T) {
	for _, c := range []struct {
		end, stable int64
		alone       bool
		want        []string
	}{
		{10, 10, true, []string{"5-10:0"}},
		{10, 8, true, []string{"5-8:0"}},
		{10, 10, false, nil},
		{5, 5, true, nil},
	} {
		p := newPartition("t", 0, [16]byte{1}, 0)
		p.seek(5)
		if err := p.absorb(answer(c.end, c.stable), true, c.alone); err != nil {
			t.Fatal(err)
		}
		if got := spans(p); !slices.Equal(got, c.want) {
			t.Errorf("%+v: got %v", c, got)
		}
	}
}

// An answer that repeats a batch, and an end inside a hole that reaches beyond it.
func TestTakeUntilInsideAHole(t *testing.T) {
	s := unconnected(t)
	p := newPartition("t", 0, [16]byte{1}, 0)
	s.parts = []*partition{p}
	until := batch.Position{{Split: "t/0", Next: batch.Offset{At: 6}}}
	s.assign(nil, batch.Limit{Until: until})
	v := kmsg.Record{Value: []byte("v")}
	one := encodeBatch(3, 0, -1, v)
	for range 2 {
		if err := p.absorb(answer(20, 20, one, encodeBatch(4, 0, -1, v, kmsg.Record{OffsetDelta: 9, Value: []byte("w")})), true, false); err != nil {
			t.Fatal(err)
		}
	}
	take := func(want ...int64) {
		t.Helper()
		s.take(batch.Limit{})
		if !slices.Equal(s.reading.records.offsets, want) {
			t.Fatalf("got %v, want %v", s.reading.records.offsets, want)
		}
	}
	take(3, 4)
	if p.pos != 6 {
		t.Fatalf("position %d, want the end", p.pos)
	}
	// A later end: what was fetched is still there, the hole behind it too.
	p.push(recordBatch{first: 14, next: 20})
	s.assign(batch.Position{{Split: "t/0", Next: batch.Offset{At: 6}}}, batch.Limit{Until: batch.Position{{Split: "t/0", Next: batch.Offset{At: 16}}}})
	take(13)
	if p.pos != 16 {
		t.Fatalf("position %d, want 16", p.pos)
	}
	s.assign(batch.Position{{Split: "t/0", Next: batch.Offset{At: 16}}}, batch.Limit{Until: batch.Position{{Split: "t/0", Next: batch.Offset{At: 20}}}})
	take()
	if p.pos != 20 {
		t.Fatalf("position %d, want 20", p.pos)
	}
}

// unconnected is a source that never asks anything.
func unconnected(t *testing.T) *Source {
	k := &cluster{t: t, brokers: []string{"127.0.0.1:1"}}
	return k.open(Config{Options: k.options("t"), Stream: true})
}

// Bytes off the wire never make the parser fail in another way than with an error.
func FuzzRecordBatch(f *testing.F) {
	f.Add(encodeBatch(5, 0, -1, kmsg.Record{Key: []byte("k"), Value: []byte("v"), Headers: []kmsg.Header{{Key: "h"}}}, kmsg.Record{OffsetDelta: 1}))
	f.Add(marker(3, 7, 0))
	f.Add(encodeBatch(0, int16(kgo.CodecSnappy), -1, kmsg.Record{Value: []byte("not really compressed")}))
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) >= headerSize {
			data = seal(slices.Clone(data))
			data[atMagic] = 2
			seal(data)
		}
		b, size, err := parseBatch(data)
		if err != nil || size == 0 {
			return
		}
		if size > len(data) || b.next <= b.first {
			t.Fatalf("%+v %d", b, size)
		}
		isAbort(&b)
		at := 0
		for range min(int(b.count), 1000) {
			var r record
			if at, err = b.parseRecord(&r, b.records, at); err != nil {
				return
			}
			if r.offset < b.first || r.offset >= b.next {
				t.Fatalf("offset %d of %+v", r.offset, b)
			}
			r.cloneHeaders()
		}
	})
}
