package metrics

import (
	"strconv"
	"sync"

	"github.com/prometheus/client_golang/prometheus"
)

// Store is what the store holds, as read at a scrape.
type Store struct {
	Epoch  uint64 // of this opening; rises with each
	Bytes  int64  // on disk
	Tables []Table

	Quarantines []Quarantine
}

// Quarantine is what one flow has in quarantine.
type Quarantine struct {
	Flow    string
	Records int64
	Bytes   int64
	Ordered int64 // of Records: a replay of them was ordered and has not come to anything yet

	DeadLetters     int64 // that were not sent yet
	DeadLetterBytes int64
}

// Table is what one table holds.
type Table struct {
	Name  string
	Rows  int64
	Keys  int64 // of a keyed table; each has its floor. Below zero: the table has no keys
	Bytes int64 // below zero: not known

	Version  uint64  // number of the last commit that changed it
	NextTurn float64 // of its schedule, in seconds since 1970; 0: none, or nobody knows
	Digest   string  // of the rows then, 32 hexadecimal digits; empty: it is not kept
}

// ReadStore sets where the values of the store are read at each scrape; nil takes them out. read must be quick and safe
// for use beside everything else.
func (m *Metrics) ReadStore(read func() Store) {
	m.store.mu.Lock()
	defer m.store.mu.Unlock()
	m.store.read = read
}

// storeCollector reads the store when it is scraped.
type storeCollector struct {
	epoch, bytes, rows, keys, tableBytes, version, digest *prometheus.Desc
	quarantine, quarantineBytes, ordered                  *prometheus.Desc
	letters, letterBytes, nextTurn                        *prometheus.Desc

	mu   sync.Mutex
	read func() Store
}

func newStoreCollector() *storeCollector {
	desc := func(name, help string, labels ...string) *prometheus.Desc {
		return prometheus.NewDesc(prometheus.BuildFQName(namespace, "", name), help, labels, nil)
	}
	return &storeCollector{
		epoch:      desc("store_epoch", "Rises each time the store is opened."),
		bytes:      desc("store_size_bytes", "Size of the store on disk."),
		rows:       desc("table_rows", "Rows of the table.", "table"),
		keys:       desc("table_keys", "Keys of a keyed table, each with its floor.", "table"),
		tableBytes: desc("table_size_bytes", "Size of the table in the store.", "table"),
		version:    desc("table_version", "Number of the last commit that changed the table.", "table"),
		digest:     desc("table_digest", "First 52 bits of the digest of the table's rows, where it is kept; compare it for equality only.", "table"),
		nextTurn:   desc("schedule_next_turn_time_seconds", "When the table's schedule has its next turn, in seconds since 1970.", "table"),

		quarantine:      desc("quarantine_records", "Records the flow has in quarantine.", "flow"),
		quarantineBytes: desc("quarantine_size_bytes", "Size of the records the flow has in quarantine, in the store.", "flow"),
		ordered:         desc("quarantine_ordered_records", "Records in quarantine that the flow was ordered to replay and has not replayed yet.", "flow"),
		letters:         desc("dead_letters", "Records of the flow that its dead-letter topic has not got yet.", "flow"),
		letterBytes:     desc("dead_letters_size_bytes", "Size of those records, in the store.", "flow"),
	}
}

// Describe implements prometheus.Collector.
func (c *storeCollector) Describe(out chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{c.epoch, c.bytes, c.rows, c.keys, c.tableBytes, c.version, c.digest, c.nextTurn, c.quarantine, c.quarantineBytes, c.ordered, c.letters, c.letterBytes} {
		out <- d
	}
}

// Collect implements prometheus.Collector.
func (c *storeCollector) Collect(out chan<- prometheus.Metric) {
	c.mu.Lock()
	read := c.read
	c.mu.Unlock()
	if read == nil {
		return
	}
	gauge := func(d *prometheus.Desc, value float64, labels ...string) {
		out <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, value, labels...)
	}
	s := read()
	gauge(c.epoch, float64(s.Epoch))
	gauge(c.bytes, float64(s.Bytes))
	for _, q := range s.Quarantines {
		gauge(c.quarantine, float64(q.Records), q.Flow)
		gauge(c.quarantineBytes, float64(q.Bytes), q.Flow)
		gauge(c.ordered, float64(q.Ordered), q.Flow)
		gauge(c.letters, float64(q.DeadLetters), q.Flow)
		gauge(c.letterBytes, float64(q.DeadLetterBytes), q.Flow)
	}
	for _, t := range s.Tables {
		gauge(c.rows, float64(t.Rows), t.Name)
		if t.Keys >= 0 {
			gauge(c.keys, float64(t.Keys), t.Name)
		}
		if t.Bytes >= 0 {
			gauge(c.tableBytes, float64(t.Bytes), t.Name)
		}
		gauge(c.version, float64(t.Version), t.Name)
		if t.NextTurn > 0 {
			gauge(c.nextTurn, t.NextTurn, t.Name)
		}
		if t.Digest != "" {
			gauge(c.digest, digestValue(t.Digest), t.Name)
		}
	}
}

// digestValue is as much of a digest as a float holds exactly: 13 of the 32 digits.
func digestValue(digits string) float64 {
	n, _ := strconv.ParseUint(digits[:13], 16, 64) // they come from digest.Sum
	return float64(n)
}
