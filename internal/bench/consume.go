package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"sluice/batch"
	"sluice/fault"
	"sluice/format"
	formatjson "sluice/format/json"
	"sluice/option"
	"sluice/source"
	"sluice/source/kafka"
)

// timed is what the process of a consume prints.
type timed struct {
	rows
	Seconds float64 `json:"seconds"`
}

func printTimed(began time.Time, r rows) error {
	return json.NewEncoder(os.Stdout).Encode(timed{r, time.Since(began).Seconds()})
}

// consumePlain consumes the topic with the library, as a program would that only counts.
func consumePlain(ctx context.Context, address string, keys int) error {
	began := time.Now()
	cl, err := kgo.NewClient(kgo.SeedBrokers(address), kgo.ConsumeTopics(topic), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
	if err != nil {
		return err
	}
	defer cl.Close()
	n, want := int64(0), allRows(keys).Rows
	for n < want {
		fetched := cl.PollFetches(ctx)
		if err := fetched.Err(); err != nil {
			return err
		}
		n += int64(fetched.NumRecords())
	}
	return printTimed(began, rows{Rows: n})
}

// consumeDecoded reads the topic through the source and decodes every field into columns.
func consumeDecoded(ctx context.Context, address string, _ int) error {
	began := time.Now()
	s, err := openSource(address)
	if err != nil {
		return err
	}
	defer s.Close()
	from, err := s.Start(ctx)
	if err != nil {
		return err
	}
	until, err := s.End(ctx)
	if err != nil {
		return err
	}
	var sum rows
	for !from.Reached(until) {
		cols, r, bad, err := s.Read(ctx, from, batch.Limit{Rows: 65536, Bytes: 64 << 20, Until: until})
		if err != nil {
			return err
		}
		if len(bad) > 0 {
			return bad[0].Err
		}
		for _, seq := range batch.Values[int64](cols.Col("seq")) {
			sum.Sum += seq - epoch
		}
		sum.Rows += int64(cols.Len)
		from = from.With(r)
	}
	return printTimed(began, sum)
}

func openSource(address string) (*kafka.Source, error) {
	given, problems := append(kafka.Options(), formatjson.ReadOptions()...).Parse("read_kafka", []option.Given{
		{Name: "bootstrapServers", Value: address}, {Name: "subscribe", Value: topic}}, fault.Pos{})
	if err := problems.Err(); err != nil {
		return nil, err
	}
	reader, err := formatjson.Open(format.Reading{Schema: fields, Columns: fields, Mode: batch.FailFast, Zone: time.UTC, Options: given})
	if err != nil {
		return nil, err
	}
	c := kafka.Config{Options: given, Decoder: reader.Decoder}
	for _, f := range fields {
		c.Columns = append(c.Columns, source.Column{Field: f})
	}
	return kafka.New(c)
}

// check holds a result against what it must be. Sums of consumes that only count are 0.
func (r rows) check(want rows) error {
	if r != want {
		return fmt.Errorf("%d rows with sum %d, not %d with %d: the run is wrong", r.Rows, r.Sum, want.Rows, want.Sum)
	}
	return nil
}
