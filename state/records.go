package state

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"time"

	"sluice/batch"
)

// What changes with every batch is binary; what changes with a definition is JSON, so that a person can read it.

// identityRecord is the value of identityKey. Every version of the format can read Format.
type identityRecord struct {
	Format   int    `json:"format"`
	ID       string `json:"id"`
	Epoch    uint64 `json:"epoch"`
	Pipeline string `json:"pipeline"`
}

// tableRecord is what is known of a table apart from its rows. A reset takes a new Instance, under which rows are stored,
// and forgets everything below it.
type tableRecord struct {
	Generation  uint64      `json:"generation"`
	Instance    uint32      `json:"instance"`
	Declared    bool        `json:"declared"` // false after a reset, until the next definition is taken as it is
	Keyed       bool        `json:"keyed"`
	Replaced    bool        `json:"replaced,omitempty"`
	Renewing    bool        `json:"renewing,omitempty"` // a full refresh is ordered: the next swap takes the place of everything (FR-O2)
	Keys        []string    `json:"keys,omitempty"`
	Sequence    *typeRecord `json:"sequence,omitempty"`
	Schema      schema      `json:"schema"`
	Feed        bool        `json:"feed,omitempty"`
	History     History     `json:"history,omitzero"`
	Rewritten   int64       `json:"rewritten,omitempty"` // of an append table: the last commit that changed rows of earlier ones; all of those are in files
	Floors      bool        `json:"floors,omitempty"`    // floors lie under their own prefix too (D-30)
	Fingerprint string      `json:"fingerprint,omitempty"`
}

// flowRecord is what a flow keeps through resets.
type flowRecord struct {
	ID          uint32 `json:"id"`
	Generation  uint64 `json:"generation"`
	Fingerprint string `json:"fingerprint,omitempty"`
	Quarantine  string `json:"quarantine,omitempty"` // table that shows what the flow has in quarantine
}

// boundRecord is the start or the end of a flow.
type boundRecord struct {
	Position []markRecord `json:"position"`
	Time     int64        `json:"time,omitempty"` // batch time of a once flow, microseconds
}

type markRecord struct {
	Split string `json:"split"`
	ID    string `json:"id,omitempty"`
	At    int64  `json:"at"`
	Index int32  `json:"index,omitempty"`
}

// readerRecord is a flow's subscription to a table.
type readerRecord struct {
	Flow    string `json:"flow"`
	Feed    bool   `json:"feed"`
	From    int64  `json:"from"`              // version the reader starts after; its copy shows the table then
	Time    int64  `json:"time,omitempty"`    // batch time of that version
	Since   int64  `json:"since,omitempty"`   // of an append table: the reader began when this was the last commit that had changed rows
	Copied  int32  `json:"copied,omitempty"`  // rows of the copy
	Cursor  []byte `json:"cursor,omitempty"`  // where an unfinished copy goes on
	Copying bool   `json:"copying,omitempty"` // the copy is not finished
}

// splitRecord is a batch.SplitRange.
type splitRecord struct {
	markRecord
	To      int64 `json:"to"`
	ToIndex int32 `json:"to_index,omitempty"`
	Records int64 `json:"records,omitempty"`
	Bytes   int64 `json:"bytes,omitempty"`
	End     int64 `json:"end,omitempty"`
	Time    int64 `json:"time,omitempty"`
	Nulls   int64 `json:"nulls,omitempty"`
	Lost    int64 `json:"lost,omitempty"`
}

func recordSplits(splits []batch.SplitRange) (out []splitRecord) {
	for _, s := range splits {
		out = append(out, splitRecord{markRecord{s.Split, s.ID, s.From.At, s.From.Index}, s.To.At, s.To.Index,
			s.Records, s.Bytes, s.End, s.Time, s.Nulls, s.Lost})
	}
	return out
}

func splitsOf(records []splitRecord) (out []batch.SplitRange) {
	for _, r := range records {
		out = append(out, batch.SplitRange{Split: r.Split, ID: r.ID, From: batch.Offset{At: r.At, Index: r.Index}, To: batch.Offset{At: r.To, Index: r.ToIndex},
			Records: r.Records, Bytes: r.Bytes, End: r.End, Time: r.Time, Nulls: r.Nulls, Lost: r.Lost})
	}
	return out
}

func (r boundRecord) position() batch.Position {
	out := make(batch.Position, 0, len(r.Position))
	for _, m := range r.Position {
		out = append(out, batch.Mark{Split: m.Split, ID: m.ID, Next: batch.Offset{At: m.At, Index: m.Index}})
	}
	return out
}

func recordPosition(p batch.Position) []markRecord {
	out := make([]markRecord, 0, len(p))
	for _, m := range p {
		out = append(out, markRecord{m.Split, m.ID, m.Next.At, m.Next.Index})
	}
	return out
}

// tableVersion is what every commit of a table changes.
type tableVersion struct {
	version int64 // number of the last commit
	rows    int64 // of all commits, trimmed ones included
	bytes   int64 // of rows and keys, likewise
	keys    int64 // of a keyed table
	feed    int64 // rows ever added to the change feed
	time    int64 // batch time of the last commit
}

func (v tableVersion) encode() []byte {
	b := binary.AppendVarint(nil, v.version)
	for _, n := range []int64{v.rows, v.bytes, v.keys, v.feed, v.time} {
		b = binary.AppendVarint(b, n)
	}
	return b
}

func decodeTableVersion(b []byte) (v tableVersion, err error) {
	r := reader{b: b}
	for _, n := range []*int64{&v.version, &v.rows, &v.bytes, &v.keys, &v.feed, &v.time} {
		*n = r.varint()
	}
	return v, r.done()
}

// commitRecord is kept of each commit of an append table, and of a keyed table with a change feed.
type commitRecord struct {
	rows, bytes int64 // of all commits up to this one; of the feed: rows alone
	time        int64 // batch time of this one
}

func (c commitRecord) encode() []byte {
	return binary.AppendVarint(binary.AppendVarint(binary.AppendVarint(nil, c.rows), c.bytes), c.time)
}

func decodeCommit(b []byte) (c commitRecord, err error) {
	r := reader{b: b}
	c = commitRecord{r.varint(), r.varint(), r.varint()}
	return c, r.done()
}

// progress is how far a flow's generation has come.
type progress struct {
	next      uint64 // number of the next batch
	time      int64  // of the last batch, microseconds; 0 before the first
	completed int64  // when the flow finished; 0 while it has not
}

func (p progress) encode() []byte {
	return binary.AppendVarint(binary.AppendVarint(binary.AppendUvarint(nil, p.next), p.time), p.completed)
}

func decodeProgress(b []byte) (p progress, err error) {
	r := reader{b: b}
	p = progress{r.uvarint(), r.varint(), r.varint()}
	return p, r.done()
}

// encodeMark is the value of a position key: the id of the split and the first place that was not read.
func encodeMark(id string, next batch.Offset) []byte {
	return binary.AppendVarint(binary.AppendVarint(appendText(nil, id), next.At), int64(next.Index))
}

func decodeMark(b []byte) (id string, next batch.Offset, err error) {
	r := reader{b: b}
	id = string(r.text())
	next = batch.Offset{At: r.varint(), Index: int32(r.varint())}
	return id, next, r.done()
}

func encodeNumber(n int64) []byte { return binary.AppendVarint(nil, n) }

func decodeNumber(b []byte) (int64, error) {
	r := reader{b: b}
	n := r.varint()
	return n, r.done()
}

// micros is a time as the store keeps it: microseconds since the epoch, 0 for the zero time.
func micros(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMicro()
}

func fromMicros(n int64) time.Time {
	if n == 0 {
		return time.Time{}
	}
	return time.UnixMicro(n).UTC()
}

func mustJSON(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err) // records hold nothing that cannot be JSON
	}
	return b
}

func sameJSON(a, b any) bool { return bytes.Equal(mustJSON(a), mustJSON(b)) }
