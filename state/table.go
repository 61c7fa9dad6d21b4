package state

import (
	"context"
	"time"

	"sluice/batch"
)

// TableSpec declares a table.
type TableSpec struct {
	Name        string // catalog.schema.table, lower-cased
	Fields      []batch.Field
	Keys        []int         // columns of the key, in order; nil for an append table
	Sequence    batch.Type    // type of the sequence of a keyed table
	Feed        bool          // some flow reads its change feed (keyed tables; appends are a feed of inserts as they are)
	Retention   Retention     // append tables only (D-16)
	MaxAge      time.Duration // of RetainFor
	Fingerprint string        // kept for comparison (D-62)
}

// Retention says how long an append table keeps rows (D-16).
type Retention uint8

const (
	RetainForever  Retention = iota
	RetainConsumed           // until every subscribed reader has committed them
	RetainFor                // MaxAge after their commit
)

// Table is an open table.
type Table struct{}

// TableInfo shows a table to status pages.
type TableInfo struct {
	Name        string
	Keyed       bool
	Fields      []batch.Field
	Keys        []string
	Sequence    batch.Type
	Generation  uint64
	Version     int64
	Rows        int64
	KeyCount    int64 // keyed tables
	Bytes       int64 // of rows and keys, before compression
	Feed        bool
	Readers     []string // subscribed flows
	Fingerprint string
}

// Table opens a table, making it at its first mention and after a reset. The stored columns are merged with the declared
// ones (FR-17, D-35): a new column is NULL in old rows, one that left stays and is NULL in new rows, one that returns is a
// new column, a type may widen. Changed keys, key types, sequence type, or the step from keyed to append are refused with
// the remedy (D-62, RU-O7, A-106); all problems come in one fault.List.
func (s *Store) Table(spec TableSpec) (*Table, error) { panic("") }

// OpenTable opens a table that exists as it is, for reading; nil when there is none.
func (s *Store) OpenTable(name string) (*Table, error) { panic("") }

// Info shows the table as of its last commit.
func (t *Table) Info() TableInfo { panic("") }

// Fields are the columns in declared order, then those that left the definition.
func (t *Table) Fields() []batch.Field { panic("") }

// Generation is the number of times the table has been reset.
func (t *Table) Generation() uint64 { panic("") }

// Version is the number of the last commit that changed the table; 0 is the empty table.
func (t *Table) Version() int64 { panic("") }

// Subscribe makes a flow a reader of the table, so that what it has not committed is kept. With feed, a reader that is
// new starts with the rows the table has now, as inserts at its present version, copied in chunks with durable progress
// (D-41); no writer may be at work meanwhile. An append reader that is new is refused when rows were trimmed (D-16).
// Subscribing again changes nothing.
func (t *Table) Subscribe(ctx context.Context, f *Flow, feed bool) error { panic("") }

// Unsubscribe ends it: nothing is kept for the flow any more.
func (t *Table) Unsubscribe(f *Flow) error { panic("") }

// Start is the position a reader begins at, feed or not: the version its copy stands at, or the first commit.
func (t *Table) Start(f *Flow) (batch.Position, error) { panic("") }

// End is the position after the last commit. Marks are (table name, generation, next commit and ordinal).
func (t *Table) End() batch.Position { panic("") }

// Wait returns nil as soon as there is something to read after from, ctx's error when ctx ends before, SOURCE_RESET when
// from belongs to another generation.
func (t *Table) Wait(ctx context.Context, from batch.Position) error { panic("") }

// ReadAppends returns rows of an append table after from, within limit, at least one if there is any, and the range they
// cover. columns names the columns wanted, in the order they come back; nil means all. Rows have positions (commit,
// ordinal). It does not wait.
func (t *Table) ReadAppends(from batch.Position, limit batch.Limit, columns []string) (batch.Columns, batch.Range, error) {
	panic("")
}

// Changes are rows of a change feed (D-43). Rows.Pos has (commit, ordinal); the commit is the version.
type Changes struct {
	Rows     batch.Columns
	Change   []batch.Change
	Time     []int64    // of the commit, microseconds since the epoch
	Keys     batch.Keys // encoded key tuple (batch.EncodeKeys)
	Sequence batch.Keys // encoded sequence
}

// ReadChanges returns changes after from, for a subscribed flow: of a keyed table first the copied rows, then the feed;
// of an append table its rows as inserts, without keys. It cuts between keys where limit allows, so that a key's old rows
// are not seen gone before its new ones are there. It does not wait.
func (t *Table) ReadChanges(f *Flow, from batch.Position, limit batch.Limit, columns []string) (Changes, batch.Range, error) {
	panic("")
}
