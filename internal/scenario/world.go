package scenario

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/twmb/franz-go/pkg/kgo"

	"sluice/admin"
	"sluice/catalog"
	"sluice/daemon"
	"sluice/eval"
	"sluice/internal/broker"
	"sluice/internal/disk"
	"sluice/option"
	"sluice/plan"
	"sluice/sink/memory"
	"sluice/state"
)

// world is everything around the daemon: what outlives it.
type world struct {
	variant variant
	dir     string       // files of the pipeline and of its sinks
	engine  *eval.Engine // of all worlds, in UTC
	broker  *broker.Broker
	wire    *wire // in front of the broker
	client  *kgo.Client
	topics  map[string]*topic
	open    map[string]*kgo.Client   // somebody's transactions, by name
	outside map[string]*memory.Store // by name of the sink
	held    atomic.Value             // string: the sink that will not answer
	clock   time.Time                // modification time of the next file
	now     atomic.Int64             // time of updates of REPLACE WHERE flows, in microseconds; 0 is the real one

	disk     *disk.Disk
	through  Through // what stands between the daemon and disk and sinks
	crashes  int
	outage   *outage    // to come, or nil
	dark     bool       // the power has failed, and nobody tries again
	faults   []injected // to come
	refusing sync.Mutex
	refusals []*sinkFault // guarded by refusing
	told     atomic.Int64 // failures that somebody was told of since faults were let loose
	plan     *plan.Pipeline
	up       *run         // a daemon that stays up between commands, or nil
	shown    *state.Store // of a stopped daemon, kept open from one look to the next, or nil
}

// newWorld starts a world in an empty folder. engine answers queries beside a stopped daemon.
func newWorld(dir string, v variant, through Through, engine *eval.Engine) (*world, error) {
	b, wire, err := startBroker(through.Broker)
	if err != nil {
		return nil, err
	}
	client, err := kgo.NewClient(kgo.SeedBrokers(b.Brokers()...), kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.ProducerLinger(0))
	if err != nil {
		b.Close()
		return nil, err
	}
	return &world{variant: v, through: through, dir: dir, engine: engine, broker: b, wire: wire, client: client, disk: disk.New(),
		topics: map[string]*topic{}, open: map[string]*kgo.Client{}, outside: map[string]*memory.Store{}, clock: time.Unix(1_700_000_000, 0)}, nil
}

func (w *world) close() {
	w.down()
	w.looked()
	for _, c := range w.open {
		c.Close()
	}
	w.client.Close()
	w.broker.Close()
}

// connectors are the product's, and the sink that keeps what it gets.
func connectors() catalog.Connectors {
	c := daemon.Connectors()
	c.Sinks = maps.Clone(c.Sinks)
	c.Sinks["memory"] = catalog.SinkFormat{Options: memory.Options()}
	return c
}

// declare writes a pipeline and plans it.
func (w *world) declare(name, sql string, features []string, settings map[string]string) error {
	configuration := map[string]string{
		"kafka.bootstrap.servers":    strings.Join(w.broker.Brokers(), ","),
		"pipelines.trigger.interval": "1ms",
		"sluice.sync_interval":       "5ms",
		"sluice.retry_timeout":       "1s",
		"sluice.memory_limit":        "1GiB",
	}
	if !w.variant.is("limit", "none") {
		configuration["sluice.max_batch_rows"] = w.variant.get("limit")
	}
	if w.variant.is("limit", "1") {
		configuration["sluice.max_batch_bytes"] = "1" // every batch with a text is a large one
	}
	maps.Copy(configuration, settings)
	var spec strings.Builder
	fmt.Fprintf(&spec, "name: %s\nstorage: state\nlibraries:\n  - glob: {include: flows.sql}\ncontinuous: %v\nfeatures: [%s]\nconfiguration:\n",
		name, w.variant.is("mode", "continuous"), strings.Join(features, ", "))
	for _, key := range slices.Sorted(maps.Keys(configuration)) {
		fmt.Fprintf(&spec, "  %s: %q\n", key, configuration[key])
	}
	for file, text := range map[string]string{"pipeline.yml": spec.String(), "flows.sql": sql + "\n"} {
		if err := os.WriteFile(filepath.Join(w.dir, file), []byte(text), 0o600); err != nil {
			return err
		}
	}
	w.plan = nil
	p, problems := plan.Load(w.dir, catalog.Overrides{}, connectors())
	if err := problems.Err(); err != nil {
		return err
	}
	for _, s := range p.Sinks {
		if s.Format == "memory" && w.outside[s.Name] == nil {
			w.outside[s.Name] = &memory.Store{}
		}
	}
	w.plan = p
	return nil
}

// options are those of the next daemon.
func (w *world) options() daemon.Options {
	o := daemon.Options{
		Plan:  w.plan,
		Log:   slog.New(slog.DiscardHandler),
		Fatal: func(err error) { panic(fmt.Sprintf("the store cannot go on: %v", err)) },
		Store: func(o *state.Options) { w.onDisk(o, w.through.disk(w.disk.FS())) },
	}
	o.Now = func() time.Time {
		if at := w.now.Load(); at != 0 {
			return time.UnixMicro(at)
		}
		return time.Now()
	}
	if w.plan.Zone == "UTC" {
		o.Engine = w.engine // opening one is most of what a start costs
	}
	return o
}

// stored opens the store of a stopped daemon.
func (w *world) stored(readOnly bool) (*state.Store, error) {
	w.looked()
	o := state.Options{Dir: w.plan.Storage, Pipeline: w.plan.Name, ReadOnly: readOnly}
	w.onDisk(&o, w.disk.FS())
	return state.Open(o)
}

// onDisk has a store on a disk, the files of its tables too. DuckDB writes them; with files=yes it does so behind every commit.
func (w *world) onDisk(o *state.Options, fs vfs.FS) {
	o.FS, o.Sealer = fs, disk.NewMirror(fs, w.engine, w.engine.Files())
	if w.variant.is("files", "yes") {
		o.SealAt = 1
	}
}

// look calls f with the store, of the running daemon or of the stopped one.
func (w *world) look(f func(*state.Store) error) error {
	if w.up != nil {
		return f(w.up.daemon.State())
	}
	if w.shown == nil {
		var err error
		if w.shown, err = w.stored(true); err != nil {
			return err
		}
	}
	return f(w.shown)
}

// looked says that the store may be another one when it is looked at next.
func (w *world) looked() {
	if w.shown != nil {
		_ = w.shown.Close()
		w.shown = nil
	}
}

// rows runs a query and returns its rows, sorted, under a line with the names of its columns.
func (w *world) rows(ctx context.Context, sql string) (text string, err error) {
	err = w.look(func(s *state.Store) error {
		var err error
		text, err = w.answered(ctx, func() (admin.Rows, error) { return daemon.Query(ctx, s, w.engine, w.engine, w.plan.Zone, sql) })
		return err
	})
	return text, err
}

// crashed is what is left of the disk if the power fails now: of what was not synced all, nothing, or a random half.
func (w *world) crashed() *disk.Disk {
	w.crashes++
	return w.disk.Crash([]int{0, 50, 100}[w.crashes%3], uint64(w.crashes))
}

// nearest is for messages about names of a file.
func nearest(name string, names []string) string {
	if near := option.Nearest(name, names); near != "" {
		return fmt.Sprintf("no %s; did you mean %s?", name, near)
	}
	return fmt.Sprintf("no %s; there are: %s", name, strings.Join(names, ", "))
}
