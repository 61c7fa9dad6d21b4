package postgres

import (
	"bytes"
	"encoding/binary"
	"math"
	"unicode/utf8"

	"sluice/batch"
	"sluice/fault"
	"sluice/format"
	"sluice/format/json"
	"sluice/sink"
)

// copier writes rows as PostgreSQL's COPY ... (FORMAT binary) wants them. Its buffers are used again.
type copier struct {
	table   string // for messages
	columns []copyColumn
	out     []byte
}

// copyColumn is a column of the rows and how it goes over.
type copyColumn struct {
	field batch.Field
	form  form
	json  format.Encoder // of the forms that are JSON
	skip  int            // bytes that the encoder puts in front of a value
	texts []byte         // the values as JSON, for one batch
	ends  []int
}

func newCopier(table string, fields []batch.Field, forms []form) *copier {
	c := &copier{table: table}
	for i, f := range fields {
		col := copyColumn{field: f, form: forms[i]}
		if f.Type.IsNested() || f.Type.Kind == batch.Variant {
			col.json = json.NewEncoder([]batch.Field{f}, json.EncodeOptions{})
			// An object of one member, from which the value is cut out.
			var nothing batch.Builder
			nothing.Init(f.Type, 1)
			nothing.AppendNull()
			text, _, _ := col.json.Encode(nil, nil, &batch.Columns{Fields: []batch.Field{f}, Cols: []batch.Column{nothing.Column()}, Len: 1}, 0, 1)
			col.skip = len(text) - len("null}")
		}
		c.columns = append(c.columns, col)
	}
	return c
}

// forget gives up the buffers; one of a table that was never written has none.
func (c *copier) forget() {
	if c == nil {
		return
	}
	c.out = nil
	for i := range c.columns {
		c.columns[i].texts, c.columns[i].ends = nil, nil
	}
}

var copyHeader = []byte("PGCOPY\n\xff\r\n\x00\x00\x00\x00\x00\x00\x00\x00\x00")

// extra is a column that the rows do not have: one byte or text per row.
type extra func(b []byte, row int) []byte

// encode returns the rows that index names (all where it is nil) as one COPY stream. after adds columns behind the rows'.
func (c *copier) encode(r *sink.Rows, index []int32, after ...extra) ([]byte, error) {
	rows := &r.Columns
	if err := c.prepare(r); err != nil {
		return nil, err
	}
	n := rows.Len
	if index != nil {
		n = len(index)
	}
	b := append(c.out[:0], copyHeader...)
	for i := range n {
		row := i
		if index != nil {
			row = int(index[i])
		}
		b = binary.BigEndian.AppendUint16(b, uint16(len(c.columns)+len(after)))
		for j := range c.columns {
			var err error
			if b, err = c.columns[j].append(b, &rows.Cols[j], row); err != nil {
				return nil, c.refuse(r, j, row, err)
			}
		}
		for _, add := range after {
			b = add(b, i)
		}
	}
	c.out = binary.BigEndian.AppendUint16(b, 0xffff)
	return c.out, nil
}

// prepare writes the columns that go over as JSON.
func (c *copier) prepare(r *sink.Rows) (err error) {
	rows := &r.Columns
	for j := range c.columns {
		col := &c.columns[j]
		if col.json == nil {
			continue
		}
		one := batch.Columns{Fields: []batch.Field{col.field}, Cols: rows.Cols[j : j+1], Len: rows.Len}
		if col.texts, col.ends, err = col.json.Encode(col.texts[:0], col.ends[:0], &one, 0, rows.Len); err != nil {
			return c.refuse(r, j, len(col.ends)-1, err)
		}
	}
	return nil
}

// refuse says which value of which row has no form in the table.
func (c *copier) refuse(rows *sink.Rows, column, row int, err error) error {
	return fault.New(fault.SinkRefusedValue, "table %s, column %s: %v", c.table, c.columns[column].field.Name, fault.Payload(err.Error())).
		WithDetail("%s", rows.Place(row)).
		WithHint("change the value in the flow's query, with replace() or CASE, or drop the row with an expectation")
}

type refusal string

func (r refusal) Error() string { return string(r) }

const (
	hasNUL      refusal = "the text has a NUL character, for which PostgreSQL has no form"
	notUTF8     refusal = "the text is not UTF-8"
	beyondDates refusal = "the date is outside PostgreSQL's range"
	tooLong     refusal = "the value is larger than 1 GB"
)

// append writes a value with its length in front; a null is the length -1.
func (col *copyColumn) append(b []byte, c *batch.Column, i int) ([]byte, error) {
	if c.IsNull(i) {
		return append(b, 0xff, 0xff, 0xff, 0xff), nil
	}
	switch col.form {
	case asBool:
		return append(fixed(b, 1), batch.Values[uint8](c)[i]), nil
	case asInt2:
		return binary.BigEndian.AppendUint16(fixed(b, 2), uint16(c.Int(i))), nil
	case asInt4:
		return binary.BigEndian.AppendUint32(fixed(b, 4), uint32(c.Int(i))), nil
	case asInt8:
		return binary.BigEndian.AppendUint64(fixed(b, 8), uint64(c.Int(i))), nil
	case asFloat4:
		return binary.BigEndian.AppendUint32(fixed(b, 4), math.Float32bits(batch.Values[float32](c)[i])), nil
	case asFloat8:
		return binary.BigEndian.AppendUint64(fixed(b, 8), math.Float64bits(float(c, i))), nil
	case asNumeric:
		return appendNumeric(b, int128(c, i), int(c.Type.Scale)), nil
	case asDate:
		return appendDate(b, batch.Values[int32](c)[i])
	case asTimestamp:
		return appendTimestamp(b, batch.Values[int64](c)[i])
	case asBytes:
		return appendBytes(b, c.Text(i))
	}
	return col.appendText(b, c, i)
}

// appendText writes what goes over as text: strings, and JSON.
func (col *copyColumn) appendText(b []byte, c *batch.Column, i int) ([]byte, error) {
	if col.json == nil {
		text := c.Text(i)
		switch {
		case bytes.IndexByte(text, 0) >= 0:
			return b, hasNUL
		case !utf8.Valid(text):
			return b, notUTF8
		}
		return appendBytes(b, text)
	}
	start := 0
	if i > 0 {
		start = col.ends[i-1]
	}
	text := col.texts[start+col.skip : col.ends[i]-1]
	if col.form != asJSONB {
		return appendBytes(b, text)
	}
	if escapesNUL(text) {
		return b, hasNUL
	}
	b = binary.BigEndian.AppendUint32(b, uint32(len(text)+1))
	b = append(b, 1) // version of jsonb's binary form
	return append(b, text...), nil
}

// escapesNUL reports whether a JSON text has a string with \u0000, which jsonb refuses.
func escapesNUL(text []byte) bool {
	for at := 0; ; {
		i := bytes.Index(text[at:], []byte(`u0000`))
		if i < 0 {
			return false
		}
		i += at
		slashes := 0
		for slashes < i && text[i-1-slashes] == '\\' {
			slashes++
		}
		if slashes%2 == 1 {
			return true
		}
		at = i + 1
	}
}

func fixed(b []byte, size uint32) []byte { return binary.BigEndian.AppendUint32(b, size) }

func appendBytes(b, v []byte) ([]byte, error) {
	if len(v) >= 1<<30 {
		return b, tooLong
	}
	return append(binary.BigEndian.AppendUint32(b, uint32(len(v))), v...), nil
}

// PostgreSQL counts days and microseconds from 2000-01-01.
const (
	epochDays   = 10957
	epochMicros = epochDays * 86400 * 1_000_000
	minDate     = -2451545 + epochDays // 4714-11-24 BC, in days since 1970
	maxDate     = 2145031948 + epochDays
	minMicros   = -211813488000000000 + epochMicros
	endMicros   = 9223371331200000000 // since 2000
)

func appendDate(b []byte, days int32) ([]byte, error) {
	if int64(days) < minDate || int64(days) > maxDate {
		return b, beyondDates
	}
	return binary.BigEndian.AppendUint32(fixed(b, 4), uint32(days-epochDays)), nil
}

func appendTimestamp(b []byte, micros int64) ([]byte, error) {
	if micros < minMicros || micros-epochMicros >= endMicros {
		return b, beyondDates
	}
	return binary.BigEndian.AppendUint64(fixed(b, 8), uint64(micros-epochMicros)), nil
}

func float(c *batch.Column, i int) float64 {
	if c.Type.Kind == batch.Float {
		return float64(batch.Values[float32](c)[i])
	}
	return batch.Values[float64](c)[i]
}

func int128(c *batch.Column, i int) batch.Int128 {
	if c.Type.Kind == batch.Decimal && c.Type.Precision > 18 {
		return batch.Values[batch.Int128](c)[i]
	}
	v := c.Int(i)
	return batch.Int128{Lo: uint64(v), Hi: v >> 63}
}
