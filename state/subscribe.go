package state

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"math"

	"github.com/cockroachdb/pebble/v2"

	"sluice/batch"
	"sluice/fault"
)

// loadReaders reads who is subscribed, and where the change feed begins.
func (t *Table) loadReaders() error {
	s, id := t.store, t.record.Instance
	err := s.eachOf(s.db, idKey(kindReader, id), func(flow, v []byte) error {
		r := &tableReader{}
		if err := json.Unmarshal(v, &r.readerRecord); err != nil {
			return errShort
		}
		n := binary.BigEndian.Uint32(flow)
		t.readers[n] = r
		v, err := s.get(s.db, positionKey(n, t.name))
		if err != nil || v == nil {
			r.at = r.start()
			return err
		}
		_, r.at, err = decodeMark(v)
		return err
	})
	if err != nil {
		return err
	}
	t.feedFirst = t.version.version + 1
	err = s.eachOf(s.db, idKey(kindChanges, id), func(k, _ []byte) error {
		t.feedFirst = int64(binary.BigEndian.Uint64(k))
		return errEnough
	})
	if err == errEnough {
		err = nil
	}
	return err
}

// start is where a reader begins: with its copy, or with the first commit after its version.
func (r *readerRecord) start() batch.Offset {
	if r.Copied > 0 {
		return batch.Offset{At: r.From}
	}
	return batch.Offset{At: r.From + 1}
}

func (t *Table) hasFeedReader() bool {
	for _, r := range t.readers {
		if r.Feed {
			return true
		}
	}
	return false
}

// Subscribe makes a flow a reader of the table, so that what it has not committed is kept. With feed, a reader of a keyed
// table that is new starts with the rows the table has now, as inserts at its present version, copied in chunks with
// durable progress (D-41); writers wait meanwhile. An append reader that is new is refused when rows were trimmed (D-16),
// a feed reader when it stands at a place whose changes were not kept for it. Subscribing again changes nothing.
//
// What is kept for a flow that never reads again stays until Unsubscribe or a reset of the flow.
func (t *Table) Subscribe(ctx context.Context, f *Flow, feed bool) error {
	if err := t.takeTurn(ctx); err != nil {
		return err
	}
	defer t.giveTurn()
	r, known, err := t.subscription(f, feed && !t.appends())
	if err != nil || known && !r.Copying {
		return err
	}
	if r.Feed && !t.record.Feed {
		if err := t.keepFeed(true); err != nil {
			return err
		}
	}
	if r.Copying {
		if err := t.copyRows(ctx, f.record.ID, &r); err != nil {
			return err
		}
	} else if err := t.saveReader(f.record.ID, r); err != nil {
		return err
	}
	reader := &tableReader{readerRecord: r, at: r.start()}
	if m, ok := f.Position().Find(t.name); ok {
		reader.at = m.Next
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.readers[f.record.ID] = reader
	return nil
}

// subscription is the record of a reader as it should be, and whether it is stored already.
func (t *Table) subscription(f *Flow, feed bool) (r readerRecord, known bool, err error) {
	position := f.Position()
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.record.Replaced && !feed {
		return r, false, notAppends(t.name)
	}
	at, err := t.place(position)
	if err != nil {
		return r, false, err
	}
	if have := t.readers[f.record.ID]; have != nil {
		return t.goOn(have.readerRecord), true, nil
	}
	_, standing := position.Find(t.name)
	r = readerRecord{Flow: f.name, Feed: feed}
	if !feed {
		r.Since = t.record.Rewritten
		return r, false, t.reachable(at)
	}
	if standing {
		return r, false, fault.New(fault.SourceReset, "flow %s was not reading the changes of table %s, and stands at %s of them", f.name, t.name, at).
			WithHint("reset the flow's checkpoint; it starts again with the rows of the table")
	}
	r.From, r.Time, r.Copying = t.version.version, t.version.time, t.version.rows > 0
	return r, false, nil
}

// goOn is the record of a copy that was cut short: it goes on if the table is still what it was, else from the start.
func (t *Table) goOn(r readerRecord) readerRecord {
	if r.Copying && r.From != t.version.version {
		return readerRecord{Flow: r.Flow, Feed: true, From: t.version.version, Time: t.version.time, Copying: true}
	}
	return r
}

// Trimmed says what retention has taken from an append table, which a reader from its beginning would not find; nil when it has all.
func (t *Table) Trimmed() *fault.Error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if err := t.reachable(batch.Offset{At: 1}); err != nil {
		return fault.From(err)
	}
	return nil
}

// reachable refuses a place before what retention left (D-16).
func (t *Table) reachable(at batch.Offset) error {
	if at.At >= t.trimmed.first {
		return nil
	}
	return fault.New(fault.RowsTrimmed, "table %s has lost commits %d to %d, %d rows in all, to its retention; the reader would start at %s",
		t.name, at.At, t.trimmed.first-1, t.trimmed.rows, at).
		WithHint("refresh the table fully, or set 'sluice.retention' so that readers find its rows")
}

// keepFeed turns the change feed on or off.
func (t *Table) keepFeed(on bool) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	r := t.record
	r.Feed = on
	return t.save(r)
}

func (t *Table) saveReader(flow uint32, r readerRecord) error {
	return t.store.update(func(b *pebble.Batch) { must(b.Set(readerKey(t.record.Instance, flow), mustJSON(r), nil)) })
}

// copyRows writes the rows of the table into a reader's own chunks. Each chunk is committed with the record that says how
// far the copy is.
func (t *Table) copyRows(ctx context.Context, flow uint32, r *readerRecord) error {
	s, id := t.store, t.record.Instance
	if r.Copied == 0 {
		prefix := copyPrefix(id, flow)
		if err := s.update(func(b *pebble.Batch) { must(b.DeleteRange(prefix, prefixEnd(prefix), nil)) }); err != nil {
			return err
		}
	}
	c := &copier{t: t, ctx: ctx, flow: flow, r: r, b: s.db.NewBatch()}
	defer func() { c.b.Close() }()
	c.set = newChangeSet(&t.record.Schema, func(ordinal int32, chunk []byte) error { return c.b.Set(copyKey(id, flow, ordinal), chunk, nil) })
	c.set.ordinal = r.Copied
	copied := c.copyFiles
	if t.record.Keyed {
		copied = c.copyGroups
	}
	if err := copied(); err != nil {
		return err
	}
	if err := c.set.flush(); err != nil {
		return err
	}
	r.Copying, r.Cursor = false, nil
	return c.save()
}

type copier struct {
	t    *Table
	ctx  context.Context
	flow uint32
	r    *readerRecord
	set  *changeSet
	b    *pebble.Batch
}

// copyFiles copies the rows of a table with windows, from the first on that is not copied.
func (c *copier) copyFiles() (err error) {
	schema, before := &c.t.record.Schema, int64(c.r.Copied)
	var files []*tableFile
	for _, f := range c.t.live {
		if before >= f.rows {
			before -= f.rows
			continue
		}
		files = append(files, f)
	}
	scan := &Scan{store: c.t.store, schema: schema, ids: schema.visible(), files: files}
	defer func() {
		if e := scan.Close(); err == nil {
			err = e
		}
	}()
	var cols []*batch.Column
	for {
		rows, err := scan.Next(0)
		if err != nil || rows.Len == 0 {
			return err
		}
		cols = rows.Refs(cols[:0])
		from := int(min(before, int64(rows.Len)))
		before -= int64(from)
		for i := from; i < rows.Len; i++ {
			if err := c.set.keyless(batch.InsertRow, cols, i); err != nil {
				return err
			}
		}
		if c.b.Len() >= chunkBytes {
			if err := c.set.flush(); err != nil {
				return err
			}
			if err := c.save(); err != nil {
				return err
			}
		}
	}
}

// copyGroups copies the rows of a keyed table, key by key.
func (c *copier) copyGroups() error {
	s := c.t.store
	from := idKey(kindRows, c.t.record.Instance)
	if len(c.r.Cursor) > 0 {
		from = append(c.r.Cursor, afterRows)
	}
	it, err := s.db.NewIter(&pebble.IterOptions{LowerBound: from, UpperBound: prefixEnd(idKey(kindRows, c.t.record.Instance))})
	if err != nil {
		return s.readFailed(err)
	}
	defer it.Close()
	var k []byte
	for ok := it.First(); ok; ok = it.Next() {
		k = append(k[:0], it.Key()...)
		if err := c.group(it, k); err != nil {
			return err
		}
		if c.b.Len() >= chunkBytes {
			c.r.Cursor = bytes.Clone(k)
			if err := c.set.flush(); err != nil {
				return err
			}
			if err := c.save(); err != nil {
				return err
			}
		}
	}
	if err := it.Error(); err != nil {
		return s.readFailed(err)
	}
	return nil
}

// group copies the rows of one key; the iterator is left at the last of them.
func (c *copier) group(it *pebble.Iterator, k []byte) error {
	s := c.t.store
	v, err := it.ValueAndErr()
	if err != nil {
		return s.readFailed(err)
	}
	g, err := parseGroup(v)
	if err != nil {
		return s.readFailed(err)
	}
	if int64(c.set.ordinal)+int64(len(c.set.change))+g.rows > math.MaxInt32 {
		return fault.New(fault.CopyTooLarge, "table %s has too many rows for a copy (more than %d)", c.t.name, math.MaxInt32)
	}
	floor := bytes.Clone(g.floor)
	r := reader{b: bytes.Clone(g.inline)}
	for range g.rows {
		var p rowPosition
		var row []byte
		if !g.spilled {
			p, row = nextRow(&r)
		} else if !it.Next() {
			return s.readFailed(errShort)
		} else if row, err = it.ValueAndErr(); err != nil {
			return s.readFailed(err)
		} else {
			p = parseRowKey(it.Key())
		}
		if err := c.set.stored(batch.InsertRow, k[tupleAt:], floor, p, row); err != nil {
			return s.readFailed(err)
		}
	}
	return c.set.keyEnd()
}

// save commits the chunks written so far and how far the copy is.
func (c *copier) save() error {
	if err := c.ctx.Err(); err != nil {
		return err
	}
	c.r.Copied = c.set.ordinal
	must(c.b.Set(readerKey(c.t.record.Instance, c.flow), mustJSON(c.r), nil))
	if err := c.t.store.commit(c.b, false); err != nil {
		return err
	}
	must(c.b.Close())
	c.b = c.t.store.db.NewBatch()
	return nil
}

// Unsubscribe ends it: nothing is kept for the flow any more. A change feed that nobody reads and no definition asks for
// is turned off.
func (t *Table) Unsubscribe(ctx context.Context, f *Flow) error {
	if err := t.takeTurn(ctx); err != nil {
		return err
	}
	defer t.giveTurn()
	t.mu.Lock()
	defer t.mu.Unlock()
	r := t.readers[f.record.ID]
	if r == nil {
		return nil
	}
	delete(t.readers, f.record.ID)
	record := t.record
	record.Feed = record.Feed && (t.wantsFeed || t.hasFeedReader())
	err := t.store.update(func(b *pebble.Batch) {
		t.dropCopy(b, f.record.ID, r)
		must(b.Delete(readerKey(record.Instance, f.record.ID), nil))
		must(b.Set(nameKey(kindTable, t.name), mustJSON(record), nil))
		if !record.Feed {
			t.trimFeed(b, t.version.version+1)
		}
	})
	if err == nil {
		t.record = record
	}
	return err
}

// dropCopy removes a reader's copy, which it has read or will not read.
func (t *Table) dropCopy(b *pebble.Batch, flow uint32, r *tableReader) {
	prefix := copyPrefix(t.record.Instance, flow)
	must(b.DeleteRange(prefix, prefixEnd(prefix), nil))
	r.Copied, r.Cursor = 0, nil
	must(b.Set(readerKey(t.record.Instance, flow), mustJSON(r.readerRecord), nil))
}

// Start is the position a reader begins at, feed or not: its copy, or the first commit it has not seen.
func (t *Table) Start(f *Flow) (batch.Position, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	r := t.readers[f.record.ID]
	if r == nil {
		return nil, fault.New(fault.InternalError, "flow %s does not read table %s", f.name, t.name)
	}
	return batch.Position{t.mark(r.start())}, nil
}
