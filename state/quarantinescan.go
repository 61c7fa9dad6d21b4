package state

import (
	"slices"
	"strings"

	"github.com/cockroachdb/pebble/v2"

	"sluice/batch"
)

// QuarantineFields are the columns of a table of records in quarantine. Names of headers that are not UTF-8 are shown with U+FFFD.
func QuarantineFields() []batch.Field {
	text, number, time, bytes := batch.Of(batch.String), batch.Of(batch.BigInt), batch.Of(batch.Timestamp), batch.Of(batch.Binary)
	headers := batch.ArrayOf(batch.StructOf(batch.Field{Name: "key", Type: text}, batch.Field{Name: "value", Type: bytes}))
	return []batch.Field{
		{Name: "flow", Type: text, NotNull: true},
		{Name: "split", Type: text, NotNull: true},
		{Name: "split_id", Type: text, NotNull: true},
		{Name: "offset", Type: number, NotNull: true},
		{Name: "index", Type: batch.Of(batch.Int), NotNull: true},
		{Name: "timestamp", Type: time},
		{Name: "key", Type: bytes},
		{Name: "value", Type: bytes},
		{Name: "headers", Type: headers, NotNull: true},
		{Name: "error_code", Type: text, NotNull: true},
		{Name: "error_message", Type: text, NotNull: true},
		{Name: "error_column", Type: text},
		{Name: "batch_time", Type: time, NotNull: true},
		{Name: "generation", Type: number, NotNull: true},
		{Name: "status", Type: text, NotNull: true},
		{Name: "edited_key", Type: bytes},
		{Name: "edited_value", Type: bytes},
		{Name: "replayed", Type: time},
	}
}

// QuarantineScan reads such a table, flow by flow. It is used by one goroutine at a time.
type QuarantineScan struct {
	store   *Store
	db      *pebble.Snapshot
	flows   []flowNumber // not begun yet
	now     string       // the flow that the iterator reads
	it      *pebble.Iterator
	ok      bool
	columns []int // of QuarantineFields
}

type flowNumber struct {
	name string
	id   uint32
}

// ScanQuarantine reads the table of a name that Quarantines has. columns names those wanted, in the order they come back; nil means all.
func (s *Snapshot) ScanQuarantine(name string, columns []string) (*QuarantineScan, error) {
	scan := &QuarantineScan{store: s.store, db: s.db}
	fields := QuarantineFields()
	for i := range fields {
		if columns == nil {
			scan.columns = append(scan.columns, i)
		}
	}
	for _, c := range columns {
		scan.columns = append(scan.columns, slices.IndexFunc(fields, func(f batch.Field) bool { return f.Name == c }))
	}
	names, err := s.store.names(kindFlow)
	if err != nil {
		return nil, err
	}
	for _, flow := range names {
		var r flowRecord
		if ok, err := readJSON(s.store, s.db, nameKey(kindFlow, flow), &r); err != nil {
			return nil, err
		} else if ok && r.Quarantine == name {
			scan.flows = append(scan.flows, flowNumber{flow, r.ID})
		}
	}
	if len(scan.flows) == 0 {
		return nil, errNoQuarantine(name)
	}
	return scan, nil
}

const (
	quarantineRows  = 1024    // of a piece that Next chooses
	quarantineBytes = 8 << 20 // after which a piece ends
)

// Next returns the next rows, at most max, none at the end.
func (s *QuarantineScan) Next(max int) (batch.Columns, error) {
	if max <= 0 {
		max = quarantineRows
	}
	fields := QuarantineFields()
	out := batch.Columns{}
	builders := make([]*batch.Builder, len(s.columns))
	for i, c := range s.columns {
		out.Fields = append(out.Fields, fields[c])
		builders[i] = batch.NewBuilder(fields[c].Type, 0)
	}
	for bytes := 0; out.Len < max && bytes < quarantineBytes; out.Len++ {
		q, size, err := s.entry()
		if err != nil {
			return batch.Columns{}, s.store.readFailed(err)
		}
		if q == nil {
			break
		}
		for i, c := range s.columns {
			q.cell(fields[c].Name, s.now, builders[i])
		}
		bytes += size
	}
	for _, b := range builders {
		out.Cols = append(out.Cols, b.Column())
	}
	return out, nil
}

// entry takes the next entry, nil at the end.
func (s *QuarantineScan) entry() (*Quarantined, int, error) {
	for !s.ok {
		if err := s.close(); err != nil || len(s.flows) == 0 {
			return nil, 0, err
		}
		prefix := idKey(kindQuarantine, s.flows[0].id)
		s.now, s.flows = s.flows[0].name, s.flows[1:]
		var err error
		if s.it, err = s.db.NewIter(&pebble.IterOptions{LowerBound: append(slices.Clone(prefix), 0), UpperBound: prefixEnd(prefix)}); err != nil {
			return nil, 0, err
		}
		s.ok = s.it.First()
	}
	v, err := s.it.ValueAndErr()
	if err != nil {
		return nil, 0, err
	}
	q, err := decodeQuarantined(parseRowKey(s.it.Key()), v)
	size := len(v)
	s.ok = s.it.Next()
	return &q, size, err
}

// close ends the iterator and returns what went wrong with it.
func (s *QuarantineScan) close() error {
	if s.it == nil {
		return nil
	}
	it := s.it
	s.it = nil
	return it.Close()
}

// Close frees the scan.
func (s *QuarantineScan) Close() error { return s.close() }

// cell appends one column of an entry.
func (q *Quarantined) cell(name, flow string, b *batch.Builder) {
	text := func(v string) { b.AppendString(strings.ToValidUTF8(v, "\uFFFD")) }
	bytes := func(b *batch.Builder, v []byte) {
		if v == nil {
			b.AppendNull()
			return
		}
		b.AppendText(v)
	}
	switch name {
	case "flow":
		text(flow)
	case "split":
		text(q.Split)
	case "split_id":
		text(q.ID)
	case "offset":
		batch.Append(b, q.At.At)
	case "index":
		batch.Append(b, q.At.Index)
	case "timestamp":
		appendTime(b, q.Time)
	case "key":
		bytes(b, q.Key)
	case "value":
		bytes(b, q.Value)
	case "headers":
		entry := b.Child(0)
		for _, h := range q.Headers {
			entry.Child(0).AppendString(strings.ToValidUTF8(h.Key, "\uFFFD"))
			bytes(entry.Child(1), h.Value)
			entry.AppendNested()
		}
		b.AppendNested()
	case "error_code":
		text(q.Code)
	case "error_message":
		text(q.Message)
	case "error_column":
		if q.Column == "" {
			b.AppendNull()
			return
		}
		text(q.Column)
	case "batch_time":
		batch.Append(b, q.BatchTime)
	case "generation":
		batch.Append(b, int64(q.Generation))
	case "status":
		text(q.Status())
	case "edited_key":
		bytes(b, q.EditedKey)
	case "edited_value":
		bytes(b, q.EditedValue)
	case "replayed":
		appendTime(b, q.Replayed)
	}
}

// appendTime appends microseconds; 0 is no time.
func appendTime(b *batch.Builder, at int64) {
	if at == 0 {
		b.AppendNull()
		return
	}
	batch.Append(b, at)
}
