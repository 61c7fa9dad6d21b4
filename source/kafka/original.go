package kafka

import (
	"encoding/binary"
	"slices"

	"sluice/batch"
	"sluice/source"
)

// appendTo appends the record without its offset: its time, key, value and headers, in Kafka's own encoding.
func (r *record) appendTo(dst []byte) []byte {
	dst = binary.AppendVarint(dst, r.time)
	dst = appendField(appendField(dst, r.key), r.value)
	return append(dst, r.headers...)
}

func appendField(dst, v []byte) []byte {
	if v == nil {
		return binary.AppendVarint(dst, -1)
	}
	return append(binary.AppendVarint(dst, int64(len(v))), v...)
}

// Original implements source.Keeper.
func (s *Source) Original(rows *batch.Columns, row int) batch.Bad {
	r := recordOf(rows.Col(source.RecordColumn).Text(row))
	return batch.Bad{Time: r.time * 1000, Key: slices.Clone(r.key), Value: slices.Clone(r.value), Headers: r.cloneHeaders()}
}

// recordOf is the reverse of appendTo.
func recordOf(b []byte) (r record) {
	var at int
	r.time, at, _ = varint(b, 0)
	r.key, at, _ = field(b, at)
	r.value, at, _ = field(b, at)
	r.headers = b[at:]
	return r
}
