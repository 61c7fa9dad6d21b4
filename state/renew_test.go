package state

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"sluice/batch"
	"sluice/fault"
	memory "sluice/internal/disk"
)

// renewed is the definition of the table with windows after a column left, one came and one has another type.
var renewed = TableSpec{Name: windows.Name, Replaced: true, Fingerprint: "after",
	Fields: []batch.Field{{Name: "k", Type: batch.Of(batch.String)}, {Name: "seq", Type: batch.Of(batch.String)}, {Name: "w", Type: batch.Of(batch.BigInt)}}}

// all takes the place of everything in a table by rows of the first two columns.
func all(t *Table, f *Flow, rows Rows) (int64, error) {
	return f.Swap(context.Background(), t, Swap{Base: t.Version(), All: true, Rows: []Rows{rows}, Cause: "FULL REFRESH", RowsAdded: 1, Advance: Advance{Time: noon}})
}

// FR-02, FR-03, FR-08, FR-17, FR-18: the order of a full refresh changes nothing that is read, and stands after a restart, under any definition;
// the swap takes rows, columns and history away in one commit, and readers keep what they began with.
func TestAFullRefreshIsOneCommit(t *testing.T) {
	fs := vfs.NewMem()
	s := open(t, fs, sealed(1<<20))
	table, err := s.Table(windows)
	ok(t, err)
	f, err := s.Flow("f")
	ok(t, err)
	_, err = swap(table, f, nil, row{k: "a", seq: 1, v: "x"})
	ok(t, err)
	_, err = swap(table, f, nil, row{k: "b", seq: 2})
	ok(t, err)
	if _, err := s.Table(renewed); !fault.Of(err, fault.ColumnTypeDrift) {
		t.Fatalf("a column of another type: %v", err)
	}
	ok(t, s.Reset([]string{windows.Name}, []string{"f"}, windows.Name))
	if !table.Renewing() || f.Generation() != 1 || f.NextBatch() != 0 || table.Generation() != 0 {
		t.Errorf("ordered: %v, the flow is in generation %d, batch %d, the table in %d", table.Renewing(), f.Generation(), f.NextBatch(), table.Generation())
	}
	if _, err := swap(table, f, nil, row{k: "z"}); !fault.Of(err, fault.FullRefreshOrdered) {
		t.Errorf("another update meanwhile: %v", err)
	}
	closeChecked(t, s)

	s = open(t, fs, sealed(1<<20))
	stored, err := s.Stored()
	ok(t, err)
	if r := stored.Tables[windows.Name]; !r.TakenBy(renewed) || r.TakenBy(events) {
		t.Errorf("%+v", r)
	}
	table, err = s.Table(renewed)
	ok(t, err)
	f, err = s.Flow("f")
	ok(t, err)
	same(t, "what is read until then", contents(t, s, windows.Name), "a,1,x", "b,2,")
	old := s.Snapshot()
	defer old.Close()
	scan, err := old.Scan(windows.Name, nil, 0, 1)
	ok(t, err)
	rows := &given{rows: []row{{k: "c", seq: 3}}}
	version, err := all(table, f, textual{rows})
	if err != nil || version != 3 {
		t.Fatalf("version %d, %v", version, err)
	}
	same(t, "what is read then", contents(t, s, windows.Name), "c,3,NULL")
	before, err := scan.Next(0)
	ok(t, err)
	more, err := scan.Next(0)
	ok(t, err)
	same(t, "what a reader began with", append(text(before), text(more)...), "a,1,x", "b,2,")
	ok(t, scan.Close())
	info := table.Info()
	if info.Generation != 1 || info.Renewing || info.Version != 3 || info.Rows != 1 || info.Fingerprint != "after" || len(info.Fields) != 3 || f.NextBatch() != 1 {
		t.Errorf("%+v, batch %d", info, f.NextBatch())
	}
	snapshot := s.Snapshot()
	defer snapshot.Close()
	history, err := snapshot.History(windows.Name)
	if err != nil || len(history) != 1 || history[0].Version != 3 || history[0].Cause != "FULL REFRESH" {
		t.Errorf("%+v %v", history, err)
	}
	if _, err := snapshot.FilesAt(windows.Name, 2); !fault.Of(err, fault.VersionNotFound) {
		t.Errorf("a version before the full refresh: %v", err)
	}
	if _, err := all(table, f, textual{&given{}}); !fault.Of(err, fault.WriteConflict) {
		t.Errorf("a full refresh that is not ordered: %v", err)
	}
}

// textual are rows of another definition: of two columns, the second of which is a text.
type textual struct{ *given }

func (r textual) Next() (batch.Columns, error) {
	rows, err := r.given.Next()
	if rows.Len == 0 {
		return rows, err
	}
	out := batch.Columns{Len: rows.Len, Fields: renewed.Fields[:2]}
	b := batch.NewBuilder(renewed.Fields[1].Type, rows.Len)
	for _, n := range batch.Values[int64](&rows.Cols[1]) {
		b.AppendString(fmt.Sprint(n))
	}
	out.Cols = []batch.Column{rows.Cols[0], b.Column()}
	return out, err
}

// RW-O8: an order is taken back after the computation has failed, and nothing has happened; not where the definition fits nothing else.
func TestAFullRefreshIsTakenBack(t *testing.T) {
	s := open(t, vfs.NewMem(), sealed(1<<20))
	table, err := s.Table(windows)
	ok(t, err)
	f, err := s.Flow("f")
	ok(t, err)
	ok(t, s.Renew("c.s.nothing", true))
	_, err = swap(table, f, nil, row{k: "a", seq: 1})
	ok(t, err)
	ok(t, s.Renew(windows.Name, true))
	if _, err := all(table, f, &given{err: context.DeadlineExceeded}); err == nil || !table.Renewing() {
		t.Errorf("%v", err)
	}
	ok(t, s.Renew(windows.Name, false))
	_, err = swap(table, f, nil, row{k: "b", seq: 2})
	ok(t, err)
	same(t, "what is read", contents(t, s, windows.Name), "a,1,", "b,2,")
	ok(t, s.Renew(windows.Name, true))
	_, err = s.Table(renewed)
	ok(t, err)
	ok(t, s.Renew(windows.Name, false))
	if !table.Renewing() {
		t.Error("the table is left with a definition that does not fit it")
	}
}

// A full refresh of a table whose windows are not replaced any more, or that has no rows, is done at once.
func TestAFullRefreshOfWhatHasNothing(t *testing.T) {
	s := open(t, vfs.NewMem(), sealed(1<<20))
	_, err := s.Table(events)
	ok(t, err)
	ok(t, s.Reset([]string{events.Name, windows.Name}, nil, events.Name, windows.Name))
	_, err = s.Table(TableSpec{Name: events.Name, Fields: windows.Fields, Replaced: true})
	ok(t, err)
}

// FR-O2: the power fails before every write from the order of a full refresh to its end: what is found is all of the old rows or all of the new ones,
// and the order stands from when it was acknowledged until it is carried out. Who follows the changes has the rows that are there (D-28).
func TestAFullRefreshOutlivesEveryCrash(t *testing.T) {
	oldRows, newRows := []string{"a,0,x", "b,1,x"}, []string{"c,3,"}
	for n := range 6 {
		survives, followed, found := n/2*50, n%2 == 1, map[string]bool{}
		for k := 1; ; k++ {
			d := memory.New()
			var after *memory.Disk
			s := open(t, d.FS(), sealed(200), aheadOfCommits)
			table, err := s.Table(windows)
			ok(t, err)
			f, err := s.Flow("f")
			ok(t, err)
			_, err = swap(table, f, nil, row{k: "a", seq: 0, v: "x"}, row{k: "b", seq: 1, v: "x"})
			ok(t, err)
			reader, err := s.Flow("reader")
			ok(t, err)
			if followed {
				ok(t, table.Subscribe(context.Background(), reader, true))
			}
			ok(t, s.Sync(context.Background()))
			stage, at := "before", ""
			d.FailAt(k, func() { after, at = d.Crash(survives, uint64(k)), stage })
			ok(t, s.Reset([]string{windows.Name}, []string{"f"}, windows.Name))
			stage = "ordered"
			_, err = all(table, f, &given{rows: []row{{k: "c", seq: 3}}})
			ok(t, err)
			ok(t, s.Sync(context.Background()))
			stage = "done"
			d.Disarm()
			closeChecked(t, s)
			if after == nil {
				break
			}
			s = open(t, after.FS(), sealed(200), aheadOfCommits)
			table, err = s.Table(windows)
			ok(t, err)
			f, err = s.Flow("f")
			ok(t, err)
			rows := contents(t, s, windows.Name)
			slices.Sort(rows)
			reader, err = s.Flow("reader")
			ok(t, err)
			if followed {
				same(t, fmt.Sprintf("the changes at write %d", k), folded(t, table, reader), rows...)
			}
			renewed := slices.Equal(rows, newRows)
			if !renewed && !slices.Equal(rows, oldRows) || renewed && table.Renewing() || at == "ordered" && renewed == table.Renewing() || at == "done" && !renewed {
				t.Fatalf("write %d, %s: ordered %v, rows %s", k, at, table.Renewing(), strings.Join(rows, " "))
			}
			found[fmt.Sprint(renewed, table.Renewing())] = true
			if !renewed {
				ok(t, s.Renew(windows.Name, true))
				_, err = all(table, f, &given{rows: []row{{k: "c", seq: 3}}})
				ok(t, err)
			}
			same(t, "in the end", contents(t, s, windows.Name), newRows...)
			if followed {
				same(t, "the changes in the end", folded(t, table, reader), newRows...)
			}
			closeChecked(t, s)
			names, err := after.FS().List("db/files")
			if ok(t, err); len(names) > 2 { // the old file may wait for the next start
				t.Errorf("write %d: files %v", k, names)
			}
		}
		if len(found) < 2 {
			t.Errorf("of what survives by %d %% only %v was found", survives, found)
		}
	}
}
