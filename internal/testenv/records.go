package testenv

import (
	"context"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

// End says where the partitions of topics end: (*kadm.Client).ListEndOffsets for everything that was written, where open transactions
// are waited for, or (*kadm.Client).ListCommittedOffsets for what is before them.
type End func(*kadm.Client, context.Context, ...string) (kadm.ListedOffsets, error)

// Records calls each with the records of a topic up to its end as of now, as a read_committed consumer sees them. Those of a partition come
// in their order. A topic that is not there has none.
func Records(t testing.TB, topic string, end End, each func(*kgo.Record), opts ...kgo.Opt) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Minute)
	defer cancel()
	// A client of its own: an old one may remember that there was no topic.
	cl, err := kgo.NewClient(append([]kgo.Opt{kgo.FetchIsolationLevel(kgo.ReadCommitted()), kgo.KeepControlRecords(), kgo.FetchMaxWait(500 * time.Millisecond), kgo.DisableClientMetrics()}, opts...)...)
	if err != nil {
		t.Fatal(err)
	}
	defer cl.Close()
	admin := kadm.NewClient(cl)
	starts, err := admin.ListStartOffsets(ctx, topic)
	if err != nil {
		t.Fatal(err)
	}
	ends, err := end(admin, ctx, topic)
	if err != nil {
		t.Fatal(err)
	}
	left := map[int32]int64{} // partition -> where to stop
	ends.Each(func(end kadm.ListedOffset) {
		if start, ok := starts.Lookup(topic, end.Partition); ok && start.Err == nil && end.Err == nil && start.Offset < end.Offset {
			left[end.Partition] = end.Offset
			cl.AddConsumePartitions(map[string]map[int32]kgo.Offset{topic: {end.Partition: kgo.NewOffset().AtStart()}})
		}
	})
	for len(left) > 0 {
		fetches := cl.PollFetches(ctx)
		if err := fetches.Err(); err != nil {
			t.Fatal(err)
		}
		fetches.EachRecord(func(r *kgo.Record) {
			end, reading := left[r.Partition]
			if reading && r.Offset < end && !r.Attrs.IsControl() {
				each(r)
			}
			if r.Offset+1 >= end {
				delete(left, r.Partition)
			}
		})
	}
}
