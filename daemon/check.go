package daemon

import (
	"context"
	"errors"
	"fmt"

	"sluice/fault"
	"sluice/option"
	"sluice/plan"
	sourcefile "sluice/source/file"
	sourcekafka "sluice/source/kafka"
)

// Check is one thing outside that a pipeline reads or writes, to be looked at before anything runs (D-56).
type Check struct {
	Flow string
	Role string // "source" or "sink"
	Kind string // kafka, files, postgres ...
	Name string
	Pos  fault.Pos // of the option that names it

	options option.Values
	mask    option.Mask
	open    func() (checked, error)
}

// checked is a source or a sink that can say what is wrong outside. It reads no record and makes nothing.
type checked interface {
	Check(context.Context) error
	Close() error
}

// Checks lists what a pipeline needs outside, in the order of its flows.
func Checks(p *plan.Pipeline) []Check {
	var out []Check
	for _, f := range p.Flows {
		for _, in := range f.Inputs() {
			if in.Kind == plan.FromKafka || in.Kind == plan.FromFiles {
				out = append(out, checkOfSource(p, f, in))
			}
		}
		if f.Sink != nil {
			out = append(out, checkOfSink(p, f))
		}
	}
	return out
}

func checkOfSource(p *plan.Pipeline, f *plan.Flow, in *plan.Input) Check {
	c := Check{Flow: f.Name, Role: "source", Kind: in.Kind.String(), Name: in.Name, options: in.Options, mask: option.NewMask(f.Secrets...)}
	c.Pos = c.place("subscribe", "subscribePattern", "path")
	c.open = func() (checked, error) {
		if in.Kind == plan.FromFiles {
			return sourcefile.New(sourcefile.Config{Options: in.Options, At: c.Pos, Dir: p.Dir, Stream: in.Stream})
		}
		return sourcekafka.New(sourcekafka.Config{Options: in.Options, At: c.Pos, Stream: in.Stream, Bootstrap: p.Servers})
	}
	return c
}

func checkOfSink(p *plan.Pipeline, f *plan.Flow) Check {
	c := Check{Flow: f.Name, Role: "sink", Kind: f.Sink.Format, Name: f.Sink.Name, options: f.Sink.Options, mask: option.NewMask(f.Secrets...)}
	c.Pos = c.place("topic", "table", "path", "command")
	c.open = func() (checked, error) {
		s, err := OpenSink(p, f, nil)
		if err != nil {
			return nil, err
		}
		if c, ok := s.(checked); ok {
			return c, nil
		}
		return nil, errors.Join(fmt.Errorf("a sink of format %s cannot be checked", f.Sink.Format), s.Close())
	}
	return c
}

// place is where the first of some options is written, else where the thing is named.
func (c *Check) place(names ...string) fault.Pos {
	for _, name := range names {
		if g, given := c.options.Given(name); given && g.Pos.IsValid() {
			return g.Pos
		}
	}
	return c.Pos
}

// blamed are the options that a problem is about, where it is not the name of the thing.
var blamed = map[*fault.Code][]string{
	fault.KafkaUnavailable: {"bootstrapServers", "kafka.bootstrap.servers"},
	fault.KafkaAuthentication: {"kafka.sasl.jaas.config", "kafka.sasl.password", "kafka.sasl.username", "kafka.sasl.mechanism",
		"kafka.ssl.truststore.location", "kafka.security.protocol"},
	fault.InvalidOffsets: {"startingOffsets", "startingOffsetsByTimestamp", "startingTimestamp", "endingOffsets", "endingOffsetsByTimestamp",
		"endingTimestamp"},
	fault.PostgresUnavailable:    {"url"},
	fault.PostgresAuthentication: {"url", "password"},
}

// unanswered is what it means that a check was not done in time.
var unanswered = map[string]*fault.Code{"kafka": fault.KafkaUnavailable, "postgres": fault.PostgresUnavailable, "files": fault.FileUnreadable,
	"file": fault.FileNotWritten, "exec": fault.ExecNotStarted}

// Run looks at the thing and returns every problem, each with its place. That ctx came to its deadline is a problem, that it was
// cancelled an error.
func (c *Check) Run(ctx context.Context) (problems fault.List, err error) {
	err = c.look(ctx)
	var coded *fault.Error
	switch {
	case err == nil:
		return nil, nil
	case errors.As(err, &problems):
	case errors.As(err, &coded):
		problems = fault.List{coded}
	case errors.Is(err, context.DeadlineExceeded):
		problems = fault.List{fault.New(unanswered[c.Kind], "no answer about the %s %s in time", c.Role, c.Name).
			WithHint("is the address right, and does a firewall let it through?")}
	case ctx.Err() != nil:
		return nil, ctx.Err()
	default:
		problems = fault.List{fault.From(err)}
	}
	for _, e := range problems {
		if !e.Pos.IsValid() {
			e.Pos = c.place(blamed[e.Code]...)
		}
	}
	return c.mask.List(problems), nil
}

func (c *Check) look(ctx context.Context) (err error) {
	thing, err := c.open()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, thing.Close()) }()
	return thing.Check(ctx)
}
