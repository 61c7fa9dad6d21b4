package kafka

import (
	"errors"
	"slices"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"sluice/batch"
	"sluice/fault"
	"sluice/format"
	"sluice/sink"
)

// records turns batches into records. Its buffers are used again for the next batch.
type records struct {
	opts    *options
	flow    string // pipeline.flow
	keys    []int  // of fields
	value   format.Encoder
	change  format.Encoder // of the fields with _change_type in front
	key     format.Encoder
	buffers recordBuffers
}

type recordBuffers struct {
	rows   []kgo.Record
	row    []int32 // the row that each record was made of
	batch  *sink.Rows
	out    []*kgo.Record
	values encoded
	keys   encoded
	tuples batch.Keys
}

// encoded is what an encoder wrote: the i-th record ends at ends[i].
type encoded struct {
	bytes []byte
	ends  []int
}

func (e *encoded) encode(enc format.Encoder, rows *batch.Columns) (err error) {
	e.bytes, e.ends, err = enc.Encode(e.bytes[:0], e.ends[:0], rows, 0, rows.Len)
	return err
}

func (e *encoded) at(i int) []byte {
	start := 0
	if i > 0 {
		start = e.ends[i-1]
	}
	return e.bytes[start:e.ends[i]:e.ends[i]]
}

func newRecords(o *options, flow string, fields []batch.Field, feed bool) (*records, error) {
	if o.whole {
		return &records{opts: o, flow: flow}, nil
	}
	keys, err := sink.Columns("keys", o.keys, fields)
	if err != nil {
		return nil, err
	}
	r := &records{opts: o, flow: flow, keys: keys}
	if r.value, err = o.valueEncoder(fields, keys); err != nil {
		return nil, err
	}
	if r.change, err = o.valueEncoder(sink.FieldsWithChange(fields), keys); err != nil && feed && !o.upsert {
		return nil, err
	}
	r.key, err = o.keyEncoder(fields, keys)
	return r, err
}

// forget gives up the buffers: a client that was thrown away may still hold records of theirs.
func (r *records) forget() { r.buffers = recordBuffers{} }

// build makes the records of a batch.
func (r *records) build(id batch.ID, rows *sink.Rows) ([]*kgo.Record, error) {
	b := &r.buffers
	b.batch = rows
	n := rows.Columns.Len
	if n == 0 {
		return nil, nil
	}
	b.rows, b.row, b.out = slices.Grow(b.rows[:0], n), slices.Grow(b.row[:0], n), slices.Grow(b.out[:0], n)
	if len(r.keys) > 0 {
		if err := r.encodeKeys(&rows.Columns); err != nil {
			return nil, err
		}
	}
	var err error
	switch {
	case r.opts.whole:
		r.take(rows)
	case r.opts.upsert:
		err = r.upsert(rows)
	default:
		err = r.append(rows)
	}
	if err != nil {
		return nil, err
	}
	headers := []kgo.RecordHeader{{Key: HeaderName, Value: []byte(r.flow + "/" + sink.IdentityOf(id).String())}}
	for i := range b.rows {
		// The record's time is the time of sending, not the batch's: a batch that waited for a long time to be sent would
		// be deleted by the topic's retention as it arrives.
		if r.opts.whole {
			b.rows[i].Headers = append(b.rows[i].Headers, headers...)
		} else {
			b.rows[i].Headers = headers
		}
		b.out = append(b.out, &b.rows[i])
	}
	return b.out, nil
}

func (r *records) append(rows *sink.Rows) error {
	b := &r.buffers
	columns, enc := rows.WithChange(), r.value
	if rows.Change != nil {
		enc = r.change
	}
	if err := b.values.encode(enc, &columns); err != nil {
		return r.position(err, len(b.values.ends)-1)
	}
	for i := range columns.Len {
		rec := kgo.Record{Value: b.values.at(i)}
		if len(r.keys) > 0 {
			rec.Key = b.keys.at(i)
		}
		b.rows, b.row = append(b.rows, rec), append(b.row, int32(i))
	}
	return nil
}

// upsert makes one record per key: the row that is left, or a tombstone (D-43, D-45).
func (r *records) upsert(rows *sink.Rows) error {
	b := &r.buffers
	net := sink.Fold(rows, &b.tuples)
	if err := b.values.encode(r.value, &rows.Columns); err != nil {
		return r.position(err, len(b.values.ends)-1)
	}
	for i, row := range net.Key {
		rec := kgo.Record{Key: b.keys.at(int(row))}
		live := net.Left(i)
		if e := net.Unique(i, "one key"); e != nil {
			return e.WithDetail("the key is %s; two of its rows: %s and %s", fault.Payload(rec.Key), fault.Payload(b.values.at(int(live[0]))), fault.Payload(b.values.at(int(live[1])))).
				WithHint("name all key columns in keys, or use mode => 'append'")
		}
		if len(live) == 1 {
			row = live[0]
			rec.Value = b.values.at(int(row))
		}
		b.rows, b.row = append(b.rows, rec), append(b.row, row)
	}
	return nil
}

// encodeKeys makes the record keys, and the tuples that tell which are equal. Zeros lose their sign first: -0.0 and 0.0
// are one key (D-36), so they must be the same bytes.
func (r *records) encodeKeys(rows *batch.Columns) error {
	b := &r.buffers
	columns := batch.Columns{Len: rows.Len}
	tuple := make([]*batch.Column, len(r.keys))
	for i, k := range r.keys {
		columns.Fields = append(columns.Fields, rows.Fields[k])
		columns.Cols = append(columns.Cols, positiveZeros(rows.Cols[k]))
		tuple[i] = &rows.Cols[k]
	}
	batch.EncodeKeys(&b.tuples, tuple...)
	if err := b.keys.encode(r.key, &columns); err != nil {
		return r.position(err, len(b.keys.ends)-1)
	}
	return nil
}

// positiveZeros returns c with every -0.0, at any depth, as 0.0.
func positiveZeros(c batch.Column) batch.Column {
	switch c.Type.Kind {
	case batch.Float:
		c.Fixed = slices.Clone(c.Fixed)
		normalize(batch.Values[float32](&c))
	case batch.Double:
		c.Fixed = slices.Clone(c.Fixed)
		normalize(batch.Values[float64](&c))
	case batch.Struct, batch.Array:
		children := make([]batch.Column, len(c.Children))
		for i := range children {
			children[i] = positiveZeros(c.Children[i])
		}
		c.Children = children
	}
	return c
}

func normalize[T float32 | float64](values []T) {
	for i, v := range values {
		if v == 0 {
			values[i] = 0
		}
	}
}

// position adds which row an error is about.
func (r *records) position(err error, row int) error {
	e := fault.From(err)
	if e.Detail == "" && row >= 0 {
		e.WithDetail("%s", r.buffers.batch.Place(row))
	}
	return e
}

// fault codes why a record was not taken.
func (r *records) fault(s *Sink, rec *kgo.Record, err error) error {
	b := &r.buffers
	at := "a row"
	if i := slices.Index(b.out, rec); i >= 0 {
		at = b.batch.Place(int(b.row[i]))
	}
	size := len(rec.Key) + len(rec.Value)
	switch {
	case errors.Is(err, kerr.MessageTooLarge) || errors.Is(err, kerr.RecordListTooLarge):
		return fault.New(fault.SinkRecordTooLarge, "%s makes a record of %d bytes for %s with the key %s", at, size, s.target, fault.Payload(shorten(rec.Key))).Because(err).
			WithDetail("kafka.max.request.size is %d", s.opts.client.RequestBytes).
			WithHint("raise kafka.max.request.size and the topic's max.message.bytes, or select less")
	case errors.Is(err, kerr.InvalidRecord):
		return fault.New(fault.SinkRefusedValue, "%s refuses the record of %s", s.target, at).Because(err).
			WithHint("a compacted topic takes only records with a key: set keys")
	}
	return err
}

func shorten(key []byte) string {
	if len(key) > 100 {
		return string(key[:100]) + "..."
	}
	return string(key)
}
