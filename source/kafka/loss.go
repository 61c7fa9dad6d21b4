package kafka

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"

	"sluice/batch"
	"sluice/fault"
)

// sameTopics makes sure that the topics are those that the marks speak of. A topic whose id changed is always a stop
// (D-6): its offsets are other records' now.
func (s *Source) sameTopics(ctx context.Context, from, until batch.Position) error {
	if !s.doubtful(from, until) {
		return nil
	}
	found, err := s.lookUp(ctx)
	if err != nil {
		return err
	}
	s.replace(found)
	if err := s.compare(ctx, from, s.opts.allowLoss); err != nil {
		return err
	}
	return s.compare(ctx, until, false) // an end that is gone is never reached
}

// compare finds the first mark whose partition is gone or another one.
func (s *Source) compare(ctx context.Context, marks batch.Position, mayBeGone bool) error {
	for _, m := range marks {
		p := s.find(m.Split)
		switch topic, _ := splitParts(m.Split); {
		case p != nil && m.ID != "" && m.ID != p.idText:
			return s.recreated(ctx, p, m.ID, marks)
		case p == nil && s.opts.subscribes(topic) && !mayBeGone:
			return fault.New(fault.UnknownTopic, "%s does not exist any more; it was read up to offset %d", m.Split, m.Next.At).
				WithHint("restore the topic, or set allow_data_loss => 'true' to go on without it")
		}
	}
	return nil
}

// doubtful reports whether a mark does not fit what is known of its partition, or a topic has vanished.
func (s *Source) doubtful(from, until batch.Position) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	matched := 0
	for _, p := range s.parts {
		if p.gone {
			return true
		}
		if m, ok := from.Find(p.split); ok && m.ID != "" && m.ID != p.idText {
			return true
		}
		if m, ok := until.Find(p.split); ok {
			matched++
			if m.ID != "" && m.ID != p.idText {
				return true
			}
		}
	}
	return matched < len(until) // an end was taken of a partition found since
}

// replace takes over partitions as they are now. What was fetched of a topic that changed is forgotten.
func (s *Source) replace(found []*partition) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.parts = slices.DeleteFunc(s.parts, func(p *partition) bool {
		i, ok := slices.BinarySearchFunc(found, p.split, bySplit)
		gone := !ok || found[i].id != p.id
		if gone {
			p.turn++
			p.wanted = false
		}
		return gone
	})
	_ = s.learn(found, "") // watch tells of missing leaders
}

func bySplit(p *partition, split string) int { return cmp.Compare(p.split, split) }

func (s *Source) find(split string) *partition {
	s.mu.Lock()
	defer s.mu.Unlock()
	if i, ok := slices.BinarySearchFunc(s.parts, split, bySplit); ok {
		return s.parts[i]
	}
	return nil
}

// recreated is the error for marks of a topic that is no more. What is lost is said of each partition that was read (D-6).
func (s *Source) recreated(ctx context.Context, p *partition, before string, marks batch.Position) error {
	e := fault.New(fault.TopicRecreated, "topic %s was deleted and created again: what was read is of the topic with id %s, and the topic of that name now has id %s",
		p.topic, before, p.idText).
		WithHint("reset the flow's checkpoint to read the new topic from its start and keep what its tables hold, or run a full refresh")
	now := lister{s: s, ctx: ctx, topics: []string{p.topic}}
	var lost []string
	for _, m := range marks {
		if topic, number := splitParts(m.Split); topic == p.topic && m.ID == before {
			lost = append(lost, fmt.Sprintf("partition %d from offset %d on (%s)", number, m.Next.At, now.today(m.Split)))
		}
	}
	return e.WithDetail("records of the old topic that were not read yet are lost: %s", strings.Join(lost, ", "))
}

// today says what a partition of a topic that was made anew holds.
func (l *lister) today(split string) string {
	p := l.s.find(split)
	if p == nil {
		return "the topic of today does not have it"
	}
	start, err := l.place(p, earliest)
	end, err2 := l.place(p, latest)
	if cmp.Or(err, err2) != nil {
		return "what is in it today cannot be told"
	}
	return holds(start, end)
}

func holds(start, end int64) string {
	if start == end {
		return "today it is empty"
	}
	return fmt.Sprintf("today it holds offsets %d to %d", start, end-1)
}

// bounds asks for a partition's log start and high watermark.
func (s *Source) bounds(ctx context.Context, p *partition) (start, end int64, err error) {
	starts, err := s.admin.ListStartOffsets(ctx, p.topic)
	if err == nil {
		var ends kadm.ListedOffsets
		if ends, err = s.admin.ListEndOffsets(ctx, p.topic); err == nil {
			a, _ := starts.Lookup(p.topic, p.number)
			b, _ := ends.Lookup(p.topic, p.number)
			if err = cmp.Or(a.Err, b.Err); err == nil {
				return a.Offset, b.Offset, nil
			}
		}
	}
	return 0, 0, s.opts.client.Fault(ctx, err, "asking for the offsets of %s", p.split)
}

// recover deals with the active partitions that cannot go on: it returns the error of the first, or moves a partition
// whose records are gone to the start of its log if the user allows that.
func (s *Source) recover(ctx context.Context) error {
	for _, p := range s.reading.active {
		s.mu.Lock()
		err, lost := p.err, p.outOfRange
		buffered := p.left > 0 || len(p.queue) > 0
		s.mu.Unlock()
		if buffered {
			continue // what was fetched before is read first
		}
		if err != nil {
			return err
		}
		if lost {
			if err := s.outOfRange(ctx, p); err != nil {
				return err
			}
		}
	}
	return nil
}

// outOfRange finds out why a broker has nothing at a partition's position.
func (s *Source) outOfRange(ctx context.Context, p *partition) error {
	start, end, err := s.bounds(ctx, p)
	if err != nil {
		return err
	}
	s.mu.Lock()
	at := p.next
	s.mu.Unlock()
	switch {
	case at < start && !s.opts.allowLoss:
		return fault.New(fault.DataLoss, "topic %s, partition %d: offsets %d to %d are gone, they were not read yet", p.topic, p.number, at, start-1).
			WithDetail("%s", holds(start, end)).
			WithHint("set allow_data_loss => 'true' to go on at offset %d; a longer retention avoids it", start)
	case at > end:
		return fault.New(fault.TopicRecreated, "topic %s, partition %d was read up to offset %d, but it ends at %d: it lost records that were acknowledged, or is another topic", p.topic, p.number, at, end).
			WithHint("reset the flow's checkpoint to read the topic from its start and keep what its tables hold, or run a full refresh")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	p.outOfRange = false
	if at < start {
		p.skip(min(start, p.until))
	}
	s.work.Broadcast()
	return nil
}

// Gone says which records between two positions the topics do not hold any more, so that reading from the start again would
// not give them (FR-O1), and whether they may be lost. A topic that was made anew is not asked: what it held was said to be
// lost when that was found.
func (s *Source) Gone(ctx context.Context, from, to batch.Position) (lost *fault.Error, allowed bool, err error) {
	parts, err := s.lookUp(ctx)
	if err != nil || len(parts) == 0 {
		return nil, false, err
	}
	l := lister{s: s, ctx: ctx, topics: topicsOf(parts)}
	var ranges []string
	for _, p := range parts {
		begun, _ := from.Find(p.split)
		read, ok := to.Find(p.split)
		if !ok || read.ID != p.idText {
			continue
		}
		start, err := l.place(p, earliest)
		if err != nil {
			return nil, false, err
		}
		if first, end := begun.Next.At, min(start, read.Next.At); first < end {
			ranges = append(ranges, fmt.Sprintf("topic %s, partition %d: offsets %d to %d", p.topic, p.number, first, end-1))
		}
	}
	if ranges == nil {
		return nil, s.opts.allowLoss, nil
	}
	lost = fault.New(fault.DataLoss, "what was read and is gone since cannot be read again: %s", strings.Join(ranges, "; "))
	if !s.opts.allowLoss {
		lost.WithHint("with --accept-data-loss, or with allow_data_loss => 'true', a full refresh goes on with what the topics still hold")
	}
	return lost, s.opts.allowLoss, nil
}

// skip moves over records that are lost. Nothing is buffered, and s.mu is held.
func (p *partition) skip(to int64) {
	p.lost += to - p.pos
	p.pos, p.next, p.empty = to, to, to
	p.turn++
}

// openTransaction is the error of a drain that an open transaction has kept from its end for too long (D-7).
func (s *Source) openTransaction(ctx context.Context, p *partition) error {
	s.mu.Lock()
	stable, text := p.stable, p.blockedText()
	p.blockedSince = time.Time{} // whoever reads again waits again
	s.mu.Unlock()
	e := fault.New(fault.OpenTransaction, "%s has been open for longer than drain_timeout (%v)", text, s.drain).
		WithHint("end or abort the producer's transaction, or set sluice.drain_timeout higher")
	o, err := s.opener(ctx, p, stable)
	if err != nil {
		return e.WithDetail("the producer cannot be told: %v", err)
	}
	if o.text == "" {
		return e
	}
	return e.WithDetail("%s", o.text)
}

// blockedText says what holds a partition up. Source.mu is held.
func (p *partition) blockedText() string {
	return fmt.Sprintf("a transaction at offset %d of topic %s, partition %d (high watermark %d)", p.stable, p.topic, p.number, p.end)
}
