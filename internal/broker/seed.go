package broker

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"sluice/fault"
	"sluice/source/kafka/client"
)

// Seed says what to fill a topic with.
type Seed struct {
	Topic      string
	File       string // NDJSON: each line is a record's value
	Rate       int    // records per second; 0 is as fast as possible
	Key        string // member of each document that makes the record key; "" makes records without a key
	Partitions int32  // of the topic; 0 is 1
}

// ParseSeed reads TOPIC=FILE or TOPIC=FILE@RATE, as in --seed ticks=data/batch_2.json@500.
func ParseSeed(text string) (Seed, error) {
	topic, file, ok := strings.Cut(text, "=")
	s := Seed{Topic: topic, File: file}
	if at := strings.LastIndexByte(file, '@'); at >= 0 {
		rate, err := strconv.Atoi(file[at+1:])
		if err != nil || rate < 1 {
			return s, fault.New(fault.SeedFile, "%q is not a number of records per second", file[at+1:]).WithHint("the form is TOPIC=FILE@RATE")
		}
		s.File, s.Rate = file[:at], rate
	}
	if !ok || s.Topic == "" || s.File == "" {
		return s, fault.New(fault.SeedFile, "%q names no topic and file", text).WithHint("the form is TOPIC=FILE or TOPIC=FILE@RATE")
	}
	return s, nil
}

// progress is what the data folder remembers of a seed. It is written before the topic is created, so a topic without it
// is somebody else's.
type progress struct {
	Topic    string
	File     string
	Size     int64
	Modified time.Time
	Done     bool
}

// Seed creates a topic and fills it from a file, unless the topic exists already. A seed that was interrupted, by the end of
// ctx or of the process, goes on where it stopped: which lines are there is told by the ends of the partitions, since each
// line has its partition and each partition its order. It returns how many records it wrote.
func (b *Broker) Seed(ctx context.Context, s Seed) (written int, err error) {
	cl, err := client.To(b.Brokers()...).New(append([]kgo.Opt{kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.ProducerLinger(0)}, b.client...)...)
	if err != nil {
		return 0, err
	}
	defer cl.Close()
	p, begun, pending, err := b.begin(ctx, cl, s)
	if err != nil || !pending {
		return 0, err
	}
	there := make([]int64, max(s.Partitions, 1))
	if begun {
		ends, err := kadm.NewClient(cl).ListEndOffsets(ctx, s.Topic)
		if err == nil {
			err = ends.Error()
		}
		if err != nil {
			return 0, client.To(b.Brokers()...).Fault(ctx, err, "asking for the offsets of topic %s", s.Topic)
		}
		ends.Each(func(o kadm.ListedOffset) {
			if int(o.Partition) < len(there) {
				there[o.Partition] = o.Offset
			}
		})
	}
	w := &seeder{ctx: ctx, client: cl, seed: s, there: there, began: time.Now()}
	if err := w.run(); err != nil {
		return w.written, err
	}
	p.Done = true
	return w.written, b.store(p)
}

// begin decides whether there is something to seed, and makes the topic. begun says that an earlier run did.
func (b *Broker) begin(ctx context.Context, cl *kgo.Client, s Seed) (p progress, begun, pending bool, err error) {
	info, err := os.Stat(s.File)
	if err != nil {
		return p, false, false, fault.New(fault.SeedFile, "the file for topic %s cannot be read", s.Topic).Because(err)
	}
	p, noted, err := b.load(s.Topic)
	if err != nil {
		return p, false, false, err
	}
	c := client.To(b.Brokers()...)
	_, exists, err := client.Find(ctx, cl, s.Topic)
	if err != nil {
		return p, false, false, c.Fault(ctx, err, "looking up topic %s", s.Topic)
	}
	switch {
	case exists && (!noted || p.Done):
		return p, true, false, nil
	case exists && (p.Size != info.Size() || !p.Modified.Equal(info.ModTime())):
		return p, true, false, fault.New(fault.SeedFile, "topic %s was filled in part from %s, which has changed since", s.Topic, p.File).
			WithHint("delete the folder of the embedded broker to start again")
	}
	p = progress{Topic: s.Topic, File: s.File, Size: info.Size(), Modified: info.ModTime()}
	if err := b.store(p); err != nil || exists {
		return p, exists, err == nil, err
	}
	_, err = kadm.NewClient(cl).CreateTopic(ctx, max(s.Partitions, 1), 1, nil, s.Topic)
	return p, false, err == nil, c.Fault(ctx, err, "creating topic %s", s.Topic)
}

func (b *Broker) progressFile(topic string) string {
	return filepath.Join(b.dir, "seeds", topic+".json")
}

func (b *Broker) load(topic string) (p progress, found bool, err error) {
	if b.dir == "" {
		return p, false, nil
	}
	text, err := os.ReadFile(b.progressFile(topic))
	if errors.Is(err, os.ErrNotExist) {
		return p, false, nil
	}
	if err == nil {
		err = json.Unmarshal(text, &p)
	}
	if err != nil {
		return p, false, fault.New(fault.BrokerData, "what was seeded cannot be read").Because(err)
	}
	return p, true, nil
}

func (b *Broker) store(p progress) error {
	if b.dir == "" {
		return nil
	}
	path := b.progressFile(p.Topic)
	text, err := json.Marshal(p)
	if err == nil {
		err = os.MkdirAll(filepath.Dir(path), 0o755)
	}
	if err == nil {
		err = os.WriteFile(path+".new", text, 0o644)
	}
	if err == nil {
		err = os.Rename(path+".new", path)
	}
	if err != nil {
		return fault.New(fault.BrokerData, "what was seeded cannot be noted").Because(err)
	}
	return nil
}

// seeder writes the lines of a file that are not in the topic yet.
type seeder struct {
	ctx     context.Context // of one call
	client  *kgo.Client
	seed    Seed
	there   []int64 // records that each partition has already
	began   time.Time
	written int
	line    int
}

func (w *seeder) run() error {
	f, err := os.Open(w.seed.File)
	if err != nil {
		return fault.New(fault.SeedFile, "the file for topic %s cannot be read", w.seed.Topic).Because(err)
	}
	defer f.Close()
	partitioner := kgo.StickyKeyPartitioner(nil).ForTopic(w.seed.Topic) // as a producer with Java's default would choose
	in := Lines(f)
	var waiting []*kgo.Record
	for {
		value, err := in()
		if err == io.EOF {
			return w.send(waiting)
		}
		if err != nil {
			return fault.New(fault.SeedFile, "the file for topic %s cannot be read", w.seed.Topic).Because(err)
		}
		w.line++
		r := &kgo.Record{Topic: w.seed.Topic, Value: value}
		if r.Key, err = RecordKey(value, w.seed.Key); err != nil {
			return fault.From(err).At(fault.Pos{File: w.seed.File, Line: w.line, Column: 1})
		}
		r.Partition = int32((w.line - 1) % len(w.there))
		if r.Key != nil {
			r.Partition = int32(partitioner.Partition(r, len(w.there)))
		}
		if w.there[r.Partition] > 0 {
			w.there[r.Partition]--
			continue
		}
		waiting = append(waiting, r)
		if len(waiting) == w.size() {
			if err := w.send(waiting); err != nil {
				return err
			}
			waiting = waiting[:0]
		}
	}
}

// size is how many records are sent at once.
func (w *seeder) size() int {
	if w.seed.Rate == 0 {
		return 5000
	}
	return max(1, w.seed.Rate/20)
}

// send writes records, and then waits until they are due by the rate.
func (w *seeder) send(records []*kgo.Record) error {
	if len(records) == 0 {
		return nil
	}
	if err := w.client.ProduceSync(w.ctx, records...).FirstErr(); err != nil {
		if w.ctx.Err() != nil {
			return w.ctx.Err()
		}
		return fault.New(fault.KafkaUnavailable, "filling topic %s", w.seed.Topic).Because(err)
	}
	w.written += len(records)
	if w.seed.Rate == 0 {
		return nil
	}
	due := w.began.Add(time.Duration(float64(w.written) / float64(w.seed.Rate) * float64(time.Second)))
	t := time.NewTimer(time.Until(due))
	defer t.Stop()
	select {
	case <-w.ctx.Done():
		return w.ctx.Err()
	case <-t.C:
		return nil
	}
}

// RecordKey takes the record key from a member of a document: a text as it is, anything else as written. Without a name,
// and where the member is missing or null, there is no key.
func RecordKey(value []byte, name string) ([]byte, error) {
	if name == "" {
		return nil, nil
	}
	var doc map[string]json.RawMessage
	if err := json.Unmarshal(value, &doc); err != nil {
		return nil, fault.New(fault.SeedFile, "the line is not a JSON object, so it has no member %s for the key", name).Because(err)
	}
	raw := bytes.TrimSpace(doc[name])
	if len(raw) == 0 || string(raw) == "null" {
		return nil, nil
	}
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return []byte(text), nil
	}
	return raw, nil
}

// Lines returns a function that reads one line after the other, each in memory of its own, without blank ones.
func Lines(r io.Reader) func() ([]byte, error) {
	in := bufio.NewReaderSize(r, 1<<16)
	return func() ([]byte, error) {
		for {
			line, err := in.ReadBytes('\n')
			line = bytes.TrimRight(line, "\r\n")
			if len(bytes.TrimSpace(line)) > 0 {
				return line, nil
			}
			if err != nil {
				return nil, err
			}
		}
	}
}
