package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// roles are what this program does in processes of its own; the arguments are the role, the number of keys, the broker.
var roles = map[string]func(ctx context.Context, address string, keys int) error{
	"broker":   func(ctx context.Context, _ string, keys int) error { return serveBroker(ctx, keys) },
	"plain":    consumePlain,
	"decoded":  consumeDecoded,
	"decoders": decodeAlone,
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, out io.Writer) error {
	if len(args) > 1 {
		if role, ok := roles[args[0]]; ok {
			keys, err := strconv.Atoi(args[1])
			if err != nil {
				return err
			}
			return role(ctx, strings.Join(args[2:], ""), keys)
		}
	}
	b := bench{windows: []int64{1_000_000, 10_000_000}}
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	flags.IntVar(&b.keys, "keys", 1_000_000, "keys of the topic; each has five records")
	flags.IntVar(&b.pairs, "pairs", 5, "how often each thing is measured beside a plain consume")
	flags.StringVar(&b.only, "only", "", "measure only what has this in its name: decode, json, csv, pass, replace, digest or windows")
	flags.Func("windows", "measure windows of REPLACE WHERE tables of so many rows (default 1000000,10000000)", func(text string) (err error) {
		b.windows, err = sizes(text)
		return err
	})
	flags.StringVar(&b.processor, "processor", "", "the processor to measure (default: built from this module)")
	flags.StringVar(&b.against, "against", "", "a second processor, measured in turn with the first")
	flags.StringVar(&b.dir, "dir", "", "folder for state (default: that of temporary files)")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() > 0 || b.keys < 1 || b.pairs < 1 {
		return fmt.Errorf("bench takes flags only, and both -keys and -pairs above zero")
	}
	return b.run(ctx, out)
}

// bench is one run of this program.
type bench struct {
	keys, pairs             int
	only                    string
	windows                 []int64 // rows of the tables that windows of are replaced
	processor, against, dir string
	address                 string
	subjects                []subject
}

// subject is one thing that is measured.
type subject struct {
	name string
	base string // the subject right before it that it is compared with, too
	run  func(context.Context) (sample, error)
}

func (b *bench) run(ctx context.Context, out io.Writer) (err error) {
	if b.dir, err = os.MkdirTemp(b.dir, "sluice-bench-"); err != nil {
		return err
	}
	defer os.RemoveAll(b.dir)
	if b.processor == "" {
		if b.processor, err = build(ctx, b.dir); err != nil {
			return err
		}
	}
	const windows = "windows"
	fmt.Fprintln(out, machine())
	if b.only != windows {
		if err := b.runRecords(ctx, out); err != nil {
			return err
		}
	}
	if b.only == "" || b.only == windows {
		return b.measureWindows(ctx, out)
	}
	return nil
}

// runRecords measures all that reads the topic.
func (b *bench) runRecords(ctx context.Context, out io.Writer) error {
	began := time.Now()
	address, stop, err := startBroker(ctx, b.keys)
	if err != nil {
		return err
	}
	defer stop()
	b.address = address
	fmt.Fprintf(out, "%d records of %d keys in %d partitions, written in %.0f s\n", b.keys*versions, b.keys, partitions, time.Since(began).Seconds())
	b.choose()
	alone := strings.Contains("decode json csv", strings.ToLower(b.only))
	if len(b.subjects) == 0 && !alone {
		return fmt.Errorf("nothing is called %q", b.only)
	}
	plain, results, err := b.measure(ctx, out)
	if err != nil {
		return err
	}
	if alone {
		before, decoders, err := b.measureDecoders(ctx, b.consume(ctx))
		if err != nil {
			return err
		}
		plain, results = append(plain, before...), append(results, decoders...)
	}
	fmt.Fprintf(out, "\nmedians of %d pairs:\n", b.pairs)
	report(out, b.keys, plain, results)
	return nil
}

// choose lists what is measured.
func (b *bench) choose() {
	measure := func(name, base string, f flow) {
		b.add(name, base, func(ctx context.Context) (sample, error) { return runFlow(ctx, b.processor, b.address, b.dir, f) })
		if b.against != "" {
			b.add(name+", "+filepath.Base(b.against), name, func(ctx context.Context) (sample, error) { return runFlow(ctx, b.against, b.address, b.dir, f) })
		}
	}
	b.add("consume + decode", "", func(ctx context.Context) (sample, error) {
		return runRole(ctx, "decoded", b.address, b.keys, allRows(b.keys))
	})
	for _, f := range []struct {
		name string
		flow
	}{{"pass-through flow", flow{query: passThrough, want: allRows(b.keys)}}, {"REPLACE USING flow", flow{query: replaceUsing, want: newestRows(b.keys)}}} {
		measure(f.name, "", f.flow)
		f.digest = true
		measure(f.name+", digest", f.name, f.flow)
	}
	measure("pass-through flow, from_json", "pass-through flow", flow{query: passThrough, want: allRows(b.keys), source: fused})
	measure("pass-through flow, from_json in SQL", "pass-through flow", flow{query: passThrough, want: allRows(b.keys), source: inSQL})
}

func (b *bench) add(name, base string, run func(context.Context) (sample, error)) {
	if strings.Contains(strings.ToLower(name), strings.ToLower(b.only)) {
		b.subjects = append(b.subjects, subject{name, base, run})
	}
}

// consume measures a plain consume.
func (b *bench) consume(ctx context.Context) func() (sample, error) {
	return func() (sample, error) {
		return runRole(ctx, "plain", b.address, b.keys, rows{Rows: allRows(b.keys).Rows})
	}
}

// measure takes every subject in turn, each after a plain consume, as often as pairs are wanted. The broker's first answers
// are slower than all others: one plain consume before is not counted.
func (b *bench) measure(ctx context.Context, out io.Writer) (plain []sample, results []*result, err error) {
	consume := b.consume(ctx)
	if _, err := consume(); err != nil {
		return nil, nil, err
	}
	for _, s := range b.subjects {
		results = append(results, &result{name: s.name, base: s.base})
	}
	for pair := range b.pairs {
		for i, s := range b.subjects {
			p, err := consume()
			if err != nil {
				return nil, nil, err
			}
			got, err := s.run(ctx)
			if err != nil {
				return nil, nil, err
			}
			fmt.Fprintf(out, "%d  %-28s %8.3f s  plain %7.3f s  ratio %.3f  CPU %7.2f s\n", pair+1, s.name, seconds(got), seconds(p), seconds(p)/seconds(got), got.cpu.Seconds())
			plain = append(plain, p)
			results[i].plain, results[i].samples = append(results[i].plain, p), append(results[i].samples, got)
		}
	}
	return plain, results, nil
}
