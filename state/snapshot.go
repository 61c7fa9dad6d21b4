package state

import "sluice/batch"

// Snapshot shows all tables as of one moment. It holds back compaction, so it should be short-lived.
type Snapshot struct{}

// Snapshot takes one.
func (s *Store) Snapshot() *Snapshot { panic("") }

// Close frees the snapshot. Scans must be closed before.
func (s *Snapshot) Close() error { panic("") }

// Table describes a table as the snapshot has it; nil when there is none.
func (s *Snapshot) Table(name string) (*TableInfo, error) { panic("") }

// Scan reads rows of a table: part of parts equal parts, for several readers at once; Scan(name, columns, 0, 1) is all of it.
// columns names the columns wanted, in the order they come back; nil means all. Rows of a key come together, in the order
// of their positions; an append table comes in the order of its commits.
func (s *Snapshot) Scan(name string, columns []string, part, parts int) (*Scan, error) { panic("") }

// Scan is a reader of a snapshot's table, used by one goroutine.
type Scan struct{}

// Next returns at most max further rows, none at the end. Without max the scan chooses. The rows stay valid until the
// next call.
func (s *Scan) Next(max int) (batch.Columns, error) { panic("") }

// Close frees the scan.
func (s *Scan) Close() error { panic("") }
