package daemon

import (
	"context"
	"time"

	"sluice/option"
	"sluice/plan"
	"sluice/source"
)

// behindPatience is how long a start waits for the answer how far behind a flow is.
const behindPatience = 2 * time.Second

// tellBehind shows for every partition of a topic how far the flow is behind (D-63), before its first batch: a flow that has caught up
// may not have one for long. A cluster that does not answer is for the flow's reads to report.
func (j *job) tellBehind(ctx context.Context, in source.Source) {
	if j.plan.Input.Kind != plan.FromKafka || j.plan.Once {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, behindPatience)
	defer cancel()
	end, err := in.End(ctx)
	if err != nil {
		return
	}
	info := j.state.Info()
	mask := option.NewMask(j.plan.Secrets...)
	for _, last := range end {
		at, ok := info.Position.Find(last.Split)
		if !ok {
			at, ok = info.Start.Find(last.Split)
		}
		if !ok || at.ID != last.ID {
			continue // found since, or another topic now
		}
		split, records := mask.Text(last.Split), max(0, last.Next.At-at.Next.At)
		j.d.watch.Behind(j.plan.Name, split, at.Next, records)
		j.d.measured.Behind(j.plan.Name, split, records)
	}
}
