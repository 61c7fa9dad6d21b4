package main

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"sluice/internal/testenv"
)

// The third example on real Kafka and real PostgreSQL: the table there equals the table here and what a plain program says,
// although the daemon is killed, stopped and started, and the broker is stopped, in between (D-44).
func TestRealPostgres(t *testing.T) {
	database := testenv.Postgres(t)
	t.Setenv("PGURL", database)
	s := newSite(t, testenv.Kafka(t), example(t, "stock_ticks_postgres"))
	s.create(s.name, 3)
	live, want := liveTicks(t, s.random), wantTicks(t)
	equal := func() bool {
		here, there := s.query("SELECT key, symbol, ts, close, volume FROM ticks"), ticksIn(t, database)
		return here != "" && here == there
	}
	small := []string{"--set", "sluice.max_batch_rows=300", "--set", "pipelines.trigger.interval=20ms"}

	s.put(s.name, 3, live[:600]...)
	d := s.start(small...)
	s.until("the first 100 ticks or more", func() bool { return s.query("SELECT count(*) FROM ticks_raw") > "3600" })
	d.kill() // in the middle
	d = s.start(small...)
	s.until("the first 600 ticks", func() bool { return s.query("SELECT count(*) FROM ticks_raw") == "4082" && equal() })
	d.stop(exitOK)

	s.put(s.name, 3, live[600:900]...)
	d = s.start(small...)
	s.until("more ticks", func() bool { return s.query("SELECT count(*) FROM ticks_raw") == "4382" && equal() })
	s.kafka.Stop(t)
	s.kafka.Restart(t)
	for chunk := range slices.Chunk(live[900:], 200) {
		s.put(s.name, 3, chunk...)
	}
	s.until("all ticks", func() bool { return s.query("SELECT count(*) FROM ticks_raw") == "5150" && equal() })
	d.stop(exitOK)
	var got []string
	for line := range strings.Lines(ticksIn(t, database)) {
		got = append(got, line[:strings.LastIndex(line, ",")]) // without the volume
	}
	if strings.Join(got, "\n") != want {
		t.Errorf("the table in PostgreSQL holds\n%s\nwant\n%s", strings.Join(got, "\n"), want)
	}
}

// ticksIn is the table in PostgreSQL as processor query would print it.
func ticksIn(t *testing.T, database string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	c, err := pgx.Connect(ctx, database)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close(ctx)
	rows, err := c.Query(ctx, `SELECT concat_ws(',', key, symbol, to_char(ts AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"'), close, volume) FROM ticks`)
	if err != nil {
		return "" // not made yet
	}
	lines, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return ""
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}
