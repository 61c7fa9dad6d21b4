package proof

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"testing"

	"sluice/eval"
	"sluice/internal/model"
	"sluice/internal/scenario"
)

// windowed has a table of records, and another one with its groups, replaced where a predicate holds. After the setup an update has work to do: records came,
// and the predicate is another one.
func windowed() *Case {
	below := func(n int64) *model.Expr {
		e := model.Call("<", model.Column("k"), model.Literal(n))
		return &e
	}
	rows := func(from int) Step {
		step := Step{Kind: Produce, Name: "in"}
		for i := from; i < from+6; i++ {
			step.Messages = append(step.Messages, model.Message{Row: model.Row{int64(i % 4), "a", "0.1", int64(i), int64(i % 3)}})
		}
		return step
	}
	items := asIs()
	items[2].Expr = model.Call("DOUBLE", model.Column("x"))
	groups := asIs()
	groups[1].Expr, groups[2].Expr = model.Call("MIN", model.Column("j")), model.Call("SUM", model.Column("d"))
	groups[3].Expr, groups[4].Expr = model.Call("SUM", model.Column("s")), model.Call("COUNT")
	return &Case{Topics: []string{"in"}, Variant: map[string]string{}, Pipeline: model.Pipeline{
		Tables: []model.Table{{Name: "raw", Columns: columns}, {Name: "daily", Columns: columns}},
		Flows: []model.Flow{
			{Name: "raw", Target: "raw", From: model.Source{Topic: "in"}, Select: items},
			{Name: "daily", Target: "daily", From: model.Source{Table: "raw"}, Select: groups, Group: []string{"k"}, Window: below(3)},
		},
	}, Steps: []Step{rows(0), {Kind: Run}, rows(10), {Kind: Window, Name: "daily", Where: below(2)}}}
}

// RW-O8, PT-07, D-26: when the power fails before the k-th write of an update, an override or a full refresh, for every k, the table is as before it or as after
// it: there is never a window that is gone and not filled again. Asked for once more, it is done. Sums are those of another run, bit for bit.
func TestAfterACrashAWindowIsOldOrNew(t *testing.T) {
	e := engine(t)
	big := model.Call(">", model.Column("k"), model.Literal(int64(0)))
	for name, op := range map[string]struct {
		first []Step
		op    Step
	}{
		"update":       {op: Step{Kind: Run}},
		"override":     {first: []Step{{Kind: Run}}, op: Step{Kind: Override, Name: "daily", Where: &big}},
		"full refresh": {first: []Step{{Kind: Run}}, op: Step{Kind: Refresh, Name: "daily"}},
	} {
		for _, mode := range []string{"triggered", "continuous"} {
			if name != "override" && mode == "continuous" { // there nobody waits for them to have an answer
				continue
			}
			t.Run(name+", "+mode, func(t *testing.T) {
				t.Parallel()
				c := windowed()
				c.Variant["mode"] = mode
				s := c.begin("")
				for _, step := range slices.Concat(c.Steps, op.first) {
					s.step(step)
				}
				setup := len(s.commands)
				old := answer(strings.Join(columns, " "), s.world.Rows("daily"))
				s.step(op.op)
				done := answer(strings.Join(columns, " "), s.world.Rows("daily"))
				if old == done {
					t.Fatal("the step changes nothing")
				}
				olds, news := oldOrNew(t, e, c, s.commands[:setup], s.commands[setup], old, done)
				t.Logf("%d times it was the old one, %d times the new one", olds, news)
			})
		}
	}
}

// oldOrNew runs a command with a power failure before every write in it, and returns how often it found the old rows and how often the new ones.
func oldOrNew(t *testing.T, e *eval.Engine, c *Case, setup []command, step command, old, done string) (olds, news int) {
	stride := 7
	if os.Getenv("SLUICE_SOAK") == "1" {
		stride = 1
	}
	for k := 1; ; k += stride {
		switch got := afterOutage(t, e, c, setup, step, k, done); got {
		case "":
			if olds+news == 0 {
				t.Errorf("there was no power failure")
			}
			return olds, news
		case old:
			olds++
		case done:
			news++
		default:
			t.Fatalf("after a power failure before write %d of %s the table is\n%s\nand was to be\n%s\nor\n%s", k, step.line, got, old, done)
		}
	}
}

// afterOutage are the rows of the table after a power failure before the k-th write of a step; "" when there are not so many, and one comes behind them all.
func afterOutage(t *testing.T, e *eval.Engine, c *Case, setup []command, step command, k int, done string) string {
	t.Helper()
	p, err := scenario.NewProgram(t.TempDir(), c.Variant, scenario.Through{}, e)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	do := func(line, input string) string {
		t.Helper()
		got, err := p.Do(line, input)
		if err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		return strings.TrimSuffix(got, "\n")
	}
	for _, s := range setup {
		if got := do(s.line, s.input); got != s.want {
			t.Fatalf("%s:\n%s\nwant\n%s", s.line, got, s.want)
		}
	}
	do(fmt.Sprintf("outage %d survives=%d stays", k, k%3*50), "")
	if got := do(step.line, step.input); got == step.want { // whoever has an answer can rely on it
		do("crash", "")
		if got := do("table daily", ""); got != done {
			t.Fatalf("%s was answered, and after a power failure the table is\n%s\nand was to be\n%s", step.line, got, done)
		}
		return ""
	}
	found := do("table daily", "")
	if got := do(step.line, step.input); got != step.want {
		t.Fatalf("asked for once more, %s ends with %s", step.line, got)
	}
	if got := do("table daily", ""); got != done {
		t.Fatalf("asked for once more, %s leaves\n%s\nwant\n%s", step.line, got, done)
	}
	return found
}
