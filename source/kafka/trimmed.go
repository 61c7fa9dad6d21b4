package kafka

import (
	"context"
	"time"

	"sluice/batch"
	"sluice/source"
)

// Trimmed implements source.Trimming: what the log does not have any more of that which is asked for. Who starts at an offset asks for what
// stands from there on; who starts at a time may have lost records of that time and later when the log starts with the first that is left.
func (s *Source) Trimmed(ctx context.Context, from batch.Position) (gaps []source.Gap, err error) {
	parts, err := s.lookUp(ctx)
	if err != nil || len(parts) == 0 {
		return nil, err
	}
	l := lister{s: s, ctx: ctx, topics: topicsOf(parts)}
	for _, p := range parts {
		log, err := l.place(p, earliest)
		if err != nil {
			return nil, err
		}
		first := s.opts.start.asked(p)
		if start, ok := from.Find(p.split); !ok || first >= log || start.Next.At > log {
			continue
		}
		gap := source.Gap{Split: p.split, First: first, Start: log}
		if _, err := l.after(p, 0, true); err != nil {
			return nil, err
		}
		if found, _ := l.times[0].Lookup(p.topic, p.number); found.Timestamp >= 0 {
			gap.Time = time.UnixMilli(found.Timestamp).UTC()
		}
		gaps = append(gaps, gap)
	}
	return gaps, nil
}

// asked is the first offset of a partition that is to be read, if it is there.
func (o *offsets) asked(p *partition) int64 {
	return max(0, o.each[p.topic][p.number])
}

var _ source.Trimming = (*Source)(nil)
