package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"
)

// The table that windows of are replaced: as many rows on each of these days, in the order of days. A window of one per cent is some of them in
// the middle.
const (
	windowDays  = 1000
	windowFirst = 495 // of ten days
)

const loading = "CREATE STREAMING TABLE raw AS SELECT * FROM STREAM read_files('rows/*.csv', format => 'csv', header => false, schema => 'day DATE, k INT, v INT');\n"

// What an update computes is different each time, so that all of it is written, and no file of the window stays.
const replacing = "CREATE STREAMING TABLE t FLOW REPLACE WHERE day >= '2000-01-01' BY NAME SELECT day, k, v, current_timestamp() AS at FROM raw;\n"

// windowed is what was measured of a table of so many rows.
type windowed struct {
	rows                     int64
	load, all, window, again sample // filling the source; computing everything; a window of one per cent, twice
}

// sizes reads the numbers of rows that -windows has.
func sizes(text string) (out []int64, err error) {
	for number := range strings.SplitSeq(text, ",") {
		rows, err := strconv.ParseInt(strings.TrimSpace(number), 10, 64)
		if err != nil || rows < windowDays || rows%windowDays != 0 {
			return nil, fmt.Errorf("%q is no number of rows: a multiple of %d", number, windowDays)
		}
		out = append(out, rows)
	}
	return out, nil
}

// measureWindows measures REPLACE WHERE updates of tables of several sizes: one that computes everything, and two of one per cent of it. The
// time is that of the whole process, start and all.
func (b *bench) measureWindows(ctx context.Context, out io.Writer) error {
	var results []windowed
	for _, rows := range b.windows {
		r, err := b.windowsOf(ctx, rows)
		if err != nil {
			return err
		}
		results = append(results, r)
	}
	reportWindows(out, results)
	return nil
}

func (b *bench) windowsOf(ctx context.Context, rows int64) (r windowed, err error) {
	dir, err := os.MkdirTemp(b.dir, "windows-")
	if err != nil {
		return r, err
	}
	defer os.RemoveAll(dir)
	if err := writeDays(filepath.Join(dir, "rows"), rows); err != nil {
		return r, err
	}
	if err := os.WriteFile(filepath.Join(dir, "pipeline.yml"), []byte(spec), 0o644); err != nil {
		return r, err
	}
	verb := func(args ...string) (sample, []byte, error) {
		return runProcess(ctx, b.processor, append(args, "--spec", dir)...)
	}
	r.rows = rows
	first := firstDay.AddDate(0, 0, windowFirst)
	where := fmt.Sprintf("day >= '%s' AND day < '%s'", first.Format(time.DateOnly), first.AddDate(0, 0, windowDays/100).Format(time.DateOnly))
	for _, step := range []struct {
		of   *sample
		flow string
		args []string
	}{
		{&r.load, loading, []string{"run"}},
		{&r.all, loading + replacing, []string{"run"}},
		{&r.window, loading + replacing, []string{"refresh", "t", "--where", where}},
		{&r.again, loading + replacing, []string{"refresh", "t", "--where", where}},
	} {
		if err := os.WriteFile(filepath.Join(dir, "flow.sql"), []byte(step.flow), 0o644); err != nil {
			return r, err
		}
		if *step.of, _, err = verb(step.args...); err != nil {
			return r, err
		}
	}
	return r, checkWindows(verb, rows)
}

// checkWindows compares the table with what it has to be: all rows are there, and those of the window, no others, came later.
func checkWindows(verb func(...string) (sample, []byte, error), n int64) error {
	for _, c := range []struct {
		query string
		want  rows
	}{
		{"SELECT count(*) AS n, sum(v) AS s FROM t", rows{n, sumOfDays(n)}},
		{"SELECT count(*) AS n, count(DISTINCT day) AS s FROM t WHERE at > (SELECT min(at) FROM t)", rows{n / 100, windowDays / 100}},
	} {
		_, text, err := verb("query", "-o", "ndjson", c.query)
		if err != nil {
			return err
		}
		var got rows
		if err := json.Unmarshal(text, &got); err != nil || got != c.want {
			return fmt.Errorf("%s printed %q, want %+v: %v", c.query, text, c.want, err)
		}
	}
	return nil
}

var firstDay = time.Date(2021, 1, 1, 0, 0, 0, 0, time.UTC)

// valueOf is the value of a row.
func valueOf(i int64) int64 { return i * 7919 % 10007 }

func sumOfDays(rows int64) (n int64) {
	for i := range rows {
		n += valueOf(i)
	}
	return n
}

// writeDays writes the rows as CSV, a file for a million.
func writeDays(dir string, rows int64) error {
	const each = 1_000_000
	if err := os.Mkdir(dir, 0o755); err != nil {
		return err
	}
	for from := int64(0); from < rows; from += each {
		f, err := os.Create(filepath.Join(dir, fmt.Sprintf("%06d.csv", from/each)))
		if err != nil {
			return err
		}
		w := bufio.NewWriterSize(f, 1<<20)
		var line []byte
		for i := from; i < min(rows, from+each); i++ {
			line = firstDay.AddDate(0, 0, int(i/(rows/windowDays))).AppendFormat(line[:0], time.DateOnly)
			line = strconv.AppendInt(append(line, ','), i*2654435761%1_000_003, 10)
			line = strconv.AppendInt(append(line, ','), valueOf(i), 10)
			if _, err := w.Write(append(line, '\n')); err != nil {
				return err
			}
		}
		if err := w.Flush(); err != nil {
			return err
		}
		if err := f.Close(); err != nil {
			return err
		}
	}
	return nil
}

// reportWindows prints what was measured.
func reportWindows(out io.Writer, results []windowed) {
	fmt.Fprintln(out, "\nREPLACE WHERE, a window of 1 % of the table, and the same once more:")
	t := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "rows\tloaded, s\teverything, s\t1 %, s\tagain, s\tof everything\tof its CPU\tCPU µs/row\tpeak MiB\t")
	for _, r := range results {
		fmt.Fprintf(t, "%d\t%.1f\t%.1f\t%.2f\t%.2f\t%.1f %%\t%.1f %%\t%.2f\t%d\t\n", r.rows, seconds(r.load), seconds(r.all), seconds(r.window), seconds(r.again),
			100*seconds(r.window)/seconds(r.all), 100*r.window.cpu.Seconds()/r.all.cpu.Seconds(),
			r.window.cpu.Seconds()*1e6/float64(r.rows/100), max(r.all.memory, r.window.memory)>>20)
	}
	t.Flush()
}
