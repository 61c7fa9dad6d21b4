package main

import (
	"context"
	"fmt"
	"io"
	"time"

	"sluice/admin"
	"sluice/eventlog"
)

// progress shows on a terminal what a run is doing: how far reads with an end have come, and, once the flows have caught
// up, what came out.
type progress struct {
	out    io.Writer
	status func() admin.Status
	last   map[string]string
	caught bool
}

func newProgress(out io.Writer, status func() admin.Status) *progress {
	return &progress{out: out, status: status, last: map[string]string{}}
}

// showEvery is how often the progress is looked at.
const showEvery = time.Second

// show prints what changed until ctx ends.
func (p *progress) show(ctx context.Context) {
	tick := time.NewTicker(showEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			p.look(p.status())
		}
	}
}

func (p *progress) look(s admin.Status) {
	waiting := true
	for _, f := range s.Flows {
		waiting = waiting && caughtUp(f)
		line := flowLine(f)
		if line != "" && p.last[f.Name] != line {
			p.last[f.Name] = line
			fmt.Fprintln(p.out, line)
		}
	}
	if waiting && !p.caught {
		p.caught = true
		fmt.Fprintln(p.out, "all flows have caught up; what came out so far:")
		printSummary(p.out, s)
	}
}

// caughtUp reports whether a flow has everything there is for it. One that failed or was skipped has not, and may be tried again.
func caughtUp(f admin.Flow) bool {
	switch f.Status {
	case eventlog.Completed, eventlog.Idle, eventlog.Excluded:
		return true
	}
	return f.Status == eventlog.Running && f.Reason == "waiting for data"
}

// flowLine is a flow that works, in one line; "" when there is nothing to tell.
func flowLine(f admin.Flow) string {
	if f.Status != eventlog.Running || f.Reason == "waiting for data" || f.Rate == 0 {
		return ""
	}
	line := fmt.Sprintf("%s: %.0f records/s, %d read, %d written", f.Name, f.Rate, f.Counts.Read, f.Counts.Written)
	line += notUsed(f.Counts)
	if g := f.Progress; g != nil && g.Total > 0 {
		line += fmt.Sprintf(", %.0f %% of %d %s", 100*float64(g.Done)/float64(g.Total), g.Total, g.Unit)
		if g.SecondsLeft != nil {
			line += fmt.Sprintf(", %v left", (time.Duration(*g.SecondsLeft) * time.Second))
		}
	}
	return line
}

// notUsed is what was wrong with records that were read; "" when nothing was.
func notUsed(c eventlog.Outcome) (text string) {
	if c.Bad > 0 {
		text += fmt.Sprintf(", %d bad", c.Bad)
	}
	if c.Null > 0 {
		text += fmt.Sprintf(", %d without a value", c.Null)
	}
	return text
}

// printSummary prints what tables hold and what flows did.
func printSummary(out io.Writer, s admin.Status) {
	for _, t := range s.Tables {
		fmt.Fprintf(out, "  table %s: %d rows\n", t.Name, t.Rows)
	}
	for _, f := range s.Flows {
		kind := "into"
		if f.Sink {
			kind = "to sink"
		}
		fmt.Fprintf(out, "  flow %s %s %s: %s, %d read, %d written, %d dropped, %d late%s\n", f.Name, kind, f.Target, f.Status, f.Counts.Read, f.Counts.Written, f.Counts.Dropped, f.Counts.Late, notUsed(f.Counts))
	}
}
