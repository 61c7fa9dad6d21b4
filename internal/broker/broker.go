package broker

import (
	"crypto/tls"
	"errors"
	"math"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"syscall"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"sluice/fault"
)

// Options say how to start a broker.
type Options struct {
	Listen   string           // host:port; "" is a free port of 127.0.0.1
	DataDir  string           // where everything is kept; "" keeps it in memory
	Topics   map[string]int32 // topics to create in a new broker, with their partitions
	User     string           // with Password: clients log in with SASL PLAIN
	Password string
	TLS      *tls.Config
	// Cluster are further options of the fake itself, such as a network without sockets; Client are those of the clients
	// that fill it, such as the dialer of that network.
	Cluster []kfake.Opt
	Client  []kgo.Opt
}

// Broker is a running broker.
type Broker struct {
	cluster *kfake.Cluster
	dir     string
	lock    *os.File
	client  []kgo.Opt
}

// Start starts a broker.
func Start(o Options) (*Broker, error) {
	b := &Broker{dir: o.DataDir, client: o.Client}
	opts := []kfake.Opt{kfake.NumBrokers(1), kfake.ClusterID("sluice"), kfake.DefaultNumPartitions(1)}
	if o.Listen != "" {
		host, port, err := net.SplitHostPort(o.Listen)
		if err != nil {
			return nil, fault.New(fault.BrokerListen, "%q is not host:port", o.Listen).Because(err)
		}
		number, err := strconv.Atoi(port)
		if err != nil {
			return nil, fault.New(fault.BrokerListen, "%q is not a port", port)
		}
		opts = append(opts, kfake.Ports(number), kfake.ListenFn(listenOn(host)))
	}
	for topic, partitions := range o.Topics {
		opts = append(opts, kfake.SeedTopics(partitions, topic))
	}
	if o.User != "" {
		opts = append(opts, kfake.EnableSASL(), kfake.Superuser("PLAIN", o.User, o.Password))
	}
	if o.TLS != nil {
		opts = append(opts, kfake.TLS(o.TLS))
	}
	if o.DataDir != "" {
		if err := b.lockDir(); err != nil {
			return nil, err
		}
		opts = append(opts, kfake.DataDir(filepath.Join(o.DataDir, "log")))
	}
	cluster, err := kfake.NewCluster(append(opts, o.Cluster...)...)
	if err != nil {
		b.unlock()
		return nil, fault.New(fault.BrokerListen, "the embedded broker does not start").Because(err)
	}
	cluster.ControlKey(int16(kmsg.Fetch), cutByPartition)
	b.cluster = cluster
	return b, nil
}

// cutByPartition makes the limits of partitions cut an answer, and not that of the whole: kfake does not tell which of a partition's
// transactions were aborted where the latter cuts, so that a reader of committed records would take those of an aborted one.
func cutByPartition(r kmsg.Request) (kmsg.Response, error, bool) {
	f := r.(*kmsg.FetchRequest)
	for i := range f.Topics {
		for j := range f.Topics[i].Partitions {
			p := &f.Topics[i].Partitions[j]
			p.PartitionMaxBytes = min(p.PartitionMaxBytes, f.MaxBytes)
		}
	}
	f.MaxBytes = math.MaxInt32
	return nil, nil, false
}

// Brokers returns the addresses to connect to.
func (b *Broker) Brokers() []string { return b.cluster.ListenAddrs() }

// Cluster is the fake behind the broker, for tests that inject faults.
func (b *Broker) Cluster() *kfake.Cluster { return b.cluster }

// Close stops the broker and writes what is left to the data folder.
func (b *Broker) Close() {
	b.cluster.Close()
	b.unlock()
}

// lockDir makes sure that no other process uses the data folder. The lock goes with the process, however it ends.
func (b *Broker) lockDir() error {
	if err := os.MkdirAll(b.dir, 0o755); err != nil {
		return fault.New(fault.BrokerData, "the folder of the embedded broker cannot be made").Because(err)
	}
	path := filepath.Join(b.dir, "lock")
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return fault.New(fault.BrokerData, "the folder of the embedded broker cannot be used").Because(err)
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		defer f.Close()
		e := fault.New(fault.BrokerData, "another process has %s", b.dir).WithHint("stop it, or use another folder")
		if !errors.Is(err, syscall.EWOULDBLOCK) {
			e.Because(err)
		}
		return e
	}
	b.lock = f
	return nil
}

func (b *Broker) unlock() {
	if b.lock != nil {
		_ = b.lock.Close()
		b.lock = nil
	}
}

// listenOn listens on host instead of the loopback address, and advertises it. A wildcard address is advertised as
// 127.0.0.1: no client could connect to it as it is.
func listenOn(host string) func(network, address string) (net.Listener, error) {
	return func(network, address string) (net.Listener, error) {
		_, port, err := net.SplitHostPort(address)
		if err != nil {
			return nil, err
		}
		l, err := net.Listen(network, net.JoinHostPort(host, port))
		if err != nil {
			return nil, err
		}
		shown := host
		if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
			shown = "127.0.0.1"
		}
		_, port, _ = net.SplitHostPort(l.Addr().String())
		return advertised{l, hostPort(net.JoinHostPort(shown, port))}, nil
	}
}

// advertised is a listener that tells another address than it listens on.
type advertised struct {
	net.Listener
	shown hostPort
}

func (a advertised) Addr() net.Addr { return a.shown }

type hostPort string

func (hostPort) Network() string  { return "tcp" }
func (a hostPort) String() string { return string(a) }
