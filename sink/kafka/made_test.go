package kafka

import (
	"context"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"sluice/batch"
	"sluice/fault"
	"sluice/internal/broker"
	"sluice/internal/testenv"
)

// A topic that the sink has made, and that the brokers do not know for a while, is waited for and never taken for a missing one.
func TestTopicMadeAndNotKnownYet(t *testing.T) {
	b := testenv.Broker(t, broker.Options{})
	k := &cluster{t: t, brokers: b.Brokers(), fake: b}
	topic := "made-just-now"
	hidden, made := 12, false
	b.Cluster().ControlKey(kmsg.CreateTopics.Int16(), func(kmsg.Request) (kmsg.Response, error, bool) {
		b.Cluster().KeepControl()
		made = true
		return nil, nil, false
	})
	b.Cluster().ControlKey(kmsg.Metadata.Int16(), func(req kmsg.Request) (kmsg.Response, error, bool) {
		b.Cluster().KeepControl()
		asked := req.(*kmsg.MetadataRequest).Topics
		if !made || hidden == 0 || len(asked) != 1 || asked[0].Topic == nil || *asked[0].Topic != topic {
			return nil, nil, false
		}
		hidden--
		resp := req.ResponseKind().(*kmsg.MetadataResponse)
		unknown := kmsg.NewMetadataResponseTopic()
		unknown.Topic, unknown.ErrorCode = &topic, kerr.UnknownTopicOrPartition.Code
		resp.Topics = append(resp.Topics, unknown)
		return resp, nil, true
	})
	s := k.open(topic, "create_topic", "1")
	for failures := 0; ; failures++ {
		err := s.Open(context.Background(), batch.ID{}, false)
		if err == nil {
			err = s.Write(context.Background(), id(topic, 1, 0, 0), rowsOf("a 1"))
		}
		if err == nil {
			if failures == 0 {
				t.Error("it never missed the topic")
			}
			break
		}
		if fault.From(err).Code.Retry != fault.Backoff || failures > 100 {
			t.Fatal(err)
		}
		time.Sleep(10 * time.Millisecond)
	}
	if got := show(k.records(topic)); got != `{"key":"a","n":1}` {
		t.Error(got)
	}
}
