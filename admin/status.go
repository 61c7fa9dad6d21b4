package admin

import (
	"time"

	"sluice/eventlog"
	"sluice/fault"
)

// Status is what the daemon is doing now.
type Status struct {
	Pipeline   string    `json:"pipeline"`
	Version    string    `json:"version"`
	Started    time.Time `json:"started"`
	Now        time.Time `json:"now"`
	Continuous bool      `json:"continuous"`
	Ready      bool      `json:"ready"`
	Reasons    []string  `json:"reasons,omitempty"` // why it is not ready
	Update     Update    `json:"update"`
	Store      Store     `json:"store"`
	Flows      []Flow    `json:"flows"`
	Tables     []Table   `json:"tables"`
}

// Update is the run of the pipeline.
type Update struct {
	ID    string    `json:"id"`
	State string    `json:"state"` // eventlog.UpdateProgress
	Cause string    `json:"cause,omitempty"`
	Error *Error    `json:"error,omitempty"`
	Since time.Time `json:"since"`
}

// Store is the durable state.
type Store struct {
	ID    string `json:"id"`
	Epoch uint64 `json:"epoch"` // rises each time it is opened
	Path  string `json:"path"`
	Bytes int64  `json:"bytes"` // on disk

	Totals      []Totals     `json:"totals"`
	Quarantines []Quarantine `json:"quarantines,omitempty"`
}

// Totals are the counts of a flow's generation as its commits keep them, across restarts. What is not kept is 0.
type Totals struct {
	Flow   string           `json:"flow"`
	Counts eventlog.Outcome `json:"counts"`

	ColumnErrors []eventlog.ColumnErrors `json:"column_errors,omitempty"`
}

// Quarantine is what a flow has in quarantine. Flows that keep nothing there, and have nothing from before, are left out.
type Quarantine struct {
	Flow    string `json:"flow"`
	Table   string `json:"table"` // that shows the records
	Records int64  `json:"records"`
	Bytes   int64  `json:"bytes"`             // in the store
	Ordered int64  `json:"ordered,omitempty"` // of the records: they are on their way to be replayed
	Edits   int64  `json:"edits,omitempty"`   // that are used when their records are read again

	DeadLetters     int64 `json:"dead_letters,omitempty"`            // that the dead-letter topic has not got yet
	DeadLetterBytes int64 `json:"dead_letters_size_bytes,omitempty"` // of them, in the store
}

// Table is one table of the pipeline. Keys is absent when the table has none, Bytes when it is not known.
type Table struct {
	Name     string    `json:"name"`
	Rows     int64     `json:"rows"`
	Keys     *int64    `json:"keys,omitempty"`
	Bytes    *int64    `json:"bytes,omitempty"`
	Version  uint64    `json:"version"` // rises with each commit that changes it
	Schedule *Schedule `json:"schedule,omitempty"`
	Digest   string    `json:"digest,omitempty"` // of the rows as of that version, where it is kept: 32 hexadecimal digits
}

// Schedule is the SCHEDULE or TRIGGER clause of a table, and how it stands.
type Schedule struct {
	Clause  string     `json:"clause"`
	Altered bool       `json:"altered,omitempty"`   // by ALTER: the definition says something else
	Last    *time.Time `json:"last_turn,omitempty"` // from which the next one is counted
	Next    *time.Time `json:"next_turn,omitempty"` // absent when none comes any more, and of TRIGGER ON UPDATE
	Running bool       `json:"running,omitempty"`
}

// Flow is one flow. Counts, expectations and batches are those since the daemon started.
type Flow struct {
	Name         string                  `json:"name"`
	Type         string                  `json:"flow_type"`
	Target       string                  `json:"target"`
	Sink         bool                    `json:"sink,omitempty"`
	Once         bool                    `json:"once,omitempty"`
	DependsOn    []string                `json:"depends_on,omitempty"`
	Status       eventlog.Status         `json:"status"`
	Reason       string                  `json:"reason,omitempty"`
	Error        *Error                  `json:"error,omitempty"`
	Since        time.Time               `json:"since"`
	RetryAt      *time.Time              `json:"retry_at,omitempty"` // FAILED: when it is tried again
	Generation   uint64                  `json:"generation"`
	LastBatch    *uint64                 `json:"last_batch,omitempty"` // number of the last committed batch of the generation
	LastBatchAt  *time.Time              `json:"last_batch_at,omitempty"`
	Batches      int64                   `json:"batches"`
	Counts       eventlog.Outcome        `json:"counts"`
	Expectations []eventlog.Expectation  `json:"expectations,omitempty"`
	ColumnErrors []eventlog.ColumnErrors `json:"column_errors,omitempty"`
	Positions    []Position              `json:"positions"`
	SendingSince *time.Time              `json:"sending_since,omitempty"`  // the sink has had a batch in hand
	Silent       []SilentBroker          `json:"silent_brokers,omitempty"` // the longest silence first
	Progress     *Progress               `json:"progress,omitempty"`
	Rate         float64                 `json:"records_per_second"` // over the last seconds
	Saturation   float64                 `json:"saturation"`         // share of the last seconds spent on batches, 0 to 1
}

// Position is how far a flow has read one split of its input.
type Position struct {
	Split      string   `json:"split"`
	Next       string   `json:"next"`                  // the first place it has not read
	LagRecords *int64   `json:"lag_records,omitempty"` // Kafka partitions, as of the last batch, before it as of the start
	LagSeconds *float64 `json:"lag_seconds,omitempty"` // D-63; absent when records lag and there was no batch yet
	Waiting    string   `json:"waiting,omitempty"`     // for what, while records are there that must not be read yet: an open transaction
}

// SilentBroker is a broker that the flow has asked something and that does not answer, though it keeps its connections open.
type SilentBroker struct {
	Broker  *int32    `json:"broker,omitempty"` // its number, where it is known
	Address string    `json:"address"`
	Since   time.Time `json:"since"`
	Request string    `json:"request"` // what it was asked, as Kafka calls it
	Text    string    `json:"text"`    // says all of it
}

// Progress is how far a read with an end has come.
type Progress struct {
	Done        int64    `json:"done"`
	Total       int64    `json:"total"`
	Unit        string   `json:"unit"`                   // records, or bytes of files
	SecondsLeft *float64 `json:"seconds_left,omitempty"` // at the present rate
}

// Error is a coded error as it is shown outside.
type Error struct {
	Code     string `json:"code"`
	Class    string `json:"class"`
	Message  string `json:"message"`
	Detail   string `json:"detail,omitempty"`
	Hint     string `json:"hint,omitempty"`
	Position *Place `json:"position,omitempty"`
}

// Place is where in a definition or a query an error stands. Line and column count from 1.
type Place struct {
	File   string `json:"file,omitempty"`
	Line   int    `json:"line"`
	Column int    `json:"column"`
}

// ErrorOf returns err as it is shown outside; nil gives nil. The text of a cause is part of the message.
func ErrorOf(err *fault.Error) *Error {
	if err == nil {
		return nil
	}
	e := &Error{Code: err.Code.Name, Class: err.Code.Class.String(), Message: err.Message, Detail: err.Detail, Hint: err.Hint}
	if err.Cause != nil {
		e.Message += ": " + err.Cause.Error()
	}
	if err.Pos.IsValid() {
		e.Position = &Place{err.Pos.File, err.Pos.Line, err.Pos.Column}
	}
	return e
}

// Fault is the reverse of ErrorOf. A code that this build does not know, since another version answered, becomes part of
// the message.
func (e *Error) Fault() *fault.Error {
	f := fault.New(fault.DaemonAnswerMalformed, "the daemon answered %s: %s", e.Code, e.Message)
	for _, code := range fault.Catalogue() {
		if code.Name == e.Code {
			f = fault.New(code, "%s", e.Message)
		}
	}
	f.WithDetail("%s", e.Detail).WithHint("%s", e.Hint)
	if e.Position != nil {
		f.Pos = fault.Pos{File: e.Position.File, Line: e.Position.Line, Column: e.Position.Column}
	}
	return f
}
