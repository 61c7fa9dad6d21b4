package kafka

import (
	"context"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"sluice/sink"
)

// scanTimeout bounds a scan; what was found until then counts.
const scanTimeout = 20 * time.Second

// tail is how many of a partition's last offsets are looked through for a lost identity.
const tail = 1000

// scan looks for the newest identity in the headers of the topic's last records, for a group that lost its offset (D-18).
// Of another store's records the newest is returned only if there is none of store.
func (a *attachment) scan(ctx context.Context, store string) (newest sink.Identity, found bool, err error) {
	s := a.sink
	starts, err := a.admin.ListStartOffsets(ctx, a.topic.Name)
	if err != nil {
		return newest, false, a.fault(ctx, err, "asking for the offsets of %s", s.target)
	}
	ends, err := a.admin.ListCommittedOffsets(ctx, a.topic.Name)
	if err != nil {
		return newest, false, a.fault(ctx, err, "asking for the offsets of %s", s.target)
	}
	from := map[string]map[int32]kgo.Offset{a.topic.Name: {}}
	left := map[int32]int64{} // partition -> where to stop
	for p := range int32(a.topic.Partitions) {
		start, _ := starts.Lookup(a.topic.Name, p)
		end, ok := ends.Lookup(a.topic.Name, p)
		if ok && end.Offset > start.Offset {
			from[a.topic.Name][p] = kgo.NewOffset().At(max(start.Offset, end.Offset-tail))
			left[p] = end.Offset
		}
	}
	if len(left) == 0 {
		return newest, false, nil
	}
	cl, err := s.opts.client.New(kgo.ConsumePartitions(from), kgo.FetchIsolationLevel(kgo.ReadCommitted()),
		kgo.KeepControlRecords(), kgo.FetchMaxWait(s.opts.client.FetchWait))
	if err != nil {
		return newest, false, err
	}
	defer cl.Close()
	scanning, cancel := context.WithTimeout(ctx, scanTimeout)
	defer cancel()
	for len(left) > 0 && scanning.Err() == nil {
		fetches := cl.PollFetches(scanning)
		if err := fetches.Err0(); err != nil && scanning.Err() == nil {
			return newest, false, a.fault(ctx, err, "reading the end of %s", s.target)
		}
		fetches.EachRecord(func(r *kgo.Record) {
			if r.Offset >= left[r.Partition]-1 {
				delete(left, r.Partition)
			}
			if i, ok := identityIn(r.Headers, s.name()); ok && (!found || newer(i, newest, store)) {
				newest, found = i, true
			}
		})
	}
	return newest, found, ctx.Err()
}

// identityIn reads the header that a flow, called by its full name, puts into its records.
func identityIn(headers []kgo.RecordHeader, flow string) (sink.Identity, bool) {
	for _, h := range headers {
		if of, text, _ := strings.Cut(string(h.Value), "/"); h.Key == HeaderName && of == flow {
			return sink.ParseIdentity(text)
		}
	}
	return sink.Identity{}, false
}

// newer orders identities: those of store first, then by generation and number.
func newer(a, b sink.Identity, store string) bool {
	switch {
	case (a.Store == store) != (b.Store == store):
		return a.Store == store
	case a.Generation != b.Generation:
		return a.Generation > b.Generation
	}
	return a.Number > b.Number
}
