package state

import (
	"encoding/binary"
	"math"

	"sluice/batch"
)

// A row is a header, uvarint(schema version << 1 | nulls), then, if it has nulls, a bitmap of one bit per column (set
// where there is a value), then the values that are present:
//
//	BOOLEAN, TINYINT                           one byte
//	SMALLINT, INT, BIGINT, DATE, DECIMAL <= 18 zigzag varint
//	FLOAT, DOUBLE, timestamps, DECIMAL > 18    4, 8, 8, 16 bytes, little-endian
//	STRING, BINARY, VARIANT                    uvarint length, bytes
//	STRUCT                                     per field a byte, 1 where there is a value, then the value
//	ARRAY, MAP                                 uvarint count, then elements (keys and values in turn) as fields of a STRUCT

// rowEncoder writes rows of one batch.
type rowEncoder struct {
	version uint64
	cols    []*batch.Column
	bitmap  int  // bytes of a bitmap
	nulls   bool // some column has a bitmap
}

func newRowEncoder(version int, cols []*batch.Column) rowEncoder {
	e := rowEncoder{version: uint64(version), cols: cols, bitmap: (len(cols) + 7) / 8}
	for _, c := range cols {
		e.nulls = e.nulls || c.Valid != nil
	}
	return e
}

// append writes row i to dst.
func (e *rowEncoder) append(dst []byte, i int) []byte {
	if !e.nulls || !e.hasNull(i) {
		dst = binary.AppendUvarint(dst, e.version<<1)
		for _, c := range e.cols {
			dst = appendValue(dst, c, i)
		}
		return dst
	}
	dst = binary.AppendUvarint(dst, e.version<<1|1)
	at := len(dst)
	for range e.bitmap {
		dst = append(dst, 0)
	}
	for f, c := range e.cols {
		if !c.IsNull(i) {
			dst[at+f/8] |= 1 << (f % 8)
			dst = appendValue(dst, c, i)
		}
	}
	return dst
}

func (e *rowEncoder) hasNull(i int) bool {
	for _, c := range e.cols {
		if c.IsNull(i) {
			return true
		}
	}
	return false
}

// appendValue writes the value of row i, which is present.
func appendValue(dst []byte, c *batch.Column, i int) []byte {
	switch c.Type.Kind {
	case batch.Boolean, batch.TinyInt:
		return append(dst, c.Fixed[i])
	case batch.SmallInt:
		return binary.AppendVarint(dst, int64(batch.Values[int16](c)[i]))
	case batch.Int, batch.Date:
		return binary.AppendVarint(dst, int64(batch.Values[int32](c)[i]))
	case batch.BigInt:
		return binary.AppendVarint(dst, batch.Values[int64](c)[i])
	case batch.Timestamp, batch.TimestampNTZ:
		return binary.LittleEndian.AppendUint64(dst, uint64(batch.Values[int64](c)[i]))
	case batch.Float:
		return binary.LittleEndian.AppendUint32(dst, math.Float32bits(batch.Values[float32](c)[i]))
	case batch.Double:
		return binary.LittleEndian.AppendUint64(dst, math.Float64bits(batch.Values[float64](c)[i]))
	case batch.Decimal:
		if c.Type.Width() == 8 {
			return binary.AppendVarint(dst, batch.Values[int64](c)[i])
		}
		v := batch.Values[batch.Int128](c)[i]
		dst = binary.LittleEndian.AppendUint64(dst, v.Lo)
		return binary.LittleEndian.AppendUint64(dst, uint64(v.Hi))
	case batch.Struct:
		for f := range c.Children {
			dst = appendField(dst, &c.Children[f], i)
		}
		return dst
	case batch.Array, batch.Map:
		from, to := int(c.Offsets[i]), int(c.Offsets[i+1])
		dst = binary.AppendUvarint(dst, uint64(to-from))
		for j := from; j < to; j++ {
			for f := range c.Children {
				dst = appendField(dst, &c.Children[f], j)
			}
		}
		return dst
	}
	return appendText(dst, c.Text(i))
}

func appendField(dst []byte, c *batch.Column, i int) []byte {
	if c.IsNull(i) {
		return append(dst, 0)
	}
	return appendValue(append(dst, 1), c, i)
}

// rowDecoder appends stored rows to builders, one per wanted column, whatever schema version they were written under.
type rowDecoder struct {
	schema *schema
	want   []batch.Field // with the types of now
	ids    []int
	plans  []*rowPlan // by schema version; nil until a row of it is met
	into   []batch.Builder
	len    int // rows decoded since the last reset
}

// rowPlan is how rows of one schema version become the wanted columns.
type rowPlan struct {
	stored  []storedColumn
	bitmap  int
	missing []int // wanted columns this version does not have
}

// storedColumn is a column of a stored row and where it goes.
type storedColumn struct {
	typ  batch.Type
	to   int            // index of the wanted column, or -1
	wide *batch.Builder // holds a value until it is widened; nil when the type is the wanted one
}

func newRowDecoder(s *schema, ids []int) *rowDecoder {
	d := &rowDecoder{schema: s, ids: ids, plans: make([]*rowPlan, len(s.Versions)), into: make([]batch.Builder, len(ids))}
	for i, id := range ids {
		d.want = append(d.want, s.field(id))
		d.into[i].Init(d.want[i].Type, 0)
	}
	return d
}

// plan returns the plan of a schema version, or nil when there is no such version.
func (d *rowDecoder) plan(version uint64) *rowPlan {
	if version >= uint64(len(d.plans)) {
		return nil
	}
	if d.plans[version] == nil {
		d.plans[version] = d.makePlan(d.schema.Versions[version])
	}
	return d.plans[version]
}

func (d *rowDecoder) makePlan(v schemaVersion) *rowPlan {
	p := &rowPlan{bitmap: (len(v) + 7) / 8}
	found := make([]bool, len(d.ids))
	for _, c := range v {
		sc := storedColumn{typ: c.typ(), to: -1}
		for w, id := range d.ids {
			if id == c.ID {
				sc.to, found[w] = w, true
				if !sc.typ.Equal(d.want[w].Type) {
					sc.wide = batch.NewBuilder(sc.typ, 1)
				}
			}
		}
		p.stored = append(p.stored, sc)
	}
	for w, ok := range found {
		if !ok {
			p.missing = append(p.missing, w)
		}
	}
	return p
}

// append decodes one whole row.
func (d *rowDecoder) append(row []byte) error {
	r := reader{b: row}
	header := r.uvarint()
	p := d.plan(header >> 1)
	if p == nil {
		return errShort
	}
	var present []byte
	if header&1 != 0 {
		present = r.take(p.bitmap)
		if r.err != nil {
			return r.err
		}
	}
	for f := range p.stored {
		c := &p.stored[f]
		null := present != nil && present[f/8]&(1<<(f%8)) == 0
		switch {
		case c.to < 0:
			if !null {
				skipValue(&r, &c.typ)
			}
		case null:
			d.into[c.to].AppendNull()
		case c.wide != nil:
			c.wide.Reset()
			readValue(&r, c.wide)
			narrow := c.wide.Column()
			appendWidened(&d.into[c.to], &narrow, 0)
		default:
			readValue(&r, &d.into[c.to])
		}
	}
	for _, w := range p.missing {
		d.into[w].AppendNull()
	}
	d.len++
	return r.done()
}

// columns returns the rows decoded; they share memory with d until reset.
func (d *rowDecoder) columns() batch.Columns {
	out := batch.Columns{Fields: d.want, Cols: make([]batch.Column, len(d.into)), Len: d.len}
	for i := range d.into {
		out.Cols[i] = d.into[i].Column()
	}
	return out
}

func (d *rowDecoder) reset() {
	d.len = 0
	for i := range d.into {
		d.into[i].Reset()
	}
}

// readValue reads one value and appends it; after a failure it appends anything, so that columns stay of one length.
func readValue(r *reader, b *batch.Builder) {
	switch b.Type.Kind {
	case batch.Boolean, batch.TinyInt:
		batch.Append(b, r.byte())
	case batch.SmallInt:
		batch.Append(b, int16(r.varint()))
	case batch.Int, batch.Date:
		batch.Append(b, int32(r.varint()))
	case batch.BigInt:
		batch.Append(b, r.varint())
	case batch.Timestamp, batch.TimestampNTZ, batch.Double:
		batch.Append(b, int64(r.uint64()))
	case batch.Float:
		batch.Append(b, int32(r.uint32()))
	case batch.Decimal:
		if b.Type.Width() == 8 {
			batch.Append(b, r.varint())
			return
		}
		lo := r.uint64()
		batch.Append(b, batch.Int128{Lo: lo, Hi: int64(r.uint64())})
	case batch.Struct:
		for f := range b.Type.Fields {
			readField(r, b.Child(f))
		}
		b.AppendNested()
	case batch.Array, batch.Map:
		for range r.count(len(b.Type.Fields)) {
			for f := range b.Type.Fields {
				readField(r, b.Child(f))
			}
		}
		b.AppendNested()
	default:
		b.AppendText(r.text())
	}
}

func readField(r *reader, b *batch.Builder) {
	if r.byte() == 0 {
		b.AppendNull()
		return
	}
	readValue(r, b)
}

func skipValue(r *reader, t *batch.Type) {
	switch t.Kind {
	case batch.Boolean, batch.TinyInt:
		r.take(1)
	case batch.SmallInt, batch.Int, batch.BigInt, batch.Date:
		r.uvarint()
	case batch.Float:
		r.take(4)
	case batch.Timestamp, batch.TimestampNTZ, batch.Double:
		r.take(8)
	case batch.Decimal:
		if t.Width() == 8 {
			r.uvarint()
			return
		}
		r.take(16)
	case batch.Struct:
		skipFields(r, t)
	case batch.Array, batch.Map:
		for range r.count(len(t.Fields)) {
			skipFields(r, t)
		}
	default:
		r.text()
	}
}

func skipFields(r *reader, t *batch.Type) {
	for f := range t.Fields {
		if r.byte() != 0 {
			skipValue(r, &t.Fields[f].Type)
		}
	}
}

func (r *reader) uint32() uint32 {
	if b := r.take(4); b != nil {
		return binary.LittleEndian.Uint32(b)
	}
	return 0
}

func (r *reader) uint64() uint64 {
	if b := r.take(8); b != nil {
		return binary.LittleEndian.Uint64(b)
	}
	return 0
}
