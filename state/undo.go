package state

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"sluice/batch"
	"sluice/fault"
)

// Undone is what an undo did.
type Undone struct {
	Version                int64 // of the table, since then; as before when there was nothing to do
	RowsRemoved, RowsAdded int64
	Files                  int // that came back
}

// Undo appends a version with the rows that a table had at an earlier one, in one atomic commit (D-27). No flow moves on: sources stay where they are.
// The files of that version come back under new names, without being copied where the disk can name a file twice, so that each is of one run of
// versions; an undo is undone like anything else.
//
// It fails with VERSION_NOT_FOUND when the version is not kept, and with UNDO_NOT_POSSIBLE of tables of which no version can be put back. at is the
// version's time, update who asked for it.
func (t *Table) Undo(ctx context.Context, to int64, at time.Time, update string) (Undone, error) {
	end, err := t.Exclude(ctx)
	if err != nil {
		return Undone{}, err
	}
	defer end()
	if err := t.takeTurn(ctx); err != nil {
		return Undone{}, err
	}
	defer t.giveTurn()
	if t.record.Renewing {
		return Undone{}, t.toBeRenewed()
	}
	snapshot := t.store.Snapshot() // files stay while they get their new names
	defer snapshot.Close()
	u := &undoing{t: t, to: to, out: Undone{Version: t.version.version}}
	if err := u.find(snapshot); err != nil {
		return Undone{}, err
	}
	if err := u.count(ctx); err != nil {
		return Undone{}, err
	}
	if u.out.RowsRemoved == 0 && u.out.RowsAdded == 0 {
		return u.out, nil
	}
	if err := u.name(ctx); err != nil {
		u.abandon()
		return Undone{}, err
	}
	s := Swap{Update: update, Cause: fmt.Sprintf("UNDO TO VERSION %d", to), RowsRemoved: u.out.RowsRemoved, RowsAdded: u.out.RowsAdded, Advance: Advance{Time: at}}
	err = t.commitSwap(ctx, &s, u.gone, u.added, func(b *pebble.Batch) error {
		if err := u.mark(b, t.version.version+1); err != nil {
			return err
		}
		return t.store.commit(b, false)
	})
	if err != nil {
		u.abandon()
		return Undone{}, err
	}
	u.out.Version, u.out.Files = t.version.version, len(u.added)
	return u.out, nil
}

// undoing is an undo at work.
type undoing struct {
	t     *Table
	to    int64
	gone  []*tableFile // files that the table has, and did not have then
	back  []*tableFile // the other way round
	added []*tableFile // back, under their new names
	out   Undone
}

// find finds the files that go and those that come back.
func (u *undoing) find(s *Snapshot) error {
	t := u.t
	if t.record.Keyed {
		return fault.New(fault.UndoNotPossible, "table %s is a REPLACE USING table, of which only the present rows are kept", t.name).
			WithHint("reset the checkpoint of its flow or refresh it fully, to have its rows made anew from its source")
	}
	if !t.record.Replaced {
		return fault.New(fault.UndoNotPossible, "table %s is an append table", t.name).WithHint("refresh it fully, to have its rows made anew from its source")
	}
	if err := s.readable(&t.record, t.name, u.to); err != nil {
		return err
	}
	then, err := s.filesAt(&t.record, u.to)
	if err != nil {
		return err
	}
	called := func(f *tableFile) func(*tableFile) bool { return func(g *tableFile) bool { return g.id == f.id } }
	for _, f := range t.live {
		if !slices.ContainsFunc(then, called(f)) {
			u.gone = append(u.gone, f)
		}
	}
	for _, f := range then {
		if !slices.ContainsFunc(t.live, called(f)) {
			u.back = append(u.back, f)
		}
	}
	return nil
}

// count counts the rows in which the versions differ.
func (u *undoing) count(ctx context.Context) error {
	return u.t.difference(ctx, u.gone, u.back, func(change batch.Change, _ []*batch.Column, _ int) error {
		if change == batch.DeleteRow {
			u.out.RowsRemoved++
		} else {
			u.out.RowsAdded++
		}
		return nil
	})
}

// mark says which rows the undo has changed from outside of the table's flow (D-27).
func (u *undoing) mark(b *pebble.Batch, version int64) error {
	var m fileRecord
	for i, f := range slices.Concat(u.gone, u.back) {
		if i > 0 {
			m.join(&f.fileRecord)
			continue
		}
		m = fileRecord{schema: f.schema, rows: f.rows, columns: slices.Clone(f.columns), added: version}
	}
	return u.t.keepMark(b, &m)
}

// name gives the files that come back their new names, durably.
func (u *undoing) name(ctx context.Context) error {
	files := &u.t.store.files
	for _, f := range u.back {
		if err := ctx.Err(); err != nil {
			return err
		}
		again := *f
		again.id, again.added, again.removed = files.take(), 0, 0
		u.added = append(u.added, &again)
		if err := vfs.LinkOrCopy(files.fs, files.path(f.id), files.path(again.id)); err != nil {
			return u.t.store.failed(err)
		}
	}
	if len(u.added) == 0 {
		return nil
	}
	if err := files.settle(u.added); err != nil {
		return u.t.store.failed(err)
	}
	return nil
}

func (u *undoing) abandon() { u.t.store.files.removeAll(u.added) }
