package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"sync/atomic"

	"github.com/twmb/franz-go/pkg/kgo"

	"sluice/internal/broker"
	"sluice/source/kafka/client"
)

// serveBroker is the broker's process: it fills the topic, prints its address and stays until standard input ends.
func serveBroker(ctx context.Context, keys int) error {
	b, err := broker.Start(broker.Options{Topics: map[string]int32{topic: partitions}})
	if err != nil {
		return err
	}
	defer b.Close()
	if err := fill(ctx, b.Brokers()[0], keys); err != nil {
		return err
	}
	debug.FreeOSMemory() // what the producer used
	fmt.Println(b.Brokers()[0])
	_, err = io.Copy(io.Discard, os.Stdin)
	return err
}

// chunk is how many bytes of keys and values are allocated at once.
const chunk = 1 << 20

// fill produces the records.
func fill(ctx context.Context, address string, keys int) error {
	cl, err := client.To(address).New(kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.ProducerBatchCompression(kgo.NoCompression()),
		kgo.MaxBufferedRecords(100_000))
	if err != nil {
		return err
	}
	defer cl.Close()
	var failed atomic.Pointer[error]
	done := func(_ *kgo.Record, err error) {
		if err != nil {
			failed.Store(&err)
		}
	}
	var memory []byte
	err = eachRecord(keys, func(r record) error {
		if e := failed.Load(); e != nil {
			return *e
		}
		if cap(memory)-len(memory) < 256 {
			memory = make([]byte, 0, chunk)
		}
		from := len(memory)
		memory = r.appendKey(memory)
		at := len(memory)
		memory = r.appendValue(memory)
		cl.Produce(ctx, &kgo.Record{Topic: topic, Partition: r.partition(), Key: memory[from:at:at], Value: memory[at:len(memory):len(memory)]}, done)
		return ctx.Err()
	})
	if err != nil {
		return err
	}
	if err := cl.Flush(ctx); err != nil {
		return err
	}
	if e := failed.Load(); e != nil {
		return *e
	}
	return nil
}
