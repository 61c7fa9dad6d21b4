package scenario

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"
	"github.com/twmb/franz-go/pkg/kversion"

	"sluice/eval"
)

// testEngine is one engine for all worlds of a test.
func testEngine(t *testing.T) *eval.Engine {
	t.Helper()
	e, err := eval.Open(eval.Options{Threads: 1, MemoryLimit: 256 << 20, Zone: "UTC", Files: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	})
	return e
}

const (
	coordinators = "COORDINATOR_LOAD_IN_PROGRESS COORDINATOR_NOT_AVAILABLE NOT_COORDINATOR "
	leaders      = "NOT_LEADER_FOR_PARTITION LEADER_NOT_AVAILABLE UNKNOWN_TOPIC_OR_PARTITION FENCED_LEADER_EPOCH UNKNOWN_LEADER_EPOCH OFFSET_NOT_AVAILABLE REPLICA_NOT_AVAILABLE "
	unknown      = "UNKNOWN_SERVER_ERROR"

	fencing      = "INVALID_PRODUCER_EPOCH PRODUCER_FENCED "
	unauthorized = "KAFKA_AUTHORIZATION_FAILED"
)

// request is a kind of request with the errors that brokers answer it with: those that pass, so that the pipeline does not fail, and
// those after which a flow may fail for good, by the code with which it does.
type request struct {
	key    kmsg.Key
	passes string
	final  map[string]string
}

var requests = []request{
	{kmsg.ApiVersions, "", nil},
	{kmsg.Metadata, "UNKNOWN_TOPIC_OR_PARTITION LEADER_NOT_AVAILABLE REQUEST_TIMED_OUT INVALID_TOPIC_EXCEPTION " + unknown,
		map[string]string{unauthorized: "TOPIC_AUTHORIZATION_FAILED"}},
	{kmsg.FindCoordinator, "COORDINATOR_LOAD_IN_PROGRESS COORDINATOR_NOT_AVAILABLE " + unknown,
		map[string]string{unauthorized: "GROUP_AUTHORIZATION_FAILED TRANSACTIONAL_ID_AUTHORIZATION_FAILED"}},
	{kmsg.ListOffsets, leaders + unknown, map[string]string{unauthorized: "TOPIC_AUTHORIZATION_FAILED"}},
	{kmsg.Fetch, leaders + "UNKNOWN_TOPIC_ID KAFKA_STORAGE_ERROR OFFSET_OUT_OF_RANGE " + unknown, map[string]string{unauthorized: "TOPIC_AUTHORIZATION_FAILED"}},
	// The group is for looking at only: whatever is answered, flows go on.
	{kmsg.OffsetCommit, coordinators + "REQUEST_TIMED_OUT UNKNOWN_TOPIC_OR_PARTITION REBALANCE_IN_PROGRESS GROUP_AUTHORIZATION_FAILED TOPIC_AUTHORIZATION_FAILED " + unknown, nil},
	{kmsg.OffsetFetch, coordinators + "UNSTABLE_OFFSET_COMMIT " + unknown, map[string]string{unauthorized: "GROUP_AUTHORIZATION_FAILED"}},
	{kmsg.InitProducerID, coordinators + "CONCURRENT_TRANSACTIONS " + unknown, map[string]string{
		"FENCED": fencing, unauthorized: "TRANSACTIONAL_ID_AUTHORIZATION_FAILED", "INVALID_OPTION_VALUE": "INVALID_TRANSACTION_TIMEOUT"}},
	{kmsg.Produce, "NOT_LEADER_FOR_PARTITION LEADER_NOT_AVAILABLE UNKNOWN_TOPIC_OR_PARTITION NOT_ENOUGH_REPLICAS NOT_ENOUGH_REPLICAS_AFTER_APPEND REQUEST_TIMED_OUT " +
		"KAFKA_STORAGE_ERROR UNKNOWN_PRODUCER_ID OUT_OF_ORDER_SEQUENCE_NUMBER INVALID_TXN_STATE CORRUPT_MESSAGE " + unknown,
		map[string]string{"FENCED": fencing, unauthorized: "TOPIC_AUTHORIZATION_FAILED TRANSACTIONAL_ID_AUTHORIZATION_FAILED"}},
	{kmsg.AddOffsetsToTxn, coordinators + "CONCURRENT_TRANSACTIONS INVALID_PRODUCER_ID_MAPPING INVALID_TXN_STATE " + unknown,
		map[string]string{"FENCED": fencing, unauthorized: "GROUP_AUTHORIZATION_FAILED TRANSACTIONAL_ID_AUTHORIZATION_FAILED"}},
	{kmsg.TxnOffsetCommit, coordinators + "REQUEST_TIMED_OUT UNKNOWN_TOPIC_OR_PARTITION CONCURRENT_TRANSACTIONS INVALID_PRODUCER_ID_MAPPING INVALID_TXN_STATE " + unknown,
		map[string]string{"FENCED": fencing, unauthorized: "GROUP_AUTHORIZATION_FAILED TOPIC_AUTHORIZATION_FAILED TRANSACTIONAL_ID_AUTHORIZATION_FAILED"}},
	{kmsg.EndTxn, coordinators + "CONCURRENT_TRANSACTIONS INVALID_PRODUCER_ID_MAPPING INVALID_TXN_STATE " + unknown,
		map[string]string{"FENCED": fencing, unauthorized: "TRANSACTIONAL_ID_AUTHORIZATION_FAILED"}},
	{kmsg.DescribeTransactions, coordinators + unknown, map[string]string{unauthorized: "TRANSACTIONAL_ID_AUTHORIZATION_FAILED"}},
	{kmsg.DescribeProducers, "NOT_LEADER_FOR_PARTITION UNKNOWN_TOPIC_OR_PARTITION " + unknown, nil},
}

// older are requests that clients make only of older brokers.
var older = []request{
	{kmsg.AddPartitionsToTxn, coordinators + "CONCURRENT_TRANSACTIONS UNKNOWN_TOPIC_OR_PARTITION INVALID_PRODUCER_ID_MAPPING INVALID_TXN_STATE " + unknown,
		map[string]string{"FENCED": fencing, unauthorized: "TOPIC_AUTHORIZATION_FAILED TRANSACTIONAL_ID_AUTHORIZATION_FAILED"}},
}

// cases calls f with every fault there is for a request, as the command has it, and the code with which flows may fail for it.
func (r request) cases(f func(fault, code string)) {
	name := kmsg.NameForKey(int16(r.key))
	for _, answer := range []string{answerCut, answerLost, answerNever, answerSlow, answerThrottled} {
		f(name+" "+answer, "")
	}
	f(name+" "+answerCut+" times=3", "")
	each := func(answers, code string) {
		for _, answer := range strings.Fields(answers) {
			f(name+" "+answer, code)
			f(name+" "+answer+" done", code)
		}
	}
	each(r.passes, "")
	for code, answers := range r.final {
		each(answers, code)
	}
}

// TestEveryAnswer lets the broker answer each kind of request, once or a few times, with each thing that it may answer, whether it
// has done what it was asked for or not: before a pipeline has written anything, or after. What passes by itself does not fail
// the pipeline; what does not fails a flow with its code. Then, when the fault is over, all that there is must be what there is without
// it: rows of a table, records of a topic, and positions in groups.
func TestEveryAnswer(t *testing.T) {
	e := testEngine(t)
	_, want := rehearse(t, e, nil, "", false)
	n := 0
	t.Run("answers", func(t *testing.T) {
		all := func(some []request, opts []kfake.Opt) {
			for _, r := range some {
				r.cases(func(fault, code string) {
					for _, later := range []bool{false, true} {
						if n++; os.Getenv("SLUICE_SOAK") != "1" && later != (n/2%2 == 0) {
							continue
						}
						t.Run(fmt.Sprint(fault, map[bool]string{true: " later"}[later]), func(t *testing.T) {
							t.Parallel()
							ran, got := rehearse(t, e, opts, "fault "+fault, later)
							judge(t, ran, code)
							if got != want {
								t.Errorf("in the end there is\n%s\nwithout the fault\n%s", got, want)
							}
						})
					}
				})
			}
		}
		all(requests, nil)
		all(older, []kfake.Opt{kfake.MaxVersions(kversion.V3_4_0())})
	})
}

// TestAVanishedFaultIsFound: a fault that is not reached fails a test, and one that is reached and of which nobody takes notice.
func TestAVanishedFaultIsFound(t *testing.T) {
	e := testEngine(t)
	for fault, want := range map[string]string{
		"fault AddPartitionsToTxn lost":                      "never reached", // newer brokers are not asked
		"fault DescribeProducers TOPIC_AUTHORIZATION_FAILED": "neither tried again nor told",
	} {
		p := faulty(t, e, nil)
		p.do("produce in", `{"id":1,"version":1,"name":"a"}`)
		p.do(fault, "")
		if out, err := p.Do("run", ""); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %s%v, want %s", fault, out, err, want)
		}
	}
	for _, wrong := range []string{"fault Prodcue lost", "fault Produce losd", "fault Produce"} {
		if out, err := faulty(t, e, nil).Do(wrong, ""); err == nil && !strings.HasPrefix(out, "error") {
			t.Errorf("%s is taken", wrong)
		}
	}
}

// judge complains of a run that failed other than with a code, or failed at all if there is none.
func judge(t *testing.T, ran, code string) {
	t.Helper()
	for line := range strings.Lines(ran) {
		if line = strings.TrimSpace(line); line != "ok" && (code == "" || !strings.HasSuffix(line, " FAILED "+code)) {
			t.Errorf("the run said %q, and may say %q", line, code)
		}
	}
}

// faultyPipeline makes every kind of request: it reads a topic into a table, and into another topic.
const faultyPipeline = `
CREATE STREAMING TABLE latest FLOW REPLACE USING (id) SEQUENCE BY version BY NAME
SELECT id, version, name FROM STREAM read_kafka(subscribe => 'in', format => 'json', schema => 'id INT, version INT, name STRING',
  'kafka.request.timeout.ms' => '500', 'kafka.fetch.max.wait.ms' => '20');
CREATE SINK out FORMAT kafka OPTIONS (topic => 'out', 'kafka.request.timeout.ms' => '500');
CREATE FLOW publish AS INSERT INTO SINK out BY NAME
SELECT id, name FROM STREAM read_kafka(subscribe => 'in', format => 'json', schema => 'id INT, version INT, name STRING',
  'kafka.request.timeout.ms' => '500', 'kafka.fetch.max.wait.ms' => '20');`

// faultyProgram is a program over faultyPipeline.
type faultyProgram struct {
	*Program
	t *testing.T
}

// faulty starts a program, with its topics and its pipeline.
func faulty(t *testing.T, e *eval.Engine, opts []kfake.Opt, settings ...string) faultyProgram {
	t.Helper()
	p, err := NewProgram(t.TempDir(), map[string]string{"limit": "3"}, Through{Broker: opts}, e)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	f := faultyProgram{p, t}
	f.do("topic in partitions=2", "")
	f.do("topic out partitions=1", "")
	f.do(strings.Join(append([]string{"pipeline"}, settings...), " "), strings.TrimSpace(faultyPipeline))
	return f
}

// do runs a command, which must work.
func (f faultyProgram) do(command, input string) string {
	f.t.Helper()
	out, err := f.Do(command, input)
	if err != nil {
		f.t.Fatalf("%s: %v", command, err)
	}
	if strings.HasPrefix(out, "error") {
		f.t.Fatalf("%s: %s", command, out)
	}
	return out
}

// rehearse runs the pipeline twice, with a fault before the first or the second run, and once more. It returns what the run with
// the fault said, and what there is in the end.
func rehearse(t *testing.T, e *eval.Engine, opts []kfake.Opt, fault string, later bool) (ran, end string) {
	t.Helper()
	p := faulty(t, e, opts, "sluice.retry_timeout=1m")
	for i := range 2 {
		for n := range 4 {
			p.do("produce in", fmt.Sprintf(`{"id":%d,"version":%d,"name":"%d"}`, n, i, i*4+n))
		}
		if fault == "" || later != (i == 1) {
			judge(t, p.do("run", ""), "")
			continue
		}
		p.do(fault, "")
		ran = p.do("run", "")
	}
	judge(t, p.do("run", ""), "")
	return ran, p.do("table latest", "") + p.do("sink out", "") + p.do("group latest", "") + p.do("group publish", "")
}
