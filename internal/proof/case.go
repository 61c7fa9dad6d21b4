package proof

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"sluice/internal/model"
)

// Case is a pipeline and what happens to it.
type Case struct {
	Seed     uint64
	Variant  map[string]string // axes of internal/scenario that are not plain
	Topics   []string
	Pipeline model.Pipeline
	Steps    []Step
}

// Step is one thing that happens. A step brings with it what it needs, so that any steps in any order make a case: whatever
// a case leaves out, what is left is still a case.
type Step struct {
	Kind     Kind
	Name     string          // of a topic, table, flow or sink
	Messages []model.Message // of Produce; of Insert the rows
	Where    *model.Expr     // of Edit, Window, Override, Update and Delete
	Offset   int             // of Trim; of Outage the write
	Survives int             // of Outage: percent of what was not synced
}

// Kind is what a step does.
type Kind string

// The kinds of steps.
const (
	Produce    Kind = "produce"     // records come into a topic
	Trim       Kind = "trim"        // a topic loses its first records, once they have been applied
	Run        Kind = "run"         // everything that is there is applied; then engine and model are compared
	Refresh    Kind = "refresh"     // a full refresh of a table and of all that reads from it
	RefreshOne Kind = "refresh one" // a full refresh of a table alone: who reads it stops
	RefreshAll Kind = "refresh all" // a full refresh of everything
	Reset      Kind = "reset"       // the checkpoint of a flow
	Edit       Kind = "edit"        // a flow gets another condition
	Window     Kind = "window"      // a REPLACE WHERE flow gets another predicate
	Override   Kind = "override"    // a REPLACE WHERE flow has another predicate in one update
	Insert     Kind = "insert"      // a statement adds rows to a table
	Update     Kind = "update"      // a statement changes rows of a table
	Delete     Kind = "delete"      // a statement takes rows of a table away
	Stop       Kind = "stop"        // a daemon that is still up stops
	Crash      Kind = "crash"       // the power fails
	Refuse     Kind = "refuse"      // a sink refuses its next batch
	Outage     Kind = "outage"      // the power fails in the next run or reset, before a write to the disk
)

// command is a command of a scenario, with the answer of the model.
type command struct {
	line, input, want string
}

// partitions are those of every topic.
func (c *Case) partitions() int {
	n, err := strconv.Atoi(c.Variant["partitions"])
	if err != nil {
		return 1
	}
	return n
}

// script is a case as commands, with what the model answers.
type script struct {
	*Case
	world    *model.World
	commands []command
	begun    bool // the pipeline has run
	applied  bool // nothing is left to apply
}

// script runs the model and returns the commands that make the engine do the same. The model breaks the given rule.
func (c *Case) script(broken model.Rule) []command {
	s := c.begin(broken)
	for _, step := range c.Steps {
		s.step(step)
	}
	s.run("run", nil, false)
	return s.commands
}

// begin declares the pipeline.
func (c *Case) begin(broken model.Rule) *script {
	p := c.Pipeline
	p.Continuous, p.Flows = c.Variant["mode"] == "continuous", slices.Clone(p.Flows) // edits change flows
	s := &script{Case: c, world: model.NewWorld(&p)}
	s.world.Broken = broken
	for _, t := range c.Topics {
		s.world.Topic(t, c.partitions())
		s.say("topic "+t, "", "")
	}
	s.declare()
	return s
}

func (s *script) say(line, input, want string) {
	s.commands = append(s.commands, command{line, input, want})
}

func (s *script) declare() {
	s.say("pipeline features=replace_using_many_flows", SQL(s.world.Pipeline), "")
}

// step lets the model do a step.
func (s *script) step(step Step) {
	switch step.Kind {
	case Produce:
		s.applied = false
		s.world.Produce(step.Name, step.Messages...)
		s.say("produce "+step.Name, documents(step.Messages), "")
	case Trim:
		s.apply()
		s.say("stop", "", "")
		if offset := s.world.Trim(step.Name, step.Offset); offset > 0 {
			s.say(fmt.Sprintf("topic %s trim=%d", step.Name, offset), "", "")
		}
	case Reset:
		s.reset(step.Name)
	case Refuse:
		s.say("fail "+step.Name, "", "")
	case Outage:
		s.say(fmt.Sprintf("outage %d survives=%d", step.Offset, step.Survives), "", "")
	case Run:
		s.run("run", nil, false)
	case RefreshAll:
		if !s.begun {
			s.apply() // there is nothing yet to compute anew
		}
		s.run("run full-refresh-all", nil, true)
	case Refresh:
		s.refresh(step.Name)
	case RefreshOne:
		s.apply()
		s.run("run full-refresh="+step.Name, []string{step.Name}, false)
		s.applied = false
	case Override:
		s.override(step.Name, step.Where)
	case Insert, Update, Delete:
		s.statement(step)
	case Window:
		s.settle()
		s.world.Replace(step.Name, step.Where)
		s.declare()
		s.applied = false
	case Edit:
		s.settle()
		s.world.Edit(step.Name, step.Where)
		s.declare()
	default:
		s.applied = s.applied && step.Kind != Crash
		s.say(string(step.Kind), "", "")
	}
}

// apply makes sure that everything has been applied.
func (s *script) apply() {
	if !s.applied {
		s.run("run", nil, false)
	}
}

func (s *script) run(line string, full []string, all bool) {
	s.say(line+" brief", "", ended(s.world.Run(full, full, all)))
	s.questions()
	s.begun, s.applied = true, true
}

// ended says who failed or was skipped, as a run does.
func ended(stuck []string) string {
	if len(stuck) == 0 {
		return "ok"
	}
	return strings.Join(stuck, "\n")
}

// reset resets a checkpoint, of which there is none before the first run.
func (s *script) reset(flow string) {
	if !s.begun {
		s.apply()
	}
	s.settle()
	s.again(flow)
}

// settle gives a daemon that is up the time to apply what has just come: it may have begun to.
func (s *script) settle() {
	if s.Variant["mode"] == "continuous" {
		s.apply()
	}
}

// override computes a table once under another predicate, and looks at it. Those that read it are computed with the next run.
func (s *script) override(flow string, predicate *model.Expr) {
	s.apply()
	table := s.Pipeline.Flow(flow).Target
	s.say("override "+table, predicate.SQL(), ended(s.world.Override(flow, predicate)))
	s.table(s.Pipeline.Table(table))
	s.applied = false
}

// again lets a flow begin again. A daemon that is up runs a once flow again only when it starts again.
func (s *script) again(flow string) {
	s.world.Reset(flow)
	s.say("reset "+flow, "", fmt.Sprintf("generation %d", s.world.Generation(flow)))
	if s.Pipeline.Flow(flow).Once {
		s.say("stop", "", "")
	}
	s.applied = false
}

// refresh computes a table anew, and all that reads from it: tables with it, sinks by a reset (D-28).
func (s *script) refresh(table string) {
	s.apply() // backfills that others wait for are drained
	full := []string{table}
	var sinks []string
	for _, f := range s.Pipeline.Flows {
		switch {
		case !slices.Contains(full, f.From.Table):
		case s.Pipeline.Table(f.Target) == nil:
			sinks = append(sinks, f.Name)
		case !slices.Contains(full, f.Target):
			full = append(full, f.Target)
		}
	}
	s.run("run full-refresh=("+strings.Join(full, ", ")+")", full, false)
	for _, f := range sinks {
		s.again(f)
	}
}

// table asks for the rows of a table.
func (s *script) table(t *model.Table) {
	s.say("table "+t.Name, "", answer(strings.Join(t.Columns, " "), s.world.Rows(t.Name)))
}

// questions asks for everything, with the answers of the model.
func (s *script) questions() {
	for _, t := range s.Pipeline.Tables {
		if t.Columns[len(t.Columns)-1] == changeColumn {
			s.say("query", foldSQL(&t), answer(foldHead(&t), s.world.Folded(t.Name)))
		} else {
			s.table(&t)
		}
	}
	for _, sink := range s.Pipeline.Sinks {
		s.say("sink "+sink, "", strings.Join(s.world.Sink(sink), "\n"))
	}
	for _, f := range s.Pipeline.Flows {
		state := fmt.Sprintf("generation %d", s.world.Generation(f.Name))
		if f.Once {
			state += map[bool]string{true: ", drained", false: ", not drained"}[s.world.Drained(f.Name)]
		}
		s.say("flow "+f.Name, "", state)
		if !f.From.Feed && f.Window == nil { // of those the number of updates is not known
			s.counters(&f)
		}
	}
}

// counters asks for the counts of a flow. Which of several counters a row of a keyed table falls under depends on the batch it
// came in; their sum does not.
func (s *script) counters(f *model.Flow) {
	counts := s.world.Counts(f.Name)
	line := "counters " + f.Name
	var want []string
	ask := func(as, name string) {
		line += " " + as
		want = append(want, fmt.Sprintf("%s %d", strings.ReplaceAll(as, ".", " "), counts[name]))
	}
	for _, name := range []string{"records", "null", "bad", "dropped"} {
		ask(name, name)
	}
	t := s.Pipeline.Table(f.Target)
	if t != nil && t.Keys != nil {
		ask("written+superseded+late+redelivered", "keyed")
	} else {
		ask("written", "written")
	}
	if t != nil {
		for _, e := range t.Expectations {
			for _, name := range []string{"passed ", "failed ", "errors "} {
				ask(strings.ReplaceAll(name, " ", ".")+e.Name, name+e.Name)
			}
		}
	}
	s.say(line, "", strings.Join(want, "\n"))
}

func answer(head string, lines []string) string {
	return strings.Join(append([]string{head}, lines...), "\n")
}

// documents are messages as a producer writes them, one a line.
func documents(messages []model.Message) string {
	var lines []string
	for _, m := range messages {
		switch {
		case m.Null:
			lines = append(lines, "null")
		case m.Broken:
			lines = append(lines, `{"k":`)
		default:
			var fields []string
			for i, name := range model.Record {
				value, _ := json.Marshal(m.Row[i])
				fields = append(fields, fmt.Sprintf("%q:%s", name, value))
			}
			lines = append(lines, "{"+strings.Join(fields, ",")+"}")
		}
	}
	return strings.Join(lines, "\n")
}

// File is the case as a scenario file, with the answers of the model.
func (c *Case) File() string {
	var out strings.Builder
	fmt.Fprintf(&out, "# Found by internal/proof, seed %d.\n", c.Seed)
	if len(c.Variant) > 0 {
		out.WriteString("only")
		for _, axis := range slices.Sorted(maps.Keys(c.Variant)) {
			fmt.Fprintf(&out, " %s=%s", axis, c.Variant[axis])
		}
		out.WriteString("\nit was found there\n----\n")
	}
	for _, s := range c.script("") {
		fmt.Fprintf(&out, "\n%s\n", s.line)
		for _, text := range []string{s.input, "----", s.want} {
			if text != "" {
				out.WriteString(text + "\n")
			}
		}
	}
	return out.String()
}
