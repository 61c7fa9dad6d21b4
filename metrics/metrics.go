package metrics

import (
	"net/http"
	"runtime"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// Values of the label outcome of sluice_rows_total. Every row that a flow's query returns has exactly one.
const (
	written     = "written"
	dropped     = "dropped"
	superseded  = "superseded"
	late        = "late"
	redelivered = "redelivered"
)

// Values of the label outcome of sluice_expectation_rows_total.
const (
	passed = "passed"
	failed = "failed"
)

// Values of the label outcome of sluice_replayed_records_total.
const (
	accepted = "accepted"
	refused  = "refused"
)

// stages are the values of the label stage, the parts of eventlog.Stages.
var stages = [...]string{"read", "eval", "rule", "plan", "write", "commit"}

// Metrics holds every collector of Sluice. It is safe for use by several goroutines.
type Metrics struct {
	build  *prometheus.GaugeVec
	update *prometheus.GaugeVec
	events *prometheus.CounterVec

	flowInfo     *prometheus.GaugeVec
	flowState    *prometheus.GaugeVec
	flowFailures *prometheus.CounterVec
	flowWarnings *prometheus.CounterVec
	turns        *prometheus.CounterVec
	flowBusy     *prometheus.CounterVec

	inputRecords *prometheus.CounterVec
	inputBytes   *prometheus.CounterVec
	lostRecords  *prometheus.CounterVec
	badRecords   *prometheus.CounterVec
	quarantined  *prometheus.CounterVec
	replayed     *prometheus.CounterVec
	nullRecords  *prometheus.CounterVec

	rows         *prometheus.CounterVec
	outputBytes  *prometheus.CounterVec
	tiedRows     *prometheus.CounterVec
	tieGroups    *prometheus.CounterVec
	replacedRows *prometheus.CounterVec
	changeRows   *prometheus.CounterVec
	windowFiles  *prometheus.CounterVec

	expectationRows   *prometheus.CounterVec
	expectationErrors *prometheus.CounterVec

	nulled        *prometheus.CounterVec
	columnErrors  *prometheus.CounterVec
	batches       *prometheus.CounterVec
	batchNumber   *prometheus.GaugeVec
	batchDuration *prometheus.HistogramVec

	backlogRecords *prometheus.GaugeVec
	backlogCommits *prometheus.GaugeVec
	lag            *prometheus.GaugeVec
	silent         *prometheus.GaugeVec
	held           *prometheus.GaugeVec
	sending        *prometheus.GaugeVec
	backfill       *prometheus.GaugeVec

	storeCommit prometheus.Observer
	storeFsync  prometheus.Observer
	store       *storeCollector

	mu          sync.Mutex
	flows       map[string]flow // what Listen must remember of a flow's definition
	updateState string
}

// flow is the part of a definition that decides how its batches are shown.
type flow struct {
	kind string // of its input
	once bool
}

// New makes the collectors and registers them. It panics when they are registered already: that is a mistake of the
// program.
func New(r prometheus.Registerer) *Metrics {
	m := &Metrics{flows: map[string]flow{}, store: newStoreCollector()}
	reg := registrar{r}

	m.build = reg.gauge("build_info", "Always 1; the labels say what runs.", "version", "revision", "goversion")
	m.update = reg.gauge("update_state", "1 for the state the run of the pipeline is in, 0 for those it has been in.", "state")
	m.events = reg.counter("events_total", "Events by level.", "level")

	m.flowInfo = reg.gauge("flow_info", "Always 1; the labels say what the flow is.", "flow", "flow_type", "target", "input_kind", "once")
	m.flowState = reg.gauge("flow_state", "1 for the status the flow is in, 0 for the others.", "flow", "status")
	m.flowFailures = reg.counter("flow_failures_total", "Failures of the flow by error code, those that are tried again included.", "flow", "code")
	m.turns = reg.counter("schedule_turns_total", "Turns of the table's schedule by what became of them; STARTED counts those that were begun.", "table", "state")
	m.flowWarnings = reg.counter("flow_warnings_total", "Warnings about the flow by error code.", "flow", "code")
	m.flowBusy = reg.counter("flow_busy_seconds_total", "Time the flow spent on batches and not on waiting; its rate is the flow's saturation, 1 is the most it can do.", "flow")

	m.inputRecords = reg.counter("input_records_total", "Records read, bad and null ones included.", "flow")
	m.inputBytes = reg.counter("input_bytes_total", "Size of the records read.", "flow")
	m.lostRecords = reg.counter("lost_records_total", "Kafka offsets that were gone before they were read and that the flow was allowed to skip.", "flow")
	m.badRecords = reg.counter("bad_records_total", "Records that could not be read or evaluated and did not stop the flow.", "flow")
	m.quarantined = reg.counter("quarantined_records_total", "Bad records that were kept in quarantine.", "flow")
	m.replayed = reg.counter("replayed_records_total", "Records replayed out of quarantine by what became of them: accepted, which left it, or refused, which are in it again.", "flow", "outcome")
	m.columnErrors = reg.counter("column_errors_total", "Values that could not be read and were replaced, as columnErrors of the source says.", "flow", "column")
	m.nulled = reg.counter("nulled_values_total", "What from_json and its like made NULL because they could not read it: documents, of which nothing could be read, and fields of others.", "flow", "what")
	m.nullRecords = reg.counter("null_records_total", "Kafka records without a value that were ignored.", "flow")

	m.rows = reg.counter("rows_total", "Rows of the flow's query by what became of them: written, dropped by an expectation, superseded in their batch, late, or redelivered.", "flow", "outcome")
	m.outputBytes = reg.counter("output_bytes_total", "Size of the rows written to the target.", "flow")
	m.tiedRows = reg.counter("tied_rows_total", "Written rows that were appended to rows of equal key and sequence.", "flow")
	m.tieGroups = reg.counter("tie_groups_total", "Keys that held more than one row after a batch changed them.", "flow")
	m.replacedRows = reg.counter("replaced_rows_total", "Old rows that a batch removed.", "flow")
	m.changeRows = reg.counter("change_feed_rows_total", "Rows added to the change feed of the flow's target.", "flow")

	m.windowFiles = reg.counter("window_files_total", "Files that updates of a REPLACE WHERE flow looked at, by what became of them: of its table removed, rewritten or untouched, of the tables and folders that it reads read or skipped.", "flow", "outcome")

	m.expectationRows = reg.counter("expectation_rows_total", "Rows by the verdict of an expectation.", "flow", "dataset", "expectation", "outcome")
	m.expectationErrors = reg.counter("expectation_errors_total", "Rows on which an expectation raised an error; they are among the failed ones.", "flow", "dataset", "expectation")

	m.batches = reg.counter("batches_total", "Batches committed.", "flow")
	m.batchNumber = reg.gauge("batch_number", "Number of the last batch committed in this generation of the flow; 0 is the first.", "flow")
	m.batchDuration = reg.histogram("batch_duration_seconds", "Time of a batch by stage. Reading overlaps with the batch before.", "flow", "stage")

	m.backlogRecords = reg.gauge("backlog_records", "Records of a Kafka partition that the flow has not read yet, as of its last batch.", "flow", "split")
	m.backlogCommits = reg.gauge("backlog_commits", "Commits of a table that the flow has not read yet, as of its last batch.", "flow", "split")
	m.lag = reg.gauge("lag_seconds", "Batch time minus the time of the last record read from a Kafka partition while records lag, else 0.", "flow", "split")
	m.silent = reg.gauge("broker_silence_start_time_seconds", "Unix time since when a Kafka broker has not answered a flow, though it keeps its connections open; there is no such series when all answer.", "flow", "broker")
	m.sending = reg.gauge("sink_write_start_time_seconds", "Unix time at which the sink of a flow got the batch that it has in hand; there is no such series when it has none.", "flow")
	m.held = reg.gauge("open_transaction_start_time_seconds", "Unix time at which the open transaction began that holds back records of a Kafka partition; there is no such series when none does.", "flow", "split")
	m.backfill = reg.gauge("backfill_progress_ratio", "Share of a bounded input that was read; 1 is drained.", "flow")

	m.storeCommit = reg.histogram("store_commit_duration_seconds", "Time of an atomic commit to the store.").WithLabelValues()
	m.storeFsync = reg.histogram("store_fsync_duration_seconds", "Time of a sync of the store's log to disk.").WithLabelValues()
	r.MustRegister(m.store)
	return m
}

// SetBuild says which build of Sluice this is.
func (m *Metrics) SetBuild(version, revision string) {
	m.build.Reset()
	m.build.WithLabelValues(version, revision, runtime.Version()).Set(1)
}

// ObserveCommit takes the duration of one commit of the store.
func (m *Metrics) ObserveCommit(d time.Duration) { m.storeCommit.Observe(d.Seconds()) }

// ObserveFsync takes the duration of one sync of the store's log.
func (m *Metrics) ObserveFsync(d time.Duration) { m.storeFsync.Observe(d.Seconds()) }

// RegisterRuntime adds the metrics of the Go runtime and of the process (go_*, process_*).
func RegisterRuntime(r prometheus.Registerer) {
	r.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
}

// Handler answers a scrape with everything in g.
func Handler(g prometheus.Gatherer) http.Handler {
	return promhttp.HandlerFor(g, promhttp.HandlerOpts{})
}

// registrar makes collectors with the product's prefix and registers them.
type registrar struct{ prometheus.Registerer }

func (r registrar) counter(name, help string, labels ...string) *prometheus.CounterVec {
	v := prometheus.NewCounterVec(prometheus.CounterOpts{Namespace: namespace, Name: name, Help: help}, labels)
	r.MustRegister(v)
	return v
}

func (r registrar) gauge(name, help string, labels ...string) *prometheus.GaugeVec {
	v := prometheus.NewGaugeVec(prometheus.GaugeOpts{Namespace: namespace, Name: name, Help: help}, labels)
	r.MustRegister(v)
	return v
}

func (r registrar) histogram(name, help string, labels ...string) *prometheus.HistogramVec {
	v := prometheus.NewHistogramVec(prometheus.HistogramOpts{Namespace: namespace, Name: name, Help: help, Buckets: buckets}, labels)
	r.MustRegister(v)
	return v
}

const namespace = "sluice"

// buckets go from 100 microseconds, about a small batch on an idle machine, to 26 seconds in steps of four.
var buckets = prometheus.ExponentialBuckets(0.0001, 4, 10)
