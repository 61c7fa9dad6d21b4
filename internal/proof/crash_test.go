package proof

import (
	"fmt"
	"os"
	"sync/atomic"
	"testing"

	"sluice/internal/model"
)

// everything is a pipeline with all that has a commit protocol: history that two flows wait for, tables that are appended to and
// replaced, a table over the changes of another one, a table that keeps changes, sinks over a table and over changes.
func everything() *Case {
	s := model.Column("s")
	positive := model.Expectation{Name: "positive", Cond: model.Call(">", model.Column("n"), model.Literal(int64(0))), Drop: true}
	topic := func(name string) model.Source { return model.Source{Topic: name} }
	selected := asIs()
	selected[2].Expr = model.Call("DOUBLE", model.Column("x"))
	c := &Case{Variant: map[string]string{"limit": "3"}, Topics: []string{"old", "new"}, Pipeline: model.Pipeline{
		Sinks: []string{"out", "feed"},
		Tables: []model.Table{
			{Name: "raw", Columns: columns, Expectations: []model.Expectation{positive}},
			{Name: "latest", Columns: columns, Keys: []string{"k", "j"}},
			{Name: "copy", Columns: columns, Keys: []string{"k", "j"}},
			{Name: "log", Columns: append(append([]string{}, columns...), changeColumn)},
		},
		Flows: []model.Flow{
			{Name: "history", Target: "raw", Once: true, From: topic("old"), Select: selected},
			{Name: "live", Target: "raw", After: []string{"history"}, From: topic("new"), Select: selected},
			{Name: "latest", Target: "latest", From: model.Source{Table: "raw"}, Select: asIs(), Sequence: &s},
			{Name: "copy", Target: "copy", From: model.Source{Table: "latest", Feed: true}, Select: asIs(), Sequence: &s},
			{Name: "log", Target: "log", From: model.Source{Table: "latest", Feed: true}, Select: asIs()},
			{Name: "publish", Target: "out", From: model.Source{Table: "raw"}, Select: asIs()},
			{Name: "announce", Target: "feed", From: model.Source{Table: "latest", Feed: true}, Select: asIs()},
		},
	}}
	records := func(topic string, from int) Step {
		step := Step{Kind: Produce, Name: topic}
		for i := from; i < from+5; i++ {
			row := model.Row{int64(i % 2), []string{"a", "b"}[i/2%2], "1.5", int64(i * 7 % 5), int64(i % 4)}
			step.Messages = append(step.Messages, model.Message{Row: row})
		}
		return step
	}
	c.Steps = []Step{records("old", 0), records("new", 5), {Kind: Run}, records("new", 10), {Kind: Reset, Name: "latest"}, {Kind: Run}, {Kind: Reset, Name: "announce"},
		{Kind: Refresh, Name: "latest"}, records("old", 15), {Kind: RefreshAll}, {Kind: Reset, Name: "history"}, {Kind: Run}}
	return c
}

// TestPipelineCrashesAtEveryWrite lets the power fail before the k-th write to the disk in the runs and resets of a whole pipeline,
// for every k. However far it had come, the pipeline ends as if nothing had happened: tables, what sinks add up to, counts, what
// has been drained; and no batch of a sink comes again with other rows (PT-07, A-78, A-94).
func TestPipelineCrashesAtEveryWrite(t *testing.T) {
	e := engine(t)
	stride := 37
	if os.Getenv("SLUICE_SOAK") == "1" {
		stride = 1
	}
	const lanes = 8
	var outages atomic.Int64
	t.Run("outages", func(t *testing.T) {
		for lane := range lanes {
			t.Run(fmt.Sprint(lane), func(t *testing.T) {
				t.Parallel()
				for k := 1 + lane*stride; ; k += lanes * stride {
					c := everything()
					c.Steps = append([]Step{{Kind: Outage, Offset: k, Survives: k % 3 * 50}}, c.Steps...)
					d, failed, err := check(c, e, Harm{})
					if err != nil {
						t.Fatal(err)
					}
					if d != nil {
						t.Fatalf("outage before write %d: %v\n%s", k, d, c.File())
					}
					if !failed {
						return // there are not so many writes
					}
					outages.Add(1)
				}
			})
		}
	})
	t.Logf("%d outages", outages.Load())
	if outages.Load() < lanes {
		t.Error("there were hardly any")
	}
}
