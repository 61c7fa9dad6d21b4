package batch

import (
	"fmt"
	"sort"
	"strings"
	"time"

	"sluice/fault"
)

// Offset is a place inside one split: for Kafka the offset of a record, for a file a byte, for a table the commit; Index
// counts rows inside that (rows of a commit). Offsets of one split are ordered.
type Offset struct {
	At    int64
	Index int32
}

// Less orders offsets of one split.
func (o Offset) Less(p Offset) bool { return o.At < p.At || o.At == p.At && o.Index < p.Index }

func (o Offset) String() string {
	if o.Index == 0 {
		return fmt.Sprint(o.At)
	}
	return fmt.Sprintf("%d.%d", o.At, o.Index)
}

// Mark is how far one split has been read: Next is the first place that was not.
//
// A split is a part of a source with an order of its own: "topic/partition", the path of a file, the name of a table. ID
// tells whether it is still the same thing under that name: a topic id, the size and time of a file, a table's
// generation.
type Mark struct {
	Split string
	ID    string
	Next  Offset
}

// Position is how far a source has been read: its marks, sorted by Split. A split without a mark has not been touched.
type Position []Mark

// Find returns the mark of a split.
func (p Position) Find(split string) (Mark, bool) {
	i := sort.Search(len(p), func(i int) bool { return p[i].Split >= split })
	if i < len(p) && p[i].Split == split {
		return p[i], true
	}
	return Mark{}, false
}

// With returns p with the marks of r's splits moved to r's ends. p is not changed.
func (p Position) With(r Range) Position {
	out := append(Position(nil), p...)
	for _, s := range r.Splits {
		out = out.Put(Mark{s.Split, s.ID, s.To})
	}
	return out
}

// Put returns p with m set. It may change p's array.
func (p Position) Put(m Mark) Position {
	i := sort.Search(len(p), func(i int) bool { return p[i].Split >= m.Split })
	if i < len(p) && p[i].Split == m.Split {
		p[i] = m
		return p
	}
	p = append(p, Mark{})
	copy(p[i+1:], p[i:])
	p[i] = m
	return p
}

// Reached reports whether every split of end has been read up to its mark in p. A split of end that starts and ends at
// its zero offset counts as read.
func (p Position) Reached(end Position) bool {
	for _, m := range end {
		have, ok := p.Find(m.Split)
		if !ok && m.Next == (Offset{}) {
			continue
		}
		if !ok || have.Next.Less(m.Next) {
			return false
		}
	}
	return true
}

// Range is what one Read covered: one entry per split that moved, sorted by Split. Records that were bad, filtered
// or only markers are covered as well.
type Range struct {
	Splits []SplitRange
	Null   Positions // where the records without a value stood that were left out (D-5); not kept with a planned batch
	Errors ColumnErrors
}

// ColumnErrors are values that could not be read and that the source's columnErrors put another one in the place of (D-15). They are not kept
// with a planned batch.
type ColumnErrors struct {
	Pos    Positions // of the records
	Column []string  // parallel
}

// Add notes one.
func (e *ColumnErrors) Add(split int32, at Offset, column string) {
	e.Pos.Split, e.Pos.Offset, e.Pos.Index = append(e.Pos.Split, split), append(e.Pos.Offset, at.At), append(e.Pos.Index, at.Index)
	e.Column = append(e.Column, column)
}

// SplitRange is the part of a range that lies in one split.
type SplitRange struct {
	Split   string
	ID      string
	From    Offset // first place covered
	To      Offset // first place not covered
	Records int64  // records inside, bad and null ones included
	Bytes   int64  // their size as read
	End     int64  // where the split ended when it was read (Kafka: high watermark or last stable offset); -1 unknown
	Time    int64  // time of the last record in microseconds since the epoch; 0 unknown (D-63)
	Nulls   int64  // records without a value that were left out (D-5)
	Lost    int64  // offsets at the front of the range that were gone before they could be read (D-6)
}

// Records is the number of records in all splits.
func (r Range) Records() (n int64) {
	for _, s := range r.Splits {
		n += s.Records
	}
	return n
}

// Bytes is the size of all splits as read.
func (r Range) Bytes() (n int64) {
	for _, s := range r.Splits {
		n += s.Bytes
	}
	return n
}

// Limit bounds one Read.
type Limit struct {
	Rows   int      // at most this many records; 0 means no bound
	Bytes  int64    // stop after the record that passes this size; 0 means no bound
	Record int64    // a larger record is a bad one (RECORD_TOO_LARGE), and is passed over unread; 0 means no bound
	Until  Position // never read past these marks; splits without one are not read. Nil means no end.
}

// Mode is what happens to a record that cannot be read (D-15).
type Mode uint8

const (
	FailFast      Mode = iota // the flow fails at that record
	DropMalformed             // the record is left out, counted and sampled
	Permissive                // the row is kept, unreadable columns NULL, the raw record in _corrupt_record if declared
	Quarantine                // the record is kept in the store beside the table
)

func (m Mode) String() string {
	return [...]string{"FAILFAST", "DROPMALFORMED", "PERMISSIVE", "QUARANTINE"}[m]
}

// ParseMode reads a mode's name, in any case.
func ParseMode(s string) (Mode, bool) {
	for m := FailFast; m <= Quarantine; m++ {
		if strings.EqualFold(s, m.String()) {
			return m, true
		}
	}
	return 0, false
}

// Bad is a record that could not be read, with everything needed to keep it.
type Bad struct {
	Split   string
	At      Offset
	Key     []byte
	Value   []byte
	Headers []Header
	Time    int64 // microseconds since the epoch, 0 unknown
	// LogAppend says that Time is the broker's, not the producer's.
	LogAppend bool
	Kept      bool // PERMISSIVE: a row was made of it all the same
	Err       *fault.Error
}

// Header is a Kafka record header.
type Header struct {
	Key   string
	Value []byte
}

// ID names a batch for ever (D-18). The same ID always brings the same rows.
type ID struct {
	Pipeline   string
	Flow       string
	Store      string   // random id of the store that numbers the batches
	Epoch      uint64   // of the opening that sends it: no two have the same, and a later one has a higher one
	Generation uint64   // rises at a full refresh or a checkpoint reset of the flow
	Number     uint64   // 0 is the first batch of a generation (FB-04)
	Replay     bool     // the batch may have been delivered before
	Tried      []uint64 // epochs under which a replay may have been delivered, today's among them; nil: not known
	Time       time.Time
}
