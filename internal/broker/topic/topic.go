// Package topic is what the verbs topic put, cat and ls do, on any cluster. It prints committed records only, and creates a
// topic only for Put, and only when it is told how.
package topic

import (
	"bufio"
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"sluice/batch"
	"sluice/fault"
	"sluice/internal/broker"
	"sluice/option"
	"sluice/source"
	"sluice/source/kafka"
	"sluice/source/kafka/client"
)

// PutOptions say how Put writes.
type PutOptions struct {
	Key    string // member of each document that makes the record key; "" makes records without a key
	Create int32  // partitions of the topic if it does not exist; 0 refuses a topic that does not

	IfEmpty bool // write nothing to a topic that has, or ever had, a record
}

// Put writes each line of in as a record and returns how many there were (topic put).
func Put(ctx context.Context, brokers []string, topic string, in io.Reader, o PutOptions) (n int, err error) {
	c := client.To(brokers...)
	cl, err := c.New()
	if err != nil {
		return 0, err
	}
	defer cl.Close()
	exists, err := ensure(ctx, c, cl, topic, o.Create)
	if err != nil {
		return 0, err
	}
	if o.IfEmpty && exists {
		if written, err := everWritten(ctx, c, cl, topic); err != nil || written {
			return 0, err
		}
	}
	next := broker.Lines(in)
	var waiting []*kgo.Record
	for line := 1; ; line++ {
		value, readErr := next()
		if readErr != nil && readErr != io.EOF {
			return n, fault.New(fault.SeedFile, "the input cannot be read").Because(readErr)
		}
		if readErr == nil {
			key, err := broker.RecordKey(value, o.Key)
			if err != nil {
				return n, fault.From(err).At(fault.Pos{File: "input", Line: line, Column: 1})
			}
			waiting = append(waiting, &kgo.Record{Topic: topic, Key: key, Value: value})
		}
		if len(waiting) == 5000 || readErr == io.EOF && len(waiting) > 0 {
			if err := cl.ProduceSync(ctx, waiting...).FirstErr(); err != nil {
				return n, c.Fault(ctx, err, "writing to topic %s", topic)
			}
			n += len(waiting)
			waiting = waiting[:0]
		}
		if readErr == io.EOF {
			return n, nil
		}
	}
}

// ensure makes the topic where it does not exist; exists says that it did.
func ensure(ctx context.Context, c client.Config, cl *kgo.Client, topic string, partitions int32) (exists bool, err error) {
	_, exists, err = client.Find(ctx, cl, topic)
	switch {
	case err != nil:
		return false, c.Fault(ctx, err, "looking up topic %s", topic)
	case exists:
		return true, nil
	case partitions == 0:
		return false, client.Missing(ctx, cl, topic, "say how many partitions it shall have, and it is created")
	}
	_, err = kadm.NewClient(cl).CreateTopic(ctx, partitions, -1, nil, topic)
	return false, c.Fault(ctx, err, "creating topic %s", topic)
}

// everWritten reports whether a topic has had a record.
func everWritten(ctx context.Context, c client.Config, cl *kgo.Client, topic string) (bool, error) {
	ends, err := kadm.NewClient(cl).ListEndOffsets(ctx, topic)
	if err == nil {
		err = ends.Error()
	}
	written := false
	ends.Each(func(o kadm.ListedOffset) { written = written || o.Offset > 0 })
	return written, c.Fault(ctx, err, "asking for the offsets of topic %s", topic)
}

// CatOptions say what Cat prints.
type CatOptions struct {
	Records bool // whole records as JSON lines, instead of values alone
	Follow  bool // go on when the end is reached, until ctx ends
	Limit   int  // print at most so many records; 0 is no limit
}

// printed is a record as Cat prints it. Bytes that are not text are printed in base64, and say so.
type printed struct {
	Topic     string          `json:"topic"`
	Partition int32           `json:"partition"`
	Offset    int64           `json:"offset"`
	Timestamp string          `json:"timestamp"`
	Key       *string         `json:"key"`
	Value     *string         `json:"value"`
	Base64    []string        `json:"base64,omitempty"`
	Headers   []printedHeader `json:"headers,omitempty"`
}

type printedHeader struct {
	Key   string  `json:"key"`
	Value *string `json:"value"`
}

// Cat prints the records of a topic, committed ones only, partition by partition (topic cat).
func Cat(ctx context.Context, brokers []string, topic string, out io.Writer, o CatOptions) error {
	s, err := open(brokers, topic)
	if err != nil {
		return err
	}
	defer s.Close()
	pos, err := s.Start(ctx)
	if err != nil {
		return err
	}
	limit := batch.Limit{Rows: o.Limit}
	if !o.Follow {
		if limit.Until, err = s.End(ctx); err != nil {
			return err
		}
	}
	w := bufio.NewWriter(out)
	left := o.Limit
	for {
		cols, r, _, err := s.Read(ctx, pos, limit)
		if err != nil {
			return err
		}
		if len(r.Splits) == 0 {
			return w.Flush()
		}
		if err := show(w, s, cols, o.Records); err != nil {
			return err
		}
		if o.Limit > 0 {
			if left -= cols.Len; left <= 0 {
				return w.Flush()
			}
			limit.Rows = left
		}
		if err := w.Flush(); err != nil {
			return err
		}
		pos = pos.With(r)
	}
}

func open(brokers []string, topic string) (*kafka.Source, error) {
	v, problems := kafka.Options().Parse("topic cat", []option.Given{
		{Name: "bootstrapServers", Value: strings.Join(brokers, ",")}, {Name: "subscribe", Value: topic}, {Name: "on_null_value", Value: "keep"},
	}, fault.Pos{})
	if err := problems.Err(); err != nil {
		return nil, err
	}
	c := kafka.Config{Options: v, Stream: true}
	for _, f := range kafka.Meta() {
		if f.Name != "headers" { // their names may be no text: they are taken from the record
			c.Columns = append(c.Columns, source.Column{Field: f, Meta: f.Name})
		}
	}
	c.Columns = append(c.Columns, source.Record())
	return kafka.New(c)
}

func show(w *bufio.Writer, s *kafka.Source, cols batch.Columns, whole bool) error {
	value := cols.Col("value")
	for i := range cols.Len {
		line := []byte("null") // a tombstone
		if whole {
			var err error
			if line, err = json.Marshal(describe(s, &cols, i)); err != nil {
				return err
			}
		} else if !value.IsNull(i) {
			line = value.Text(i)
		}
		_, _ = w.Write(line)
		if err := w.WriteByte('\n'); err != nil {
			return err
		}
	}
	return nil
}

func describe(s *kafka.Source, cols *batch.Columns, i int) printed {
	topic := string(cols.Col("topic").Text(i))
	r := s.Original(cols, i, topic)
	p := printed{
		Topic:     topic,
		Partition: batch.Values[int32](cols.Col("partition"))[i],
		Offset:    batch.Values[int64](cols.Col("offset"))[i],
		Timestamp: time.UnixMicro(r.Time).UTC().Format("2006-01-02T15:04:05.000Z"),
	}
	text := func(b []byte, name string) *string {
		if b == nil {
			return nil
		}
		s := string(b)
		if !utf8.ValidString(s) {
			s = base64.StdEncoding.EncodeToString(b)
			p.Base64 = append(p.Base64, name)
		}
		return &s
	}
	p.Key = text(r.Key, "key")
	p.Value = text(r.Value, "value")
	for j, h := range r.Headers {
		name := *text([]byte(h.Key), "header name "+strconv.Itoa(j))
		p.Headers = append(p.Headers, printedHeader{name, text(h.Value, "header "+name)})
	}
	return p
}

// Info is a topic as List tells it.
type Info struct {
	Name       string
	ID         string
	Partitions int
	Records    int64 // offsets between the start of the log and its end: markers and holes count, too
}

// List returns the topics of a cluster, without its internal ones, sorted by name (topic ls).
func List(ctx context.Context, brokers []string) ([]Info, error) {
	c := client.To(brokers...)
	cl, err := c.New()
	if err != nil {
		return nil, err
	}
	defer cl.Close()
	admin := kadm.NewClient(cl)
	found, err := admin.ListTopics(ctx)
	if err != nil {
		return nil, c.Fault(ctx, err, "listing topics")
	}
	starts, err := admin.ListStartOffsets(ctx, found.Names()...)
	if err != nil {
		return nil, c.Fault(ctx, err, "asking for offsets")
	}
	ends, err := admin.ListEndOffsets(ctx, found.Names()...)
	if err != nil {
		return nil, c.Fault(ctx, err, "asking for offsets")
	}
	var out []Info
	for _, t := range found {
		topic := Info{Name: t.Topic, ID: t.ID.String(), Partitions: len(t.Partitions)}
		ends.Each(func(o kadm.ListedOffset) {
			if start, ok := starts.Lookup(t.Topic, o.Partition); ok && o.Topic == t.Topic {
				topic.Records += o.Offset - start.Offset
			}
		})
		out = append(out, topic)
	}
	slices.SortFunc(out, func(a, b Info) int { return cmp.Compare(a.Name, b.Name) })
	return out, nil
}
