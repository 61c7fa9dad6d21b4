package kafka

import (
	"slices"
	"unicode/utf8"

	"sluice/batch"
	"sluice/fault"
	"sluice/source"
)

// appendMeta appends to b what a source knows about the records that rows were made of.
func (t *taken) appendMeta(b *batch.Builder, name string, kept []int32) error {
	switch name {
	case "topic":
		for _, i := range kept {
			b.AppendString(t.moves[t.splits[i]].p.topic)
		}
	case "partition":
		for _, i := range kept {
			batch.Append(b, t.moves[t.splits[i]].p.number)
		}
	case "offset":
		for _, i := range kept {
			batch.Append(b, t.offsets[i])
		}
	case "value":
		for _, i := range kept {
			appendBytes(b, t.values[i])
		}
	case "timestampType":
		for _, i := range kept {
			kind := int32(0)
			if t.frames[t.places[i].frame].batch.appendTime {
				kind = 1
			}
			batch.Append(b, kind)
		}
	default:
		return t.appendParsed(b, name, kept)
	}
	return nil
}

// appendParsed appends what only the record itself says: its key, its time, its headers.
func (t *taken) appendParsed(b *batch.Builder, name string, kept []int32) error {
	var r record
	for _, i := range kept {
		p := t.moves[t.splits[i]].p
		if err := t.parse(t.places[i], &r); err != nil {
			return corrupt(p, r.offset, err)
		}
		switch name {
		case "key":
			appendBytes(b, r.key)
		case "timestamp":
			batch.Append(b, r.time*1000)
		case source.RecordColumn:
			t.record = r.appendTo(t.record[:0])
			b.AppendText(t.record)
		case "headers":
			if err := appendHeaders(b, &r); err != nil {
				return corrupt(p, r.offset, err)
			}
		}
	}
	return nil
}

func appendBytes(b *batch.Builder, v []byte) {
	if v == nil {
		b.AppendNull()
		return
	}
	b.AppendText(v)
}

// appendHeaders appends a row of HeaderType. Order and repetition are kept, null and empty values are told apart
// . A name that is not UTF-8 is not a STRING: the batch is refused as corrupt, since Kafka requires it.
func appendHeaders(b *batch.Builder, r *record) error {
	entry := b.Child(0)
	valid := true
	err := r.eachHeader(func(key, value []byte) {
		valid = valid && utf8.Valid(key)
		entry.Child(0).AppendText(key)
		appendBytes(entry.Child(1), value)
		entry.AppendNested()
	})
	if err == nil && !valid {
		return errHeaderName
	}
	b.AppendNested()
	return err
}

var errHeaderName = fault.New(fault.InvalidUTF8, "the name of a header is not UTF-8")

// sortBoth sorts bad records by split and offset; order has the two for each.
func sortBoth(bad []batch.Bad, order []refused) {
	index := make([]int, len(bad))
	for i := range index {
		index[i] = i
	}
	slices.SortStableFunc(index, func(a, b int) int { return order[a].compare(order[b]) })
	sorted := make([]batch.Bad, len(bad))
	for to, from := range index {
		sorted[to] = bad[from]
	}
	copy(bad, sorted)
}
