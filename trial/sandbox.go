package trial

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"sluice/daemon"
	"sluice/eval"
	"sluice/fault"
	"sluice/internal/broker"
	"sluice/option"
	"sluice/plan"
	sourcefile "sluice/source/file"
	sourcekafka "sluice/source/kafka"
)

// sandbox is what all runs of a case share.
type sandbox struct {
	*Case
	harm   Harm
	engine *eval.Engine
	files  map[string]string // where the content of Files stands, by path
	dir    string            // of those files, and of copies of files of tables
}

func newSandbox(c *Case, harm Harm) (*sandbox, error) {
	own := *c // what is refused is rehearsed, and sent nowhere
	own.Plan = c.Plan.WithoutLetters()
	if own.Now.IsZero() {
		own.Now = time.Now().UTC().Truncate(time.Second)
	}
	s := &sandbox{Case: &own, harm: harm, files: map[string]string{}}
	var err error
	if s.dir, err = os.MkdirTemp("", "processor-test-"); err != nil {
		return nil, err
	}
	memory := daemon.MemoryOf(c.Plan).Engine
	if s.engine, err = eval.Open(eval.Options{Threads: 1, MemoryLimit: memory, Zone: c.Plan.Zone, Files: filepath.Join(s.dir, "tables")}); err != nil {
		return nil, errors.Join(err, os.RemoveAll(s.dir))
	}
	if err := s.writeFiles(); err != nil {
		s.close()
		return nil, err
	}
	return s, nil
}

// writeFiles puts what stands in for files into a folder of the system's for temporary ones.
func (s *sandbox) writeFiles() error {
	if err := os.Mkdir(s.engine.Files(), 0o700); err != nil {
		return err
	}
	for i, path := range sorted(s.Files) {
		at := filepath.Join(s.dir, fmt.Sprintf("%d.txt", i+1))
		if err := os.WriteFile(at, s.Files[path].Content, 0o600); err != nil {
			return err
		}
		s.files[path] = at
	}
	return nil
}

// named is a fault with the names that the user knows for what stands in for files.
func (s *sandbox) named(e *fault.Error) *fault.Error {
	return e.Map(func(text string) string {
		for path, at := range s.files {
			text = strings.ReplaceAll(text, at, path)
		}
		return text
	})
}

func (s *sandbox) close() {
	_ = s.engine.Close() // holds nothing that could be lost
	_ = os.RemoveAll(s.dir)
}

// Batches of the reference run end where the records do.
const (
	unlimitedRows  = 1 << 20
	unlimitedBytes = 1 << 30
)

// harmless is a copy of the plan that can touch nothing outside: whatever it says of brokers and how to log in to them, of
// where reads start and end, of sinks and of the storage is taken out, not changed. limit bounds a batch's records.
func (s *sandbox) harmless(brokers []string, limit int) *plan.Pipeline {
	p := *s.Plan
	p.Storage = "/sandbox" // on a disk in memory
	p.Continuous = false
	p.Servers = strings.Join(brokers, ",")
	p.Settings.Listen, p.Settings.TokenFile = "", ""
	p.Settings.SyncInterval = 5 * time.Millisecond
	p.Settings.RetryTimeout = time.Minute // what is outside here is the sandbox itself, and may only be slow
	p.Settings.MaxBatchRows, p.Settings.MaxBatchBytes = limit, unlimitedBytes
	p.Sinks, p.Flows = nil, nil
	sinks := map[*plan.Sink]*plan.Sink{}
	for _, sink := range s.Plan.Sinks {
		sinks[sink] = &plan.Sink{Name: sink.Name, Format: "memory", Comment: sink.Comment}
		p.Sinks = append(p.Sinks, sinks[sink])
	}
	for _, flow := range s.Plan.Flows {
		f := *flow
		f.Input.Options = s.options(&flow.Input, p.Servers)
		if flow.Window != nil {
			w := *flow.Window
			w.Sources = slices.Clone(w.Sources)
			for i := range w.Sources {
				w.Sources[i].Options = s.options(&w.Sources[i].Input, p.Servers)
			}
			f.Window = &w
		}
		if f.Sink != nil {
			f.Sink = sinks[f.Sink]
		}
		p.Flows = append(p.Flows, &f)
	}
	return &p
}

// kept are the options of sources that say what a record is or which ones are read. The others are dropped.
var kept = []string{"subscribe", "subscribePattern", "on_null_value", "path", "maxRecordSize"}

// options are those of an input in the sandbox: of what the source itself is told only what is kept; all of its format's.
func (s *sandbox) options(in *plan.Input, servers string) option.Values {
	var own option.Set
	switch in.Kind {
	case plan.FromKafka:
		own = sourcekafka.Options()
	case plan.FromFiles:
		own = sourcefile.Options()
	default:
		return in.Options
	}
	v := in.Options.Without(func(name string) bool { return own.Has(name) && !slices.Contains(kept, name) })
	if in.Kind == plan.FromKafka {
		return v.With(option.Given{Name: "bootstrapServers", Value: servers})
	}
	if at, ok := s.files[v.String("path")]; ok {
		return v.With(option.Given{Name: "path", Value: at})
	}
	return v
}

// settings of the sandbox's topics: records are kept however old they are, and however large.
var settings = map[string]string{"retention.ms": "-1", "retention.bytes": "-1", "max.message.bytes": "1073741823"}

// fill makes the topics of a run.
func fill(ctx context.Context, b *broker.Broker, topics map[string]Topic) error {
	client, err := kgo.NewClient(kgo.SeedBrokers(b.Brokers()...), kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.ProducerLinger(0),
		kgo.ProducerBatchMaxBytes(1<<29), kgo.BrokerMaxWriteBytes(1<<30))
	if err != nil {
		return err
	}
	defer client.Close()
	config := map[string]*string{}
	for name, value := range settings {
		config[name] = &value
	}
	admin := kadm.NewClient(client)
	for name, t := range topics {
		if _, err := admin.CreateTopic(ctx, t.Partitions, 1, config, name); err != nil {
			return err
		}
		records := make([]*kgo.Record, len(t.Records))
		for i, r := range t.Records {
			records[i] = &kgo.Record{Topic: name, Partition: r.Partition, Key: r.Key, Value: r.Value, Headers: r.Headers, Timestamp: r.Time}
		}
		if err := client.ProduceSync(ctx, records...).FirstErr(); err != nil {
			return err
		}
	}
	return nil
}

// matches reports whether a pattern of topics means one.
func matches(pattern, topic string) bool {
	re, err := regexp.Compile("^(?:" + pattern + ")$") // as read_kafka has it; the planner has compiled it before
	return err == nil && re.MatchString(topic)
}
