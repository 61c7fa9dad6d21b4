package main

import (
	"fmt"
	"strings"
	"testing"

	"sluice/catalog"
	"sluice/daemon"
	"sluice/plan"
)

// D-62, D-54: where the brokers of a source are that a REPLACE WHERE flow reads, and how it logs in, is no part of what the flow computes, and no secret
// is kept with its definition; what it reads is.
func TestOptionsOfAWindowsSource(t *testing.T) {
	queryWith := func(options string) string {
		t.Helper()
		dir := project(t, fmt.Sprintf(`CREATE STREAMING TABLE t FLOW REPLACE WHERE v > 0 BY NAME SELECT v FROM read_kafka(subscribe => 'in', format => 'json', schema => 'v INT'%s);`, options), nil)
		p, problems := plan.Load(dir, catalog.Overrides{}, daemon.Connectors())
		if len(problems) > 0 {
			t.Fatal(problems)
		}
		return p.Flows[0].Definition[plan.PartQuery].Text
	}
	plain := queryWith(", bootstrapServers => 'here:9092'")
	login := queryWith(`, bootstrapServers => 'elsewhere:9092', allow_short_source => true, 'kafka.security.protocol' => 'SASL_SSL', 'kafka.sasl.mechanism' => 'PLAIN',
'kafka.sasl.username' => 'me', 'kafka.sasl.password' => 'pa55word'`)
	if strings.Contains(login, "pa55word") || login != plain {
		t.Errorf("the query is kept as %s", login)
	}
	if later := queryWith(`, bootstrapServers => 'here:9092', startingOffsets => '{"in":{"0":5}}'`); later == plain || !strings.Contains(later, "startingOffsets") {
		t.Errorf("another start is kept as %s", later)
	}
}
