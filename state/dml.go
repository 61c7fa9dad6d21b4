package state

import (
	"context"

	"github.com/cockroachdb/pebble/v2"

	"sluice/batch"
	"sluice/fault"
)

// DML is one statement that changes a table from outside of its flows (DM-01). Nobody else writes the table until its End: it waits for those who
// came before, and others wait for it (D-33, DM-O2). It is used by one goroutine.
type DML struct {
	t        *Table
	snapshot *Snapshot
	end      func()
	marking  *marking // of a table with windows
}

// BeginDML waits until it is the statement's turn. rewrites says that it changes rows that are there, so that all rows of an append table have to
// be in files.
func (t *Table) BeginDML(ctx context.Context, rewrites bool) (*DML, error) {
	end, err := t.Exclude(ctx)
	if err != nil {
		return nil, err
	}
	if err := t.takeTurn(ctx); err != nil {
		end()
		return nil, err
	}
	d := &DML{t: t, end: end}
	switch {
	case t.record.Keyed || !t.record.Declared:
		err = fault.New(fault.InternalError, "rows of table %s come from its flow alone", t.name)
	case t.record.Replaced:
		d.marking = &marking{}
	case rewrites:
		err = t.holdSealing(ctx)
	}
	if err != nil {
		d.End()
		return nil, err
	}
	d.snapshot = t.store.Snapshot()
	return d, nil
}

// End ends the statement, committed or not.
func (d *DML) End() error {
	var err error
	if d.snapshot != nil {
		err = d.snapshot.Close()
	}
	d.t.mu.Lock()
	d.t.held = false
	d.t.mu.Unlock()
	d.t.giveTurn()
	d.end()
	return err
}

// Snapshot shows all tables as they are while the statement is at work. It ends with it.
func (d *DML) Snapshot() *Snapshot { return d.snapshot }

// Version is the version of the table that the statement changes.
func (d *DML) Version() int64 { return d.t.version.version }

// Touch notes rows that the statement takes away or brings. Columns are matched by name, as those of Swap.Rows.
func (d *DML) Touch(rows *batch.Columns) error {
	if d.marking == nil || rows.Len == 0 {
		return nil
	}
	cols, err := d.t.columns(&d.t.record.Schema, rows)
	if err == nil {
		d.marking.add(&d.t.record.Schema, cols, rows.Len)
	}
	return err
}

// Swap commits the statement as one version of the table: what Flow.Swap says holds, but that no flow moves on, and that rows of an append table that
// stay have their places in two more columns, as ScanPlaced gives them. s.Base is Version. One that changes nothing makes no version.
func (d *DML) Swap(ctx context.Context, s Swap) (version int64, err error) {
	t := d.t
	s.Base = t.version.version
	if t.appends() {
		return t.rewrite(ctx, &s)
	}
	return t.swap(ctx, &s, func(b *pebble.Batch) error {
		if b.Empty() {
			return nil
		}
		if err := t.putMark(b, d.marking, t.version.version+1); err != nil {
			return err
		}
		return t.store.commit(b, false)
	})
}

// Insert adds rows to the table, in one commit. Few rows go to the tail of an append table; more than Options.InsertAt become files.
func (d *DML) Insert(ctx context.Context, s Swap) (version int64, err error) {
	if !d.t.appends() {
		return d.Swap(ctx, s)
	}
	pieces := &pieces{}
	size := int64(0)
	for size < d.t.store.o.InsertAt || d.t.store.o.Sealer == nil {
		rows, err := s.Rows[0].Next()
		if err != nil {
			return 0, err
		}
		if rows.Len == 0 {
			return d.append(&s, pieces.rows)
		}
		size += weight(&rows)
		pieces.rows = append(pieces.rows, copied(&rows))
	}
	if err := d.t.holdSealing(ctx); err != nil {
		return 0, err
	}
	pieces.rest = s.Rows[0]
	s.Rows[0] = pieces
	return d.t.rewrite(ctx, &s)
}

// pieces are rows that were read already, and then others.
type pieces struct {
	rows []batch.Columns
	rest Rows
}

// Next implements Rows.
func (p *pieces) Next() (batch.Columns, error) {
	if len(p.rows) == 0 {
		return p.rest.Next()
	}
	first := p.rows[0]
	p.rows = p.rows[1:]
	return first, nil
}

// copied are rows in memory of their own.
func copied(rows *batch.Columns) batch.Columns {
	all := make([]int32, rows.Len)
	for i := range all {
		all[i] = int32(i)
	}
	return rows.Take(all)
}

// append adds rows to the tail.
func (d *DML) append(s *Swap, rows []batch.Columns) (version int64, err error) {
	t := d.t
	w, err := t.writer()
	if err != nil {
		return 0, err
	}
	defer w.drop()
	for i := range rows {
		if err := w.Append(&rows[i]); err != nil {
			return 0, err
		}
	}
	if s.Finish != nil {
		s.Finish(s)
	}
	if !w.changed {
		return t.version.version, nil
	}
	if err := w.finish(micros(s.Advance.Time)); err != nil {
		return 0, err
	}
	must(w.b.Set(updateKey(t.record.Instance, w.version.version), s.record(w.version.time), nil))
	forgotten, past, err := t.forget(w.b, t.past, w.version)
	if err != nil {
		return 0, err
	}
	if err := t.store.commit(w.b, false); err != nil {
		return 0, err
	}
	t.mu.Lock()
	t.past = past
	t.mu.Unlock()
	t.store.files.drop(w.dropped.instance, w.dropped.files)
	t.store.forgot(forgotten)
	t.committed(w.version, w.digest)
	return w.version.version, nil
}
