package flow

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"sluice/batch"
	"sluice/eval"
	"sluice/eval/dialect"
	"sluice/fault"
	"sluice/plan"
	"sluice/replacewhere"
)

// partitions is a source whose records are their offsets, of which a read gives two at most. It is over after each until, and breaks at an
// offset of a partition.
type partitions struct {
	breaks map[string]int64
	broken *fault.Code
	bad    map[string]int64
	closed int
}

func (s *partitions) Start(context.Context) (batch.Position, error) {
	return batch.Position{{Split: "t/0", Next: batch.Offset{At: 1}}}, nil
}

func (s *partitions) End(context.Context) (batch.Position, error) {
	return batch.Position{{Split: "t/0", Next: batch.Offset{At: 4}}, {Split: "t/1"}, {Split: "t/2", Next: batch.Offset{At: 3}}}, nil
}

func (s *partitions) Read(_ context.Context, from batch.Position, limit batch.Limit) (rows batch.Columns, r batch.Range, bad []batch.Bad, err error) {
	b := batch.NewBuilder(batch.Of(batch.BigInt), 0)
	for _, end := range limit.Until {
		have, _ := from.Find(end.Split)
		to := min(have.Next.At+2, end.Next.At)
		if at, breaks := s.breaks[end.Split]; breaks && have.Next.At <= at && at < to {
			return rows, r, nil, fault.New(s.broken, "it is another one")
		}
		if to == have.Next.At {
			continue
		}
		for at := have.Next.At; at < to; at++ {
			if where, is := s.bad[end.Split]; is && where == at {
				bad = append(bad, batch.Bad{Split: end.Split, At: batch.Offset{At: at}, Err: fault.New(fault.RecordTooLarge, "too large")})
				continue
			}
			batch.Append(b, at)
		}
		r.Splits = append(r.Splits, batch.SplitRange{Split: end.Split, From: have.Next, To: batch.Offset{At: to}, Records: to - have.Next.At})
	}
	return batch.Columns{Fields: []batch.Field{{Name: "at", Type: batch.Of(batch.BigInt)}}, Cols: []batch.Column{b.Column()}, Len: b.Len()}, r, bad, nil
}

func (s *partitions) Close() error { s.closed++; return nil }

// reading begins an update that reads s.
func reading(t *testing.T, s *partitions, mode batch.Mode) *updating {
	t.Helper()
	w := &updating{ctx: t.Context(), Update: &Update{
		Window: &plan.Window{Query: &dialect.Compiled{Window: &dialect.Window{Sources: []*replacewhere.Predicate{nil}}}, Sources: []plan.Source{{Input: plan.Input{Kind: plan.FromKafka, Name: "t", Mode: mode}}}},
		Open:   func(*plan.Input) (*Outside, error) { return &Outside{Source: s}, nil },
	}}
	if err := w.begin(); err != nil {
		t.Fatal(err)
	}
	return w
}

func scanned(scan eval.Scan) (out []int64, err error) {
	for {
		rows, err := scan.Next(0)
		if err != nil || rows.Len == 0 {
			return out, err
		}
		out = append(out, batch.Values[int64](&rows.Cols[0])...)
	}
}

// D-22, RW-O4: partitions come one after the other, each from where the source starts to where it ended when the update began. What cannot be
// read is counted by one of the scans of a query.
func TestASourceIsReadInOrderToItsEnd(t *testing.T) {
	s := &partitions{bad: map[string]int64{"t/2": 1}}
	w := reading(t, s, batch.DropMalformed)
	for range 2 {
		scan, err := w.scan(w.sources[0])
		if err != nil {
			t.Fatal(err)
		}
		got, err := scanned(scan)
		if want := []int64{1, 2, 3, 0, 2}; err != nil || !slices.Equal(got, want) {
			t.Errorf("read %v, %v; want %v", got, err, want)
		}
		if err := scan.Close(); err != nil {
			t.Error(err)
		}
	}
	if o := w.sources[0].outcome; o.Read != 6 || o.Bad != 1 || s.closed != 3 {
		t.Errorf("%d records, %d bad, %d times closed; want 6, 1, 3", o.Read, o.Bad, s.closed)
	}
	if got := fmt.Sprint(w.sources[0].information()); got != "{t 0 0 0 [{t/0  1 4} {t/1  0 0} {t/2  0 3}]}" {
		t.Errorf("the event has %s", got)
	}
}

// RW-O8: a bad record of a FAILFAST source fails the update, which says where it stands; a source that is another one while it is read is read anew.
func TestAnUpdateFailsWithItsSource(t *testing.T) {
	for _, c := range []struct {
		source partitions
		want   *fault.Code
		text   string
	}{
		{partitions{bad: map[string]int64{"t/2": 1}}, fault.RecordTooLarge, "RECORD_TOO_LARGE: too large (at 1 of t/2)"},
		{partitions{breaks: map[string]int64{"t/0": 3}, broken: fault.FileChanged}, fault.SourceMoved, "REPLACE_WHERE_SOURCE_MOVED: what the update reads changed while it was read: FILE_CHANGED: it is another one"},
		{partitions{breaks: map[string]int64{"t/2": 2}, broken: fault.KafkaUnavailable}, fault.KafkaUnavailable, "KAFKA_UNAVAILABLE: it is another one"},
	} {
		w := reading(t, &c.source, batch.FailFast)
		scan, err := w.scan(w.sources[0])
		if err != nil {
			t.Fatal(err)
		}
		if _, err = scanned(scan); !fault.Of(err, c.want) || err.Error() != c.text {
			t.Errorf("%v; want %s", err, c.text)
		}
	}
}
