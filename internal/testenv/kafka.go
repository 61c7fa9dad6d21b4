package testenv

import (
	"context"
	"net"
	"net/netip"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/api/types/network"
	"github.com/moby/moby/client"
	"github.com/testcontainers/testcontainers-go"
	tckafka "github.com/testcontainers/testcontainers-go/modules/kafka"
	"github.com/twmb/franz-go/pkg/kgo"
)

// Cluster is a running Kafka broker.
type Cluster struct {
	Brokers   []string
	container testcontainers.Container
}

var real *Cluster

// Kafka returns the real broker that the tests of a package share. Topics are told apart by name. A test that stops it does
// not run in parallel to others, and starts it again.
func Kafka(t testing.TB) *Cluster {
	t.Helper()
	shared.Lock()
	defer shared.Unlock()
	if real == nil {
		c, stop := startKafka(t, fixedPort(FreePort(t)))
		atEnd(t, stop)
		real = c
	}
	return real
}

// StartKafka starts a real broker for one test.
func StartKafka(t testing.TB, opts ...testcontainers.ContainerCustomizer) *Cluster {
	t.Helper()
	c, stop := startKafka(t, append([]testcontainers.ContainerCustomizer{fixedPort(FreePort(t))}, opts...)...)
	t.Cleanup(stop)
	return c
}

// quickSettings are settings that make a single broker answer soon.
var quickSettings = map[string]string{
	"KAFKA_BROKER_SESSION_TIMEOUT_MS":                                   "2000", // a killed broker may come back after it
	"KAFKA_BROKER_HEARTBEAT_INTERVAL_MS":                                "500",
	"KAFKA_TRANSACTION_STATE_LOG_NUM_PARTITIONS":                        "1",
	"KAFKA_TRANSACTION_ABORT_TIMED_OUT_TRANSACTION_CLEANUP_INTERVAL_MS": "500",
	"KAFKA_OFFSETS_TOPIC_NUM_PARTITIONS":                                "4",
	"KAFKA_SHARE_COORDINATOR_STATE_TOPIC_NUM_PARTITIONS":                "1",
	"KAFKA_SHARE_COORDINATOR_STATE_TOPIC_REPLICATION_FACTOR":            "1",
	"KAFKA_SHARE_COORDINATOR_STATE_TOPIC_MIN_ISR":                       "1",
	"KAFKA_LOG_CLEANER_BACKOFF_MS":                                      "500",
	"KAFKA_LOG_INITIAL_TASK_DELAY_MS":                                   "500",
	"KAFKA_AUTO_CREATE_TOPICS_ENABLE":                                   "false",
}

// kafkaImage is the image of every broker.
func kafkaImage() string {
	if image := os.Getenv("SLUICE_KAFKA_IMAGE"); image != "" {
		return image
	}
	return "confluentinc/confluent-local:7.5.0"
}

func startKafka(t testing.TB, opts ...testcontainers.ContainerCustomizer) (*Cluster, func()) {
	t.Helper()
	ctx := context.Background()
	needDocker(t)
	image := kafkaImage()
	c, err := tckafka.Run(ctx, image, append([]testcontainers.ContainerCustomizer{tckafka.WithClusterID("test"), testcontainers.WithEnv(quickSettings)}, opts...)...)
	// The container's first process is a shell that ignores SIGTERM: without a stop timeout of 0 this takes ten seconds.
	stop := func() { _ = testcontainers.TerminateContainer(c, testcontainers.StopTimeout(0)) }
	if err != nil {
		stop()
		leaveOut(t, "the image "+image+", see scripts/build-kafka-image.sh", err)
	}
	brokers, err := c.Brokers(ctx)
	if err != nil {
		stop()
		t.Fatal(err)
	}
	return &Cluster{Brokers: brokers, container: c}, stop
}

// needDocker leaves a test out when no Docker daemon answers.
func needDocker(t testing.TB) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	docker, err := testcontainers.NewDockerClientWithOpts(ctx)
	if err == nil {
		defer docker.Close()
		_, err = docker.Ping(ctx, client.PingOptions{})
	}
	if err != nil {
		leaveOut(t, "Docker", err)
	}
}

// fixedPort pins the published port: the broker advertises it, and Docker would give another one at each start.
func fixedPort(port int) testcontainers.CustomizeRequestOption {
	return testcontainers.WithHostConfigModifier(func(hc *container.HostConfig) {
		hc.PortBindings = network.PortMap{network.MustParsePort("9093/tcp"): {{HostIP: netip.MustParseAddr("127.0.0.1"), HostPort: strconv.Itoa(port)}}}
	})
}

// FreePort returns a port of the loopback address that nobody listens on.
func FreePort(t testing.TB) int {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
}

// Kill ends the broker at once.
func (c *Cluster) Kill(t testing.TB) {
	t.Helper()
	c.docker(t, func(ctx context.Context, docker *testcontainers.DockerClient) error {
		_, err := docker.ContainerKill(ctx, c.container.GetContainerID(), client.ContainerKillOptions{Signal: "SIGKILL"})
		return err
	})
}

// Stop ends the broker in order, and returns when it has ended.
func (c *Cluster) Stop(t testing.TB) {
	t.Helper()
	ctx := context.Background()
	// The container's first process is a shell; its container ends when Java has ended.
	if _, _, err := c.container.Exec(ctx, []string{"bash", "-c", `for p in /proc/[0-9]*; do [[ $(<$p/comm) == java ]] && kill -TERM ${p#/proc/}; done; exit 0`}); err != nil {
		t.Fatal(err)
	}
	for {
		state, err := c.container.State(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if !state.Running {
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// Restart starts a broker that was stopped or killed, and waits until it answers.
func (c *Cluster) Restart(t testing.TB) {
	t.Helper()
	c.docker(t, func(ctx context.Context, docker *testcontainers.DockerClient) error {
		_, err := docker.ContainerStart(ctx, c.container.GetContainerID(), client.ContainerStartOptions{})
		return err
	})
	WaitForBroker(t, c.Brokers...)
}

// Pause stops the broker's processes; the function it returns lets them go on.
func (c *Cluster) Pause(t testing.TB) (unpause func()) {
	t.Helper()
	id := c.container.GetContainerID()
	c.docker(t, func(ctx context.Context, docker *testcontainers.DockerClient) error {
		_, err := docker.ContainerPause(ctx, id, client.ContainerPauseOptions{})
		return err
	})
	return func() {
		t.Helper()
		c.docker(t, func(ctx context.Context, docker *testcontainers.DockerClient) error {
			_, err := docker.ContainerUnpause(ctx, id, client.ContainerUnpauseOptions{})
			return err
		})
	}
}

func (c *Cluster) docker(t testing.TB, f func(context.Context, *testcontainers.DockerClient) error) {
	t.Helper()
	ctx := context.Background()
	docker, err := testcontainers.NewDockerClientWithOpts(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer docker.Close()
	if err := f(ctx, docker); err != nil {
		t.Fatal(err)
	}
}

// WaitForBroker returns when a broker answers.
func WaitForBroker(t testing.TB, brokers ...string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	for {
		cl, err := kgo.NewClient(kgo.SeedBrokers(brokers...))
		if err != nil {
			t.Fatal(err)
		}
		err = cl.Ping(ctx)
		cl.Close()
		if err == nil {
			return
		}
		select {
		case <-ctx.Done():
			t.Fatalf("%v does not answer: %v", brokers, err)
		case <-time.After(100 * time.Millisecond):
		}
	}
}
