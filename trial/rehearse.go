package trial

import (
	"context"
	"fmt"
	"slices"

	"sluice/fault"
)

// Options say how a case is rehearsed.
type Options struct {
	Shuffle   int     // runs
	Kill      int     // crashes in each
	Dup       float64 // share of the batches after which what was read is read again
	Seed      uint64  // of the first run; each further one has the next number
	WithinKey bool    // the order within a Kafka key changes, too
	Record    bool    // a case that expects nothing, and whose runs are all the same, is written down
	Progress  func(Progress)
	Harm      Harm // for tests
}

// Progress says how far a rehearsal is.
type Progress struct {
	Case        string
	Done, Total int // rehearsed runs
	Reducing    bool
}

// Report is what a rehearsal found.
type Report struct {
	Case        string
	Tables      map[string]Table // of the reference run
	Sinks       map[string]int64 // rows, by the sink and its flow
	Compared    []string         // what was compared: "table ticks", "sink out (flow publish)"
	LeftOut     []LeftOut
	Failed      map[string]*fault.Error // flows that failed in the reference run
	Golden      []Difference            // of the reference run from what the case expects
	Runs        int                     // rehearsed runs that were done
	Kills, Dups int
	Seed        uint64 // of the run that differs
	Differences []Difference
	Reduced     []byte // a test file: the smallest case found that differs; nil when it could not be made smaller
	Recorded    []byte // a test file: the case with what came out of it
	Repeatable  bool   // there are flows whose input can be delivered again
	Expected    bool   // the case said what should come out
}

// Equal reports whether everything was as it should be.
func (r *Report) Equal() bool { return len(r.Golden) == 0 && len(r.Differences) == 0 }

// Rehearse runs a case: in order, then as the options say, until a run differs.
func Rehearse(ctx context.Context, c *Case, o Options) (*Report, error) {
	if err := c.Check(); err != nil {
		return nil, err
	}
	s, err := newSandbox(c, o.Harm)
	if err != nil {
		return nil, err
	}
	defer s.close()
	r := &Report{Case: c.Name, Expected: c.Expect != nil, Tables: map[string]Table{}, Sinks: map[string]int64{}}
	say := func(reducing bool) {
		if o.Progress != nil {
			o.Progress(Progress{Case: c.Name, Done: r.Runs, Total: o.Shuffle, Reducing: reducing})
		}
	}
	say(false)
	ref, err := s.run(ctx, arrange(c.Topics, reference, nil), reference)
	if err != nil {
		return nil, err
	}
	compared := s.compare(ref)
	r.refer(ref, compared)
	if r.Golden, err = c.Expect.check(ref); err != nil || len(r.Golden) > 0 {
		return r, err
	}
	for i := range o.Shuffle {
		v := vary(o, o.Seed+uint64(i), ref)
		got, err := s.run(ctx, arrange(c.Topics, v, nil), v)
		if err != nil {
			return nil, fmt.Errorf("in the run with seed %d: %w", v.seed, err)
		}
		r.Runs++
		r.Kills += got.crashes
		r.Dups += got.resets
		say(false)
		if r.Differences, err = compared.differences(ref, got); err != nil {
			return nil, err
		}
		if len(r.Differences) > 0 {
			r.Seed = v.seed
			say(true)
			r.Reduced = s.reduce(ctx, v)
			return r, ctx.Err()
		}
	}
	if o.Record && c.Expect == nil {
		r.Recorded, err = s.record(ref, compared)
	}
	return r, err
}

// refer notes what came of the reference run.
func (r *Report) refer(ref *outcome, c *comparison) {
	r.Failed, r.LeftOut = ref.failed, c.leftOut
	r.Repeatable = slices.ContainsFunc(ref.world.plan.Flows, repeatable)
	for name, t := range ref.tables {
		r.Tables[name] = t
	}
	for flow, f := range ref.sinks {
		name := sinkName(ref.world.flowOf(flow))
		for _, n := range f.rows {
			r.Sinks[name] += int64(n)
		}
	}
	for _, t := range c.tables {
		r.Compared = append(r.Compared, "table "+t.Display)
	}
	for _, f := range c.sinks {
		r.Compared = append(r.Compared, "sink "+sinkName(f))
	}
}

// most is how many records the flow read that read most.
func (o *outcome) most() (n int64) {
	for _, read := range o.read {
		n = max(n, read)
	}
	return n
}
