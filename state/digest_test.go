package state

import (
	"bytes"
	"context"
	"log/slog"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"sluice/batch"
	"sluice/digest"
	"sluice/fault"
)

// keptDigest is what the store keeps of a table, checked against its rows.
func keptDigest(t *testing.T, s *Store, name string) *digest.Sum {
	t.Helper()
	ok(t, s.Check())
	snapshot := s.Snapshot()
	defer snapshot.Close()
	i, err := snapshot.Table(name)
	ok(t, err)
	return i.Digest
}

// keeping opens a table whose digest is kept, or not.
func keeping(t *testing.T, s *Store, spec TableSpec, keep bool) *Table {
	t.Helper()
	table, err := s.Table(spec)
	ok(t, err)
	ok(t, table.KeepDigest(context.Background(), keep))
	return table
}

// D-29: inserted, replaced and tied rows, late ones, a group that spills and is replaced, rows read again: whatever the order
// and the batches, the digest is that of the rows, and the same for the same rows.
func TestTheDigestDoesNotHangOnTheOrder(t *testing.T) {
	long := strings.Repeat("long", 2000)
	rows := []row{{"a", 1, "x", 0}, {"a", 2, "y", 1}, {"a", 2, "y", 2}, {"", 7, long, 3}, {"", 7, long + "2", 4}, {"", 7, long, 5}, {"b", 1, long, 6}, {"b", 1, long, 7},
		{"b", 1, long, 8}, {"b", 9, "short", 9}, {"c", 3, "late", 10}, {"c", 4, "in time", 11}}
	var want *digest.Sum
	for _, c := range []struct {
		name     string
		feed     bool
		backward bool
		size     int
	}{{"all at once", false, false, 12}, {"one by one", false, false, 1}, {"backward", false, true, 1}, {"backward, with a feed", true, true, 5}, {"with a feed", true, false, 2}} {
		t.Run(c.name, func(t *testing.T) {
			s := open(t, vfs.NewMem())
			spec := ticks
			spec.Feed = c.feed
			table := keeping(t, s, spec, true)
			f, err := s.Flow("f")
			ok(t, err)
			come := slices.Clone(rows)
			if c.backward {
				slices.Reverse(come)
			}
			for part := range slices.Chunk(come, c.size) {
				_, _, err := replace(t, table, f, 12, part...)
				ok(t, err)
				keptDigest(t, s, ticks.Name)
			}
			got := keptDigest(t, s, ticks.Name)
			if got == nil || got.Rows != 7 || want != nil && *got != *want {
				t.Errorf("got %v, before it was %v", got, want)
			}
			want = got
			ok(t, s.Reset(nil, []string{"f"}))
			_, counts, err := replace(t, table, f, 12, rows...)
			ok(t, err)
			if again := keptDigest(t, s, ticks.Name); *again != *got || counts.Written != 0 {
				t.Errorf("read again, %d rows are written and the digest is %v", counts.Written, again)
			}
			ok(t, s.Reset([]string{ticks.Name}, []string{"f"}))
			table = keeping(t, s, spec, true)
			if empty := keptDigest(t, s, ticks.Name); empty == nil || *empty != (digest.Sum{}) {
				t.Errorf("after a full refresh it is %v", empty)
			}
			_, _, err = replace(t, table, f, 12, come...)
			ok(t, err)
			if again := keptDigest(t, s, ticks.Name); *again != *got {
				t.Errorf("computed anew it is %v", again)
			}
		})
	}
}

// D-29: a digest that is turned on for a table with rows is computed from them and told of; so is one whose table got another
// column, or was written on while it was off. Off is off.
func TestADigestIsTurnedOnAndOff(t *testing.T) {
	for _, keyed := range []bool{true, false} {
		fs, log := vfs.NewMem(), &bytes.Buffer{}
		spec := ticks
		if !keyed {
			spec = events
		}
		next := int64(0)
		put := func(t *testing.T, s *Store, table *Table, rows ...row) {
			f, err := s.Flow("f")
			ok(t, err)
			next += int64(len(rows))
			if keyed {
				_, _, err = replace(t, table, f, next, rows...)
			} else {
				_, err = appendRows(table, f, next, rows...)
			}
			ok(t, err)
		}
		during := func(name string, keep bool, work func(t *testing.T, s *Store, table *Table), computes string) {
			t.Run(spec.Name+" "+name, func(t *testing.T) {
				log.Reset()
				s := open(t, fs, func(o *Options) { o.Logger = slog.New(slog.NewTextHandler(log, nil)) })
				work(t, s, keeping(t, s, spec, keep))
				if got := keptDigest(t, s, spec.Name); (got != nil) != keep {
					t.Errorf("kept is %v", got)
				}
				if told := strings.Contains(log.String(), "is computed"); told != (computes != "") || !strings.Contains(log.String(), computes) {
					t.Errorf("the log is\n%s", log)
				}
			})
		}
		nothing := func(*testing.T, *Store, *Table) {}
		write := func(t *testing.T, s *Store, table *Table) { put(t, s, table, row{"a", next, "x", next}) }
		during("never asked for", false, write, "")
		during("on, with a row", true, write, "rows=1")
		during("still on", true, write, "")
		during("off", false, nothing, "")
		if !strings.Contains(log.String(), "no longer kept") {
			t.Errorf("the log is\n%s", log)
		}
		during("on again", true, write, "table="+spec.Name)
		// Something that knows nothing of digests writes to the table.
		t.Run(spec.Name+" unknown", func(t *testing.T) {
			s := open(t, fs)
			table, err := s.Table(spec)
			ok(t, err)
			if got := table.Info().Digest; got == nil {
				t.Error("a digest that holds is not shown")
			}
			write(t, s, table)
			if got := keptDigest(t, s, spec.Name); got != nil || table.Info().Digest != nil {
				t.Errorf("a digest that does not hold any more is shown: %v", got)
			}
		})
		during("on after that", true, write, "is computed")
		spec.Fields = append(slices.Clone(spec.Fields), batch.Field{Name: "more", Type: batch.Of(batch.Int)})
		during("a column more", true, write, "is computed")
		spec.Fields = slices.Clone(spec.Fields)
		spec.Fields[3].Type = batch.Of(batch.BigInt)
		during("a wider column", true, write, "is computed")
		spec.Fields[3].Comment, spec.Fields[2].NotNull = "counted", true
		during("what no row shows", true, write, "")
		spec.Fields = spec.Fields[:3]
		during("a column that left", true, write, "")
		spec.Fields = append(spec.Fields, batch.Field{Name: "more", Type: batch.Of(batch.BigInt)})
		during("and came back as another", true, write, "is computed")
	}
}

// A scan that is given up leaves nothing behind, and a table that loses rows keeps no digest.
func TestADigestThatIsNotTurnedOn(t *testing.T) {
	s := open(t, vfs.NewMem())
	table, err := s.Table(events)
	ok(t, err)
	f, err := s.Flow("f")
	ok(t, err)
	_, err = appendRows(table, f, 1, row{"a", 1, "x", 0})
	ok(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := table.KeepDigest(ctx, true); err == nil {
		t.Error("a cancelled scan is complete")
	}
	if got := keptDigest(t, s, events.Name); got != nil {
		t.Errorf("kept is %v", got)
	}
	short := events
	short.Name, short.Retention = "c.s.short", RetainConsumed
	if table, err = s.Table(short); err == nil {
		err = table.KeepDigest(context.Background(), true)
	}
	if !fault.Of(err, fault.InternalError) {
		t.Errorf("a table with a retention: %v", err)
	}
}

// A kept digest that is not that of the rows is a contradiction.
func TestAWrongDigestIsFound(t *testing.T) {
	s := open(t, vfs.NewMem())
	table := keeping(t, s, ticks, true)
	f, err := s.Flow("f")
	ok(t, err)
	_, _, err = replace(t, table, f, 1, row{"a", 1, "x", 0})
	ok(t, err)
	k := idKey(kindDigest, table.record.Instance)
	right, err := s.get(s.db, k)
	ok(t, err)
	d, err := decodeDigest(right)
	ok(t, err)
	d.sum.Lo++
	ok(t, s.db.Set(k, d.encode(), pebble.NoSync))
	if err := s.Check(); !fault.Of(err, fault.StoreCorrupt) || !strings.Contains(err.Error(), d.sum.String()) {
		t.Errorf("found: %v", err)
	}
	ok(t, s.db.Set(k, right, pebble.NoSync))
}
