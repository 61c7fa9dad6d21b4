package proof

import (
	"iter"
	"slices"

	"sluice/internal/model"
)

// Reduce returns the smallest case it finds that still fails, by leaving things out for as long as that works. fails is asked
// tries times at most.
func Reduce(c *Case, tries int, fails func(*Case) bool) *Case {
	for smaller := true; smaller; {
		smaller = false
		for candidate := range c.smaller() {
			if tries--; tries < 0 {
				return c
			}
			if fails(candidate) {
				c, smaller = candidate, true
				break
			}
		}
	}
	return c
}

// smaller yields cases with something left out, much first.
func (c *Case) smaller() iter.Seq[*Case] {
	return func(yield func(*Case) bool) {
		for _, some := range []func() iter.Seq[*Case]{c.fewerSteps, c.fewerParts, c.plainer, c.fewerMessages, c.simplerFlows} {
			for candidate := range some() {
				if !yield(candidate.pruned()) {
					return
				}
			}
		}
	}
}

// without yields s without its first half, its second half, quarters, down to single elements.
func without[T any](s []T) iter.Seq[[]T] {
	return func(yield func([]T) bool) {
		for size := (len(s) + 1) / 2; size > 0; size /= 2 {
			for from := 0; from < len(s); from += size {
				rest := slices.Concat(s[:from], s[min(from+size, len(s)):])
				if !yield(rest) {
					return
				}
			}
		}
	}
}

func (c *Case) fewerSteps() iter.Seq[*Case] {
	return func(yield func(*Case) bool) {
		for steps := range without(c.Steps) {
			d := *c
			if d.Steps = steps; !yield(&d) {
				return
			}
		}
	}
}

// fewerParts leaves out sinks, tables with their flows, and flows.
func (c *Case) fewerParts() iter.Seq[*Case] {
	return func(yield func(*Case) bool) {
		for sinks := range without(c.Pipeline.Sinks) {
			d := *c
			if d.Pipeline.Sinks = sinks; !yield(&d) {
				return
			}
		}
		for tables := range without(c.Pipeline.Tables) {
			d := *c
			if d.Pipeline.Tables = tables; !yield(&d) {
				return
			}
		}
		for flows := range without(c.Pipeline.Flows) {
			d := *c
			if d.Pipeline.Flows = flows; !yield(&d) {
				return
			}
		}
	}
}

// plainer makes an axis of the variant plain.
func (c *Case) plainer() iter.Seq[*Case] {
	return func(yield func(*Case) bool) {
		for axis := range c.Variant {
			d := *c
			d.Variant = map[string]string{}
			for other, value := range c.Variant {
				if other != axis {
					d.Variant[other] = value
				}
			}
			if !yield(&d) {
				return
			}
		}
	}
}

func (c *Case) fewerMessages() iter.Seq[*Case] {
	return func(yield func(*Case) bool) {
		for i, s := range c.Steps {
			for messages := range without(s.Messages) {
				if len(messages) == 0 {
					continue // that is a step less
				}
				d := *c
				d.Steps = slices.Clone(c.Steps)
				if d.Steps[i].Messages = messages; !yield(&d) {
					return
				}
			}
		}
	}
}

// simplerFlows leaves out conditions, expectations, and who waits for whom.
func (c *Case) simplerFlows() iter.Seq[*Case] {
	return func(yield func(*Case) bool) {
		for i, f := range c.Pipeline.Flows {
			d := *c
			d.Pipeline.Flows = slices.Clone(c.Pipeline.Flows)
			if f.Where != nil {
				if d.Pipeline.Flows[i].Where = nil; !yield(&d) {
					return
				}
			}
			if f.After != nil {
				e := *c
				e.Pipeline.Flows = slices.Clone(c.Pipeline.Flows)
				if e.Pipeline.Flows[i].After = nil; !yield(&e) {
					return
				}
			}
		}
		for i, t := range c.Pipeline.Tables {
			for expectations := range without(t.Expectations) {
				d := *c
				d.Pipeline.Tables = slices.Clone(c.Pipeline.Tables)
				if d.Pipeline.Tables[i].Expectations = expectations; !yield(&d) {
					return
				}
			}
		}
	}
}

// pruned leaves out what has lost its ground: flows without target or source, tables and sinks without flows, waiting for who
// is not there, steps about what is not there.
func (c *Case) pruned() *Case {
	d := *c
	p := &d.Pipeline
	for {
		n := len(p.Tables) + len(p.Flows) + len(p.Sinks)
		p.Flows = slices.DeleteFunc(slices.Clone(p.Flows), func(f model.Flow) bool {
			return p.Table(f.Target) == nil && !slices.Contains(p.Sinks, f.Target) || f.From.Table != "" && p.Table(f.From.Table) == nil
		})
		fed := func(name string) bool {
			return slices.ContainsFunc(p.Flows, func(f model.Flow) bool { return f.Target == name })
		}
		p.Tables = slices.DeleteFunc(slices.Clone(p.Tables), func(t model.Table) bool { return !fed(t.Name) })
		p.Sinks = slices.DeleteFunc(slices.Clone(p.Sinks), func(name string) bool { return !fed(name) })
		if len(p.Tables)+len(p.Flows)+len(p.Sinks) == n {
			break
		}
	}
	for i := range p.Flows {
		f := &p.Flows[i]
		if f.After = slices.DeleteFunc(slices.Clone(f.After), func(name string) bool { return p.Flow(name) == nil }); len(f.After) == 0 {
			f.After = nil
		}
	}
	read := func(topic string) bool {
		return slices.ContainsFunc(p.Flows, func(f model.Flow) bool { return f.From.Topic == topic })
	}
	d.Topics = slices.DeleteFunc(slices.Clone(d.Topics), func(t string) bool { return !read(t) })
	d.Steps = slices.DeleteFunc(slices.Clone(d.Steps), func(s Step) bool { return s.Name != "" && !d.knows(s.Name) })
	return &d
}

func (c *Case) knows(name string) bool {
	return c.Pipeline.Table(name) != nil || c.Pipeline.Flow(name) != nil || slices.Contains(c.Pipeline.Sinks, name) || slices.Contains(c.Topics, name)
}
