package daemon

import (
	"slices"
	"time"

	"sluice/admin"
	"sluice/option"
	sourcekafka "sluice/source/kafka"
)

// holding returns what says why a flow's source returns nothing. Each time it is asked it shows, beside that, which partitions
// open transactions hold up: that is to be seen of a flow that is busy with its other partitions, too. release takes it back.
func (j *job) holding(in *sourcekafka.Source) (waiting func() string, release func()) {
	var shown []sourcekafka.Held
	show := func(held []sourcekafka.Held) {
		if slices.Equal(held, shown) {
			return // a series that is taken out and put back could be missing in a scrape
		}
		shown = held
		mask := option.NewMask(j.plan.Secrets...)
		since := map[string]time.Time{}
		var positions []admin.Position
		for _, h := range held {
			split := mask.Text(h.Split)
			since[split] = h.Since
			positions = append(positions, admin.Position{Split: split, Next: h.At.String(), Waiting: mask.Text(h.Text)})
		}
		j.d.watch.Held(j.plan.Name, positions)
		j.d.measured.Held(j.plan.Name, since)
	}
	waiting = func() string {
		show(in.Held())
		return in.Waiting()
	}
	return waiting, func() { show(nil) }
}
