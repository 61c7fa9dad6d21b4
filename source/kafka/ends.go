package kafka

import (
	"context"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"

	"sluice/batch"
	"sluice/fault"
)

func splitParts(split string) (topic string, partition int32) {
	i := strings.LastIndexByte(split, '/')
	n, _ := strconv.ParseInt(split[i+1:], 10, 32)
	return split[:max(i, 0)], int32(n)
}

// Start implements source.Source: startingOffsets, resolved (D-40).
func (s *Source) Start(ctx context.Context) (batch.Position, error) {
	return s.resolve(ctx, &s.opts.start, "starting")
}

// End implements source.Source: the high watermarks, or where endingOffsets says (D-7).
func (s *Source) End(ctx context.Context) (batch.Position, error) {
	return s.resolve(ctx, &s.opts.end, "ending")
}

// resolve turns offsets into a mark for every partition. A topic that was created just now may have no leader yet: the
// question is repeated for a second.
func (s *Source) resolve(ctx context.Context, o *offsets, side string) (batch.Position, error) {
	for wait := 100 * time.Millisecond; ; wait *= 2 {
		pos, err := s.resolveOnce(ctx, o, side)
		if !kerr.IsRetriable(err) || wait > 400*time.Millisecond {
			return pos, err
		}
		if err := sleep(ctx, wait); err != nil {
			return nil, err
		}
	}
}

// resolveOnce asks for topic ids before offsets: should a topic be created again in between, its first Read finds out.
func (s *Source) resolveOnce(ctx context.Context, o *offsets, side string) (batch.Position, error) {
	parts, err := s.lookUp(ctx)
	if err != nil {
		return nil, err
	}
	pos := make(batch.Position, len(parts))
	if len(parts) == 0 {
		return pos, nil
	}
	l := lister{s: s, ctx: ctx, topics: topicsOf(parts)}
	for i, p := range parts {
		at, err := l.resolve(p, o, side)
		if err != nil {
			return nil, err
		}
		pos[i] = batch.Mark{Split: p.split, ID: p.idText, Next: batch.Offset{At: at}}
	}
	return pos, o.unknown(parts, side)
}

func topicsOf(parts []*partition) []string {
	set := map[string]bool{}
	for _, p := range parts {
		set[p.topic] = true
	}
	return slices.Sorted(maps.Keys(set))
}

// unknown reports a partition that the option names and the topics do not have.
func (o *offsets) unknown(parts []*partition, side string) error {
	have := map[string]bool{}
	for _, p := range parts {
		have[p.split] = true
	}
	for _, named := range []map[string]map[int32]int64{o.each, o.times} {
		for topic, partitions := range named {
			for n := range partitions {
				if split := splitName(topic, n); !have[split] {
					return fault.New(fault.InvalidOffsets, "%sOffsets names %s, which is not read", side, split)
				}
			}
		}
	}
	return nil
}

// lister asks for the offsets that are needed, each kind once for all topics.
type lister struct {
	s      *Source
	ctx    context.Context
	topics []string
	places map[int64]kadm.ListedOffsets // earliest, latest
	times  map[int64]kadm.ListedOffsets // ms
}

func (l *lister) resolve(p *partition, o *offsets, side string) (int64, error) {
	millis := o.millis
	switch {
	case o.each != nil:
		at, ok := o.each[p.topic][p.number]
		if !ok {
			return 0, fault.New(fault.InvalidOffsets, "%sOffsets names no offset of %s", side, p.split).
				WithHint("name every partition; -2 is the earliest and -1 the latest offset")
		}
		if at >= 0 {
			return at, l.within(p, at, side)
		}
		return l.place(p, at)
	case o.times != nil:
		at, ok := o.times[p.topic][p.number]
		if !ok {
			return 0, fault.New(fault.InvalidOffsets, "%sOffsetsByTimestamp names no time of %s", side, p.split).WithHint("name every partition")
		}
		millis = at
	case millis < 0:
		return l.place(p, o.place)
	}
	return l.after(p, millis, o.orLatest)
}

// within refuses an end that the partition has not reached: a drain up to it would wait for records nobody may send.
func (l *lister) within(p *partition, at int64, side string) error {
	if side != "ending" {
		return nil
	}
	end, err := l.place(p, latest)
	if err == nil && at > end {
		return fault.New(fault.InvalidOffsets, "endingOffsets asks for offset %d of %s, which ends at %d", at, p.split, end)
	}
	return err
}

// place is the first offset of a partition, or its high watermark.
func (l *lister) place(p *partition, place int64) (int64, error) {
	listed, ok := l.places[place]
	if !ok {
		var err error
		if place == earliest {
			listed, err = l.s.admin.ListStartOffsets(l.ctx, l.topics...)
		} else {
			listed, err = l.s.admin.ListEndOffsets(l.ctx, l.topics...)
		}
		if err != nil {
			return 0, l.s.opts.client.Fault(l.ctx, err, "asking for the offsets of %s", l.s.opts.name())
		}
		if l.places == nil {
			l.places = map[int64]kadm.ListedOffsets{}
		}
		l.places[place] = listed
	}
	return l.find(listed, p)
}

// after is the offset of the first record at a time or later.
func (l *lister) after(p *partition, millis int64, orLatest bool) (int64, error) {
	listed, ok := l.times[millis]
	if !ok {
		var err error
		if listed, err = l.s.admin.ListOffsetsAfterMilli(l.ctx, millis, l.topics...); err != nil {
			return 0, l.s.opts.client.Fault(l.ctx, err, "asking for the offsets of %s", l.s.opts.name())
		}
		if l.times == nil {
			l.times = map[int64]kadm.ListedOffsets{}
		}
		l.times[millis] = listed
	}
	at, err := l.find(listed, p)
	if err != nil {
		return 0, err
	}
	if found, _ := listed.Lookup(p.topic, p.number); found.Timestamp < 0 && !orLatest {
		return 0, fault.New(fault.InvalidOffsets, "%s has no record of the starting time or later", p.split).
			WithHint("set startingOffsetsByTimestampStrategy => 'latest' to start such a partition at its end")
	}
	return at, nil
}

func (l *lister) find(listed kadm.ListedOffsets, p *partition) (int64, error) {
	o, ok := listed.Lookup(p.topic, p.number)
	if !ok {
		o.Err = kerr.LeaderNotAvailable // a partition so new that not every broker knows it
	}
	return o.Offset, l.s.opts.client.Fault(l.ctx, o.Err, "asking for the offsets of %s", p.split)
}
