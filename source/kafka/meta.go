package kafka

import (
	"slices"
	"unicode/utf8"

	"sluice/batch"
	"sluice/fault"
	"sluice/format"
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
			appendHeaders(b, &r)
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

// appendHeaders appends a row of HeaderType, NULL for headers that cannot be read. Order and repetition are kept, null and empty values are
// told apart.
func appendHeaders(b *batch.Builder, r *record) {
	if r.checkHeaders() != nil {
		b.AppendNull()
		return
	}
	entry := b.Child(0)
	_ = r.eachHeader(func(key, value []byte) { // which has been read
		entry.Child(0).AppendText(key)
		appendBytes(entry.Child(1), value)
		entry.AppendNested()
	})
	b.AppendNested()
}

// checkHeaders finds the records whose headers cannot be read: they are refused, or their headers are NULL (D-15).
func (t *taken) checkHeaders(permissive bool) error {
	n := 0
	for i, at := range t.places {
		var r record
		if err := t.parse(at, &r); err != nil {
			return corrupt(t.moves[t.splits[i]].p, t.offsets[i], err)
		}
		err := r.checkHeaders()
		if err != nil && permissive {
			t.unread = append(t.unread, format.BadValue{Index: n, Kept: true, Err: err})
		} else if err != nil {
			t.refused = append(t.refused, refused{split: t.splits[i], offset: t.offsets[i], place: at, err: err})
			continue
		}
		t.values[n], t.offsets[n], t.splits[n], t.places[n] = t.values[i], t.offsets[i], t.splits[i], at
		n++
	}
	clear(t.values[n:])
	t.values, t.offsets, t.splits, t.places = t.values[:n], t.offsets[:n], t.splits[:n], t.places[:n]
	return nil
}

// checkHeaders says why a record's headers are no rows of HeaderType: a name is a STRING, so it is UTF-8, as Kafka wants it.
func (r *record) checkHeaders() *fault.Error {
	at, wrong := 0, -1
	err := r.eachHeader(func(key, _ []byte) {
		if wrong < 0 && !utf8.Valid(key) {
			wrong = at
		}
		at++
	})
	switch {
	case err != nil:
		return fault.New(fault.MalformedRecord, "its headers cannot be read").OfColumn("headers").Because(err)
	case wrong >= 0:
		return fault.New(fault.InvalidUTF8, "the name of header %d is not UTF-8", wrong+1).OfColumn("headers").WithHint("a query that does not ask for the headers takes the record")
	}
	return nil
}

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
