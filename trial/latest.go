package trial

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"sluice/batch"
	"sluice/fault"
	"sluice/option"
	"sluice/plan"
	"sluice/source"
	"sluice/source/kafka"
	"sluice/source/kafka/client"
)

// drainTimeout is how long Latest waits for a transaction that is open at the end of a topic.
const drainTimeout = 10 * time.Second

// Latest takes samples of the real topics: of each topic the last n committed records, with keys, headers, times and
// partitions. Topics that have a sample already are left alone. It reads: it joins no group, writes no offset and makes no topic.
func Latest(ctx context.Context, p *plan.Pipeline, n int, have map[string]Topic) (map[string]Topic, error) {
	topics := maps.Clone(have)
	for _, f := range p.Flows {
		for _, in := range f.Inputs() {
			v, wanted := connection(in, topics)
			if !wanted {
				continue
			}
			found, err := latest(ctx, kafka.Config{Options: v, Stream: true, Bootstrap: p.Servers, DrainTimeout: drainTimeout}, n)
			if err != nil {
				return nil, option.NewMask(f.Secrets...).Error(err) // D-54
			}
			for name, t := range found {
				if _, ok := topics[name]; !ok {
					topics[name] = t
				}
			}
		}
	}
	return topics, nil
}

// LatestValues are the values of the last n committed records of the topics that options of read_kafka name, in the order of a
// sample, without null values. It reads as Latest does.
func LatestValues(ctx context.Context, given []option.Given, servers string, n int) ([][]byte, error) {
	v, problems := kafka.Options().Parse("read_kafka", given, fault.Pos{})
	if err := problems.Err(); err != nil {
		return nil, err
	}
	topics, err := latest(ctx, kafka.Config{Options: v.With(option.Given{Name: "on_null_value", Value: "keep"}), Stream: true, Bootstrap: servers, DrainTimeout: drainTimeout}, n)
	if err != nil {
		return nil, err
	}
	var values [][]byte
	for _, name := range slices.Sorted(maps.Keys(topics)) {
		for _, r := range topics[name].Records {
			if r.Value != nil {
				values = append(values, r.Value)
			}
		}
	}
	return values, nil
}

// connection are the options of a source that say where its topics are, without those that have a sample; wanted says that
// some are left.
func connection(in *plan.Input, have map[string]Topic) (v option.Values, wanted bool) {
	if in.Kind != plan.FromKafka {
		return v, false
	}
	own := append(client.Options(client.Consumer), option.Spec{Name: "subscribePattern"})
	v = in.Options.Without(func(name string) bool { return !own.Has(name) })
	v = v.With(option.Given{Name: "on_null_value", Value: "keep"})
	if v.Has("subscribePattern") {
		return v, true
	}
	left := slices.DeleteFunc(in.Options.List("subscribe"), func(topic string) bool { _, ok := have[topic]; return ok })
	return v.With(option.Given{Name: "subscribe", Value: strings.Join(left, ",")}), len(left) > 0
}

// latest takes samples of the topics of one source.
func latest(ctx context.Context, c kafka.Config, n int) (topics map[string]Topic, err error) {
	c.Columns = []source.Column{source.Record()}
	s, err := kafka.New(c)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	start, err := s.Start(ctx)
	if err != nil {
		return nil, err
	}
	end, err := s.End(ctx)
	if err != nil {
		return nil, err
	}
	partitions := map[string][][]Record{}
	from := batch.Position{}
	for _, m := range end {
		topic, partition := split(m.Split)
		for len(partitions[topic]) <= partition {
			partitions[topic] = append(partitions[topic], nil)
		}
		first, _ := start.Find(m.Split)
		m.Next.At = max(first.Next.At, m.Next.At-int64(n))
		from = from.Put(m)
	}
	if err := read(ctx, s, from, end, partitions); err != nil {
		return nil, err
	}
	topics = map[string]Topic{}
	for name, parts := range partitions {
		records := merge(parts)
		topics[name] = Topic{Partitions: int32(len(parts)), Records: records[max(0, len(records)-n):]}
	}
	return topics, nil
}

// read puts the records between two positions into their partitions.
func read(ctx context.Context, s *kafka.Source, from, end batch.Position, into map[string][][]Record) error {
	for {
		rows, r, _, err := s.Read(ctx, from, batch.Limit{Until: end})
		if err != nil || len(r.Splits) == 0 {
			return err
		}
		for i := range rows.Len {
			name := r.Splits[rows.Pos.Split[i]].Split
			topic, partition := split(name)
			into[topic][partition] = append(into[topic][partition], recordOf(s.Original(&rows, i, name), partition))
		}
		from = from.With(r)
	}
}

// split takes the name of a partition apart.
func split(name string) (topic string, partition int) {
	at := strings.LastIndexByte(name, '/')
	partition, _ = strconv.Atoi(name[at+1:])
	return name[:at], partition
}

// recordOf is a record as it came.
func recordOf(b batch.Bad, partition int) Record {
	r := Record{Partition: int32(partition), Key: b.Key, Value: b.Value, Time: time.UnixMicro(b.Time).UTC()}
	for _, h := range b.Headers {
		r.Headers = append(r.Headers, kgo.RecordHeader{Key: h.Key, Value: h.Value})
	}
	return r
}

// merge puts the records of partitions into one order, by time where that does not change the order in a partition.
func merge(partitions [][]Record) (out []Record) {
	left := slices.Clone(partitions)
	for {
		first := -1
		for i, records := range left {
			if len(records) > 0 && (first < 0 || records[0].Time.Before(left[first][0].Time)) {
				first = i
			}
		}
		if first < 0 {
			return out
		}
		out = append(out, left[first][0])
		left[first] = left[first][1:]
	}
}
