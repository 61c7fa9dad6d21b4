package scenario

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kfake"
)

// leaders move, and partitions are added, in the middle of batches of two partitions of 40,000 records with tie groups over all of
// them. No row is missing, none is there twice. (Several processes on one pipeline are none of Sluice's.)
func TestLeadersMoveUnderARun(t *testing.T) {
	e := testEngine(t)
	p, err := NewProgram(t.TempDir(), nil, Through{Broker: []kfake.Opt{kfake.NumBrokers(3)}}, e)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	f := faultyProgram{p, t}
	f.do("topic in partitions=2", "")
	f.do("pipeline sluice.max_batch_rows=1000 sluice.retry_timeout=5m", `CREATE STREAMING TABLE rows AS
SELECT id FROM STREAM read_kafka(subscribe => 'in', format => 'json', schema => 'id INT', 'kafka.metadata.max.age.ms' => '50');
CREATE STREAMING TABLE latest FLOW REPLACE USING (k) SEQUENCE BY s BY NAME
SELECT id % 100 AS k, id DIV 8000 AS s, id FROM STREAM read_kafka(subscribe => 'in', format => 'json', schema => 'id INT', 'kafka.metadata.max.age.ms' => '50');`)
	const each = 40_000
	produce := func(from, to, partition int) {
		var lines strings.Builder
		for id := from; id < to; id++ {
			fmt.Fprintf(&lines, "{\"id\":%d}\n", id)
		}
		f.do(fmt.Sprintf("produce in partition=%d", partition), lines.String())
	}
	produce(0, each, 0)
	produce(each, 2*each, 1)

	cluster, stop := p.world.broker.Cluster(), make(chan struct{})
	var moving sync.WaitGroup
	moving.Go(func() {
		for n := int32(0); ; n++ {
			select {
			case <-stop:
				return
			default:
			}
			if err := cluster.MoveTopicPartition("in", n%2, n/2%3); err != nil {
				t.Error(err)
				return
			}
			time.Sleep(5 * time.Millisecond) // so that there is something to read meanwhile
		}
	})
	moving.Go(func() {
		answers, err := kadm.NewClient(p.world.client).UpdatePartitions(t.Context(), 4, "in")
		if err == nil {
			err = answers.Error()
		}
		if err != nil {
			t.Error(err)
		}
	})
	ran := f.do("run", "")
	close(stop)
	moving.Wait()
	if ran != "ok\n" {
		t.Fatal(ran)
	}
	p.world.topics["in"].partitions = 4
	p.world.client.PurgeTopicsFromClient("in")
	produce(2*each, 2*each+100, 2)
	produce(2*each+100, 2*each+200, 3)
	f.do("run", "")
	if got := f.do("query", "SELECT count(*) AS n, count(DISTINCT id) AS ids, min(id) AS first, max(id) AS last FROM rows"); got != "n ids first last\n80200 80200 0 80199\n" {
		t.Errorf("the rows are\n%s", got)
	}
	// The last 200 have the highest sequence: two of each key.
	if got := f.do("query", "SELECT count(*) AS n, count(DISTINCT id) AS ids, count(DISTINCT k) AS keys, min(id) AS first FROM latest"); got != "n ids keys first\n200 200 100 80000\n" {
		t.Errorf("the newest are\n%s", got)
	}
}

// the power fails at 50 random moments of a run with ties, late rows, rows that are replaced and rows that are dropped. In the end the
// tables are those of a run without.
func TestFiftyPowerFailures(t *testing.T) {
	e := testEngine(t)
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	life := func(fails bool) (tables string, failures int) {
		random := rand.New(rand.NewPCG(seed, 0))
		p, err := NewProgram(t.TempDir(), map[string]string{"limit": "3"}, Through{}, e)
		if err != nil {
			t.Fatal(err)
		}
		defer p.Close()
		f := faultyProgram{p, t}
		f.do("topic in partitions=3", "")
		f.do("pipeline", `CREATE STREAMING TABLE rows AS SELECT k, s, id FROM STREAM read_kafka(subscribe => 'in', format => 'json', schema => 'k INT, s INT, id INT');
CREATE STREAMING TABLE latest (CONSTRAINT even EXPECT (id % 7 <> 0) ON VIOLATION DROP ROW) FLOW REPLACE USING (k) SEQUENCE BY s BY NAME
SELECT k, s, id FROM STREAM(rows);
CREATE SINK out FORMAT memory;
CREATE FLOW publish AS INSERT INTO SINK out BY NAME SELECT k, s, id FROM STREAM(latest) WITH (readChangeFeed = true);`)
		for n := range 60 {
			var lines strings.Builder
			for i := range 6 {
				fmt.Fprintf(&lines, "{\"k\":%d,\"s\":%d,\"id\":%d}\n", random.IntN(5), n/10+random.IntN(3), n*6+i)
			}
			f.do("produce in", lines.String())
			writes, survives := 1+random.IntN(12), 50*random.IntN(3)
			if fails && !p.OutageToCome() {
				f.do(fmt.Sprintf("outage %d survives=%d", writes, survives), "")
			}
			if got := f.do("run", ""); got != "ok\n" {
				t.Fatal(got)
			}
			if fails && !p.OutageToCome() {
				failures++
			}
		}
		if err := p.Verify(); err != nil {
			t.Error(err)
		}
		return f.do("table rows", "") + f.do("table latest", "") + f.do("sink out", ""), failures
	}
	want, _ := life(false)
	got, failures := life(true)
	t.Logf("%d power failures", failures)
	if got != want {
		t.Errorf("seed %d: with power failures there is\n%s\nwithout\n%s", seed, got, want)
	}
	if failures < 50 {
		t.Errorf("only %d power failures", failures)
	}
}
