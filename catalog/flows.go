package catalog

import (
	"slices"
	"strings"

	"sluice/batch"
	"sluice/fault"
	"sluice/syntax"
)

// checkFlow holds the rules that concern one flow.
func (b *builder) checkFlow(f *Flow) {
	switch f.Body.Kind {
	case syntax.AutoCDC:
		b.report(fault.NoAutoCDC, f.Body.Pos, "the flow %s is an AUTO CDC flow", f.Name).WithHint("use REPLACE USING where a key's rows always arrive whole")
		f.Unsound = true
	case syntax.ReplaceWhere:
		b.replaceWhere(f)
	case syntax.ReplaceUsing:
		b.replaceUsing(f)
	}
	if f.Sink != nil {
		b.intoSink(f)
	}
	if f.Body.Query == nil || f.Body.Kind == syntax.ReplaceWhere {
		return
	}
	for _, r := range f.Reads {
		if g, ok := r.Options.Given(optAllowShort); ok {
			b.report(fault.InvalidOption, g.Pos, "%s is about the windows of REPLACE WHERE flows, and %s is a flow of another kind", optAllowShort, f.Name)
		}
	}
	b.input(f)
	if f.Input != nil {
		b.deadLetters(f)
	}
	if f.Input != nil && f.Input.Table != nil {
		b.readsTable(f, f.Input)
	}
}

// replaceWhere holds RW-07, RW-15 and SQ-10. The flow is a batch flow: no read of it is its input, all are tables as of
// one moment, and sources up to where they end then.
func (b *builder) replaceWhere(f *Flow) {
	if f.Body.Once {
		b.report(fault.ReplaceOnce, f.Body.OncePos, "the flow %s has both ONCE and REPLACE WHERE", f.Name).
			WithHint("leave ONCE out: the flow computes its window in every update")
	}
	if f.Table != nil && len(f.Table.Decl.Expectations) > 0 {
		b.report(fault.ReplaceWhereChecks, f.Table.Decl.Expectations[0].Pos, "the table %s has expectations and a REPLACE WHERE flow", f.Table.Display).
			WithHint("put the condition into the query's WHERE, or the expectation on a table that the query reads")
	}
	for _, r := range f.Reads {
		switch {
		case r.Stream:
			b.report(fault.ReplaceWhereStream, r.Ref.Position(), "the REPLACE WHERE flow %s reads a stream", f.Name).
				WithHint("leave STREAM out: the flow reads all of its tables in every update")
			f.Unsound = true
		case r.Function != nil && r.Mode == batch.Quarantine:
			b.noQuarantine(f, r)
		}
	}
}

// noQuarantine refuses to keep what each update would find bad again: it has no place of its own, and is counted anew each time.
func (b *builder) noQuarantine(f *Flow, r *Read) {
	at := r.Ref.Position()
	if g, ok := r.Options.Given(argMode); ok {
		at = g.Pos
	}
	b.report(fault.NoBatchQuarantine, at, "the REPLACE WHERE flow %s reads %s with mode => 'QUARANTINE'", f.Name, r.Title()).
		WithHint("load it into a table with a flow of its own, which keeps bad records, and read that table; or use 'DROPMALFORMED' or 'PERMISSIVE'")
}

// replaceUsing holds RU-10, RU-11 and RU-17. Flows without keys, sequence or BY NAME (RU-10, RU-16) are not grammatical.
func (b *builder) replaceUsing(f *Flow) {
	body := f.Body
	if body.Once && !b.Spec.HasFeature(FeatureManyFlows) {
		b.report(fault.ReplaceOnce, body.OncePos, "the flow %s has both ONCE and REPLACE USING", f.Name).
			WithHint("drain into an append table first, or allow it with features: [%s]", FeatureManyFlows)
	}
	seen := map[string]bool{}
	for _, k := range body.Keys {
		if seen[key(k.Text)] {
			b.report(fault.ReplaceDuplicateKey, k.Pos, "the flow %s has the key column %s twice", f.Name, k.Text)
		}
		seen[key(k.Text)] = true
	}
	if n := len(body.Sequence); n > 1 {
		b.report(fault.ReplaceMissingSequence, body.Sequence[1].Position(), "the flow %s has %d sequences", f.Name, n).
			WithHint("put them in parentheses to compare them one after the other: SEQUENCE BY (a, b)")
		f.Unsound = true
	}
}

// intoSink holds DO-15, ON-09 and FB-02.
func (b *builder) intoSink(f *Flow) {
	if f.Body.Kind != syntax.Insert {
		b.report(fault.SinkNeedsInsert, f.Body.Pos, "the %s flow %s writes into the sink %s", f.Body.Kind, f.Name, f.Sink.Name).
			WithHint("write it into a table, and that table's change feed into the sink")
	}
	if f.Body.Once {
		b.report(fault.SinkCannotBeOnce, f.Body.OncePos, "the flow %s into the sink %s is a once flow", f.Name, f.Sink.Name).
			WithHint("drain into a table once, and read that table with STREAM")
	}
}

// input finds the read whose rows the flow is about: the one stream, or what a once flow drains (ON-03, RU-13, FB-02).
// Tables beside it are looked up as of the batch's start.
func (b *builder) input(f *Flow) {
	var streams, sources []*Read
	for _, r := range f.Reads {
		switch {
		case r.Stream:
			streams = append(streams, r)
		case r.Function != nil:
			sources = append(sources, r)
		}
	}
	known := !f.Unsound
	switch {
	case f.Body.Once && len(streams) > 0:
		b.report(fault.StreamIntoOnce, streams[0].Ref.Position(), "the once flow %s reads a stream", f.Name).WithHint("leave STREAM out: a once flow reads to an end")
	case f.Body.Once:
		f.Input = b.onceInput(f, sources)
	case len(streams) == 0 && known:
		b.noStream(f)
	case len(streams) > 1:
		b.report(fault.NoSecondSource, streams[1].Ref.Position(), "the flow %s reads %d streams", f.Name, len(streams)).
			WithHint("write one flow per stream into one table; a table that changes slowly can be joined without STREAM")
	case len(streams) == 1:
		f.Input = streams[0]
		if len(sources) > 0 {
			b.besides(f, sources[0])
		}
	}
	f.Unsound = f.Unsound || f.Input == nil
}

func (b *builder) noStream(f *Flow) {
	at := f.Body.Query.Pos
	const hint = "read the source with STREAM(table) or STREAM read_kafka(...)"
	switch {
	case f.Body.Kind == syntax.ReplaceUsing:
		b.report(fault.ReplaceNeedsStream, at, "the REPLACE USING flow %s reads no stream", f.Name).WithHint(hint)
	case f.Sink != nil:
		b.report(fault.BatchIntoSink, at, "the flow %s into the sink %s reads no stream", f.Name, f.Sink.Name).WithHint(hint)
	default:
		b.report(fault.BatchIntoStream, at, "the flow %s reads no stream", f.Name).WithHint(hint + ", or make it a once flow with INSERT ONCE")
	}
}

// onceInput picks what a once flow drains: its source, else the first table of its query.
func (b *builder) onceInput(f *Flow, sources []*Read) *Read {
	switch {
	case len(sources) > 1:
		b.besides(f, sources[1])
		return nil
	case len(sources) == 1:
		return sources[0]
	case len(f.Reads) == 0:
		b.report(fault.NoQueryWithoutInput, f.Body.Query.Pos, "the once flow %s reads nothing", f.Name).WithHint("read a file with read_files, a topic with read_kafka, or a table")
		return nil
	}
	return f.Reads[0]
}

func (b *builder) besides(f *Flow, r *Read) {
	b.report(fault.NoSecondSource, r.Ref.Position(), "the flow %s reads a second source outside the pipeline", f.Name).
		WithHint("load it into a table with a flow of its own, and join that table")
}

// readsTable holds D-21, D-34 and DM-08 for a table whose rows a flow takes.
func (b *builder) readsTable(f *Flow, r *Read) {
	t := r.Table
	if t.Replaced() {
		b.readsReplaced(f, r)
		return
	}
	switch {
	case !t.Keyed():
	case !r.Stream:
		b.report(fault.NoOnceFromKeyed, r.Ref.Position(), "the once flow %s takes its rows from %s, a REPLACE USING table", f.Name, t.Display).
			WithHint("read its changes with STREAM(%s) WITH (readChangeFeed = true); they start with the rows that are there", t.Display)
	case r.Options.Bool(optSkipChangeCommits) && !r.Feed:
		g, _ := r.Options.Given(optSkipChangeCommits)
		b.report(fault.NoSkipChangeCommits, g.Pos, "%s is a REPLACE USING table, which changes with every batch", t.Display).WithHint("use readChangeFeed = true")
	case !r.Feed:
		b.report(fault.StreamNotAppendOnly, r.Ref.Position(), "the flow %s streams %s, a REPLACE USING table whose rows are replaced", f.Name, t.Display).
			WithHint("write STREAM(%s) WITH (readChangeFeed = true)", t.Display)
	case f.Body.Kind == syntax.ReplaceUsing && !slices.Equal(f.Keys(), t.Keys()):
		b.report(fault.FeedNotKeyComplete, r.Ref.Position(), "the flow %s replaces by (%s), but the changes of %s are whole sets of (%s)",
			f.Name, strings.Join(f.Keys(), ", "), t.Display, strings.Join(t.Keys(), ", ")).
			WithHint("use the same key columns, or AUTO CDC ... APPLY AS DELETE WHEN")
	}
}

// readsReplaced holds that a stream of a REPLACE WHERE table is one of its changes: rows of it go and come with every update (DM-08). They
// are no key's whole set of rows (D-21).
func (b *builder) readsReplaced(f *Flow, r *Read) {
	t := r.Table
	switch {
	case r.Stream && r.Options.Bool(optSkipChangeCommits):
		g, _ := r.Options.Given(optSkipChangeCommits)
		b.report(fault.NoSkipChangeCommits, g.Pos, "%s is a REPLACE WHERE table, which changes with every update", t.Display).WithHint("use readChangeFeed = true")
	case r.Feed && f.Body.Kind == syntax.ReplaceUsing:
		b.report(fault.FeedNotKeyComplete, r.Ref.Position(), "the flow %s replaces by (%s), and a change of %s is a row that went or came", f.Name, strings.Join(f.Keys(), ", "), t.Display).
			WithHint("use AUTO CDC ... APPLY AS DELETE WHEN, or read %s without STREAM, in a REPLACE WHERE flow", t.Display)
	case r.Feed:
	case r.Stream:
		b.report(fault.StreamNotAppendOnly, r.Ref.Position(), "the flow %s streams %s, a REPLACE WHERE table whose rows are replaced", f.Name, t.Display).
			WithHint("write STREAM(%s) WITH (readChangeFeed = true), or read the table without STREAM, beside a stream or in a REPLACE WHERE flow", t.Display)
	default:
		b.report(fault.NoOnceFromReplaced, r.Ref.Position(), "the once flow %s takes its rows from %s, a REPLACE WHERE table", f.Name, t.Display).
			WithHint("write a REPLACE WHERE flow, which reads the table in every update")
	}
}

// checkTable holds the rules between the flows of one table: RU-14, D-13, and that there is a flow at all.
func (b *builder) checkTable(t *Table) {
	if len(t.Flows) == 0 {
		b.missing(fault.New(fault.DatasetWithoutFlow, "no flow writes the table %s", t.Display).At(t.Decl.Name.Pos).
			WithHint("add a query to it, or a CREATE FLOW ... INSERT INTO %s", t.Display))
		return
	}
	if t.Replaced() {
		b.checkReplaced(t)
		return
	}
	if !t.Keyed() {
		return
	}
	if t.Retention != "forever" {
		b.report(fault.InvalidTableProperty, t.Decl.Clauses.Positions["TBLPROPERTIES"], "%s is for append tables, and %s is a REPLACE USING table", propRetention, t.Display).
			WithHint("leave it out: a key keeps its newest rows (D-16)")
	}
	if t.History != (History{}) {
		b.report(fault.InvalidTableProperty, t.historyAt, "%s is for tables that have earlier versions, and %s is a REPLACE USING table", propHistory, t.Display).
			WithHint("leave it out: a key keeps its newest rows")
	}
	first := t.Flows[0]
	for _, f := range t.Flows[1:] {
		switch both := first.Body.Kind == syntax.ReplaceUsing && f.Body.Kind == syntax.ReplaceUsing; {
		case !both:
			b.report(fault.TargetHasOtherFlow, f.Pos, "the table %s has the %s flow %s and the %s flow %s", t.Display, first.Body.Kind, first.Name, f.Body.Kind, f.Name).
				WithHint("a REPLACE USING flow shares its table with no flow of another kind; give %s a table of its own", f.Name)
		case !b.Spec.HasFeature(FeatureManyFlows):
			b.report(fault.TargetHasOtherFlow, f.Pos, "the table %s has the REPLACE USING flows %s and %s", t.Display, first.Name, f.Name).
				WithHint("allow it with features: [%s], or write one of them into another table", FeatureManyFlows)
		case !slices.Equal(first.Keys(), f.Keys()):
			b.report(fault.ReplaceKeysDiffer, f.Body.Pos, "the flows %s and %s into %s have the keys (%s) and (%s)", first.Name, f.Name, t.Display,
				strings.Join(first.Keys(), ", "), strings.Join(f.Keys(), ", ")).WithHint("all flows into one table name the same key columns (D-13)")
		}
	}
}

// checkReplaced holds RW-13, RW-14 and D-16 for a table that a REPLACE WHERE flow writes.
func (b *builder) checkReplaced(t *Table) {
	if t.Retention != "forever" {
		b.report(fault.InvalidTableProperty, t.Decl.Clauses.Positions["TBLPROPERTIES"], "%s is for append tables, and %s is a REPLACE WHERE table", propRetention, t.Display).
			WithHint("leave it out: rows outside the window stay for ever (RW-04)")
	}
	if t.Digest {
		b.report(fault.NoReplacedDigest, t.Decl.Clauses.Positions["TBLPROPERTIES"], "%s is set, and %s is a REPLACE WHERE table", propDigest, t.Display).
			WithHint("leave it out: `processor digest` computes the digest from the rows")
	}
	first := t.Flows[0]
	for _, f := range t.Flows[1:] {
		b.report(fault.TargetHasOtherFlow, f.Pos, "the table %s has the %s flow %s and the %s flow %s", t.Display, first.Body.Kind, first.Name, f.Body.Kind, f.Name).
			WithHint("a REPLACE WHERE flow shares its table with no other flow; give %s a table of its own", f.Name)
	}
}
