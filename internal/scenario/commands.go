package scenario

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/cockroachdb/datadriven"
	"github.com/twmb/franz-go/pkg/kgo"

	"sluice/daemon"
	"sluice/eventlog"
	"sluice/fault"
	"sluice/plan"
	"sluice/state"
)

// commands is what a file may say. A command returns what is shown under it.
var commands = map[string]func(context.Context, *world, *words) (string, error){
	"only":     func(context.Context, *world, *words) (string, error) { return "", nil }, // read by fixed
	"pipeline": declare,
	"topic":    changeTopic,
	"produce":  produce,
	"end":      endTransaction,
	"file":     writeFile,
	"run":      apply,
	"step":     step,
	"now":      setNow,
	"stop":     func(_ context.Context, w *world, _ *words) (string, error) { w.down(); return "", nil },
	"crash":    crash,
	"reset":    reset,
	"override": override,
	"dlq":      mendRecords,
	"undo":     undoTable,
	"outage":   arrangeOutage,
	"fault":    arrangeFault,
	"group":    showGroup,
	"fail":     fail,
	"hold":     hold,
	"show":     showFile,
	"quality":  showQuality,
	"outcomes": showOutcomes,
	"table":    showTable,
	"digest":   showDigests,
	"query":    func(ctx context.Context, w *world, a *words) (string, error) { return w.rows(ctx, a.input) },
	"sql":      runSQL,
	"sink":     showSink,
	"letters":  showLetters,
	"batches":  showBatches,
	"flow":     showFlow,
	"counters": showCounters,
	"events":   showEvents,
	"metrics":  showMetrics,
}

// before are the commands that need no pipeline.
var before = map[string]bool{"only": true, "now": true, "pipeline": true, "topic": true, "produce": true, "end": true, "file": true, "show": true}

// words are the arguments of a command, taken one by one: what is left is a mistake.
type words struct {
	input string
	args  []datadriven.CmdArg
}

// name takes the first argument without a value.
func (a *words) name() (string, error) {
	for i, arg := range a.args {
		if len(arg.Vals) == 0 {
			a.args = slices.Delete(a.args, i, i+1)
			return arg.Key, nil
		}
	}
	return "", fmt.Errorf("a name is missing")
}

// flag takes an argument without a value.
func (a *words) flag(name string) bool {
	for i, arg := range a.args {
		if len(arg.Vals) == 0 && arg.Key == name {
			a.args = slices.Delete(a.args, i, i+1)
			return true
		}
	}
	return false
}

// values takes key=value or key=(value, ...).
func (a *words) values(key string) []string {
	for i, arg := range a.args {
		if len(arg.Vals) > 0 && arg.Key == key {
			a.args = slices.Delete(a.args, i, i+1)
			return arg.Vals
		}
	}
	return nil
}

func (a *words) value(key, preset string) string {
	if v := a.values(key); v != nil {
		return strings.Join(v, ", ")
	}
	return preset
}

func (a *words) number(key string, preset int) (int, error) {
	return strconv.Atoi(a.value(key, strconv.Itoa(preset)))
}

// execute runs one command. The error is a mistake in how it is written; what fails in the world is shown.
func (w *world) execute(name string, args []datadriven.CmdArg, input string) (string, error) {
	f, ok := commands[name]
	if !ok {
		return "", errors.New(nearest(name, slices.Sorted(maps.Keys(commands))))
	}
	if w.plan == nil && !before[name] {
		return "", errors.New("there is no pipeline")
	}
	a := &words{input: strings.TrimSuffix(input, "\n"), args: slices.Clone(args)}
	out, err := f(context.Background(), w, a)
	if v := (*vanished)(nil); errors.As(err, &v) {
		return "", err
	}
	if err != nil {
		out = "error: " + err.Error()
	} else if len(a.args) > 0 && name != "only" {
		return "", fmt.Errorf("%s does not take %v", name, a.args)
	}
	out = strings.ReplaceAll(out, w.dir, "DIR")
	if out != "" && !strings.HasSuffix(out, "\n") {
		out += "\n"
	}
	return out, nil
}

func declare(_ context.Context, w *world, a *words) (string, error) {
	name, features, digests := a.value("name", "scenario"), a.values("features"), a.value("digests", "")
	settings := map[string]string{}
	for _, arg := range a.args {
		settings[arg.Key] = strings.Join(arg.Vals, ",")
	}
	a.args = nil
	w.down()
	if err := w.verify(); err != nil {
		return "", err
	}
	if err := w.declare(name, a.input, features, settings); err != nil {
		return err.Error(), nil
	}
	switch digests {
	case "declared":
	case "":
		keepDigests(w.plan)
	default:
		return "", fmt.Errorf("digests=%s is not declared", digests)
	}
	return "", nil
}

// setNow sets the time of updates of REPLACE WHERE flows.
func setNow(_ context.Context, w *world, a *words) (string, error) {
	text, err := a.name()
	if err != nil {
		return "", err
	}
	at, err := time.Parse(time.RFC3339Nano, text)
	w.now.Store(at.UnixMicro())
	return "", err
}

func changeTopic(ctx context.Context, w *world, a *words) (string, error) {
	drop := a.flag("delete")
	partitions, err := strconv.ParseInt(a.value("partitions", w.variant.get("partitions")), 10, 32)
	if err != nil {
		return "", err
	}
	trim, err := a.number("trim", -1)
	if err != nil {
		return "", err
	}
	name, err := a.name()
	switch {
	case err != nil:
		return "", err
	case drop:
		return "", w.deleteTopic(ctx, name)
	case trim >= 0:
		return "", w.trimTopic(ctx, name, int64(trim))
	}
	return "", w.createTopic(ctx, name, int32(partitions))
}

func produce(ctx context.Context, w *world, a *words) (string, error) {
	how := producing{key: a.value("key", ""), literal: a.flag("literal"), transaction: a.value("in", "")}
	partition, err := a.number("partition", -1)
	if err != nil {
		return "", err
	}
	how.partition = int32(partition)
	if at := a.value("time", ""); at != "" {
		if how.time, err = time.Parse(time.RFC3339Nano, at); err != nil {
			return "", err
		}
	}
	times, err := a.number("times", 1)
	if err != nil {
		return "", err
	}
	if how.headers, err = headersOf(a.values("headers")); err != nil {
		return "", err
	}
	name, err := a.name()
	if err != nil {
		return "", err
	}
	if w.topics[name] == nil {
		partitions, _ := strconv.ParseInt(w.variant.get("partitions"), 10, 32)
		if err := w.createTopic(ctx, name, int32(partitions)); err != nil {
			return "", err
		}
	}
	return "", w.produce(ctx, name, strings.Repeat(a.input+"\n", times), how)
}

func endTransaction(ctx context.Context, w *world, a *words) (string, error) {
	how := kgo.TryCommit
	if a.flag("abort") {
		how = kgo.TryAbort
	} else if !a.flag("commit") {
		return "", errors.New("a transaction ends with commit or with abort")
	}
	name, err := a.name()
	if err != nil {
		return "", err
	}
	return "", w.endTransaction(ctx, name, how)
}

// writeFile writes a file as a good writer does: it is whole when it gets its name. Each is a second older than the next.
func writeFile(_ context.Context, w *world, a *words) (string, error) {
	remove := a.flag("delete")
	name, err := a.name()
	if err != nil {
		return "", err
	}
	path := filepath.Join(w.dir, name)
	if remove {
		return "", os.Remove(path)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return "", err
	}
	text := a.input
	if text != "" {
		text += "\n"
	}
	if err := os.WriteFile(path+".new", []byte(text), 0o600); err != nil {
		return "", err
	}
	w.clock = w.clock.Add(time.Second)
	if err := os.Chtimes(path+".new", w.clock, w.clock); err != nil {
		return "", err
	}
	return "", os.Rename(path+".new", path)
}

func apply(_ context.Context, w *world, a *words) (string, error) {
	show, all, accept := report(a), a.flag("full-refresh-all"), a.flag("accept-data-loss")
	s, err := daemon.Select(w.plan, a.values("refresh"), a.values("full-refresh"), all)
	if err != nil {
		return "", err
	}
	s.AcceptLoss = accept
	return w.apply(s, show)
}

// report is what run and step show: who failed and who was skipped for it, with the messages, or without the reasons; or the states of
// all flows.
func report(a *words) func(*run) string {
	switch {
	case a.flag("brief"):
		return (*run).brief
	case a.flag("messages"):
		return func(r *run) string { return r.troubles(true) }
	case a.flag("states"):
		return (*run).states
	}
	return func(r *run) string { return r.troubles(false) }
}

func step(_ context.Context, w *world, a *words) (string, error) {
	show := report(a)
	batches, err := a.number("batches", 1)
	if err != nil {
		return "", err
	}
	f, err := w.flowNamed(a)
	if err != nil {
		return "", err
	}
	return w.step(f.Name, batches, show)
}

func (w *world) flowNamed(a *words) (*plan.Flow, error) {
	name, err := a.name()
	if err != nil {
		return nil, err
	}
	var names []string
	for _, f := range w.plan.Flows {
		if f.Name == name {
			return f, nil
		}
		names = append(names, f.Name)
	}
	return nil, fmt.Errorf("flow: %s", nearest(name, names))
}

func (w *world) sinkNamed(a *words) (*plan.Sink, error) {
	name, err := a.name()
	if err != nil {
		return nil, err
	}
	var names []string
	for _, s := range w.plan.Sinks {
		if s.Name == name {
			return s, nil
		}
		names = append(names, s.Name)
	}
	return nil, fmt.Errorf("sink: %s", nearest(name, names))
}

func crash(_ context.Context, w *world, _ *words) (string, error) {
	if w.up == nil {
		w.looked()
		w.disk = w.crashed() // nothing runs: what was stopped softly is on disk
		return "", nil
	}
	w.up.crash()
	w.down()
	return "", nil
}

func reset(ctx context.Context, w *world, a *words) (string, error) {
	f, err := w.flowNamed(a)
	if err != nil {
		return "", err
	}
	generation, err := w.reset(ctx, f.Name)
	return fmt.Sprintf("generation %d", generation), err
}

func fail(_ context.Context, w *world, a *words) (string, error) {
	code := fault.ExecTryAgain
	if a.flag("final") {
		code = fault.ExecFailed
	}
	times, err := a.number("times", 1)
	if err != nil {
		return "", err
	}
	s, err := w.sinkNamed(a)
	if err != nil {
		return "", err
	}
	for range times {
		w.outside[s.Name].Fail(fault.New(code, "the sink refuses"))
	}
	return "", nil
}

// hold makes a sink take no batch and give no answer, once: the daemon that waits for it is stopped, at last the hard way.
func hold(_ context.Context, w *world, a *words) (string, error) {
	s, err := w.sinkNamed(a)
	if err != nil {
		return "", err
	}
	w.held.Store(s.Name)
	return "", nil
}

// showFile shows a file that a program outside wrote.
func showFile(_ context.Context, w *world, a *words) (string, error) {
	name, err := a.name()
	if err != nil {
		return "", err
	}
	text, err := os.ReadFile(filepath.Join(w.dir, name))
	return string(text), err
}

func showTable(ctx context.Context, w *world, a *words) (string, error) {
	name, err := a.name()
	if err != nil {
		return "", err
	}
	return w.rows(ctx, "SELECT * FROM "+name)
}

func showSink(ctx context.Context, w *world, a *words) (string, error) {
	ordered, count := a.flag("order"), a.flag("count")
	s, err := w.sinkNamed(a)
	if err != nil {
		return "", err
	}
	var batches []delivered
	switch s.Format {
	case "memory":
		batches, err = kept(w.outside[s.Name])
	case "file":
		batches, err = written(filepath.Join(w.dir, s.Options.String("path")))
	case "kafka":
		lines, err := w.consumed(ctx, s.Options.String("topic"), s.Options.String("mode") == "upsert")
		return strings.Join(lines, "\n"), err
	default:
		err = fmt.Errorf("what a %s sink holds cannot be shown", s.Format)
	}
	if err != nil {
		return "", err
	}
	if ordered {
		return strings.Join(arrivals(batches), "\n"), nil
	}
	lines, err := fold(batches)
	if count {
		return fmt.Sprintf("%d rows", len(lines)), err
	}
	return strings.Join(lines, "\n"), err
}

func showBatches(_ context.Context, w *world, a *words) (string, error) {
	s, err := w.sinkNamed(a)
	if err != nil {
		return "", err
	}
	batches, err := kept(w.outside[s.Name])
	if err != nil {
		return "", err
	}
	var lines []string
	for _, d := range batches {
		line := fmt.Sprintf("%s %d/%d:", d.flow, d.generation, d.number)
		for i, row := range d.rows {
			if d.changes[i] != "" {
				row = d.changes[i] + " " + row
			}
			line += " (" + row + ")"
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "\n"), nil
}

func showFlow(_ context.Context, w *world, a *words) (string, error) {
	f, err := w.flowNamed(a)
	if err != nil {
		return "", err
	}
	var text string
	err = w.look(func(s *state.Store) error {
		flows, err := s.Flows()
		if err != nil {
			return err
		}
		for _, info := range flows {
			if info.Name == f.Name {
				text = fmt.Sprintf("generation %d", info.Generation)
				if f.Once {
					text += map[bool]string{true: ", not drained", false: ", drained"}[info.Completed.IsZero()]
				}
				if info.Planned {
					text += ", a batch is planned"
				}
			}
		}
		return nil
	})
	return text, err
}

func showCounters(_ context.Context, w *world, a *words) (string, error) {
	f, err := w.flowNamed(a)
	if err != nil {
		return "", err
	}
	var wanted []string
	for len(a.args) > 0 {
		name, err := a.name()
		if err != nil {
			return "", err
		}
		wanted = append(wanted, strings.ReplaceAll(name, ".", " "))
	}
	var lines []string
	err = w.look(func(s *state.Store) error {
		flow, err := s.Flow(f.Name)
		if err != nil {
			return err
		}
		counters := flow.Counters()
		if wanted == nil {
			wanted = slices.Sorted(maps.Keys(counters))
		}
		for _, name := range wanted {
			var sum int64
			for part := range strings.SplitSeq(name, "+") {
				sum += counters[part]
			}
			lines = append(lines, fmt.Sprintf("%s %d", name, sum))
		}
		return nil
	})
	return strings.Join(lines, "\n"), err
}

func showEvents(ctx context.Context, w *world, a *words) (string, error) {
	kind, flow, level, code := a.value("type", ""), a.value("flow", ""), a.value("level", ""), a.value("code", "")
	var lines []string
	said := map[string]bool{} // restarts say some things again
	err := w.look(func(s *state.Store) error {
		return daemon.Events(ctx, s, 0, func(r eventlog.Record) bool {
			line := fmt.Sprintf("%s %s: %s", r.Level, r.EventType, r.Message)
			coded := code == "" || r.Error != nil && r.Error.Code == code
			if coded && (kind == "" || r.EventType == kind) && (flow == "" || r.Origin.Flow == flow) && (level == "" || string(r.Level) == level) && !said[line] {
				lines, said[line] = append(lines, line), true
			}
			return true
		})
	})
	return strings.Join(lines, "\n"), err
}

// progress is what the event log has of some batches of a flow.
type progress struct {
	Metrics map[string]int64 `json:"metrics"`
	Quality struct {
		Dropped      int64                  `json:"dropped_records"`
		Expectations []eventlog.Expectation `json:"expectations"`
	} `json:"data_quality"`
}

// progressed visits the event log's records of a flow's batches.
func (w *world) progressed(ctx context.Context, flow string, visit func(progress)) error {
	return w.look(func(s *state.Store) error {
		return daemon.Events(ctx, s, 0, func(r eventlog.Record) bool {
			var details struct {
				Progress progress `json:"flow_progress"`
			}
			if r.Origin.Flow == flow && json.Unmarshal(r.Details, &details) == nil {
				visit(details.Progress)
			}
			return true
		})
	})
}

// showOutcomes adds up the metrics of the event log, but for sizes.
func showOutcomes(ctx context.Context, w *world, a *words) (string, error) {
	f, err := w.flowNamed(a)
	if err != nil {
		return "", err
	}
	sums := map[string]int64{}
	err = w.progressed(ctx, f.Name, func(p progress) {
		for name, n := range p.Metrics {
			sums[name] += n
		}
	})
	delete(sums, "num_output_bytes")
	var lines []string
	for _, name := range slices.Sorted(maps.Keys(sums)) {
		lines = append(lines, fmt.Sprintf("%s %d", name, sums[name]))
	}
	return strings.Join(lines, "\n"), err
}

// showQuality adds up data_quality of the event log (EX-12).
func showQuality(ctx context.Context, w *world, a *words) (string, error) {
	f, err := w.flowNamed(a)
	if err != nil {
		return "", err
	}
	var dropped int64
	sums := map[string]*eventlog.Expectation{}
	err = w.progressed(ctx, f.Name, func(p progress) {
		dropped += p.Quality.Dropped
		for _, e := range p.Quality.Expectations {
			if sums[e.Name] == nil {
				sums[e.Name] = &eventlog.Expectation{Dataset: e.Dataset}
			}
			sums[e.Name].Passed += e.Passed
			sums[e.Name].Failed += e.Failed
		}
	})
	lines := []string{fmt.Sprintf("dropped_records %d", dropped)}
	for _, name := range slices.Sorted(maps.Keys(sums)) {
		e := sums[name]
		lines = append(lines, fmt.Sprintf("%s of %s: passed_records %d, failed_records %d", name, e.Dataset, e.Passed, e.Failed))
	}
	return strings.Join(lines, "\n"), err
}

func showMetrics(_ context.Context, w *world, a *words) (string, error) {
	prefix, err := a.name()
	if err != nil {
		return "", err
	}
	flow := a.value("flow", "")
	if w.up == nil {
		return "", fmt.Errorf("no daemon is up: metrics are those of a running one")
	}
	families, err := w.up.daemon.Metrics().Gather()
	if err != nil {
		return "", err
	}
	var lines []string
	for _, family := range families {
		if !strings.HasPrefix(family.GetName(), prefix) {
			continue
		}
		for _, m := range family.GetMetric() {
			var labels []string
			of := ""
			for _, l := range m.GetLabel() {
				labels = append(labels, l.GetName()+"="+l.GetValue())
				if l.GetName() == "flow" {
					of = l.GetValue()
				}
			}
			if flow != "" && of != flow {
				continue
			}
			value := m.GetCounter().GetValue() + m.GetGauge().GetValue()
			lines = append(lines, fmt.Sprintf("%s{%s} %v", family.GetName(), strings.Join(labels, ","), value))
		}
	}
	return strings.Join(lines, "\n"), nil
}
