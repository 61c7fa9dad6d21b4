package flow

import (
	"fmt"
	"slices"
	"sort"
	"strings"
	"sync"
	"time"

	"sluice/batch"
	"sluice/eval"
	"sluice/eventlog"
	"sluice/fault"
	"sluice/format"
	"sluice/plan"
	"sluice/source"
)

// Outside is an opened source of an update, with what its reader says of columns that no record had; that is nil when nobody is to be told.
type Outside struct {
	source.Source
	Unseen func() []format.Unseen
}

// outside is a source of an update: its records from its start to where it ended when the update began (RW-O4). A scan of it opens it, so
// that a query may read it more than once.
type outside struct {
	plan        *plan.Source
	from, until batch.Position
	gaps        []source.Gap

	mu      sync.Mutex // scans of it are opened by several threads
	scanned bool

	// Of its first scan, which is the one that tells.
	outcome eventlog.Outcome
	errors  []eventlog.ColumnErrors
	bad     batch.Bad // a sample; without an error when there is none
	unseen  *fault.Error
}

// begin finds out where the sources start and end. Calls that say the same read the same records.
func (w *updating) begin() error {
	ends := map[string]*outside{}
	for i := range w.Window.Sources {
		s := &outside{plan: &w.Window.Sources[i]}
		w.sources = append(w.sources, s)
		if same := ends[identity(s.plan)]; same != nil {
			s.from, s.until, s.gaps = same.from, same.until, same.gaps
			continue
		}
		ends[identity(s.plan)] = s
		if err := w.bound(s); err != nil {
			return err
		}
	}
	for _, s := range w.sources {
		if err := w.narrow(s); err != nil {
			return err
		}
	}
	return nil
}

// narrow leaves out the records in front of the first one that is young enough for the window (RW-18).
func (w *updating) narrow(s *outside) error {
	since, ok := w.since(s)
	if !ok {
		return nil
	}
	in, err := w.Open(&s.plan.Input)
	if err != nil {
		return err
	}
	defer in.Close()
	if topic, ok := in.Source.(source.Trimming); ok {
		s.from, err = topic.Since(w.ctx, s.from, s.until, since)
	}
	return err
}

// since is a time before which no record makes a row of the window; ok is false when there is none. The longer the time, the more it may reach
// into the window, so that its end can be sought.
func (w *updating) since(s *outside) (at time.Time, ok bool) {
	if s.plan.Kind != plan.FromKafka || w.Window.Query.Window.Sources[s.plan.Read] == nil {
		return at, false
	}
	const latest = 1 << 43 // milliseconds, in the year 2248
	relation := w.relation(s.plan.Read)
	first := sort.Search(latest, func(ms int) bool {
		return w.reaches(s.plan.Read, s.lost(source.Gap{Time: time.UnixMilli(int64(ms))}, relation))
	})
	return time.UnixMilli(int64(first - 1)), first > 1
}

// identity is all that is said of a source.
func identity(s *plan.Source) string {
	var b strings.Builder
	fmt.Fprint(&b, s.Kind)
	for _, g := range s.Options.All() {
		fmt.Fprintf(&b, "\x00%s=%s", g.Name, g.Value)
	}
	return b.String()
}

func (w *updating) bound(s *outside) (err error) {
	in, err := w.Open(&s.plan.Input)
	if err != nil {
		return err
	}
	defer in.Close()
	if s.from, err = in.Start(w.ctx); err != nil {
		return err
	}
	if s.until, err = in.End(w.ctx); err != nil {
		return err
	}
	if topic, ok := in.Source.(source.Trimming); ok {
		s.gaps, err = topic.Trimmed(w.ctx, s.from)
	}
	return err
}

// information is what the event log has of the source.
func (s *outside) information() eventlog.SourceInformation {
	out := eventlog.SourceInformation{Name: s.plan.Name}
	for _, end := range s.until {
		start, _ := s.from.Find(end.Split)
		if s.plan.Kind == plan.FromFiles {
			out.Files++
			out.Bytes += end.Next.At
			continue
		}
		out.Partitions = append(out.Partitions, eventlog.OffsetsOfSource{Partition: end.Split, Topic: end.ID, Start: start.Next.At, End: end.Next.At})
	}
	return out
}

// scan opens the source for one pass over its records.
func (w *updating) scan(s *outside) (eval.Scan, error) {
	s.mu.Lock()
	first := !s.scanned
	s.scanned = true
	s.mu.Unlock()
	in, err := w.Open(&s.plan.Input)
	if err != nil {
		return nil, err
	}
	p := &passing{updating: w, of: s, in: in, at: s.from, tells: first, parts: []batch.Position{s.until}}
	if s.plan.Kind == plan.FromKafka { // one partition after the other, so that the order of the rows does not depend on when they came (D-22)
		p.parts = nil
		for i := range s.until {
			p.parts = append(p.parts, s.until[i:i+1])
		}
	}
	return p, nil
}

// passing is a pass over a source. It is an eval.Scan.
type passing struct {
	*updating
	of    *outside
	in    *Outside
	at    batch.Position
	parts []batch.Position // ends that are still to be reached, one after the other
	tells bool
}

// Next returns the next rows, none at the end.
func (p *passing) Next(int) (batch.Columns, error) {
	for len(p.parts) > 0 {
		limit := p.Limit
		limit.Until = p.parts[0]
		rows, covered, bad, err := p.in.Read(p.ctx, p.at, limit)
		if err != nil {
			return batch.Columns{}, moved(err)
		}
		if len(covered.Splits) == 0 {
			p.parts = p.parts[1:]
			continue
		}
		p.at = p.at.With(covered)
		if len(bad) > 0 && p.of.plan.Mode == batch.FailFast {
			_, first := firstBad(bad)
			return batch.Columns{}, located(first)
		}
		if p.tells {
			p.of.count(&covered, bad)
		}
		if rows.Len > 0 {
			return rows, nil
		}
	}
	if p.tells && p.in.Unseen != nil {
		p.of.unseen = lacking(p.of.outcome.Read, p.of.plan.Name, p.in.Unseen())
		p.in.Unseen = nil
	}
	return batch.Columns{}, nil
}

// Close ends the pass.
func (p *passing) Close() error { return p.in.Close() }

// moved is the error of a read whose source became another one under it. The next update reads what is there then.
func moved(err error) error {
	if e := fault.From(err); slices.Contains([]*fault.Code{fault.FileChanged, fault.FileGone, fault.TopicRecreated, fault.UnknownTopic, fault.DataLoss}, e.Code) {
		return fault.New(fault.SourceMoved, "what the update reads changed while it was read").Because(e)
	}
	return err
}

// count notes what was read.
func (s *outside) count(covered *batch.Range, bad []batch.Bad) {
	s.outcome.Read += covered.Records()
	for i := range covered.Splits {
		s.outcome.Null += covered.Splits[i].Nulls
		s.outcome.Lost += covered.Splits[i].Lost
	}
	if len(bad) > 0 && s.outcome.Bad == 0 {
		_, s.bad = firstBad(bad)
	}
	s.outcome.Bad += int64(len(bad))
	for _, column := range covered.Errors.Column {
		s.errors = eventlog.AddColumnErrors(s.errors, []eventlog.ColumnErrors{{Column: column, Values: 1}})
	}
}

// report tells what a committed update could not use of its sources.
func (w *updating) report() {
	for _, s := range w.sources {
		if s.bad.Err != nil {
			w.Emit(&eventlog.RecordRefused{Flow: w.Plan.Name, Split: s.bad.Split, At: s.bad.At, Kept: s.bad.Kept, Err: s.bad.Err, More: s.outcome.Bad - 1})
		}
		if s.unseen != nil {
			w.Emit(&eventlog.FlowWarning{Flow: w.Plan.Name, Err: s.unseen})
		}
	}
}
