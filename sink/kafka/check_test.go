package kafka

import (
	"testing"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"

	"sluice/fault"
	"sluice/internal/broker"
	"sluice/internal/testenv"
)

// D-56: a user that may look at a topic and not write it finds out before the first batch.
func TestCheckRights(t *testing.T) {
	b := testenv.Broker(t, broker.Options{User: "admin", Password: "admin-secret", Topics: map[string]int32{"t": 1}, Cluster: []kfake.Opt{
		kfake.EnableACLs(), kfake.User("PLAIN", "guest", "guest-secret",
			kfake.ACL{Resource: kmsg.ACLResourceTypeTopic, Name: "t", Pattern: kmsg.ACLResourcePatternTypeLiteral, Operation: kmsg.ACLOperationDescribe, Allow: true}),
	}})
	k := &cluster{t: t, brokers: b.Brokers()}
	login := func(user string) []string {
		return []string{"kafka.security.protocol", "SASL_PLAINTEXT", "kafka.sasl.mechanism", "PLAIN", "kafka.sasl.username", user, "kafka.sasl.password", user + "-secret"}
	}
	mustFail(t, k.open("t", login("guest")...).Check(t.Context()), fault.KafkaAuthorization, "may not write topic t")
	if err := k.open("t", login("admin")...).Check(t.Context()); err != nil {
		t.Error(err)
	}
}
