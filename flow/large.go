package flow

import (
	"context"

	"sluice/batch"
	"sluice/state"
)

// A batch ends with the record that passes its limit, so it may be far beyond it: by a record of ten megabytes, by a row group
// that came out of a small file. Such a batch is in memory many times on its way, and so it is the only one of its flow, it is the only
// one of all flows between its evaluation and the store, and what it made buffers grow to is given up behind it.

// Turn lets one flow at a time carry a large batch.
type Turn chan struct{}

// NewTurn returns the turn of flows that share their memory.
func NewTurn() Turn { return make(Turn, 1) }

// take waits for the turn. done gives it on, once.
func (t Turn) take(ctx context.Context) (done func(), err error) {
	if t == nil {
		return func() {}, ctx.Err()
	}
	select {
	case t <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	taken := true
	return func() {
		if taken {
			taken = false
			<-t
		}
	}, nil
}

// large reports whether the texts of rows are twice what a batch may have. Other values do not count: their number is bounded by
// that of the rows.
func (f *Flow) large(rows *batch.Columns) bool {
	if f.limit.Bytes == 0 {
		return false
	}
	bytes := int64(0)
	for i := range rows.Cols {
		bytes += textBytes(&rows.Cols[i])
	}
	return bytes > 2*f.limit.Bytes
}

func textBytes(c *batch.Column) int64 {
	n := int64(len(c.Bytes))
	for i := range c.Children {
		n += textBytes(&c.Children[i])
	}
	return n
}

// carry takes one read down the path, a large one in its turn.
func (f *Flow) carry(ctx context.Context, r read) error {
	if r.carried == nil {
		return f.step(ctx, r, nil)
	}
	defer close(r.carried)
	planned, err := f.turn.take(ctx)
	if err != nil {
		return err
	}
	defer planned()
	err = f.step(ctx, r, planned)
	f.statement.Forget()
	if f.table != nil {
		f.table.Forget()
	}
	f.keys, f.sequences = state.Keys{}, batch.Keys{}
	forget(f.sink)
	return err
}

// sending says that only the rows for the sink are needed from here on. A sink may take its time: others need not wait for it.
func (w *work) sending() {
	if w.planned != nil {
		w.rows, w.documents = batch.Columns{}, nil
		w.planned()
	}
}

// forget lets a source or a sink give up buffers, if it has any.
func forget(of any) {
	if b, ok := of.(interface{ Forget() }); ok {
		b.Forget()
	}
}
