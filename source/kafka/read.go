package kafka

import (
	"context"
	"math"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"sluice/batch"
	"sluice/fault"
)

// reading is what belongs to the goroutine that calls Read.
type reading struct {
	started bool // partitions are known and watched
	active  []*partition
	first   int // partition that is served first, since the last take left it out
	records taken
	buffers buffers
}

func (r *reading) init(s *Source) { r.buffers.decompressor = kgo.DefaultDecompressor(&r.buffers) }

// Forget gives up buffers, which a large batch has made large. Columns that Read returned stay as they are.
func (s *Source) Forget() {
	s.columns.forget()
	s.reading.records.reset(&s.reading.buffers)
	s.reading.buffers.free, s.reading.buffers.size = nil, 0
}

// Read implements source.Source. The rows come partition by partition, in the order of the splits' names.
func (s *Source) Read(ctx context.Context, from batch.Position, limit batch.Limit) (batch.Columns, batch.Range, []batch.Bad, error) {
	fail := func(err error) (batch.Columns, batch.Range, []batch.Bad, error) {
		return batch.Columns{}, batch.Range{}, nil, err
	}
	if err := ctx.Err(); err != nil {
		return fail(err)
	}
	if err := s.known(ctx); err != nil {
		return fail(err)
	}
	limit = s.narrow(limit)
	for {
		if err := s.sameTopics(ctx, from, limit.Until); err != nil {
			return fail(err)
		}
		s.assign(from, limit)
		if err := s.recover(ctx); err != nil {
			return fail(err)
		}
		if limit.Until != nil && len(s.reading.active) == 0 {
			return s.columns.none(), batch.Range{}, nil, nil
		}
		if s.take(limit) {
			cols, bad, err := s.columns.build(&s.reading.records)
			if err != nil {
				return fail(err)
			}
			return cols, s.covered(), bad, nil
		}
		if err := s.wait(ctx, limit.Until != nil); err != nil {
			return fail(err)
		}
	}
}

// narrow applies the source's own limits.
func (s *Source) narrow(limit batch.Limit) batch.Limit {
	if n := int(s.opts.maxRecords); n > 0 && (limit.Rows == 0 || n < limit.Rows) {
		limit.Rows = n
	}
	if n := s.opts.maxBytes; n > 0 && (limit.Bytes == 0 || n < limit.Bytes) {
		limit.Bytes = n
	}
	return limit
}

// assign makes the partitions to read active, at their marks. What is fetched ahead is not more than two batches.
func (s *Source) assign(from batch.Position, limit batch.Limit) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r, until := &s.reading, limit.Until
	s.fetchBytes, s.partitionBytes = s.opts.client.FetchBytes, s.opts.client.PartitionBytes
	if limit.Bytes > 0 {
		s.fetchBytes, s.partitionBytes = min(s.fetchBytes, limit.Bytes), min(s.partitionBytes, limit.Bytes)
	}
	r.active = r.active[:0]
	changed := false
	for _, p := range s.parts {
		start, end := int64(0), int64(math.MaxInt64)
		if m, ok := from.Find(p.split); ok {
			start = m.Next.At
		}
		wanted := true
		if until != nil {
			m, ok := until.Find(p.split)
			end = m.Next.At
			wanted = ok && start < end
		}
		if wanted {
			r.active = append(r.active, p)
			if p.pos-p.lost != start {
				p.seek(start)
				changed = true
			}
		}
		if p.wanted != wanted || p.until != end {
			p.wanted, p.until, changed = wanted, end, true
		}
	}
	if changed {
		s.work.Broadcast()
	}
}

// wait returns when something may have arrived, or the fault that keeps it from arriving.
func (s *Source) wait(ctx context.Context, bounded bool) error {
	s.mu.Lock()
	t := s.trouble.oldest()
	var blocked *partition
	if bounded {
		for _, p := range s.reading.active {
			if !p.blockedSince.IsZero() && p.next < p.until && (blocked == nil || p.blockedSince.Before(blocked.blockedSince)) {
				blocked = p
			}
		}
	}
	patient := time.Hour
	if t.err != nil {
		patient = patience - time.Since(t.since)
	}
	drain := time.Hour
	if blocked != nil {
		drain = s.drain - time.Since(blocked.blockedSince)
	}
	s.mu.Unlock()
	if t.err != nil && (patient <= 0 || fault.From(t.err).Code.Retry != fault.Backoff) {
		return t.err
	}
	if drain <= 0 {
		return s.openTransaction(ctx, blocked)
	}
	timer := time.NewTimer(min(patient, drain))
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-s.news:
	case <-timer.C:
	}
	return nil
}

// covered is the range of the last take: the partitions that moved.
func (s *Source) covered() (r batch.Range) {
	r.Null, r.Errors = s.reading.records.null, s.reading.records.errors
	for i := range s.reading.records.moves {
		t := &s.reading.records.moves[i]
		p := t.p
		r.Splits = append(r.Splits, batch.SplitRange{
			Split: p.split, ID: p.idText,
			From: batch.Offset{At: t.from}, To: batch.Offset{At: p.pos},
			Records: t.records, Bytes: t.bytes, Nulls: t.nulls, Lost: t.lost,
			End: t.end, Time: t.time * 1000,
		})
	}
	return r
}
