package kafka

import (
	"encoding/binary"
	"slices"
	"strconv"
	"strings"

	"sluice/batch"
	"sluice/fault"
	"sluice/source"
)

// appendTo appends the record without its offset: its time, key, value and headers, in Kafka's own encoding.
func (r *record) appendTo(dst []byte) []byte {
	dst = binary.AppendVarint(append(dst, boolByte(r.logAppend)), r.time)
	dst = appendField(appendField(dst, r.key), r.value)
	return append(dst, r.headers...)
}

func appendField(dst, v []byte) []byte {
	if v == nil {
		return binary.AppendVarint(dst, -1)
	}
	return append(binary.AppendVarint(dst, int64(len(v))), v...)
}

func boolByte(b bool) byte {
	if b {
		return 1
	}
	return 0
}

// Original implements source.Keeper.
func (s *Source) Original(rows *batch.Columns, row int, _ string) batch.Bad {
	r := recordOf(rows.Col(source.RecordColumn).Text(row))
	return batch.Bad{Time: r.time * 1000, LogAppend: r.logAppend, Key: slices.Clone(r.key), Value: slices.Clone(r.value), Headers: r.cloneHeaders()}
}

// recordOf is the reverse of appendTo.
func recordOf(b []byte) (r record) {
	r.logAppend = b[0] == 1
	var at int
	r.time, at, _ = varint(b, 1)
	r.key, at, _ = field(b, at)
	r.value, at, _ = field(b, at)
	r.headers = b[at:]
	return r
}

// Remake implements source.Keeper. Each record is a batch of its own, as a broker might have sent it.
func (s *Source) Remake(records []source.Kept) (batch.Columns, batch.Range, []batch.Bad, error) {
	var t taken
	covered, splits := source.Splits(records)
	for _, split := range covered.Splits {
		cut := strings.LastIndexByte(split.Split, '/')
		number, err := strconv.ParseInt(split.Split[cut+1:], 10, 32)
		if err != nil {
			return batch.Columns{}, batch.Range{}, nil, fault.New(fault.InternalError, "%s is no partition", split.Split)
		}
		t.moves = append(t.moves, move{p: &partition{split: split.Split, topic: split.Split[:cut], number: int32(number)}})
	}
	for i := range records {
		k := &records[i]
		p := t.moves[splits[i]].p
		p.batch = recordBatch{first: k.At.At, next: k.At.At + 1, count: 1, time: k.Time / 1000, appendTime: k.LogAppend}
		p.data, p.at, p.frame = wireRecord(k), 0, -1
		var r record
		if _, err := p.batch.parseRecord(&r, p.data, 0); err != nil {
			return batch.Columns{}, batch.Range{}, nil, corrupt(p, k.At.At, err)
		}
		t.add(p, &r, splits[i], s.opts.nulls, &t.moves[splits[i]])
	}
	rows, bad, err := s.columns.make(&columnSet{decoded: s.columns.builders(s.columns.decoded), meta: s.columns.builders(s.columns.meta)}, &t)
	covered.Errors = t.errors
	return rows, covered, bad, err
}

// wireRecord is a record as it stands in a record batch, the first and only one of it.
func wireRecord(k *source.Kept) []byte {
	body := []byte{0, 0, 0} // no attributes; its time and offset are those of the batch
	body = appendField(appendField(body, k.Key), k.Value)
	body = binary.AppendVarint(body, int64(len(k.Headers)))
	for _, h := range k.Headers {
		body = appendField(appendField(body, []byte(h.Key)), h.Value)
	}
	return append(binary.AppendVarint(nil, int64(len(body))), body...)
}
