package main

import (
	"fmt"
	"math/rand/v2"
	"time"

	"sluice/batch"
)

// The records: many keys, each with five versions at distinct sequences, in random order over the whole topic. Of three in
// ten records the key has been seen with a higher sequence already.
const (
	versions   = 5
	partitions = 4
	topic      = "w1"
	epoch      = 1_700_000_000_000 // the least sequence, also a time in milliseconds
	shuffled   = 55                // per cent of the keys whose versions come in random order; of these more than half are late
)

// fields are those of a record.
var fields = []batch.Field{
	{Name: "id", Type: batch.Of(batch.String)},
	{Name: "seq", Type: batch.Of(batch.BigInt)},
	{Name: "status", Type: batch.Of(batch.String)},
	{Name: "amount", Type: batch.DecimalOf(10, 2)},
	{Name: "ts", Type: batch.Of(batch.Timestamp)},
	{Name: "qty", Type: batch.Of(batch.Int)},
}

// record is one version of a key.
type record struct {
	key     int
	version int // 0 is the one with the least sequence
	keys    int // of the whole topic
}

// eachRecord calls f with every record, in the order in which they are produced. It is the same for the same number of keys.
func eachRecord(keys int, f func(record) error) error {
	order := make([]int32, keys*versions)
	for i := range order {
		order[i] = int32(i % keys)
	}
	r := rand.New(rand.NewPCG(1, 2))
	r.Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
	seen := make([]uint8, keys)
	for _, key := range order {
		arrival := int(seen[key])
		seen[key]++
		if err := f(record{int(key), versionAt(int(key), arrival), keys}); err != nil {
			return err
		}
	}
	return nil
}

// versionAt is which version of a key arrives as its arrival-th.
func versionAt(key, arrival int) int {
	h := mix(uint64(key))
	if h%100 >= shuffled {
		return arrival
	}
	left := [versions]int{0, 1, 2, 3, 4}
	h /= 100
	for i := 0; ; i++ { // the h-th permutation, digit by digit
		n := uint64(versions - i)
		at := i + int(h%n)
		h /= n
		left[i], left[at] = left[at], left[i]
		if i == arrival {
			return left[i]
		}
	}
}

// sequence is unique in the topic and rises with the version.
func (r record) sequence() int64 { return epoch + int64(r.version)*int64(r.keys) + int64(r.key) }

func (r record) partition() int32 { return int32(r.key % partitions) }

// appendKey appends the record's key.
func (r record) appendKey(b []byte) []byte { return fmt.Appendf(b, "acct-%011d", r.key) }

var statuses = []string{"CREATED", "CONFIRMED", "IN_TRANSIT", "DELIVERED", "RETURNED"}

// appendValue appends the record's value, JSON of some 123 bytes.
func (r record) appendValue(b []byte) []byte {
	h := mix(uint64(r.sequence()))
	b = append(r.appendKey(append(b, `{"id":"`...)), `","seq":`...)
	b = fmt.Appendf(b, `%d,"status":"%s","amount":%d.%02d,"ts":"`, r.sequence(), statuses[h%5], h/5%10_000, h/50_000%100)
	b = time.UnixMilli(r.sequence()).UTC().AppendFormat(b, "2006-01-02T15:04:05.000Z")
	return fmt.Appendf(b, `","qty":%d}`, h/5_000_000%100)
}

// mix makes a number that looks random of any.
func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// rows says what a run must come to: how many rows, and the sum of their sequences less the epoch.
type rows struct {
	Rows int64 `json:"n"`
	Sum  int64 `json:"s"`
}

// allRows are the rows of every record.
func allRows(keys int) rows {
	n := int64(keys) * versions
	return rows{n, n * (n - 1) / 2}
}

// newestRows are the rows with the highest sequence of each key.
func newestRows(keys int) rows {
	n := int64(keys)
	return rows{n, n*(versions-1)*n + n*(n-1)/2}
}
