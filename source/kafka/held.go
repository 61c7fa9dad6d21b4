package kafka

import (
	"context"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"

	"sluice/batch"
)

// Held is a partition whose next records are there and must not be read yet, because a transaction before them is open (D-7).
type Held struct {
	Split string
	At    batch.Offset
	Since time.Time // the transaction began; where the brokers do not say, it was found then
	Text  string    // says all of it
}

// heldAfter is how long a transaction may keep records back before it is told of: most are short, and a partition with busy
// producers is hardly ever without one.
const heldAfter = time.Second

// askingHolder bounds the question whose transaction it is.
const askingHolder = 5 * time.Second

// holder is what the brokers say of an open transaction.
type holder struct {
	at    int64
	known bool // they have answered, or will not
	since time.Time
	text  string
}

// Held says which partitions open transactions hold up. It may be called while Read runs. A transaction is among them once it is
// known whose it is, so that it is told of once; who calls again and again hears of all.
func (s *Source) Held() []Held {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.held()
}

// held is Held. s.mu is held.
func (s *Source) held() (out []Held) {
	for _, p := range s.parts {
		if !p.wanted || p.next >= p.until || p.blockedSince.IsZero() || time.Since(p.blockedSince) < heldAfter || s.ctx.Err() != nil {
			continue
		}
		if p.holder == nil || p.holder.at != p.blockedAt {
			p.holder = &holder{at: p.blockedAt, since: p.blockedSince}
			s.running.Add(1)
			go s.identify(p, p.holder)
			continue
		}
		if p.holder.known {
			out = append(out, Held{Split: p.split, At: batch.Offset{At: p.holder.at}, Since: p.holder.since, Text: p.holder.text})
		}
	}
	return out
}

// identify asks whose transaction holds a partition up.
func (s *Source) identify(p *partition, h *holder) {
	defer s.running.Done()
	ctx, cancel := context.WithTimeout(s.ctx, askingHolder)
	defer cancel()
	o, err := s.opener(ctx, p, h.at)
	s.mu.Lock()
	defer s.mu.Unlock()
	h.known = true
	h.text = fmt.Sprintf("waiting for an open transaction on %s at offset %d", p.split, h.at)
	if o.since.IsZero() {
		h.text += ", found open at " + shown(h.since)
	} else {
		h.since = o.since
		h.text += ", open since " + shown(h.since)
	}
	if err != nil {
		h.text += fmt.Sprintf(" (the producer cannot be told: %v)", err)
	} else if o.text != "" {
		h.text += ": " + o.text
	}
}

func shown(t time.Time) string { return t.UTC().Format(time.RFC3339) }

// opener is a producer that keeps a transaction open, as far as the brokers tell.
type opener struct {
	text  string
	since time.Time
}

// opener asks whose transaction begins at an offset or before it. It needs the right to describe the topic, and for the rest that
// to describe the transactional id.
func (s *Source) opener(ctx context.Context, p *partition, stable int64) (o opener, err error) {
	producers, err := s.admin.DescribeProducers(ctx, kadm.TopicsSet{p.topic: {p.number: {}}})
	if err == nil {
		err = producers[p.topic].Partitions[p.number].Err
	}
	if err != nil {
		return o, err
	}
	for _, d := range producers.SortedProducers() {
		if d.CurrentTxnStartOffset >= 0 && d.CurrentTxnStartOffset <= stable {
			o.text = fmt.Sprintf("producer id %d, epoch %d", d.ProducerID, d.ProducerEpoch)
			s.coordinated(ctx, d.ProducerID, &o)
			return o, nil
		}
	}
	return o, nil
}

// coordinated adds what the transaction's coordinator knows.
func (s *Source) coordinated(ctx context.Context, producer int64, o *opener) {
	listed, err := s.admin.ListTransactions(ctx, []int64{producer}, nil)
	if err != nil {
		return
	}
	for _, id := range listed.TransactionalIDs() {
		o.text += ", transactional id " + id
		described, err := s.admin.DescribeTransactions(ctx, id)
		if err != nil || described[id].Err != nil {
			continue
		}
		switch d := described[id]; {
		case d.State == "CompleteCommit" || d.State == "CompleteAbort" || d.State == "Empty" || d.State == "Dead":
			o.text += ", which has ended for its coordinator (" + d.State + "): it hangs, and only kafka-transactions.sh abort or its own producer ends it"
		case d.StartTimestamp > 0:
			o.since = time.UnixMilli(d.StartTimestamp)
			o.text += fmt.Sprintf(", which the brokers abort when it is %v old", time.Duration(d.TimeoutMillis)*time.Millisecond)
		}
	}
}
