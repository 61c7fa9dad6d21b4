package kafka

import (
	"slices"

	"sluice/batch"
	"sluice/fault"
	"sluice/format"
	"sluice/source"
)

// HeaderType is the type of a record's headers.
var HeaderType = batch.ArrayOf(batch.StructOf(batch.Field{Name: "key", Type: batch.Of(batch.String)}, batch.Field{Name: "value", Type: batch.Of(batch.Binary)}))

// Meta lists what a source knows of every record: the columns of read_kafka without a format, as in Spark.
func Meta() []batch.Field {
	return []batch.Field{
		{Name: "key", Type: batch.Of(batch.Binary)},
		{Name: "value", Type: batch.Of(batch.Binary)},
		{Name: "topic", Type: batch.Of(batch.String)},
		{Name: "partition", Type: batch.Of(batch.Int)},
		{Name: "offset", Type: batch.Of(batch.BigInt)},
		{Name: "timestamp", Type: batch.Of(batch.Timestamp)},
		{Name: "timestampType", Type: batch.Of(batch.Int)},
		{Name: "headers", Type: HeaderType},
	}
}

// columns turns records into columns. It has two sets of buffers and uses them in turn.
type columns struct {
	fields  []batch.Field
	decoder format.Decoder
	errors  *format.Tolerated
	mode    batch.Mode
	nulls   nullPolicy
	decoded []int    // of fields: those the decoder makes, in its order
	meta    []int    // of fields: the others
	names   []string // what each of meta is
	headers bool     // they are among them
	sets    [2]columnSet
	turn    int
}

type columnSet struct {
	decoded, meta []batch.Builder
	pos           positions
}

func newColumns(of Config, nulls nullPolicy) (*columns, error) {
	c := &columns{decoder: of.Decoder, errors: of.Tolerated, mode: of.Mode, nulls: nulls}
	known := Meta()
	for i, w := range of.Columns {
		c.fields = append(c.fields, w.Field)
		if w.Meta == "" {
			c.decoded = append(c.decoded, i)
			continue
		}
		if w.Meta == source.RecordColumn {
			c.meta, c.names = append(c.meta, i), append(c.names, w.Meta)
			continue
		}
		at := slices.IndexFunc(known, func(f batch.Field) bool { return f.Name == w.Meta })
		if at < 0 || !known[at].Type.Equal(w.Field.Type) {
			return nil, fault.New(fault.InternalError, "a Kafka record has no %s of type %s", w.Meta, w.Field.Type)
		}
		c.meta = append(c.meta, i)
		c.names = append(c.names, w.Meta)
		c.headers = c.headers || w.Meta == "headers"
	}
	if len(c.decoded) > 0 && c.decoder == nil {
		return nil, fault.New(fault.InternalError, "columns of the value without a decoder")
	}
	c.forget()
	return c, nil
}

// forget gives up the buffers. Columns that were returned stay as they are.
func (c *columns) forget() {
	for i := range c.sets {
		c.sets[i] = columnSet{decoded: c.builders(c.decoded), meta: c.builders(c.meta)}
	}
	if d, ok := c.decoder.(interface{ Forget() }); ok {
		d.Forget()
	}
}

func (c *columns) builders(of []int) []batch.Builder {
	out := make([]batch.Builder, len(of))
	for i, f := range of {
		out[i].Init(c.fields[f].Type, 0)
	}
	return out
}

// none is a batch without rows.
func (c *columns) none() batch.Columns {
	return c.output(&columnSet{decoded: c.builders(c.decoded), meta: c.builders(c.meta)}, 0)
}

// build makes the rows of the records taken, and lists those that none could be made of.
func (c *columns) build(t *taken) (batch.Columns, []batch.Bad, error) {
	set := &c.sets[c.turn]
	c.turn = 1 - c.turn
	set.reset()
	return c.make(set, t)
}

// make is build into a set of columns that is empty.
func (c *columns) make(set *columnSet, t *taken) (batch.Columns, []batch.Bad, error) {
	var bad []format.BadValue
	t.errors, t.unread = batch.ColumnErrors{}, t.unread[:0]
	if c.headers {
		if err := t.checkHeaders(c.mode == batch.Permissive); err != nil {
			return batch.Columns{}, nil, err
		}
	}
	if c.decoder != nil && len(t.values) > 0 {
		bad = c.decoder.Decode(t.values, set.decoded)
		c.tolerated(t)
	}
	kept := t.kept(bad)
	set.pos.fill(t, kept)
	for i := range set.meta {
		if err := t.appendMeta(&set.meta[i], c.names[i], kept); err != nil {
			return batch.Columns{}, nil, err
		}
	}
	records, err := t.bad(bad)
	return c.output(set, len(kept)), records, err
}

// tolerated notes in which records the decoder has replaced values.
func (c *columns) tolerated(t *taken) {
	if c.errors == nil {
		return
	}
	for i, record := range c.errors.Record {
		t.errors.Add(t.splits[record], batch.Offset{At: t.offsets[record]}, c.fields[c.decoded[c.errors.Column[i]]].Name)
	}
}

func (s *columnSet) reset() {
	for i := range s.decoded {
		s.decoded[i].Reset()
	}
	for i := range s.meta {
		s.meta[i].Reset()
	}
}

func (c *columns) output(set *columnSet, rows int) batch.Columns {
	out := batch.Columns{Fields: c.fields, Cols: make([]batch.Column, len(c.fields)), Len: rows, Pos: set.pos.positions}
	for i, f := range c.decoded {
		out.Cols[f] = set.decoded[i].Column()
	}
	for i, f := range c.meta {
		out.Cols[f] = set.meta[i].Column()
	}
	return out
}

// positions are the buffers of a batch's positions.
type positions struct{ positions batch.Positions }

func (p *positions) fill(t *taken, kept []int32) {
	n := len(kept)
	p.positions = batch.Positions{
		Split:  slices.Grow(p.positions.Split[:0], n)[:n],
		Offset: slices.Grow(p.positions.Offset[:0], n)[:n],
		Index:  slices.Grow(p.positions.Index[:0], n)[:n],
	}
	for i, from := range kept {
		p.positions.Split[i], p.positions.Offset[i] = t.splits[from], t.offsets[from]
	}
	clear(p.positions.Index)
}

// kept are the records that a row was made of.
func (t *taken) kept(bad []format.BadValue) []int32 {
	out := slices.Grow(t.rows[:0], len(t.values))
	for i := range t.values {
		if len(bad) > 0 && bad[0].Index == i {
			made := bad[0].Kept
			bad = bad[1:]
			if !made {
				continue
			}
		}
		out = append(out, int32(i))
	}
	t.rows = out
	return out
}

// bad returns the bad records with all that is needed to keep them, in the order of their positions.
func (t *taken) bad(values []format.BadValue) ([]batch.Bad, error) {
	if len(values) == 0 && len(t.refused) == 0 && len(t.unread) == 0 {
		return nil, nil
	}
	var out []batch.Bad
	var order []refused
	for _, v := range once(values, t.unread) {
		r := refused{split: t.splits[v.Index], offset: t.offsets[v.Index], place: t.places[v.Index]}
		b, err := t.badRecord(r)
		if err != nil {
			return nil, err
		}
		b.Kept, b.Err = v.Kept, v.Err
		out, order = append(out, b), append(order, r)
	}
	for _, r := range t.refused {
		b, err := t.badRecord(r)
		if err != nil {
			return nil, err
		}
		b.Err = r.why()
		out, order = append(out, b), append(order, r)
	}
	sortBoth(out, order)
	return out, nil
}

// once adds to bad values, which are in order, the records whose headers cannot be read: a record is bad once.
func once(values, unread []format.BadValue) []format.BadValue {
	if len(unread) == 0 {
		return values
	}
	out := slices.Clone(values)
	for _, u := range unread {
		if _, found := slices.BinarySearchFunc(values, u, func(a, b format.BadValue) int { return a.Index - b.Index }); !found {
			out = append(out, u)
		}
	}
	return out
}

func (r refused) why() *fault.Error {
	if r.err != nil {
		return r.err
	}
	if r.large > 0 {
		return fault.New(fault.RecordTooLarge, "the record has %d bytes, which is more than the memory of the daemon is made for", r.large).
			WithHint("raise sluice.memory_limit, or lower max.message.bytes of the topic")
	}
	return fault.New(fault.NullValue, "the record has no value").WithHint("on_null_value => 'ignore' leaves such records out")
}

// badRecord returns a record with all that is needed to keep it; one that is too large for the memory without its value.
func (t *taken) badRecord(r refused) (batch.Bad, error) {
	m := &t.moves[r.split]
	var rec record
	if err := t.parse(r.place, &rec); err != nil {
		return batch.Bad{}, corrupt(m.p, r.offset, err)
	}
	if r.large > 0 {
		return batch.Bad{Split: m.p.split, At: batch.Offset{At: r.offset}, Time: rec.time * 1000, LogAppend: rec.logAppend}, nil
	}
	return batch.Bad{
		Split: m.p.split, At: batch.Offset{At: r.offset}, Time: rec.time * 1000, LogAppend: rec.logAppend,
		Key: slices.Clone(rec.key), Value: slices.Clone(rec.value), Headers: rec.cloneHeaders(),
	}, nil
}
