package kafka

import (
	"context"
	"slices"
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

// Since implements source.Trimming. However records are ordered, those in front of the first one of a time or later are older.
func (s *Source) Since(ctx context.Context, from, until batch.Position, at time.Time) (batch.Position, error) {
	parts, err := s.lookUp(ctx)
	if err != nil || len(parts) == 0 {
		return from, err
	}
	l, out := lister{s: s, ctx: ctx, topics: topicsOf(parts)}, slices.Clone(from)
	for _, p := range parts {
		start, ok := from.Find(p.split)
		end, ends := until.Find(p.split)
		if !ok || !ends || start.ID != p.idText {
			continue
		}
		first, err := l.after(p, at.UnixMilli(), true)
		if err != nil {
			return nil, err
		}
		start.Next.At = max(start.Next.At, min(first, end.Next.At))
		out = out.Put(start)
	}
	return out, nil
}

// asked is the first offset of a partition that is to be read, if it is there.
func (o *offsets) asked(p *partition) int64 {
	return max(0, o.each[p.topic][p.number])
}

var _ source.Trimming = (*Source)(nil)
