package daemon

import (
	"slices"

	"sluice/batch"
	"sluice/eventlog"
	"sluice/option"
)

// concealing returns a listener that passes events on without the secrets of the flows they are about (D-54). Errors and
// reasons come from libraries that know nothing of secrets, and the name of a topic or a file may be one. Everything that is
// shown (status, event log, log, metrics) is made of events, so this is the one place.
func (d *Daemon) concealing(next eventlog.Listener) eventlog.Listener {
	masks := map[string]option.Mask{}
	for _, f := range d.Plan.Flows {
		if len(f.Secrets) > 0 {
			masks[f.Name] = option.NewMask(f.Secrets...)
		}
	}
	if len(masks) == 0 {
		return next
	}
	return func(e eventlog.Event) {
		if mask, ok := masks[e.Origin().Flow]; ok {
			e = conceal(mask, e)
		}
		next(e)
	}
}

// conceal returns e, or a copy without secrets.
func conceal(mask option.Mask, e eventlog.Event) eventlog.Event {
	switch e := e.(type) {
	case *eventlog.FlowProgress:
		c := *e
		c.Reason, c.Err = mask.Text(e.Reason), mask.Fault(e.Err)
		return &c
	case *eventlog.FlowDefinition:
		c := *e
		c.Inputs, c.Query = slices.Clone(e.Inputs), mask.Text(e.Query)
		for i := range c.Inputs {
			c.Inputs[i] = mask.Text(e.Inputs[i])
		}
		return &c
	case *eventlog.FlowWarning:
		c := *e
		c.Err = mask.Fault(e.Err)
		return &c
	case *eventlog.BrokerSilent:
		c := *e
		c.Address, c.Text = mask.Text(e.Address), mask.Text(e.Text)
		return &c
	case *eventlog.RecordRefused:
		c := *e
		c.Split, c.Err = mask.Text(e.Split), mask.Fault(e.Err)
		return &c
	case *eventlog.PlanningInformation:
		c := *e
		c.Sources = slices.Clone(e.Sources)
		for i := range c.Sources {
			s := &c.Sources[i]
			s.Name, s.Partitions = mask.Text(s.Name), slices.Clone(s.Partitions)
			for p := range s.Partitions {
				s.Partitions[p].Partition = mask.Text(s.Partitions[p].Partition)
			}
		}
		return &c
	case *eventlog.BatchDone:
		c := *e
		c.Range.Splits = slices.Clone(e.Range.Splits)
		for i := range c.Range.Splits {
			c.Range.Splits[i].Split = mask.Text(e.Range.Splits[i].Split)
		}
		return &c
	}
	return e
}

// concealPosition returns a position whose splits have no secrets.
func concealPosition(mask option.Mask, p batch.Position) batch.Position {
	out := slices.Clone(p)
	for i := range out {
		out[i].Split = mask.Text(out[i].Split)
	}
	return out
}
