package kafka

import (
	"github.com/twmb/franz-go/pkg/kgo"

	"sluice/batch"
	"sluice/sink"
)

// take makes records of rows that are some: key, value and headers, byte for byte, nulls included.
func (r *records) take(rows *sink.Rows) {
	b, c := &r.buffers, &rows.Columns
	key, value, headers := c.Col("key"), c.Col("value"), c.Col("headers")
	entry := &headers.Children[0]
	for i := range c.Len {
		rec := kgo.Record{Key: bytesAt(key, i), Value: bytesAt(value, i)}
		for at := headers.Offsets[i]; at < headers.Offsets[i+1]; at++ {
			rec.Headers = append(rec.Headers, kgo.RecordHeader{Key: string(bytesAt(&entry.Children[0], int(at))), Value: bytesAt(&entry.Children[1], int(at))})
		}
		b.rows, b.row = append(b.rows, rec), append(b.row, int32(i))
	}
}

// bytesAt is a value of bytes, nil for null.
func bytesAt(c *batch.Column, i int) []byte {
	if c.IsNull(i) {
		return nil
	}
	if v := c.Text(i); len(v) > 0 {
		return v[:len(v):len(v)]
	}
	return []byte{}
}
