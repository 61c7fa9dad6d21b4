package state

import (
	"context"
	"flag"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"sluice/batch"
	memory "sluice/internal/disk"
)

var crashAt = flag.Int("crash", 0, "of TestCrashAtEveryWrite: this write alone")

// TestCrashAtEveryWrite lets the power fail before the k-th write to the disk, for every k, in the life of a store: batches of
// table flows, planned and delivered batches of a sink flow, a once flow that finishes, groups that spill, checkpoint resets, full
// refreshes, tails that become files, records that go into quarantine, are edited, replayed or forgotten, and leave it, a change feed that is trimmed or written ahead of its commit, a schema that grows, a new reader's copy. Of what was written and not synced nothing,
// a random half, or everything reaches the disk.
//
// What is found then must be exactly what the store was after one of the steps: not before the last one that had been acknowledged as
// durable, and not after the one at work (acknowledged is contained in recovered, recovered in attempted). All of it is compared at once,
// so rows, floors, digests, positions, counts, plans, completions and feeds are always of the same batch (A-94, PT-07). And the store goes
// on from there to the same end.
func TestCrashAtEveryWrite(t *testing.T) {
	want := wholeLife(t, steps)
	for _, c := range []struct {
		name     string
		survives int
		floors   int64
		synced   bool
		stride   int
	}{
		{name: "nothing survives", survives: 0, floors: 1 << 20, stride: 7},
		{name: "half survives", survives: 50, floors: 1, stride: 7},
		{name: "everything survives", survives: 100, floors: 1 << 20, stride: 7},
		{name: "every step is synced", survives: 50, floors: 1 << 20, synced: true, stride: 59},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if os.Getenv("SLUICE_SOAK") == "1" {
				c.stride = 1
			}
			crashes := 0
			for k := 1; ; k += c.stride {
				if *crashAt > 0 {
					k = *crashAt
				}
				crashed, complaint := crash(t, outage{k, c.survives, c.floors, c.synced}, steps, want)
				if complaint != "" {
					t.Fatalf("write %d: %s", k, complaint)
				}
				if !crashed || *crashAt > 0 {
					break
				}
				crashes++
			}
			t.Logf("%d crashes", crashes)
		})
	}
}

// A step that says too early that it is durable, and one that is two commits, are found.
func TestACrashIsJudged(t *testing.T) {
	early := slices.Clone(steps[:4])
	early[1].durable = true
	torn := slices.Clone(steps[:4])
	torn[2].do = func(l *life) {
		l.batch(l.ticks, l.live, 2, false)
		l.sync()
		l.batch(l.ticks, l.live, 2, false)
	}
	for name, some := range map[string][]step{"early": early, "torn": torn} {
		want, found := wholeLife(t, some), ""
		for k := 1; found == ""; k++ {
			crashed, complaint := crash(t, outage{at: k, floors: 1 << 20}, some, want)
			if found = complaint; !crashed {
				t.Errorf("%s: nobody noticed", name)
				break
			}
		}
	}
}

// wholeLife goes through all steps without a crash and returns what the store is after each of them.
func wholeLife(t *testing.T, steps []step) []string {
	l := &life{t: t, fs: vfs.NewMem(), floors: 1 << 20}
	l.open(0)
	defer func() { l.close() }()
	want := []string{l.dump()}
	for _, s := range steps {
		s.do(l)
		want = append(want, l.dump())
	}
	return want
}

// outage is when and how the power fails.
type outage struct {
	at       int   // the write before which it does
	survives int   // percent of what was not synced
	floors   int64 // budget of memory for floors
	synced   bool  // every step is synced
}

// crash goes through the steps until the power fails, and judges what is found. It reports whether it did fail, and what is wrong.
func crash(t *testing.T, o outage, steps []step, want []string) (failed bool, complaint string) {
	d, p := memory.New(), &power{}
	d.FailAt(o.at, func() { p.fail(d.Crash(o.survives, uint64(o.at))) })
	l := &life{t: t, fs: d.FS(), floors: o.floors}
	l.open(0)
	l.goThrough(steps, p, o.synced)
	l.close()
	if !p.failed() {
		return false, ""
	}
	return true, recovered(t, p.after.FS(), o.floors, p, steps, want)
}

// goThrough goes through the steps until the power fails.
func (l *life) goThrough(steps []step, p *power, synced bool) {
	for i, s := range steps {
		p.begin(i)
		s.do(l)
		if synced {
			l.sync()
		}
		if s.durable || synced {
			p.acknowledge(i + 1)
		}
		if p.failed() {
			break
		}
	}
}

// recovered judges what a new start finds: it says what is wrong with it, or nothing.
func recovered(t *testing.T, fs vfs.FS, floors int64, p *power, steps []step, want []string) (complaint string) {
	l := &life{t: t, fs: fs, floors: floors}
	definition := 0
	for _, s := range steps[:p.atWork+1] {
		if s.defines {
			definition++
		}
	}
	l.open(definition)
	defer func() { l.close() }()
	ok(t, l.s.Check())
	found, at := l.dump(), -1
	for i := p.acknowledged; i <= p.atWork+1; i++ {
		if want[i] == found {
			at = i
		}
	}
	if at < 0 {
		return fmt.Sprintf("in step %d (%s), %d steps acknowledged: found\n%swhich is %s; after the last acknowledged step it was\n%s", p.atWork+1,
			steps[p.atWork].name, p.acknowledged, found, when(found, want), want[p.acknowledged])
	}
	for _, s := range steps[at:] {
		s.do(l)
	}
	if end := l.dump(); end != want[len(steps)] {
		return fmt.Sprintf("from what step %d left, the store comes to\n%swithout a crash to\n%s", at, end, want[len(steps)])
	}
	return ""
}

func when(found string, want []string) string {
	if i := slices.Index(want, found); i >= 0 {
		return fmt.Sprintf("what it was after step %d", i)
	}
	return "what it never was"
}

// power knows how far the steps had come when it failed.
type power struct {
	mu                   sync.Mutex
	after                *memory.Disk // what is found; nil while there is power
	acknowledged, atWork int          // steps
}

func (p *power) fail(after *memory.Disk) { p.now(func() { p.after = after }) }
func (p *power) begin(step int)          { p.now(func() { p.atWork = step }) }
func (p *power) acknowledge(step int)    { p.now(func() { p.acknowledged = step }) }

// now notes something that was so before the power failed.
func (p *power) now(note func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.after == nil {
		note()
	}
}

func (p *power) failed() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.after != nil
}

// life is a store with its tables and flows.
type life struct {
	t      *testing.T
	fs     vfs.FS
	floors int64
	fatal  func(error) // called when the store cannot go on; nil fails the test

	definition                     int // which of the pipeline's definitions it is
	s                              *Store
	ticks, events                  *Table
	live, history, load, pub, late *Flow
}

// step is one commit, or what an open store does by itself.
type step struct {
	name    string
	do      func(*life)
	durable bool // when it returns, it and all before it outlive a crash
	defines bool // the pipeline is another one from here on: the store must be opened for it
}

var steps = slices.Concat(
	[]step{
		{name: "batch", do: func(l *life) { l.batch(l.ticks, l.live, 5, false) }},
		{name: "append", do: func(l *life) { l.batch(l.events, l.load, 3, false) }},
		{name: "the tail becomes files", do: (*life).seal},
		{name: "a tie, a late row, a replaced key", do: func(l *life) { l.batch(l.ticks, l.live, 4, false) }},
		{name: "plan", do: (*life).plan, durable: true},
		{name: "deliver", do: (*life).deliver, durable: true},
		{name: "all rows dropped", do: func(l *life) { l.skip(l.live, 2) }},
		{name: "end of the backfill", do: (*life).end},
		{name: "half of the backfill", do: func(l *life) { l.batch(l.ticks, l.history, 4, false) }},
		{name: "rest of the backfill", do: func(l *life) { l.batch(l.ticks, l.history, 4, true) }},
		{name: "sync", do: (*life).sync, durable: true},
		{name: "an edit", do: func(l *life) {
			l.mended(l.load.Edit(Chosen{At: &batch.Offset{At: 1}}, nil, []byte("mended")))
		}, durable: true},
		{name: "an order", do: func(l *life) { l.mended(l.load.OrderReplay(Chosen{})) }, durable: true},
		{name: "a replay", do: (*life).replay},
		{name: "the tail becomes files", do: (*life).seal},
		{name: "records forgotten", do: func(l *life) { l.mended(l.live.Forget(Chosen{})) }, durable: true},
		{name: "plan", do: (*life).plan, durable: true},
		{name: "checkpoint reset of one who has a plan", do: func(l *life) { ok(l.t, l.s.Reset(nil, []string{"pub"})); l.define(0) }, durable: true},
		{name: "plan", do: (*life).plan, durable: true},
		{name: "deliver", do: (*life).deliver, durable: true},
		{name: "checkpoint reset", do: func(l *life) { ok(l.t, l.s.Reset(nil, []string{"live"})); l.define(0) }, durable: true},
		{name: "read again", do: func(l *life) { l.batch(l.ticks, l.live, 14, false) }},
		{name: "event", do: func(l *life) { ok(l.t, l.s.AppendEvent(func(uint64) []byte { return []byte("event") })) }},
		{name: "definition", do: func(l *life) {
			ok(l.t, l.s.PutDefinitions(map[string][]byte{"flow live": []byte("SELECT 2"), "flow load": []byte("SELECT 3"), "sink gone": nil}))
		}},
		{name: "fingerprint", do: func(l *life) { ok(l.t, l.live.SetFingerprint("2")) }},
		{name: "full refresh", do: func(l *life) {
			ok(l.t, l.s.Reset([]string{ticks.Name}, []string{"live", "history", "pub"}))
			l.define(0)
		}, durable: true},
		{name: "end of the backfill", do: (*life).end},
		{name: "backfill", do: func(l *life) { l.batch(l.ticks, l.history, 8, true) }},
		{name: "large values", do: func(l *life) { l.batch(l.ticks, l.live, 30, false) }},
	},
	trimmed(),
	[]step{
		{name: "sync", do: (*life).sync, durable: true},
		{name: "columns more, and a reader", do: func(l *life) { l.define(1) }, durable: true, defines: true},
		{name: "batch", do: func(l *life) { l.batch(l.ticks, l.live, 7, false) }},
		{name: "plan", do: (*life).plan, durable: true},
		{name: "columns wider, in a STRUCT too", do: func(l *life) { l.define(2) }, durable: true, defines: true},
		{name: "deliver", do: (*life).deliver, durable: true},
		{name: "batch", do: func(l *life) { l.batch(l.ticks, l.live, 7, false) }},
		{name: "a column leaves", do: func(l *life) { l.define(3) }, durable: true, defines: true},
		{name: "batch", do: func(l *life) { l.batch(l.ticks, l.live, 7, false) }},
		{name: "append", do: func(l *life) { l.batch(l.events, l.load, 3, false) }},
		{name: "the tail becomes files", do: (*life).seal},
		{name: "plan", do: (*life).plan, durable: true},
		{name: "deliver", do: (*life).deliver, durable: true},
		{name: "close and open", do: func(l *life) { l.close(); l.open(l.definition) }, durable: true},
		{name: "full refresh of all", do: func(l *life) {
			ok(l.t, l.s.Reset([]string{ticks.Name, events.Name}, []string{"live", "history", "load", "pub", "late"}))
			l.define(3)
		}, durable: true},
		{name: "batch", do: func(l *life) { l.batch(l.ticks, l.live, 9, false) }},
		{name: "sync", do: (*life).sync, durable: true},
	})

// trimmed are so many batches and deliveries that the change feed is trimmed.
func trimmed() (out []step) {
	for i := range trimCommits + 20 {
		out = append(out, step{name: "batch", do: func(l *life) { l.batch(l.ticks, l.live, 1, false) }})
		if i%90 == 89 {
			out = append(out, step{name: "plan", do: (*life).plan, durable: true}, step{name: "deliver", do: (*life).deliver, durable: true})
		}
	}
	return out
}

// later are the columns that the later definitions of ticks add to those of the first.
var later = [][]batch.Field{
	nil,
	{{Name: "x", Type: batch.Of(batch.Int)}, {Name: "s", Type: batch.StructOf(batch.Field{Name: "n", Type: batch.Of(batch.SmallInt)})}},
	{{Name: "x", Type: batch.Of(batch.BigInt)}, {Name: "s", Type: batch.StructOf(batch.Field{Name: "n", Type: batch.Of(batch.Int)}, batch.Field{Name: "m", Type: batch.Of(batch.String)})}},
	{{Name: "x", Type: batch.Of(batch.BigInt)}},
}

// open opens the store for the pipeline as one of its definitions has it.
func (l *life) open(definition int) {
	fatal := l.fatal
	if fatal == nil {
		fatal = func(err error) { l.t.Errorf("store failed: %v", err) }
	}
	var err error
	l.s, err = Open(Options{Dir: "db", FS: l.fs, Sealer: plainSealer{l.fs}, FileSize: 100, Pipeline: "p", MemTableSize: 256 << 10, FloorBudget: l.floors, FeedAhead: l.floors, OnFault: fatal})
	ok(l.t, err)
	l.define(definition)
}

func (l *life) close() { ok(l.t, l.s.Close()) }

// define is what a daemon does when it starts: tables, flows, readers, and where flows begin. Done again it changes nothing.
func (l *life) define(definition int) {
	l.definition = definition
	more := definition > 0
	spec := ticks
	spec.Feed = true
	spec.Fields = slices.Concat(spec.Fields, later[definition])
	var err error
	l.ticks, err = l.s.Table(spec)
	ok(l.t, err)
	l.events, err = l.s.Table(events)
	ok(l.t, err)
	for _, t := range []*Table{l.ticks, l.events} {
		ok(l.t, t.KeepDigest(context.Background(), true))
	}
	for name, f := range map[string]**Flow{"live": &l.live, "history": &l.history, "load": &l.load, "pub": &l.pub, "late": &l.late} {
		*f, err = l.s.Flow(name)
		ok(l.t, err)
		ok(l.t, (*f).SetQuarantine("quarantine"))
	}
	l.subscribe(l.pub)
	if more {
		l.subscribe(l.late)
	}
	if more {
		ok(l.t, l.s.Sync(context.Background()))
	}
}

func (l *life) subscribe(f *Flow) {
	ok(l.t, l.ticks.Subscribe(context.Background(), f, true))
	if _, fixed := f.Start(); !fixed {
		start, err := l.ticks.Start(f)
		ok(l.t, err)
		ok(l.t, f.SetStart(start))
	}
}

// seal does what nobody sees.
func (l *life) seal() { ok(l.t, l.s.Seal(context.Background())) }

func (l *life) sync() { ok(l.t, l.s.Sync(context.Background())) }

// source is a topic: the row at an offset is always the same.
func source(offset int64) row {
	v := fmt.Sprint("v", offset)
	if offset%11 == 10 {
		v = strings.Repeat("long", 1000)
	}
	return row{k: []string{"", "a", "b", "hot"}[offset%4], seq: []int64{1, 1, 2, 5, 0, 3, 5}[offset%7], v: v, at: offset}
}

// batch lets a flow write its next n records.
func (l *life) batch(table *Table, f *Flow, n int, complete bool) {
	at := int64(0)
	if m, standing := f.Position().Find("src"); standing {
		at = m.Next.At
	}
	var rows []row
	for i := range int64(n) {
		rows = append(rows, source(at+i))
	}
	cols := columnsOf(rows)
	for i, f := range table.Fields()[len(cols.Fields):] {
		b := batch.NewBuilder(f.Type, n)
		for row := range n {
			if i < len(later[l.definition]) {
				fill(b, row)
			} else {
				b.AppendNull() // it left
			}
		}
		cols.Fields, cols.Cols = append(slices.Clone(cols.Fields), f), append(cols.Cols, b.Column())
	}
	w, err := table.Begin(context.Background())
	ok(l.t, err)
	defer w.Abort()
	a := Advance{Range: spanOf(f, at+int64(n)), Time: noon, Counters: map[string]int64{"records": int64(n)}, Complete: complete}
	a.Events = []Event{func(uint64) []byte { return fmt.Append(nil, f.Name(), " ", at+int64(n)) }}
	a.Quarantine = l.quarantine(f, &a.Range)
	if table == l.events {
		ok(l.t, w.Append(&cols))
	} else {
		x := &rule{}
		ok(l.t, x.apply(w, f, &a.Range, &cols))
		a.Counters["written"], a.Counters["late"], a.Counters["redelivered"] = x.decision.Counts.Written, x.decision.Counts.Late, x.decision.Counts.Redelivered
	}
	maps.DeleteFunc(a.Counters, func(_ string, n int64) bool { return n == 0 }) // as flow does
	_, err = w.Commit(f, a)
	ok(l.t, err)
}

// quarantine refuses a record in four in every other generation; in the others what is in quarantine leaves it.
func (l *life) quarantine(f *Flow, r *batch.Range) (q Quarantine) {
	held, err := f.QuarantinedIn(r)
	ok(l.t, err)
	if f.Generation()%2 == 1 {
		q.Drop = held
		return q
	}
	s := r.Splits[0]
	for at := s.From.At; at < s.To.At; at++ {
		if at%4 == 1 {
			q.Put = append(q.Put, Quarantined{Split: s.Split, ID: s.ID, At: batch.Offset{At: at}, Time: at, Value: []byte(fmt.Sprint("value ", at)),
				Headers: []batch.Header{{Key: "h"}}, Code: "BAD", Message: "bad"})
		}
	}
	return q
}

// fill appends a value made of a number.
func fill(b *batch.Builder, n int) {
	switch b.Type.Kind {
	case batch.String:
		b.AppendString(fmt.Sprint(n))
	case batch.Struct:
		for f := range b.Type.Fields {
			fill(b.Child(f), n)
		}
		b.AppendNested()
	default:
		b.AppendInt(int64(n))
	}
}

// mended takes the answer to an order about the quarantine, of which some records must be meant.
func (l *life) mended(n int, err error) {
	ok(l.t, err)
	if n == 0 {
		l.t.Fatal("nothing is in quarantine")
	}
}

// replay makes a row of each record that is to be replayed.
func (l *life) replay() {
	some, _, err := l.load.Ordered(nil, 0, 1<<20)
	ok(l.t, err)
	var rows []row
	a := Advance{Time: noon, Counters: map[string]int64{"replayed": int64(len(some))}}
	for _, q := range some {
		rows = append(rows, source(q.At.At))
		a.Quarantine.Drop = append(a.Quarantine.Drop, Place{q.Split, q.ID, q.At})
	}
	w, err := l.events.Begin(context.Background())
	ok(l.t, err)
	defer w.Abort()
	cols := columnsOf(rows)
	ok(l.t, w.Append(&cols))
	_, err = w.Commit(l.load, a)
	ok(l.t, err)
}

func (l *life) skip(f *Flow, n int64) {
	m, _ := f.Position().Find("src")
	a := Advance{Range: spanOf(f, m.Next.At+n), Time: noon, Counters: map[string]int64{"dropped": n}}
	a.Quarantine = l.quarantine(f, &a.Range)
	ok(l.t, f.Skip(a))
}

func (l *life) end() {
	ok(l.t, l.history.SetEnd(batch.Position{{Split: "src", Next: batch.Offset{At: 8}}}, noon))
}

// plan gives the next batch of changes its number.
func (l *life) plan() {
	c, rng, err := l.ticks.ReadChanges(l.pub, l.pub.Position(), batch.Limit{}, nil)
	ok(l.t, err)
	a := Advance{Range: rng, Time: noon, Counters: map[string]int64{"written": int64(c.Rows.Len)}, Quarantine: l.quarantine(l.pub, &rng)}
	ok(l.t, l.pub.Plan(context.Background(), &PlannedBatch{Advance: a,
		Rows: c.Rows, Change: c.Change, Keys: c.Keys, Sequence: c.Sequence}))
}

func (l *life) deliver() {
	ok(l.t, l.pub.CommitPlanned(context.Background(), map[string]int64{"delivered": 1}))
}

// dump is everything a user could see.
func (l *life) dump() string {
	var out strings.Builder
	for _, t := range []*Table{l.ticks, l.events} {
		i := t.Info()
		fmt.Fprintf(&out, "%s: generation %d, %d rows, %d keys, %d columns, digest %v\n", t.Name(), i.Generation, i.Rows, i.KeyCount, len(t.Fields()), i.Digest)
		for _, line := range contents(l.t, l.s, t.Name()) {
			fmt.Fprintf(&out, "  %s\n", strings.ReplaceAll(line, strings.Repeat("long", 1000), "long"))
		}
	}
	for _, line := range inQuarantine(l.t, l.s, "edited_value", "status") {
		fmt.Fprintf(&out, "quarantine %s\n", line)
	}
	flows, err := l.s.Flows()
	ok(l.t, err)
	for _, i := range flows {
		fmt.Fprintf(&out, "%s: generation %d, next %d, at %v from %v to %v, completed %v, planned %v, query %q, %v\n", i.Name, i.Generation, i.NextBatch,
			i.Position, i.Start, i.End, i.Completed, i.Planned, i.Fingerprint, i.Counters)
		fmt.Fprintf(&out, "  %v in quarantine\n", i.Quarantined)
		f, err := l.s.Flow(i.Name)
		ok(l.t, err)
		if b, err := f.Planned(); err == nil && b != nil {
			fmt.Fprintf(&out, "  plan %d of %v: %s\n", b.Number, b.Range, changes(b.Rows, b.Change))
		} else {
			ok(l.t, err)
		}
		if f == l.pub || f == l.late && len(i.Start) > 0 {
			c, _, err := l.ticks.ReadChanges(f, f.Position(), batch.Limit{}, []string{"k", "seq"})
			ok(l.t, err)
			fmt.Fprintf(&out, "  to read: %s\n", changes(c.Rows, c.Change))
		}
	}
	stored, err := l.s.Events(0, 1000)
	ok(l.t, err)
	for _, e := range stored {
		fmt.Fprintf(&out, "event %d %s\n", e.Sequence, e.Bytes)
	}
	definition, err := l.s.Definition("flow live")
	ok(l.t, err)
	fmt.Fprintf(&out, "definition %s\n", definition)
	return out.String()
}

func changes(rows batch.Columns, change []batch.Change) string {
	var parts []string
	for i, line := range text(rows) {
		parts = append(parts, change[i].String()[:1]+" "+strings.ReplaceAll(line, strings.Repeat("long", 1000), "long"))
	}
	return strings.Join(parts, "; ")
}
