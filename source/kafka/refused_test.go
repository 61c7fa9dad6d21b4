package kafka

import (
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
	"github.com/twmb/franz-go/pkg/sasl/plain"

	"sluice/batch"
	"sluice/fault"
	"sluice/internal/broker"
	"sluice/internal/testenv"
)

// A user that may look at a topic and not read it.
func TestNotAuthorized(t *testing.T) {
	b := testenv.Broker(t, broker.Options{User: "admin", Password: "admin-secret", Topics: map[string]int32{"t": 1, "secret": 1}, Cluster: []kfake.Opt{
		kfake.EnableACLs(), kfake.User("PLAIN", "guest", "guest-secret",
			kfake.ACL{Resource: kmsg.ACLResourceTypeTopic, Name: "t", Pattern: kmsg.ACLResourcePatternTypeLiteral, Operation: kmsg.ACLOperationDescribe, Allow: true}),
	}})
	k := &cluster{t: t, brokers: b.Brokers()}
	k.client = k.newClient(kgo.SASL(plain.Auth{User: "admin", Pass: "admin-secret"}.AsMechanism()))
	k.admin = kadm.NewClient(k.client)
	k.produce("t", 0, "a")
	login := []string{"kafka.security.protocol", "SASL_PLAINTEXT", "kafka.sasl.mechanism", "PLAIN", "kafka.sasl.username", "guest", "kafka.sasl.password", "guest-secret"}
	s := k.source("t", login...)
	_, _, _, err := s.Read(within(t, time.Minute), start(t, s), batch.Limit{})
	mustFail(t, err, fault.KafkaAuthorization, "t/0")
	if fault.From(err).Code.Retry == fault.Backoff {
		t.Error("it does not pass by itself")
	}
	mustFail(t, k.source("secret", login...).Check(within(t, time.Minute)), fault.KafkaAuthorization, "secret")
	// D-56: a check reads nothing, and finds out.
	mustFail(t, k.source("t", login...).Check(within(t, time.Minute)), fault.KafkaAuthorization, "may not read topic t")
}

// D-56: a check tells of every topic that is not there, and of offsets that the topic does not have; it creates none.
func TestCheckFindsEveryProblem(t *testing.T) {
	onEach(t, func(t *testing.T, k *cluster) {
		topic := k.topic(2)
		err := k.source(topic + "," + topic + "x," + topic + "y").Check(within(t, time.Minute))
		mustFail(t, err, fault.UnknownTopic, topic+"x does not exist", topic+"y does not exist")
		mustFail(t, k.source(topic, "startingOffsets", `{"`+topic+`":{"0":3}}`).Check(within(t, time.Minute)), fault.InvalidOffsets, topic+"/1")
		if err := k.source(topic).Check(within(t, time.Minute)); err != nil {
			t.Error(err)
		}
		topics, err := k.admin.ListTopics(within(t, time.Minute))
		if err != nil || topics.Has(topic+"x") || topics.Has(topic+"y") {
			t.Errorf("topics afterwards: %v %v", topics.Names(), err)
		}
	})
}

// A batch that was damaged on the broker's disk, or never was right: what lies before it is read, then the flow stops there.
func TestDamagedBatch(t *testing.T) {
	record := kmsg.Record{Value: []byte("b")}
	damaged := encodeBatch(1, 0, -1, record)
	damaged[len(damaged)-2] ^= 0x20
	cut := encodeBatch(1, 0, -1, record)
	for name, c := range map[string]struct {
		batch []byte
		say   string
	}{
		"checksum":    {damaged, "checksum"},
		"compression": {encodeBatch(1, int16(kgo.CodecSnappy), -1, record), "corrupt input"},
		"record":      {seal(cut[:len(cut)-1]), "not whole"},
	} {
		t.Run(name, func(t *testing.T) {
			b := testenv.Broker(t, broker.Options{})
			k := newCluster(t, b.Brokers())
			topic := k.topic(1)
			k.produce(topic, 0, "a", "b")
			serve(b, encodeBatch(0, 0, -1, kmsg.Record{Value: []byte("a")}), c.batch)
			s := k.source(topic)
			pos := start(t, s)
			got, r := next(t, s, pos, batch.Limit{})
			equal(t, got, "0@0=a")
			for range 2 {
				_, _, _, err := s.Read(within(t, time.Minute), pos.With(r), batch.Limit{})
				mustFail(t, err, fault.CorruptBatch, topic+"/0", "offset 1", c.say)
			}
		})
	}
}

// serve makes a broker answer every fetch with the same batches.
func serve(b *broker.Broker, batches ...[]byte) {
	b.Cluster().ControlKey(int16(kmsg.Fetch), func(req kmsg.Request) (kmsg.Response, error, bool) {
		b.Cluster().KeepControl()
		asked := req.(*kmsg.FetchRequest)
		resp := req.ResponseKind().(*kmsg.FetchResponse)
		at := kmsg.NewFetchResponseTopic()
		at.Topic, at.TopicID = asked.Topics[0].Topic, asked.Topics[0].TopicID
		at.Partitions = append(at.Partitions, *answer(2, 2, batches...))
		resp.Topics = append(resp.Topics, at)
		return resp, nil, true
	})
}
