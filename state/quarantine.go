package state

import (
	"cmp"
	"encoding/binary"
	"slices"

	"github.com/cockroachdb/pebble/v2"

	"sluice/batch"
	"sluice/fault"
)

// A record that a flow cannot use is kept as it came, in the commit of the batch that read it (D-15). It is known by its position:
// read again it replaces itself, whatever was reset in between (D-31).

// Quarantined is such a record. Key and Value are nil where the record has none; of one that was too large to be read there
// is no Value either, and Code says so.
type Quarantined struct {
	Split, ID  string // as in batch.Mark
	At         batch.Offset
	Time       int64 // of the record, microseconds since the epoch; 0 unknown
	Key, Value []byte
	Headers    []batch.Header
	Code       string // of the error
	Message    string
	Column     string // that the error is about, "" where it is about no one column
	BatchTime  int64  // of the batch that read it last, microseconds
	Generation uint64 // of the flow then
}

// Place is where a record stands.
type Place struct {
	Split, ID string
	At        batch.Offset
}

// Quarantine is what a batch does to the quarantine of its flow: records that are put in, and such that leave since they
// were read again and are no longer refused. No place is in it twice.
type Quarantine struct {
	Put  []Quarantined
	Drop []Place
}

// QuarantineSize is how much a flow has in quarantine.
type QuarantineSize struct {
	Records int64
	Bytes   int64 // of keys and values in the store, before compression
}

// put adds what a batch does to the flow's quarantine to its write, and returns the size after it. It takes numbers of splits, so
// it is called before f.mu is taken.
func (q *Quarantine) put(b *pebble.Batch, f *Flow, batchTime int64) (QuarantineSize, error) {
	size := f.Quarantined()
	if len(q.Put)+len(q.Drop) == 0 {
		return size, nil
	}
	places := make([]Place, 0, len(q.Put)+len(q.Drop))
	for i := range q.Put {
		places = append(places, Place{q.Put[i].Split, q.Put[i].ID, q.Put[i].At})
	}
	keys, err := f.quarantineKeys(append(places, q.Drop...))
	if err != nil {
		return size, err
	}
	for i, k := range keys {
		old, err := f.store.get(f.store.db, k)
		if err != nil {
			return size, err
		}
		if old != nil {
			size.Records--
			size.Bytes -= int64(len(k) + len(old))
		}
		if i >= len(q.Put) {
			must(b.Delete(k, nil))
			continue
		}
		r := &q.Put[i]
		r.BatchTime, r.Generation = batchTime, f.Generation()
		v := r.encode()
		must(b.Set(k, v, nil))
		size.Records++
		size.Bytes += int64(len(k) + len(v))
	}
	must(b.Set(idKey(kindQuarantine, f.record.ID), size.encode(), nil))
	return size, nil
}

// quarantineKeys are the keys of places.
func (f *Flow) quarantineKeys(places []Place) ([][]byte, error) {
	var r batch.Range
	index := map[batch.Mark]int32{}
	pos := batch.Positions{}
	for _, p := range places {
		m := batch.Mark{Split: p.Split, ID: p.ID}
		at, known := index[m]
		if !known {
			at = int32(len(r.Splits))
			index[m] = at
			r.Splits = append(r.Splits, batch.SplitRange{Split: p.Split, ID: p.ID})
		}
		pos.Split, pos.Offset, pos.Index = append(pos.Split, at), append(pos.Offset, p.At.At), append(pos.Index, p.At.Index)
	}
	named, err := f.Positions(&r, pos)
	if err != nil {
		return nil, err
	}
	keys := make([][]byte, len(places))
	for i := range keys {
		keys[i] = quarantineKey(f.record.ID, positionAt(&named, int32(i)))
	}
	return keys, nil
}

// Quarantined is how much the flow has in quarantine.
func (f *Flow) Quarantined() QuarantineSize {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.quarantine
}

// QuarantinedIn returns the places of a range that have a record in quarantine, split by split.
func (f *Flow) QuarantinedIn(r *batch.Range) ([]Place, error) {
	if f.Quarantined().Records == 0 {
		return nil, nil
	}
	numbers, err := f.numbersOf(r)
	if err != nil {
		return nil, err
	}
	var out []Place
	for i, s := range r.Splits {
		from := quarantineKey(f.record.ID, rowPosition{numbers[i], s.From.At, s.From.Index})
		to := quarantineKey(f.record.ID, rowPosition{numbers[i], s.To.At, s.To.Index})
		err := f.store.each(f.store.db, from, to, func(k, _ []byte) error {
			p := parseRowKey(k)
			out = append(out, Place{s.Split, s.ID, batch.Offset{At: p.offset, Index: p.index}})
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return out, nil
}

// SetQuarantine says which table shows what the flow has in quarantine. It is kept, so that a store beside a stopped daemon
// can be asked, and survives resets.
func (f *Flow) SetQuarantine(table string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	r := f.record
	if r.Quarantine == table {
		return nil
	}
	r.Quarantine = table
	if err := f.store.update(func(b *pebble.Batch) { must(b.Set(nameKey(kindFlow, f.name), mustJSON(r), nil)) }); err != nil {
		return err
	}
	f.record = r
	return nil
}

func (f *Flow) loadQuarantine() (err error) {
	f.quarantine = QuarantineSize{}
	v, err := f.store.get(f.store.db, idKey(kindQuarantine, f.record.ID))
	if err != nil || v == nil {
		return err
	}
	if f.quarantine, err = decodeQuarantineSize(v); err != nil {
		return f.store.readFailed(err)
	}
	return nil
}

func (n QuarantineSize) encode() []byte {
	return binary.AppendVarint(binary.AppendVarint(nil, n.Records), n.Bytes)
}

func decodeQuarantineSize(b []byte) (n QuarantineSize, err error) {
	r := reader{b: b}
	n = QuarantineSize{r.varint(), r.varint()}
	return n, r.done()
}

// encode is the value of an entry: split, id, time of the record, key, value, headers, error, batch time, generation.
func (q *Quarantined) encode() []byte {
	b := appendText(appendText(nil, q.Split), q.ID)
	b = binary.AppendVarint(b, q.Time)
	b = appendBytes(appendBytes(b, q.Key), q.Value)
	b = binary.AppendUvarint(b, uint64(len(q.Headers)))
	for _, h := range q.Headers {
		b = appendBytes(appendText(b, h.Key), h.Value)
	}
	b = appendText(appendText(appendText(b, q.Code), q.Message), q.Column)
	return binary.AppendUvarint(binary.AppendVarint(b, q.BatchTime), q.Generation)
}

// appendBytes appends bytes that may be null: a length that is one too much, or 0.
func appendBytes(dst, v []byte) []byte {
	if v == nil {
		return append(dst, 0)
	}
	return append(binary.AppendUvarint(dst, uint64(len(v))+1), v...)
}

func (r *reader) bytes() []byte {
	n := r.uvarint()
	if n == 0 {
		return nil
	}
	if n-1 > uint64(len(r.b)) {
		r.fail()
		return nil
	}
	return append([]byte{}, r.take(int(n-1))...)
}

// decodeQuarantined takes an entry apart. at is the position in its key.
func decodeQuarantined(at rowPosition, b []byte) (q Quarantined, err error) {
	r := reader{b: b}
	q = Quarantined{Split: string(r.text()), ID: string(r.text()), At: batch.Offset{At: at.offset, Index: at.index}, Time: r.varint(), Key: r.bytes(), Value: r.bytes()}
	for range r.count(2) {
		q.Headers = append(q.Headers, batch.Header{Key: string(r.text()), Value: r.bytes()})
	}
	q.Code, q.Message, q.Column = string(r.text()), string(r.text()), string(r.text())
	q.BatchTime, q.Generation = r.varint(), r.uvarint()
	return q, r.done()
}

// checkQuarantine compares the entries of a flow with their sum.
func (s *Store) checkQuarantine(f *Flow) error {
	var found QuarantineSize
	err := s.eachQuarantined(s.db, f.record.ID, func(k []byte, q Quarantined, size int) error {
		if q.Split == "" || q.Code == "" {
			return s.corrupt("a record of flow %s in quarantine has no split or no error", f.name)
		}
		found.Records++
		found.Bytes += int64(len(k) + size)
		return nil
	})
	if err == nil && found != f.quarantine {
		err = s.corrupt("flow %s has %v in quarantine, its sum says %v", f.name, found, f.quarantine)
	}
	return err
}

// eachQuarantined visits the entries of a flow by number of the split and offset, with their keys and the sizes of their values.
func (s *Store) eachQuarantined(r pebble.Reader, flow uint32, visit func(k []byte, q Quarantined, size int) error) error {
	prefix := idKey(kindQuarantine, flow)
	return s.each(r, append(slices.Clone(prefix), 0), prefixEnd(prefix), func(k, v []byte) error {
		q, err := decodeQuarantined(parseRowKey(k), v)
		if err != nil {
			return err
		}
		return visit(k, q, len(v))
	})
}

// Quarantines describes the tables that show what flows have in quarantine, sorted by name. They are read by ScanQuarantine.
func (s *Store) Quarantines() ([]TableInfo, error) {
	flows, err := s.Flows()
	if err != nil {
		return nil, err
	}
	var out []TableInfo
	for _, f := range flows {
		if f.Quarantine == "" {
			continue
		}
		at, known := slices.BinarySearchFunc(out, f.Quarantine, func(t TableInfo, name string) int { return cmp.Compare(t.Name, name) })
		if !known {
			out = slices.Insert(out, at, TableInfo{Name: f.Quarantine, Fields: QuarantineFields()})
		}
		out[at].Rows += f.Quarantined.Records
		out[at].Bytes += f.Quarantined.Bytes
	}
	return out, nil
}

// errNoQuarantine is for a name that Quarantines does not have.
func errNoQuarantine(name string) error {
	return fault.New(fault.InternalError, "there is no table %s", name)
}
