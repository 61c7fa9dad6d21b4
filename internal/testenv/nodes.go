package testenv

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/testcontainers/testcontainers-go"
	"github.com/testcontainers/testcontainers-go/network"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

// StartNodes starts a cluster of several brokers, with ids from 1 on, for one test. The first is the only controller: the others may
// be stopped, killed and paused. What it returns is one Cluster for each; each has the addresses of all as Brokers.
func StartNodes(t testing.TB, n int) []*Cluster {
	t.Helper()
	ctx := context.Background()
	needDocker(t)
	net, err := network.New(ctx)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = net.Remove(ctx) })
	ports := make([]int, n)
	var brokers []string
	for i := range ports {
		ports[i] = FreePort(t)
		brokers = append(brokers, fmt.Sprintf("127.0.0.1:%d", ports[i]))
	}
	nodes, failures := make([]*Cluster, n), make([]error, n)
	var starting sync.WaitGroup
	for i := range nodes {
		starting.Go(func() {
			c, err := testcontainers.Run(ctx, kafkaImage(), nodeSettings(i+1, n, ports[i], net)...)
			if c != nil {
				t.Cleanup(func() { _ = testcontainers.TerminateContainer(c, testcontainers.StopTimeout(0)) })
			}
			nodes[i], failures[i] = &Cluster{Brokers: brokers, container: c}, err
		})
	}
	starting.Wait()
	if err := errors.Join(failures...); err != nil {
		leaveOut(t, "the image "+kafkaImage()+", see scripts/build-kafka-image.sh", err)
	}
	waitForNodes(t, n, brokers)
	return nodes
}

// nodeScript starts a broker as testcontainers' module for Kafka does, with the cluster id that the nodes share.
const nodeScript = `source /etc/confluent/docker/bash-config
sed -i '/KAFKA_ZOOKEEPER_CONNECT/d' /etc/confluent/docker/configure
echo 'kafka-storage format --ignore-formatted -t "$CLUSTER_ID" -c /etc/kafka/kafka.properties' >> /etc/confluent/docker/configure
echo '' > /etc/confluent/docker/ensure
/etc/confluent/docker/configure
exec /etc/confluent/docker/launch`

func nodeSettings(id, of, port int, net *testcontainers.DockerNetwork) []testcontainers.ContainerCustomizer {
	name := fmt.Sprintf("kafka%d", id)
	roles, controller := "broker", ""
	if id == 1 {
		roles, controller = "broker,controller", ",CONTROLLER://0.0.0.0:9094"
	}
	copies := strconv.Itoa(min(of, 3))
	env := maps.Clone(quickSettings)
	maps.Copy(env, map[string]string{
		"CLUSTER_ID":                                             "MkU3OEVBNTcwNTJENDM2Qg",
		"KAFKA_NODE_ID":                                          strconv.Itoa(id),
		"KAFKA_BROKER_ID":                                        strconv.Itoa(id),
		"KAFKA_PROCESS_ROLES":                                    roles,
		"KAFKA_CONTROLLER_QUORUM_VOTERS":                         "1@kafka1:9094",
		"KAFKA_CONTROLLER_LISTENER_NAMES":                        "CONTROLLER",
		"KAFKA_LISTENERS":                                        "PLAINTEXT://0.0.0.0:9093,BROKER://0.0.0.0:9092" + controller,
		"KAFKA_ADVERTISED_LISTENERS":                             fmt.Sprintf("PLAINTEXT://127.0.0.1:%d,BROKER://%s:9092", port, name),
		"KAFKA_LISTENER_SECURITY_PROTOCOL_MAP":                   "BROKER:PLAINTEXT,PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT",
		"KAFKA_INTER_BROKER_LISTENER_NAME":                       "BROKER",
		"KAFKA_OFFSETS_TOPIC_REPLICATION_FACTOR":                 copies,
		"KAFKA_TRANSACTION_STATE_LOG_REPLICATION_FACTOR":         copies,
		"KAFKA_TRANSACTION_STATE_LOG_MIN_ISR":                    "1",
		"KAFKA_SHARE_COORDINATOR_STATE_TOPIC_REPLICATION_FACTOR": copies,
		"KAFKA_GROUP_INITIAL_REBALANCE_DELAY_MS":                 "0",
		"KAFKA_REPLICA_LAG_TIME_MAX_MS":                          "2000",
		"KAFKA_REPLICA_FETCH_WAIT_MAX_MS":                        "100",
		"KAFKA_HEAP_OPTS":                                        "-Xms128m -Xmx256m",
	})
	return []testcontainers.ContainerCustomizer{
		testcontainers.WithEnv(env),
		network.WithNetwork([]string{name}, net),
		testcontainers.WithExposedPorts("9093/tcp"),
		fixedPort(port),
		testcontainers.WithEntrypoint("bash"),
		testcontainers.WithCmd("-c", nodeScript),
	}
}

// waitForNodes returns when all brokers are there.
func waitForNodes(t testing.TB, n int, brokers []string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	cl, err := kgo.NewClient(kgo.SeedBrokers(brokers...))
	if err != nil {
		t.Fatal(err)
	}
	defer cl.Close()
	for {
		found, err := kadm.NewClient(cl).ListBrokers(ctx)
		if err == nil && len(found) == n {
			return
		}
		if err == nil {
			err = errors.New("some are missing")
		}
		select {
		case <-ctx.Done():
			t.Fatalf("%d of %d brokers: %v", len(found), n, err)
		case <-time.After(100 * time.Millisecond):
		}
	}
}
