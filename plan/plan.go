package plan

import (
	"time"

	"sluice/batch"
	"sluice/catalog"
	"sluice/eval/dialect"
	"sluice/fault"
	"sluice/format"
	"sluice/option"
	"sluice/source"
	"sluice/timetable"
)

// Pipeline is everything the daemon will do, as data. It is made once, checked whole, and not changed afterwards.
type Pipeline struct {
	Name           string
	Spec           string // path of the spec file
	Dir            string // its folder; relative paths of the pipeline start there
	Storage        string // folder of the state, absolute
	Continuous     bool
	Zone           string // session time zone
	Features       []string
	Servers        string // kafka.bootstrap.servers of configuration: the brokers of sources and sinks that name none
	Settings       Settings
	Secrets        []string // values of the environment that are used by ${env:NAME}: no output shows them (D-54)
	SecretSettings []string // settings made of some of those
	Tables         []*Table
	Sinks          []*Sink
	Flows          []*Flow // in an order in which every flow comes after those it waits for
	Warnings       []Warning
}

// Warning is something that is allowed and probably not meant.
type Warning struct {
	Pos  fault.Pos
	Text string
}

// Settings are the sluice.* keys of configuration (D-55), defaults filled in.
type Settings struct {
	Listen          string
	TokenFile       string
	MemoryLimit     int64
	SyncInterval    time.Duration
	GracePeriod     time.Duration
	DrainTimeout    time.Duration
	RetryTimeout    time.Duration
	RefreshTimeout  time.Duration // of a refresh that a schedule starts
	TriggerInterval time.Duration // pipelines.trigger.interval
	MaxBatchRows    int
	MaxBatchBytes   int64
	LogFormat       string // text or json
	LogLevel        string
}

// Table is a streaming table.
type Table struct {
	Name         string // catalog.schema.table, lower-cased: the identity
	Display      string // as declared
	Pos          fault.Pos
	Comment      string
	Fields       []batch.Field
	Keys         []int                // columns of the key, in the order of their lower-cased names (so that REPLACE USING (a, b) and (b, a) store the same keys); nil for other tables
	Sequence     batch.Type           // type of the sequence of a keyed table, else Void
	ResetAllowed bool                 // pipelines.reset.allowed (FR-04)
	Retention    string               // sluice.retention (D-16)
	History      catalog.History      // sluice.history (D-27)
	Digest       bool                 // sluice.digest (D-29)
	Replaced     bool                 // a REPLACE WHERE flow writes it
	Feed         bool                 // some flow reads its change feed
	Fingerprint  string               // of keys, key types and sequence type (D-62)
	Definition   Definition           // beside its columns
	Schedule     *timetable.Timetable // its SCHEDULE or TRIGGER clause; nil without one
}

// Sink is a declared output outside.
type Sink struct {
	Name    string
	Format  string // kafka, postgres, file, exec
	Options option.Values
	Comment string
	Pos     fault.Pos

	Definition Definition
}

// InputKind is what a flow reads row by row.
type InputKind uint8

const (
	FromKafka InputKind = iota
	FromFiles
	FromTable       // the appends of an append table
	FromChangeFeed  // the changes of a table
	FromTables      // nothing: a REPLACE WHERE flow reads whole tables as of one moment, all of them Lookups, and Sources to their ends
	FromDeadLetters // what another flow puts into quarantine
)

func (k InputKind) String() string {
	return [...]string{"kafka", "files", "table", "change feed", "tables", "dead letters"}[k]
}

// Input is the streaming or once source of a flow; of a REPLACE WHERE flow it has only a kind and a name.
type Input struct {
	Kind    InputKind
	Name    string // for messages and metrics: the topics, the path, the table
	Table   *Table // FromTable, FromChangeFeed
	Flow    *Flow  // FromDeadLetters: the other flow
	Options option.Values
	Format  string          // json, csv ...; "" does not decode the record
	Schema  []batch.Field   // schema => of the source: every field of the record
	Quoted  []bool          // parallel to Schema: the name was written in backticks and matches exactly only (D-9)
	Columns []source.Column // what the query needs, in the order of Query.Reads[0]
	Mode    batch.Mode
	// Tolerate is what columns have whose values cannot be read.
	Tolerate []format.Tolerance
	// InsertsOnly says that the delete rows of a change feed are left out before the query: a REPLACE USING flow takes a
	// key's new rows from the feed, and they replace the old ones (D-21).
	InsertsOnly bool
	Stream      bool // false for a once flow: read to an end fixed at the start
}

// Lookup is a table of the pipeline joined as of the batch's start.
type Lookup struct {
	Table *Table
	Read  int  // index in Query.Reads
	Short bool // of a REPLACE WHERE flow: it may have lost rows of the window (D-11)
}

// Source is a source outside of the pipeline that a REPLACE WHERE flow reads in each update, from its start to where it ends then (RW-07).
type Source struct {
	Input
	Read  int  // index in Query.Reads
	Short bool // it may have lost records of the window (D-11)
}

// Action is what a violated expectation does.
type Action uint8

const (
	Warn Action = iota
	DropRow
	FailUpdate
)

func (a Action) String() string { return [...]string{"warn", "drop", "fail"}[a] }

// Check is an expectation of the flow's target. Its verdict is a column of the query (D-49).
type Check struct {
	Name   string
	Action Action
	SQL    string // as written, for messages
}

// Flow is one flow.
type Flow struct {
	Name        string
	Comment     string
	Pos         fault.Pos
	Once        bool
	Table       *Table // target; nil when Sink is set
	Sink        *Sink
	Input       Input
	Lookups     []Lookup
	Query       *dialect.Compiled // Reads[0] is Input
	Window      *Window           // of a REPLACE WHERE flow, whose Query it has; else nil
	Text        string            // the query as written
	SequenceBy  string            // as written; "" without one
	Checks      []Check
	DependsOn   []string // flows named by DEPENDS ON
	Upstream    []string // flows that write the tables it reads (D-52: they order triggered runs only)
	Fingerprint string   // of the query (D-62)
	Definition  Definition
	Secrets     []string // values of its source, sink and query that no output shows (D-54)
	Letters     *Flow    // the flow that sends its dead letters (D-15); nil: nobody does
}

// Inputs are what the flow reads beside tables that it looks up: its input, and of a REPLACE WHERE flow its sources.
func (f *Flow) Inputs() []*Input {
	if f.Window == nil {
		return []*Input{&f.Input}
	}
	var out []*Input
	for i := range f.Window.Sources {
		out = append(out, &f.Window.Sources[i].Input)
	}
	return out
}

// Target is the name of the table or sink that the flow writes, as it is shown.
func (f *Flow) Target() string {
	if f.Sink != nil {
		return f.Sink.Name
	}
	return f.Table.Display
}
