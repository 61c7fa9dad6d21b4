package kafka

import (
	"errors"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"sluice/fault"
)

// serve makes sure that a fetch loop runs for a broker. s.mu is held.
func (s *Source) serve(broker int32) {
	if broker < 0 || s.loops[broker] || s.ctx.Err() != nil {
		return
	}
	s.loops[broker] = true
	s.running.Add(1)
	go s.fetchFrom(broker)
}

// asked is a partition in a request, with what it was like when the request was made.
type asked struct {
	p    *partition
	turn uint64
}

type partitionKey struct {
	id     kadm.TopicID
	topic  string // empty in answers that name topics by id
	number int32
}

// fetchFrom fetches from one broker until Close: one request at a time, for the partitions it leads whose buffers have
// room. The next request is on its way while Read works on the last answer.
func (s *Source) fetchFrom(broker int32) {
	defer s.running.Done()
	failures := 0
	for first := 0; ; first++ {
		req, asking := s.request(broker, first)
		if req == nil {
			return
		}
		late := time.AfterFunc(s.opts.client.FetchWait+answerSlack, s.askMetadata) // another broker may lead now
		resp, err := s.client.Broker(int(broker)).Request(s.ctx, req)
		late.Stop()
		if s.ctx.Err() != nil {
			return
		}
		if err == nil {
			answer := resp.(*kmsg.FetchResponse)
			if err = kerr.ErrorForCode(answer.ErrorCode); err == nil {
				err = s.absorb(broker, answer, asking)
			}
		}
		if err == nil {
			failures = 0
			continue
		}
		s.mu.Lock()
		delete(s.fetched, broker)
		s.trouble.note(broker, s.opts.client.Fault(s.ctx, err, "fetching %s", s.opts.name()))
		s.mu.Unlock()
		s.wake()
		s.askMetadata()
		failures++
		if sleep(s.ctx, min(time.Second, time.Duration(failures)*100*time.Millisecond)) != nil {
			return
		}
	}
}

// request waits until there is something to fetch from a broker and returns the request, or nil at Close. first rotates
// the order of the partitions, since an answer that is full leaves out the last ones.
func (s *Source) request(broker int32, first int) (*kmsg.FetchRequest, map[partitionKey]asked) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var fetchable []*partition
	for {
		if s.ctx.Err() != nil {
			return nil, nil
		}
		if fetchable = s.fetchable(broker, fetchable[:0]); len(fetchable) > 0 {
			break
		}
		delete(s.trouble, broker) // nothing depends on it
		s.work.Wait()
	}
	req := kmsg.NewPtrFetchRequest()
	req.MaxWaitMillis = int32(s.opts.client.FetchWait / time.Millisecond)
	req.MinBytes = int32(s.opts.client.MinBytes)
	req.MaxBytes = int32(s.fetchBytes)
	if !s.opts.client.Uncommitted {
		req.IsolationLevel = 1
	}
	asking := map[partitionKey]asked{}
	for i := range fetchable {
		p := fetchable[(i+first)%len(fetchable)]
		rp := kmsg.NewFetchRequestTopicPartition()
		rp.Partition, rp.FetchOffset, rp.PartitionMaxBytes = p.number, p.next, int32(s.partitionBytes)
		if last := len(req.Topics) - 1; last >= 0 && req.Topics[last].Topic == p.topic {
			req.Topics[last].Partitions = append(req.Topics[last].Partitions, rp)
		} else {
			t := kmsg.NewFetchRequestTopic()
			t.Topic, t.TopicID = p.topic, p.id
			t.Partitions = append(t.Partitions, rp)
			req.Topics = append(req.Topics, t)
		}
		a := asked{p, p.turn}
		asking[partitionKey{id: p.id, number: p.number}] = a
		asking[partitionKey{topic: p.topic, number: p.number}] = a
	}
	s.fetched[broker] = time.Now()
	return req, asking
}

// fetchable appends the partitions to fetch from a broker now. All buffers together may hold what one answer may. s.mu is
// held.
func (s *Source) fetchable(broker int32, to []*partition) []*partition {
	total := 0
	for _, p := range s.parts {
		if p.wanted {
			total += p.size
		}
	}
	if total >= int(s.fetchBytes) {
		return to
	}
	for _, p := range s.parts {
		if p.wanted && p.leader == broker && !p.gone && !p.outOfRange && p.err == nil &&
			p.next < p.until && p.size < int(s.partitionBytes) {
			to = append(to, p)
		}
	}
	return to
}

// absorb takes an answer. The error is one that makes the loop wait before it asks again.
func (s *Source) absorb(broker int32, resp *kmsg.FetchResponse, asking map[partitionKey]asked) (retry error) {
	empty := resp.ThrottleMillis == 0
	for i := range resp.Topics {
		for j := range resp.Topics[i].Partitions {
			empty = empty && len(resp.Topics[i].Partitions[j].RecordBatches) == 0
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.fetched, broker)
	for i := range resp.Topics {
		t := &resp.Topics[i]
		for j := range t.Partitions {
			r := &t.Partitions[j]
			a, ok := asking[partitionKey{id: t.TopicID, topic: t.Topic, number: r.Partition}]
			if !ok || a.turn != a.p.turn {
				continue // Read has gone elsewhere since
			}
			if err := s.answer(a.p, r, empty); err != nil {
				retry = err
			}
		}
	}
	if retry == nil {
		delete(s.trouble, broker)
	}
	s.wake()
	return retry
}

// answer is a partition's part of an answer. s.mu is held.
func (s *Source) answer(p *partition, r *kmsg.FetchResponseTopicPartition, empty bool) (retry error) {
	switch err := kerr.ErrorForCode(r.ErrorCode); {
	case err == nil:
		if err := p.absorb(r, !s.opts.client.Uncommitted, empty); err != nil {
			p.err = fault.New(fault.CorruptBatch, "%s cannot be read at offset %d", p.split, p.next).Because(err).
				WithHint("check the broker's disk and its replicas; allow_data_loss does not pass over it")
		}
		return nil
	case errors.Is(err, kerr.OffsetOutOfRange):
		p.outOfRange = true
		return nil
	case errors.Is(err, kerr.TopicAuthorizationFailed):
		p.err = s.opts.client.Fault(s.ctx, err, "reading %s", p.split)
		return nil
	default:
		// The leader moved, the broker has not heard of the topic yet, or the topic is gone: metadata tells.
		return fault.New(fault.KafkaUnavailable, "%s cannot be fetched now", p.split).Because(err)
	}
}
