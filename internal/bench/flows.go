package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"sluice/batch"
)

// spec is the pipeline file of every flow measured: triggered, so that it ends where the topic ends.
const spec = `name: bench
storage: state
libraries:
  - glob: {include: flow.sql}
configuration:
  sluice.listen: 127.0.0.1:0
`

// flow is a pipeline of one flow into the table t.
type flow struct {
	query  string // what stands behind the table's name and properties; %s is the source
	want   rows
	digest bool   // the table keeps one (D-29), which is verified
	source string // what stands in the query for %s, with the topic and the columns in it; "" is formatted
}

// passThrough stores every record as it comes, replaceUsing keeps the newest version of every key.
const (
	passThrough  = "AS SELECT * FROM %s;\n"
	replaceUsing = "FLOW REPLACE USING (id) SEQUENCE BY seq BY NAME SELECT * FROM %s;\n"
)

// Sources: decoded by the format, or by from_json in the query, over the value or over what SQL has made of it (D-14).
const (
	formatted = "STREAM read_kafka(subscribe => '%s', format => 'json', schema => '%s')"
	fused     = "(SELECT j.* FROM (SELECT from_json(CAST(value AS STRING), '%[2]s') AS j FROM STREAM read_kafka(subscribe => '%[1]s')))"
	inSQL     = "(SELECT j.* FROM (SELECT from_json(CAST(value AS STRING), '%[2]s') AS j FROM (SELECT coalesce(value, value) AS value FROM STREAM read_kafka(subscribe => '%[1]s'))))"
)

func (f flow) sql() string {
	source := fmt.Sprintf(cmp.Or(f.source, formatted), topic, batch.DDL(fields))
	table := "CREATE STREAMING TABLE t "
	if f.digest {
		table += "TBLPROPERTIES ('sluice.digest' = 'true') "
	}
	return table + fmt.Sprintf(f.query, source)
}

// runFlow runs a pipeline until it has read the whole topic. The time counted is that in which flows run; CPU and memory
// are those of the whole process.
func runFlow(ctx context.Context, processor, address, dir string, f flow) (s sample, err error) {
	if dir, err = os.MkdirTemp(dir, "flow-"); err != nil {
		return s, err
	}
	defer os.RemoveAll(dir)
	for name, text := range map[string]string{"pipeline.yml": spec, "flow.sql": f.sql()} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			return s, err
		}
	}
	verb := func(args ...string) (sample, []byte, error) {
		return runProcess(ctx, processor, append(args, "--spec", dir, "--set", "kafka.bootstrap.servers="+address)...)
	}
	if s, _, err = verb("run"); err != nil {
		return s, err
	}
	_, events, err := verb("events", "-o", "ndjson")
	if err != nil {
		return s, err
	}
	if s.took, err = running(events); err != nil {
		return s, err
	}
	_, out, err := verb("query", "-o", "ndjson", fmt.Sprintf("SELECT count(*) AS n, sum(seq - %d) AS s FROM t", epoch))
	if err != nil {
		return s, err
	}
	var got rows
	if err := json.Unmarshal(out, &got); err != nil {
		return s, fmt.Errorf("the query printed %q: %w", out, err)
	}
	if f.digest {
		if _, _, err := verb("digest", "--verify"); err != nil {
			return s, err
		}
	}
	return s, got.check(f.want)
}

// running is the time between the events in which flows began to run and had ended.
func running(events []byte) (time.Duration, error) {
	var began, ended time.Time
	for line := range bytes.Lines(events) {
		var e struct {
			Time    time.Time `json:"timestamp"`
			Type    string    `json:"event_type"`
			Message string    `json:"message"`
		}
		if err := json.Unmarshal(line, &e); err != nil {
			return 0, fmt.Errorf("an event reads %q: %w", line, err)
		}
		if e.Type != "update_progress" {
			continue
		}
		switch {
		case strings.Contains(e.Message, "RUNNING"):
			began = e.Time
		case strings.Contains(e.Message, "COMPLETED"):
			ended = e.Time
		}
	}
	if began.IsZero() || ended.IsZero() {
		return 0, fmt.Errorf("the event log does not tell when flows ran:\n%s", events)
	}
	return ended.Sub(began), nil
}
