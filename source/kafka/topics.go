package kafka

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strconv"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"sluice/fault"
	"sluice/source/kafka/client"
)

func splitName(topic string, partition int32) string {
	return topic + "/" + strconv.Itoa(int(partition))
}

// lookUp asks for the topics of the source and returns their partitions, sorted by split. A topic that is named and does
// not exist is an error with the nearest name that does (D-56, A-98). A topic that was created just now may not be known
// to the broker that is asked, so a missing one is asked for again, for a second.
func (s *Source) lookUp(ctx context.Context) ([]*partition, error) {
	for wait := 100 * time.Millisecond; ; wait *= 2 {
		parts, missing, err := s.metadata(ctx)
		if err != nil {
			return nil, s.opts.client.Fault(ctx, err, "looking up %s", s.opts.name())
		}
		if missing == "" {
			return parts, nil
		}
		if wait > 400*time.Millisecond {
			return nil, s.missing(ctx, missing)
		}
		if err := sleep(ctx, wait); err != nil {
			return nil, err
		}
	}
}

func (s *Source) missing(ctx context.Context, topic string) error {
	return client.Missing(ctx, s.client, topic, "create it, or correct subscribe; reading never creates a topic")
}

// metadata is one request. It goes past the library's cache, which may hold the id of a topic that is no more, and never
// creates a topic.
func (s *Source) metadata(ctx context.Context) (parts []*partition, missing string, err error) {
	req := kmsg.NewPtrMetadataRequest()
	req.AllowAutoTopicCreation = false
	if s.opts.pattern == nil {
		for _, name := range s.opts.topics {
			t := kmsg.NewMetadataRequestTopic()
			t.Topic = kmsg.StringPtr(name)
			req.Topics = append(req.Topics, t)
		}
	}
	resp, err := req.RequestWith(ctx, s.client)
	if err != nil {
		return nil, "", err
	}
	for _, t := range resp.Topics {
		if t.Topic == nil || s.opts.pattern != nil && (t.IsInternal || !s.opts.subscribes(*t.Topic)) {
			continue
		}
		switch err := kerr.ErrorForCode(t.ErrorCode); {
		case errors.Is(err, kerr.UnknownTopicOrPartition):
			missing = *t.Topic
			continue
		case err != nil && !errors.Is(err, kerr.LeaderNotAvailable):
			return nil, "", s.opts.client.Fault(ctx, err, "looking up topic %s", *t.Topic)
		}
		for _, p := range t.Partitions {
			parts = append(parts, newPartition(*t.Topic, p.Partition, kadm.TopicID(t.TopicID), p.Leader))
		}
	}
	slices.SortFunc(parts, func(a, b *partition) int { return cmp.Compare(a.split, b.split) })
	return parts, missing, nil
}

// watch keeps the partitions and their leaders up to date until Close: at intervals, and when a fetch finds that
// something has changed.
func (s *Source) watch() {
	defer s.running.Done()
	timer := time.NewTimer(s.opts.client.MetadataAge)
	defer timer.Stop()
	for {
		select {
		case <-s.ctx.Done():
			return
		case <-timer.C:
		case <-s.stale:
		}
		parts, missing, err := s.lookUpAgain()
		if s.ctx.Err() != nil {
			return
		}
		s.mu.Lock()
		late := s.late()
		if err == nil {
			err = s.learn(parts, missing)
		}
		if errors.Is(err, errSilent) {
			late = true // the next one may answer
		} else if err != nil {
			s.trouble.note(noBroker, s.opts.client.Fault(s.ctx, err, "looking up %s", s.opts.name()))
		} else {
			delete(s.trouble, noBroker)
		}
		next := s.opts.client.MetadataAge
		if len(s.trouble) > 0 || missing != "" || late {
			next = 500 * time.Millisecond
		}
		s.mu.Unlock()
		s.wake()
		timer.Reset(next)
		if sleep(s.ctx, 100*time.Millisecond) != nil { // no more than ten requests a second, whatever fails
			return
		}
	}
}

// silentLookUp bounds a look-up while a broker is silent, which may be the one that is asked.
const silentLookUp = 3 * time.Second

var errSilent = errors.New("nobody has answered")

// lookUpAgain is metadata, with errSilent when the broker that was asked is silent, as others are.
func (s *Source) lookUpAgain() (parts []*partition, missing string, err error) {
	s.mu.Lock()
	late := s.late()
	s.mu.Unlock()
	if !late {
		return s.metadata(s.ctx)
	}
	ctx, cancel := context.WithTimeout(s.ctx, silentLookUp)
	defer cancel()
	if parts, missing, err = s.metadata(ctx); ctx.Err() != nil {
		err = errSilent
	}
	return parts, missing, err
}

// late reports whether a broker has not answered a fetch in time. s.mu is held.
func (s *Source) late() bool {
	for broker := range s.fetched {
		if s.overdue(broker) {
			return true
		}
	}
	return false
}

// askMetadata makes watch ask now.
func (s *Source) askMetadata() {
	select {
	case s.stale <- struct{}{}:
	default:
	}
}

// learn takes over what a metadata answer says. Partitions that are new are added; one whose topic id changed, or whose
// topic is missing, is marked as gone. It returns an error when one that is read has no leader. s.mu is held.
func (s *Source) learn(found []*partition, missing string) (leaderless error) {
	for _, f := range found {
		i, known := slices.BinarySearchFunc(s.parts, f.split, bySplit)
		if !known {
			s.parts = slices.Insert(s.parts, i, f)
			s.serve(f.leader)
			continue
		}
		p := s.parts[i]
		p.gone = p.id != f.id
		if !p.gone {
			p.leader = f.leader
			s.serve(f.leader)
		}
	}
	for _, p := range s.parts {
		if p.wanted && p.leader < 0 {
			leaderless = fault.New(fault.KafkaUnavailable, "%s has no leader", p.split)
		}
		if p.topic == missing || s.opts.pattern != nil && !slices.ContainsFunc(found, func(f *partition) bool { return f.topic == p.topic }) {
			p.gone = true
		}
	}
	s.work.Broadcast()
	return leaderless
}

// known makes sure that the partitions are known, before the first read.
func (s *Source) known(ctx context.Context) error {
	s.mu.Lock()
	n := len(s.parts)
	s.mu.Unlock()
	if n > 0 || s.reading.started {
		return nil
	}
	parts, err := s.lookUp(ctx)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	_ = s.learn(parts, "") // nothing is read yet
	s.reading.started = true
	s.running.Add(1)
	go s.watch()
	return nil
}

func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-t.C:
		return nil
	}
}
