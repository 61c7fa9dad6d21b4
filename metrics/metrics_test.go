package metrics

import (
	"flag"
	"fmt"
	"io"
	"net/http/httptest"
	"os"
	"reflect"
	"sort"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	dto "github.com/prometheus/client_model/go"

	"sluice/batch"
	"sluice/eventlog"
	"sluice/fault"
)

var rewrite = flag.Bool("rewrite", false, "rewrite testdata/manifest.txt")

// at is the time of every batch of these tests.
var at = time.UnixMicro(10_000_000)

// everything is one event of each kind that shows in a metric.
var everything = []eventlog.Event{
	&eventlog.UpdateProgress{State: "INITIALIZING"},
	&eventlog.FlowDefinition{Flow: "live", Target: "main.ticks", FlowType: "REPLACE_USING", InputKind: "kafka"},
	&eventlog.FlowDefinition{Flow: "history", Target: "main.ticks", FlowType: "REPLACE_USING", InputKind: "files", Once: true},
	&eventlog.FlowDefinition{Flow: "publish", SinkTarget: "out", FlowType: "APPEND", InputKind: "change feed"},
	&eventlog.UpdateProgress{State: "RUNNING"},
	&eventlog.FlowProgress{Flow: "live", Status: eventlog.Running},
	&eventlog.FlowProgress{Flow: "publish", Status: eventlog.Failed, Err: fault.New(fault.InternalError, "broken")},
	&eventlog.FlowWarning{Flow: "live", Err: fault.New(fault.InternalError, "odd")},
	&eventlog.BatchDone{
		Flow: "live", Target: "main.ticks", ID: batch.ID{Number: 7}, Time: at,
		Range: batch.Range{Splits: []batch.SplitRange{
			{Split: "ticks/0", To: batch.Offset{At: 40}, End: 100, Records: 20, Bytes: 2000, Time: 4_000_000},
			{Split: "ticks/1", To: batch.Offset{At: 50}, End: 50, Records: 10, Bytes: 1000, Time: 4_000_000},
			{Split: "ticks/2", To: batch.Offset{At: 5}, End: -1, Records: 5, Bytes: 500},
		}},
		Outcome: eventlog.Outcome{Read: 35, Null: 1, Lost: 9, Bad: 2, Replayed: 12, Returned: 13, Dropped: 3, Written: 20, Superseded: 4, Late: 5, Tied: 6, Replaced: 7,
			Redelivered: 8, Changes: 27, TieGroups: 2, Bytes: 640},
		ColumnErrors: []eventlog.ColumnErrors{{Column: "price", Values: 2}}, Expectations: []eventlog.Expectation{{Name: "traded", Dataset: "main.ticks", Passed: 29, Failed: 3, Errors: 1}},
		Stages: eventlog.Stages{Read: time.Second, Eval: 10 * time.Millisecond, Rule: 20 * time.Millisecond, Plan: 30 * time.Millisecond, Write: 40 * time.Millisecond, Commit: 50 * time.Millisecond},
	},
	&eventlog.BatchDone{
		Flow: "history", Target: "main.ticks", Time: at, Done: 250, Total: 1000,
		Range: batch.Range{Splits: []batch.SplitRange{{Split: "data/a.json", To: batch.Offset{At: 250}, End: 1000, Records: 3, Bytes: 250}}},
	},
	&eventlog.BrokerSilent{Flow: "live", Node: 1, Address: "kafka-1:9092", Since: at},
	&eventlog.BrokerSilent{Flow: "live", Node: -1, Address: "kafka-2:9092", Since: at.Add(500 * time.Millisecond)},
	&eventlog.BrokerSilent{Flow: "live", Node: 1, Address: "kafka-1:9092", Since: at, Over: time.Second},
	&eventlog.BatchDone{
		Flow: "publish", Target: "out", Sink: true, Time: at,
		Range: batch.Range{Splits: []batch.SplitRange{{Split: "main.ticks", To: batch.Offset{At: 8}, End: 11, Records: 3}}},
	},
}

func full() (*Metrics, *prometheus.Registry) {
	reg := prometheus.NewRegistry()
	m := New(reg)
	m.SetBuild("1.2.3", "abcdef")
	m.ObserveCommit(time.Millisecond)
	m.ObserveFsync(2 * time.Millisecond)
	m.ReadStore(func() Store {
		return Store{Epoch: 3, Bytes: 4096, Quarantines: []Quarantine{{Flow: "live", Records: 2, Bytes: 512, Ordered: 1}}, Tables: []Table{
			{Name: "main.ticks", Rows: 12, Keys: 9, Bytes: 1024, Version: 7, Digest: "fedcba98765432100123456789abcdef", NextTurn: 1772355600},
			{Name: "main.ticks_raw", Rows: 40, Keys: -1, Bytes: -1},
		}}
	})
	for _, e := range everything {
		m.Listen(e)
	}
	m.Listen(&eventlog.PlanningInformation{Flow: "daily", Table: eventlog.TargetInformation{Files: 9, Removed: 2, Rewritten: 1},
		Sources: []eventlog.SourceInformation{{Files: 20, Skipped: 17}, {Files: 1}}})
	for _, state := range []string{eventlog.TurnStarted, eventlog.TurnCompleted, eventlog.TurnStarted} {
		m.Listen(&eventlog.ScheduleProgress{Dataset: "daily", State: state})
	}
	m.Sending("publish", at)
	m.Sending("live", at)
	m.Sending("live", time.Time{})
	m.Held("live", map[string]time.Time{"ticks/0": at, "ticks/1": at})
	m.Held("publish", map[string]time.Time{"other/0": at})
	m.Held("publish", nil)
	m.Held("live", map[string]time.Time{"ticks/1": at.Add(500 * time.Millisecond)})
	return m, reg
}

func gather(t *testing.T, g prometheus.Gatherer) map[string]*dto.MetricFamily {
	t.Helper()
	families, err := g.Gather()
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]*dto.MetricFamily{}
	for _, f := range families {
		out[f.GetName()] = f
	}
	return out
}

// find returns the metric of family name whose labels have the given values, written "flow=live,outcome=late".
func find(t *testing.T, g prometheus.Gatherer, name, labels string) *dto.Metric {
	t.Helper()
	for _, m := range gather(t, g)[name].GetMetric() {
		have := map[string]string{}
		for _, l := range m.Label {
			have[l.GetName()] = l.GetValue()
		}
		want := map[string]string{}
		for part := range strings.SplitSeq(labels, ",") {
			if k, v, ok := strings.Cut(part, "="); ok {
				want[k] = v
			}
		}
		if reflect.DeepEqual(have, want) {
			return m
		}
	}
	return nil
}

// TestValues checks what the events of everything add up to; "absent" means that the series must not exist.
func TestValues(t *testing.T) {
	_, reg := full()
	const absent = -1
	for _, c := range []struct {
		name, labels string
		want         float64
	}{
		{"sluice_build_info", "version=1.2.3,revision=abcdef,goversion=" + goVersion(t, reg), 1},
		{"sluice_update_state", "state=INITIALIZING", 0},
		{"sluice_update_state", "state=RUNNING", 1},
		{"sluice_events_total", "level=METRICS", 3},
		{"sluice_events_total", "level=ERROR", 1},
		{"sluice_flow_info", "flow=history,flow_type=REPLACE_USING,target=main.ticks,input_kind=files,once=true", 1},
		{"sluice_flow_state", "flow=live,status=RUNNING", 1},
		{"sluice_flow_state", "flow=live,status=FAILED", 0},
		{"sluice_flow_failures_total", "flow=publish,code=INTERNAL_ERROR", 1},
		{"sluice_flow_warnings_total", "flow=live,code=INTERNAL_ERROR", 1},
		{"sluice_flow_busy_seconds_total", "flow=live", 0.15}, // reading is left out: it overlaps
		{"sluice_input_records_total", "flow=live", 35},
		{"sluice_input_bytes_total", "flow=live", 3500},
		{"sluice_null_records_total", "flow=live", 1},
		{"sluice_lost_records_total", "flow=live", 9},
		{"sluice_bad_records_total", "flow=live", 2},
		{"sluice_replayed_records_total", "flow=live,outcome=accepted", 12},
		{"sluice_replayed_records_total", "flow=live,outcome=refused", 13},
		{"sluice_quarantine_ordered_records", "flow=live", 1},
		{"sluice_rows_total", "flow=live,outcome=written", 20},
		{"sluice_rows_total", "flow=live,outcome=dropped", 3},
		{"sluice_rows_total", "flow=live,outcome=superseded", 4},
		{"sluice_rows_total", "flow=live,outcome=late", 5},
		{"sluice_rows_total", "flow=live,outcome=redelivered", 8},
		{"sluice_output_bytes_total", "flow=live", 640},
		{"sluice_tied_rows_total", "flow=live", 6},
		{"sluice_tie_groups_total", "flow=live", 2},
		{"sluice_replaced_rows_total", "flow=live", 7},
		{"sluice_change_feed_rows_total", "flow=live", 27},
		{"sluice_schedule_turns_total", "table=daily,state=STARTED", 2},
		{"sluice_schedule_turns_total", "table=daily,state=COMPLETED", 1},
		{"sluice_schedule_turns_total", "table=daily,state=FAILED", 0}, // there before the first one fails
		{"sluice_schedule_next_turn_time_seconds", "table=main.ticks", 1772355600},
		{"sluice_schedule_next_turn_time_seconds", "table=main.ticks_raw", absent},
		{"sluice_window_files_total", "flow=daily,outcome=removed", 2}, // RW-18
		{"sluice_window_files_total", "flow=daily,outcome=rewritten", 1},
		{"sluice_window_files_total", "flow=daily,outcome=untouched", 6},
		{"sluice_window_files_total", "flow=daily,outcome=skipped", 17},
		{"sluice_window_files_total", "flow=daily,outcome=read", 4},
		{"sluice_expectation_rows_total", "flow=live,dataset=main.ticks,expectation=traded,outcome=passed", 29},
		{"sluice_expectation_rows_total", "flow=live,dataset=main.ticks,expectation=traded,outcome=failed", 3},
		{"sluice_expectation_errors_total", "flow=live,dataset=main.ticks,expectation=traded", 1}, // D-4
		{"sluice_batches_total", "flow=live", 1},
		{"sluice_batch_number", "flow=live", 7},
		// D-63: seconds only where records lag; nothing for files, and nothing where the end is not known.
		{"sluice_backlog_records", "flow=live,split=ticks/0", 60},
		{"sluice_lag_seconds", "flow=live,split=ticks/0", 6},
		{"sluice_backlog_records", "flow=live,split=ticks/1", 0},
		{"sluice_lag_seconds", "flow=live,split=ticks/1", 0},
		{"sluice_backlog_records", "flow=live,split=ticks/2", absent},
		{"sluice_lag_seconds", "flow=live,split=ticks/2", absent},
		{"sluice_backlog_records", "flow=history,split=data/a.json", absent},
		{"sluice_lag_seconds", "flow=history,split=data/a.json", absent},
		{"sluice_open_transaction_start_time_seconds", "flow=live,split=ticks/0", absent},
		{"sluice_open_transaction_start_time_seconds", "flow=live,split=ticks/1", 10.5},
		{"sluice_open_transaction_start_time_seconds", "flow=publish,split=other/0", absent},
		{"sluice_sink_write_start_time_seconds", "flow=publish", 10},
		{"sluice_sink_write_start_time_seconds", "flow=live", absent},
		{"sluice_backlog_commits", "flow=publish,split=main.ticks", 3},
		{"sluice_backlog_records", "flow=publish,split=main.ticks", absent},
		{"sluice_backfill_progress_ratio", "flow=history", 0.25},
		{"sluice_backfill_progress_ratio", "flow=live", absent},
		{"sluice_store_epoch", "", 3},
		{"sluice_store_size_bytes", "", 4096},
		{"sluice_table_rows", "table=main.ticks", 12},
		{"sluice_table_keys", "table=main.ticks", 9},
		{"sluice_table_size_bytes", "table=main.ticks", 1024},
		{"sluice_table_rows", "table=main.ticks_raw", 40},
		{"sluice_table_keys", "table=main.ticks_raw", absent},
		{"sluice_table_size_bytes", "table=main.ticks_raw", absent},
		{"sluice_table_version", "table=main.ticks", 7},
		{"sluice_table_digest", "table=main.ticks", 0xfedcba9876543},
		{"sluice_table_digest", "table=main.ticks_raw", absent},
	} {
		m := find(t, reg, c.name, c.labels)
		if m == nil {
			if c.want != absent {
				t.Errorf("%s{%s} does not exist", c.name, c.labels)
			}
			continue
		}
		if got := m.GetGauge().GetValue() + m.GetCounter().GetValue(); got < c.want-1e-9 || got > c.want+1e-9 {
			t.Errorf("%s{%s} = %v, want %v", c.name, c.labels, got, c.want)
		}
	}
	for stage, want := range map[string]float64{"read": 1, "eval": 0.01, "rule": 0.02, "plan": 0.03, "write": 0.04, "commit": 0.05} {
		h := find(t, reg, "sluice_batch_duration_seconds", "flow=live,stage="+stage).GetHistogram()
		if h.GetSampleCount() != 1 || h.GetSampleSum() != want {
			t.Errorf("stage %s: %d samples of %v s together, want one of %v s", stage, h.GetSampleCount(), h.GetSampleSum(), want)
		}
	}
}

func goVersion(t *testing.T, g prometheus.Gatherer) string {
	for _, l := range gather(t, g)["sluice_build_info"].GetMetric()[0].Label {
		if l.GetName() == "goversion" {
			return l.GetValue()
		}
	}
	return ""
}

// A flow's counters exist from its definition on, so that the first failure is an increase.
func TestCountersStartAtZero(t *testing.T) {
	reg := prometheus.NewRegistry()
	New(reg).Listen(&eventlog.FlowDefinition{Flow: "f", Target: "t", FlowType: "APPEND", InputKind: "kafka"})
	for name, labels := range map[string]string{
		"sluice_input_records_total":     "flow=f",
		"sluice_lost_records_total":      "flow=f",
		"sluice_bad_records_total":       "flow=f",
		"sluice_rows_total":              "flow=f,outcome=late",
		"sluice_batches_total":           "flow=f",
		"sluice_flow_busy_seconds_total": "flow=f",
		"sluice_batch_duration_seconds":  "flow=f,stage=commit",
	} {
		if find(t, reg, name, labels) == nil {
			t.Errorf("%s{%s} does not exist before the first batch", name, labels)
		}
	}
}

// A once flow shows as drained when its input was empty and when it drained in an earlier run (ON-O3, DO-19).
func TestDrainedWithoutABatch(t *testing.T) {
	for _, status := range []eventlog.Status{eventlog.Completed, eventlog.Idle} {
		reg := prometheus.NewRegistry()
		m := New(reg)
		m.Listen(&eventlog.FlowDefinition{Flow: "f", Once: true})
		m.Listen(&eventlog.FlowProgress{Flow: "f", Status: status})
		if got := find(t, reg, "sluice_backfill_progress_ratio", "flow=f"); got.GetGauge().GetValue() != 1 {
			t.Errorf("%s: progress is %v, want 1", status, got)
		}
	}
}

// TestManifest compares every metric's name, type, labels and help with testdata/manifest.txt, and asks Prometheus' own
// linter about them. A metric that no event of this file reaches fails it.
func TestManifest(t *testing.T) {
	_, reg := full()
	families := gather(t, reg)

	names := &recorder{}
	New(names)
	for _, name := range names.names {
		if families[name] == nil {
			t.Errorf("%s is registered, but nothing in this file sets it: add an event", name)
		}
	}

	var all []*dto.MetricFamily
	var lines []string
	for name, f := range families {
		all = append(all, f)
		var labels []string
		for _, l := range f.Metric[0].Label {
			labels = append(labels, l.GetName())
		}
		lines = append(lines, fmt.Sprintf("%s\t%s\t%s\t%s\n", name, strings.ToLower(f.GetType().String()), strings.Join(labels, ","), f.GetHelp()))
	}
	problems, err := promlint.NewWithMetricFamilies(all).Lint()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems {
		t.Errorf("%s: %s", p.Metric, p.Text)
	}

	sort.Strings(lines)
	got := strings.Join(lines, "")
	const file = "testdata/manifest.txt"
	if *rewrite {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("the metrics are not those of %s, which dashboards and alerts rely on. If the change is meant: go test ./metrics -rewrite && make generate, and a line in CHANGELOG.md.\ngot:\n%s", file, got)
	}
}

// recorder is a registerer that notes the names of what is registered.
type recorder struct{ names []string }

func (r *recorder) MustRegister(cs ...prometheus.Collector) {
	for _, c := range cs {
		descs := make(chan *prometheus.Desc, 100)
		c.Describe(descs)
		close(descs)
		for d := range descs {
			name, _, _ := strings.Cut(strings.TrimPrefix(d.String(), `Desc{fqName: "`), `"`)
			r.names = append(r.names, name)
		}
	}
}
func (r *recorder) Register(c prometheus.Collector) error  { r.MustRegister(c); return nil }
func (r *recorder) Unregister(c prometheus.Collector) bool { return false }

func TestReadStoreEnds(t *testing.T) {
	m, reg := full()
	m.ReadStore(nil)
	if f := gather(t, reg)["sluice_table_rows"]; f != nil {
		t.Errorf("tables are shown after the store has gone: %v", f)
	}
}

func TestHandler(t *testing.T) {
	_, reg := full()
	RegisterRuntime(reg)
	w := httptest.NewRecorder()
	Handler(reg).ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
	body, _ := io.ReadAll(w.Result().Body)
	for _, want := range []string{`sluice_rows_total{flow="live",outcome="late"} 5`, "go_goroutines", "process_open_fds"} {
		if !strings.Contains(string(body), want) {
			t.Errorf("the scrape has no %s", want)
		}
	}
}

// Listen is called from every flow's goroutine while scrapes go on.
func TestParallel(t *testing.T) {
	m, reg := full()
	before := find(t, reg, "sluice_batches_total", "flow=live").GetCounter().GetValue()
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range 50 {
				for _, e := range everything {
					m.Listen(e)
				}
				if _, err := reg.Gather(); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if got := find(t, reg, "sluice_batches_total", "flow=live").GetCounter().GetValue() - before; got != 200 {
		t.Errorf("%v batches were counted, want 200", got)
	}
}

func BenchmarkListenBatch(b *testing.B) {
	m, _ := full()
	b.ReportAllocs()
	for b.Loop() {
		m.Listen(everything[8])
	}
}
