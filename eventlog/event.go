package eventlog

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"sluice/batch"
	"sluice/fault"
)

// Level is how much an event matters. METRICS is for high volume.
type Level string

const (
	Info    Level = "INFO"
	Warn    Level = "WARN"
	Error   Level = "ERROR"
	Metrics Level = "METRICS"
)

// Event is something that happened.
type Event interface {
	Type() string // Lakeflow's event_type
	Level() Level
	Origin() Origin
	String() string // one line
}

// Origin says what an event is about; empty parts do not apply.
type Origin struct {
	Flow    string  `json:"flow_name,omitempty"`
	Dataset string  `json:"dataset_name,omitempty"`
	Sink    string  `json:"sink_name,omitempty"`
	BatchID *uint64 `json:"batch_id,omitempty"`
}

// Listener receives events. It must not block and must not emit.
type Listener func(Event)

// Tee returns a listener that calls each of ls in order.
func Tee(ls ...Listener) Listener {
	return func(e Event) {
		for _, l := range ls {
			l(e)
		}
	}
}

// Status is the state of a flow (EL-03, D-51).
type Status string

const (
	Queued    Status = "QUEUED"
	Starting  Status = "STARTING"
	Running   Status = "RUNNING"
	Completed Status = "COMPLETED"
	Failed    Status = "FAILED"
	Skipped   Status = "SKIPPED"
	Stopped   Status = "STOPPED"
	Idle      Status = "IDLE" // a once flow that drained in an earlier run
	Excluded  Status = "EXCLUDED"
)

// Final reports whether a flow in this status does nothing more in this run, unless it is tried again.
func (s Status) Final() bool {
	switch s {
	case Completed, Failed, Skipped, Stopped, Idle, Excluded:
		return true
	}
	return false
}

// FlowProgress is a change of a flow's status, or of the reason for it.
type FlowProgress struct {
	Flow   string
	Target string
	Status Status
	Reason string // why, in a few words: "waiting for data", "after ticks_backfill"
	Err    *fault.Error
	Retry  time.Duration // Failed: it is tried again after this; 0 when it is not
}

func (e *FlowProgress) Type() string { return "flow_progress" }
func (e *FlowProgress) Level() Level {
	switch {
	case e.Status == Failed && e.Retry == 0:
		return Error
	case e.Status == Failed, e.Status == Skipped:
		return Warn
	}
	return Info
}
func (e *FlowProgress) Origin() Origin { return Origin{Flow: e.Flow, Dataset: e.Target} }
func (e *FlowProgress) String() string {
	s := fmt.Sprintf("flow %s is %s", e.Flow, e.Status)
	if e.Reason != "" {
		s += ": " + e.Reason
	}
	if e.Err != nil {
		s += ": " + e.Err.Error()
	}
	if e.Retry > 0 {
		s += fmt.Sprintf("; tried again in %v", e.Retry)
	}
	return s
}

// Expectation is the outcome of one expectation for a batch (EX-12). Failed includes Errors.
type Expectation struct {
	Name    string `json:"name"`
	Dataset string `json:"dataset"`
	Passed  int64  `json:"passed_records"`
	Failed  int64  `json:"failed_records"`
	Errors  int64  `json:"error_records,omitempty"` // the constraint raised an error (D-4)
}

// ColumnErrors is how many values of a column could not be read and were replaced, as the source's columnErrors says (D-15).
type ColumnErrors struct {
	Column string `json:"column"`
	Values int64  `json:"values"`
}

// AddColumnErrors adds more to sums, which are sorted by column.
func AddColumnErrors(sums, more []ColumnErrors) []ColumnErrors {
	for _, e := range more {
		at, known := slices.BinarySearchFunc(sums, e.Column, func(s ColumnErrors, column string) int { return strings.Compare(s.Column, column) })
		if !known {
			sums = slices.Insert(sums, at, ColumnErrors{Column: e.Column})
		}
		sums[at].Values += e.Values
	}
	return sums
}

// Outcome counts what a batch's records became. All are rows of the flow's query but Read, Null, Lost, Bad and Quarantined.
type Outcome struct {
	Read int64 `json:"num_input_records"` // records read, bad and null ones included
	Null int64 `json:"num_null_records"`  // Kafka null values that were ignored (D-5)
	Lost int64 `json:"num_lost_records"`  // Kafka offsets that were gone before they were read (D-6)
	Bad  int64 `json:"num_bad_records"`   // records that could not be read or evaluated

	Quarantined int64 `json:"num_quarantined_records"`        // those of Bad that are kept in the store (D-15)
	Replayed    int64 `json:"num_replayed_records,omitempty"` // that left the quarantine, not among Read (D-31)
	Returned    int64 `json:"num_returned_records,omitempty"` // that were replayed too, were refused again and stay there

	// What from_json and its like made NULL because they could not read it (D-14).
	NulledDocuments int64 `json:"num_nulled_documents"` // texts of which nothing could be read
	NulledFields    int64 `json:"num_nulled_fields"`    // fields of others

	Dropped     int64 `json:"dropped_records"`      // rows dropped by expectations
	Written     int64 `json:"num_output_rows"`      // rows stored or delivered
	Superseded  int64 `json:"num_superseded_rows"`  // a higher sequence of the key stood in the same batch
	Late        int64 `json:"num_late_rows"`        // below the key's sequence (RU-02)
	Tied        int64 `json:"num_tied_rows"`        // appended at an equal sequence (RU-03); part of Written
	Replaced    int64 `json:"num_replaced_rows"`    // old rows removed
	Redelivered int64 `json:"num_redelivered_rows"` // already stored from the same position (D-1)
	Changes     int64 `json:"num_change_rows"`      // rows added to the change feed
	TieGroups   int64 `json:"num_tie_groups"`       // keys of the batch that hold more than one row afterwards
	Bytes       int64 `json:"num_output_bytes"`     // size of Written

	// Of updates of a REPLACE WHERE flow: Written are the rows of the window as they are now.
	Deleted int64 `json:"num_deleted_rows,omitempty"` // rows of the table that lay in the window before (RW-01)
	Outside int64 `json:"num_rows_outside,omitempty"` // rows that the query gave and the predicate does not match; they are not written (D-20)
}

// Add adds o to c.
func (c *Outcome) Add(o Outcome) {
	c.Read += o.Read
	c.Null += o.Null
	c.Lost += o.Lost
	c.Bad += o.Bad
	c.Quarantined += o.Quarantined
	c.Replayed += o.Replayed
	c.Returned += o.Returned
	c.NulledDocuments += o.NulledDocuments
	c.NulledFields += o.NulledFields
	c.Dropped += o.Dropped
	c.Written += o.Written
	c.Superseded += o.Superseded
	c.Late += o.Late
	c.Tied += o.Tied
	c.Replaced += o.Replaced
	c.Redelivered += o.Redelivered
	c.Changes += o.Changes
	c.TieGroups += o.TieGroups
	c.Bytes += o.Bytes
	c.Deleted += o.Deleted
	c.Outside += o.Outside
}

// Stages is how long the parts of a batch took.
type Stages struct {
	Read, Eval, Rule, Plan, Write, Commit time.Duration
}

// Total is the sum of all stages but Read, which overlaps with the batch before.
func (s Stages) Total() time.Duration { return s.Eval + s.Rule + s.Plan + s.Write + s.Commit }

// BatchDone is one committed micro-batch of a flow.
type BatchDone struct {
	Flow         string
	Target       string
	Sink         bool
	ID           batch.ID
	Range        batch.Range
	Outcome      Outcome
	Expectations []Expectation
	ColumnErrors []ColumnErrors
	Stages       Stages
	Time         time.Time
	Done, Total  int64 // progress of a bounded read, in records (files: bytes); Total 0 when there is no end
}

func (e *BatchDone) Type() string { return "flow_progress" }
func (e *BatchDone) Level() Level { return Metrics }
func (e *BatchDone) Origin() Origin {
	o := Origin{Flow: e.Flow, BatchID: &e.ID.Number}
	if e.Sink {
		o.Sink = e.Target
	} else {
		o.Dataset = e.Target
	}
	return o
}
func (e *BatchDone) String() string {
	return fmt.Sprintf("flow %s committed batch %d: %d records in, %d rows out, %d dropped, %d late, %v",
		e.Flow, e.ID.Number, e.Outcome.Read, e.Outcome.Written, e.Outcome.Dropped, e.Outcome.Late, e.Stages.Total().Round(time.Microsecond))
}

// RecordRefused is a sample of a record that could not be read or evaluated and did not stop the flow (D-15).
type RecordRefused struct {
	Flow  string
	Split string
	At    batch.Offset
	Kept  bool // PERMISSIVE: a row was made of what could be read
	// Quarantined says that the record is kept in the store.
	Quarantined bool
	Err         *fault.Error
	More        int64 // further ones of the same batch
}

func (e *RecordRefused) Type() string   { return "flow_progress" }
func (e *RecordRefused) Level() Level   { return Warn }
func (e *RecordRefused) Origin() Origin { return Origin{Flow: e.Flow} }
func (e *RecordRefused) String() string {
	did := "left out"
	switch {
	case e.Kept:
		did = "kept in part"
	case e.Quarantined:
		did = "put in quarantine"
	}
	s := fmt.Sprintf("flow %s %s the record at %s %s: %v", e.Flow, did, e.Split, e.At, e.Err)
	if e.More > 0 {
		s += fmt.Sprintf(" (and %d more of this batch)", e.More)
	}
	return s
}

// FlowWarning is something a user should know about a flow that goes on: an edited query (D-62), a tie (D-10), a gap.
type FlowWarning struct {
	Flow string
	Err  *fault.Error
	Mild bool // it may well be meant: INFO
}

func (e *FlowWarning) Type() string { return "flow_progress" }
func (e *FlowWarning) Level() Level {
	if e.Mild {
		return Info
	}
	return Warn
}
func (e *FlowWarning) Origin() Origin { return Origin{Flow: e.Flow} }
func (e *FlowWarning) String() string { return fmt.Sprintf("flow %s: %v", e.Flow, e.Err) }

// BrokerSilent is a broker that a flow has asked something and that does not answer, though it keeps its connections open; and later
// that this is over.
type BrokerSilent struct {
	Flow    string
	Node    int32 // the broker's number; -1: not known
	Address string
	Since   time.Time
	Request string        // what it was asked, as Kafka calls it
	Over    time.Duration // how long it lasted; 0: it lasts
	Text    string        // says all of it
}

func (e *BrokerSilent) Type() string { return "flow_progress" }
func (e *BrokerSilent) Level() Level {
	if e.Over > 0 {
		return Info
	}
	return Warn
}
func (e *BrokerSilent) Origin() Origin { return Origin{Flow: e.Flow} }
func (e *BrokerSilent) String() string {
	if err := e.fault(); err != nil {
		return fmt.Sprintf("flow %s: %v", e.Flow, err)
	}
	return fmt.Sprintf("flow %s: %s", e.Flow, e.Text)
}

// fault is nil when the silence is over.
func (e *BrokerSilent) fault() *fault.Error {
	if e.Over > 0 {
		return nil
	}
	return fault.New(fault.BrokerSilent, "%s", e.Text).WithHint("it may be frozen or overloaded, or the network swallows what is sent; the flow goes on by itself when it answers")
}

// UpdateProgress is the state of a run of the pipeline, or of an update that was asked for beside it (EL-06).
type UpdateProgress struct {
	Update string // id of an update that was asked for; "" is the run
	State  string // CREATED, INITIALIZING, RESETTING, SETTING_UP_TABLES, RUNNING, STOPPING, COMPLETED, FAILED, CANCELED
	Cause  string
	Err    *fault.Error
}

func (e *UpdateProgress) Type() string { return "update_progress" }
func (e *UpdateProgress) Level() Level {
	if e.State == "FAILED" {
		return Error
	}
	return Info
}
func (e *UpdateProgress) Origin() Origin { return Origin{} }
func (e *UpdateProgress) String() string {
	s := "update is " + e.State
	if e.Update != "" {
		s = "update " + e.Update + " is " + e.State
	}
	if e.Cause != "" {
		s += ": " + e.Cause
	}
	if e.Err != nil {
		s += ": " + e.Err.Error()
	}
	return s
}

// UpdateWarning is something about the pipeline as a whole that is allowed and that somebody should know.
type UpdateWarning struct {
	Err *fault.Error
}

func (e *UpdateWarning) Type() string   { return "update_progress" }
func (e *UpdateWarning) Level() Level   { return Warn }
func (e *UpdateWarning) Origin() Origin { return Origin{} }
func (e *UpdateWarning) String() string { return e.Err.Error() }

// UserAction is an order somebody gave: a full refresh, a checkpoint reset.
type UserAction struct {
	Action string
	Names  []string
	Change *TableChange // of a statement that changes a table
}

// TableChange is what a statement has changed in a table, from outside of its flows (DM-01).
type TableChange struct {
	Version   int64  `json:"version"` // of the table
	Predicate string `json:"predicate,omitempty"`
	Removed   int64  `json:"num_removed_rows"`
	Added     int64  `json:"num_added_rows"`
	Files     int    `json:"num_files"`           // that the table had
	Rewritten int    `json:"num_rewritten_files"` // of them
}

func (e *UserAction) Type() string   { return "user_action" }
func (e *UserAction) Level() Level   { return Info }
func (e *UserAction) Origin() Origin { return Origin{} }
func (e *UserAction) String() string {
	text := strings.TrimSpace("user action: " + e.Action + " " + strings.Join(e.Names, ", "))
	if c := e.Change; c != nil {
		if text += fmt.Sprintf(": %d rows go, %d come", c.Removed, c.Added); c.Files > 0 {
			text += fmt.Sprintf(", %d of %d files are rewritten", c.Rewritten, c.Files)
		}
	}
	return text
}

// Values of FlowDefinition.InputKind. They are the names of plan.InputKind.
const (
	KafkaInput  = "kafka"
	FileInput   = "files"
	TableInput  = "table"
	FeedInput   = "change feed"
	TablesInput = "tables"
)

// FlowDefinition describes a flow when a run starts (EL-07).
type FlowDefinition struct {
	Flow       string   `json:"flow_name"`
	Target     string   `json:"output_dataset,omitempty"`
	SinkTarget string   `json:"output_sink,omitempty"`
	Inputs     []string `json:"input_datasets"`
	InputKind  string   `json:"input_kind"` // what the splits of its ranges are
	Schema     string   `json:"schema"`
	FlowType   string   `json:"flow_type"` // APPEND, REPLACE_USING, REPLACE_WHERE
	Once       bool     `json:"once"`
	DependsOn  []string `json:"depends_on,omitempty"`
	Query      string   `json:"explain_text"`
	Comment    string   `json:"comment,omitempty"`
}

func (e *FlowDefinition) Type() string { return "flow_definition" }
func (e *FlowDefinition) Level() Level { return Info }
func (e *FlowDefinition) Origin() Origin {
	return Origin{Flow: e.Flow, Dataset: e.Target, Sink: e.SinkTarget}
}
func (e *FlowDefinition) String() string {
	return fmt.Sprintf("flow %s (%s) writes %s%s from %s", e.Flow, e.FlowType, e.Target, e.SinkTarget, strings.Join(e.Inputs, ", "))
}

// DatasetDefinition describes a table when a run starts (EL-08).
type DatasetDefinition struct {
	Dataset      string   `json:"dataset_name"`
	DatasetType  string   `json:"dataset_type"`
	NumFlows     int      `json:"num_flows"`
	Schema       string   `json:"schema"`
	Expectations []string `json:"expectations,omitempty"`
}

func (e *DatasetDefinition) Type() string   { return "dataset_definition" }
func (e *DatasetDefinition) Level() Level   { return Info }
func (e *DatasetDefinition) Origin() Origin { return Origin{Dataset: e.Dataset} }
func (e *DatasetDefinition) String() string {
	return fmt.Sprintf("%s %s (%s), %d flows", strings.ToLower(e.DatasetType), e.Dataset, e.Schema, e.NumFlows)
}

// SinkDefinition describes a sink when a run starts (FB-12). Options hold no secrets.
type SinkDefinition struct {
	Sink    string            `json:"sink_name"`
	Format  string            `json:"format"`
	Options map[string]string `json:"options"`
}

func (e *SinkDefinition) Type() string   { return "sink_definition" }
func (e *SinkDefinition) Level() Level   { return Info }
func (e *SinkDefinition) Origin() Origin { return Origin{Sink: e.Sink} }
func (e *SinkDefinition) String() string {
	return fmt.Sprintf("sink %s of format %s", e.Sink, e.Format)
}

// PlanningInformation says how an update of a REPLACE WHERE flow is computed, before it is (section 7).
type PlanningInformation struct {
	Flow      string                 `json:"-"`
	Target    string                 `json:"-"`
	Technique []TechniqueInformation `json:"technique_information"`
	Sources   []SourceInformation    `json:"source_table_information,omitempty"` // tables that have files, then what lies outside of the pipeline
	Table     TargetInformation      `json:"target_table_information"`
	Predicate string                 `json:"predicate"` // with the values that the update has for it (RW-O2)
	Time      time.Time              `json:"time"`      // of the update, which clock functions give
}

// TechniqueInformation is a way to compute an update. Of those that are listed one is chosen.
type TechniqueInformation struct {
	MaintenanceType string                    `json:"maintenance_type"`
	Chosen          bool                      `json:"is_chosen"`
	Applicable      bool                      `json:"is_applicable"`
	Issues          []IncrementalizationIssue `json:"incrementalization_issues,omitempty"`
}

// IncrementalizationIssue is why an update is not computed from what changed.
type IncrementalizationIssue struct {
	Type     string `json:"issue_type"`
	Prevents bool   `json:"prevent_incrementalization"`
	SubType  string `json:"plan_not_incrementalizable_sub_type,omitempty"`
}

// SourceInformation says which part of a source an update reads: of one outside of the pipeline that which is there when it begins (RW-O4), of a
// table all but the files without a row for the window.
type SourceInformation struct {
	Name       string            `json:"table_name"`
	Bytes      int64             `json:"full_size,omitempty"` // of files
	Files      int               `json:"num_files,omitempty"`
	Skipped    int               `json:"num_skipped_files,omitempty"` // of Files
	Partitions []OffsetsOfSource `json:"partitions,omitempty"`        // of topics
}

// OffsetsOfSource are those of a partition that an update reads.
type OffsetsOfSource struct {
	Partition string `json:"partition"` // topic/number
	Topic     string `json:"topic_id"`
	Start     int64  `json:"starting_offset"`
	End       int64  `json:"ending_offset"` // the first that it does not read
}

// TargetInformation says how much of its table an update touches.
type TargetInformation struct {
	Table     string `json:"table_name"`
	Bytes     int64  `json:"full_size"`
	Files     int    `json:"num_files"`
	Removed   int    `json:"num_removed_files"`   // those of Files in which every row lies in the window
	Rewritten int    `json:"num_rewritten_files"` // those in which some may
}

// CompleteRecompute is the technique of an update that computes its whole window.
const CompleteRecompute = "MAINTENANCE_TYPE_COMPLETE_RECOMPUTE"

func (e *PlanningInformation) Type() string   { return "planning_information" }
func (e *PlanningInformation) Level() Level   { return Info }
func (e *PlanningInformation) Origin() Origin { return Origin{Flow: e.Flow, Dataset: e.Target} }
func (e *PlanningInformation) String() string {
	var why []string
	for _, t := range e.Technique {
		for _, i := range t.Issues {
			why = append(why, i.Type)
		}
	}
	return fmt.Sprintf("flow %s computes the window %s anew (%s): %d of %d files go, %d are rewritten", e.Flow, e.Predicate, strings.Join(why, ", "),
		e.Table.Removed+e.Table.Rewritten, e.Table.Files, e.Table.Rewritten)
}

// HistoryForgotten says that earlier versions of a table have left its history, the oldest first (D-27).
type HistoryForgotten struct {
	Dataset  string `json:"table_name"`
	Before   int64  `json:"first_version"` // that can still be read
	Versions int    `json:"num_versions"`  // that cannot any more
	Files    int    `json:"num_files"`
	Bytes    int64  `json:"size"`
}

func (e *HistoryForgotten) Type() string   { return "maintenance_progress" }
func (e *HistoryForgotten) Level() Level   { return Info }
func (e *HistoryForgotten) Origin() Origin { return Origin{Dataset: e.Dataset} }
func (e *HistoryForgotten) String() string {
	return fmt.Sprintf("the history of table %s begins with version %d now: versions before it (%d) leave it, with %d files", e.Dataset, e.Before, e.Versions, e.Files)
}

// DefinitionEdit is one thing that a definition says otherwise than at the last run (D-62).
type DefinitionEdit struct {
	Kind    string `json:"kind"` // table, flow or sink
	Name    string `json:"name"`
	Verdict string `json:"verdict"` // in place, needs checkpoint reset, needs full refresh
	Text    string `json:"text"`
	Command string `json:"command,omitempty"` // what to run for it to have its whole effect
}

func (e *DefinitionEdit) Type() string { return "definition_edit" }
func (e *DefinitionEdit) Level() Level { return Info }
func (e *DefinitionEdit) Origin() Origin {
	switch e.Kind {
	case "flow":
		return Origin{Flow: e.Name}
	case "sink":
		return Origin{Sink: e.Name}
	}
	return Origin{Dataset: e.Name}
}
func (e *DefinitionEdit) String() string {
	s := fmt.Sprintf("%s %s: %s (%s)", e.Kind, e.Name, e.Text, e.Verdict)
	if e.Command != "" {
		s += ": " + e.Command
	}
	return s
}
