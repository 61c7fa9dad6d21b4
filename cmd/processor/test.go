package main

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"sluice/daemon"
	"sluice/fault"
	"sluice/plan"
	"sluice/trial"
)

// testFlags are the flags of test.
type testFlags struct {
	samples   []string
	last      int
	now       string
	shuffle   int
	kill      int
	dup       string
	seed      uint64
	withinKey bool
	save      string
}

func (a *app) testCmd() *cobra.Command {
	var f testFlags
	c := &cobra.Command{
		Use:   "test [PIPELINE]",
		Short: "Rehearse a pipeline in a sandbox: whatever the order of arrival, redelivery and crashes, the tables must be the same",
		Long: `Runs the test files tests/*.yml beside the pipeline, or samples that are named, in a sandbox: in order, and then in shuffled
orders, with redelivery and power cuts, which all have to come to the same tables and sinks. Nothing outside is written: topics
and the store are in memory, sinks are replaced. Exit code 0: all the same; 1: something differs; 2: the command line is wrong.`,
		Args: func(c *cobra.Command, args []string) error {
			if len(args) > 1 {
				return usage{fmt.Errorf("%s takes one pipeline, got %q", c.CommandPath(), args)}
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error {
			if len(args) == 1 {
				a.spec = args[0]
			}
			return a.test(c.Context(), f)
		},
	}
	flags := c.Flags()
	flags.StringArrayVar(&f.samples, "sample", nil, "TOPIC=FILE: records of a topic, a value or a whole record (topic cat --records) a line; may be repeated")
	flags.IntVar(&f.last, "last", 0, "take the last so many records of every real topic without a --sample; reads only")
	flags.StringVar(&f.now, "now", "", "time of the updates of REPLACE WHERE flows, such as 2026-01-31T12:00:00Z, of records that no test file has (default: the present)")
	flags.IntVar(&f.shuffle, "shuffle", 10, "runs in shuffled orders; the order within a Kafka key stays")
	flags.IntVar(&f.kill, "kill", 2, "crashes in each of these runs")
	flags.StringVar(&f.dup, "dup", "20%", "share of the batches after which a flow into a keyed table reads everything again")
	flags.Uint64Var(&f.seed, "seed", 0, "seed of the first run, each further one has the next number (default: a random one, which is printed)")
	flags.BoolVar(&f.withinKey, "shuffle-within-key", false, "shuffle the records of one Kafka key, too")
	flags.StringVar(&f.save, "save", "", "write a test file: the small case of the first difference, or, when all is the same, the samples with what came out of them")
	return c
}

func (a *app) test(ctx context.Context, f testFlags) error {
	o, err := f.options()
	if err != nil {
		return usage{err}
	}
	cases, err := a.cases(ctx, f)
	if err != nil {
		return err
	}
	shown := newRehearsal(a.err)
	o.Progress, o.Record = shown.look, f.save != ""
	var reports []*trial.Report
	for _, c := range cases {
		r, err := trial.Rehearse(ctx, c, o)
		shown.clear()
		if ctx.Err() != nil {
			return fmt.Errorf("stopped in test %s", c.Name)
		}
		if err != nil {
			return fmt.Errorf("test %s: %w", c.Name, err)
		}
		reports = append(reports, r)
		if a.output == "table" {
			printReport(a.out, a.mask, r, o)
		}
	}
	if a.output != "table" {
		if err := a.print(reportTable(a.mask, reports, o)); err != nil {
			return err
		}
	}
	if err := a.saveCase(f.save, cases[0].Plan, reports); err != nil {
		return err
	}
	return verdict(reports)
}

// verdict is the error of reports.
func verdict(reports []*trial.Report) error {
	var failed []string
	for _, r := range reports {
		if !r.Equal() {
			failed = append(failed, r.Case)
		}
	}
	if len(failed) > 0 {
		return fault.New(fault.TestFailed, "%d of %d tests did not come out as they should: %s", len(failed), len(reports), strings.Join(failed, ", "))
	}
	for _, r := range reports {
		if r.Runs > 0 && len(r.Compared) == 0 && !r.Expected {
			return fault.New(fault.NothingCompared, "test %s proves nothing: none of its tables and sinks can be compared", r.Case).
				WithHint("the report says why each is left out; --shuffle 0 runs the test files only")
		}
	}
	return nil
}

// options are what the flags say of the rehearsal.
func (f *testFlags) options() (o trial.Options, err error) {
	o = trial.Options{Shuffle: f.shuffle, Kill: f.kill, Seed: f.seed, WithinKey: f.withinKey}
	if f.shuffle < 0 || f.kill < 0 || f.last < 0 {
		return o, fmt.Errorf("--shuffle, --kill and --last take numbers from 0 on")
	}
	number, percent := strings.CutSuffix(f.dup, "%")
	if o.Dup, err = strconv.ParseFloat(number, 64); err != nil || !percent && number != "0" || !(o.Dup >= 0 && o.Dup <= 100) {
		return o, fmt.Errorf("--dup takes a share such as 5%%, not %q", f.dup)
	}
	o.Dup /= 100
	if o.Seed == 0 {
		var b [4]byte
		_, _ = rand.Read(b[:]) // never fails
		o.Seed = 1 + uint64(binary.LittleEndian.Uint32(b[:]))
	}
	return o, nil
}

// cases are the test files of a pipeline, or the one case that samples make.
func (a *app) cases(ctx context.Context, f testFlags) ([]*trial.Case, error) {
	p, err := a.load()
	if err != nil {
		return nil, err
	}
	files, err := testFiles(p.Dir)
	if err != nil {
		return nil, err
	}
	if len(f.samples) > 0 || f.last > 0 || len(files) == 0 {
		c, err := f.sampled(ctx, p)
		if err != nil {
			return nil, err
		}
		return []*trial.Case{c}, nil
	}
	var cases []*trial.Case
	var problems fault.List
	for _, file := range files {
		c, err := a.testCase(p, file)
		if err != nil {
			problems = append(problems, asList(err)...)
			continue
		}
		cases = append(cases, c)
	}
	return cases, problems.Err()
}

func asList(err error) fault.List {
	if list, ok := err.(fault.List); ok {
		return list
	}
	return fault.List{fault.From(err)}
}

// testFiles are the test files beside a pipeline, sorted by name.
func testFiles(dir string) (files []string, err error) {
	dir = filepath.Join(dir, "tests")
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	for _, e := range entries {
		if ext := filepath.Ext(e.Name()); !e.IsDir() && (ext == ".yml" || ext == ".yaml") {
			files = append(files, filepath.Join(dir, e.Name()))
		}
	}
	return files, err
}

// testCase reads a test file and plans the pipeline for it. What --set says goes over the configuration of a test.
func (a *app) testCase(p *plan.Pipeline, file string) (*trial.Case, error) {
	test, err := trial.ReadTest(file, p.Dir)
	if err != nil {
		return nil, err
	}
	if len(test.Configuration) > 0 {
		o, err := a.overrides()
		if err != nil {
			return nil, err
		}
		set := maps.Clone(test.Configuration)
		maps.Copy(set, o.Set)
		o.Set = set
		planned, problems := plan.Load(p.Spec, o, daemon.Connectors())
		for _, e := range problems {
			if at, ok := test.Places[strings.TrimPrefix(e.Pos.File, "--set ")]; ok {
				e.Pos = at
			}
		}
		if err := problems.Err(); err != nil {
			return nil, err
		}
		p = planned
	}
	c, err := test.Case(p)
	if err != nil {
		return nil, err
	}
	return c, c.Check()
}

// sampled is the case that flags make.
func (f *testFlags) sampled(ctx context.Context, p *plan.Pipeline) (*trial.Case, error) {
	c := &trial.Case{Name: p.Name, Plan: p, Topics: map[string]trial.Topic{}}
	if f.now != "" {
		var err error
		if c.Now, err = time.Parse(time.RFC3339Nano, f.now); err != nil {
			return nil, usage{fmt.Errorf("--now takes a time such as 2026-01-31T12:00:00Z, not %q", f.now)}
		}
	}
	for _, text := range f.samples {
		topic, file, ok := strings.Cut(text, "=")
		if _, twice := c.Topics[topic]; !ok || topic == "" || file == "" || twice {
			return nil, usage{fmt.Errorf("--sample takes TOPIC=FILE, once for each topic, not %q", text)}
		}
		if !filepath.IsAbs(file) {
			file = filepath.Join(p.Dir, file)
		}
		sample, err := trial.ReadSample(file)
		if err != nil {
			return nil, err
		}
		c.Topics[topic] = sample
	}
	if f.last > 0 {
		var err error
		if c.Topics, err = trial.Latest(ctx, p, f.last, c.Topics); err != nil {
			return nil, err
		}
	}
	return c, c.Check()
}

// saveCase writes what the first report that has something gives to write.
func (a *app) saveCase(path string, p *plan.Pipeline, reports []*trial.Report) error {
	if path == "" {
		return nil
	}
	if !filepath.IsAbs(path) {
		path = filepath.Join(p.Dir, path)
	}
	for _, r := range reports {
		text := r.Reduced
		if r.Equal() {
			text = r.Recorded
		}
		if text == nil {
			continue
		}
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
		if err != nil {
			return err
		}
		if _, err := f.Write(text); err != nil {
			f.Close()
			return err
		}
		fmt.Fprintf(a.err, "saved to %s\n", path)
		return f.Close()
	}
	return nil
}
