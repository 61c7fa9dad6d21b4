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
	BatchTime  int64  // of the batch that read it last, or replayed it, microseconds
	Generation uint64 // of the flow then
	LogAppend  bool   // Time is the broker's, not the producer's
	Lettered   bool   // it has had its dead letter

	Mend // what was done about it; a batch that puts a record in again does not touch it
}

// Because notes why a record is refused.
func (q *Quarantined) Because(e *fault.Error) {
	q.Code, q.Message, q.Column = e.Code.Name, e.Message, e.Column
	if e.Cause != nil {
		q.Message += ": " + e.Cause.Error()
	}
	if e.Detail != "" {
		q.Message += " (" + e.Detail + ")"
	}
}

// Place is where a record stands.
type Place struct {
	Split, ID string
	At        batch.Offset
}

// Quarantine is what a batch does to the quarantine of its flow: records that are put in, and such of which rows were made:
// they leave, but for those whose edit is in force, which stay for the next time (D-31). No place is in it twice.
type Quarantine struct {
	Put  []Quarantined
	Drop []Place

	Letters bool // a record that is put in has a dead letter, if it has had none
}

// QuarantineSize is how much a flow has in quarantine.
type QuarantineSize struct {
	Records int64 // those of which rows were made by an edit are not counted
	Bytes   int64 // of keys and values in the store, before compression
	Ordered int64 // records that are to be replayed
	InForce int64 // records whose edit is used when they are read again

	Letters     int64 // dead letters there have been, sent ones included
	LetterBytes int64 // of them
}

// add counts an entry, or takes it out with by = -1.
func (n *QuarantineSize) add(q *Quarantined, bytes int, by int64) {
	n.Bytes += by * int64(bytes)
	if q.Replayed == 0 {
		n.Records += by
	}
	if q.Ordered {
		n.Ordered += by
	}
	if q.InForce {
		n.InForce += by
	}
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
	generation := f.Generation()
	for i, k := range keys {
		old, err := f.entry(k, &size)
		if err != nil {
			return size, err
		}
		var r *Quarantined
		letter := false
		switch {
		case i < len(q.Put):
			r = &q.Put[i]
			r.refusedAgain(old)
			letter = q.Letters
		case old != nil && old.reads():
			r = old
			r.Ordered, r.InForce, r.Replayed = false, true, max(batchTime, 1)
		default:
			must(b.Delete(k, nil))
			continue
		}
		r.BatchTime, r.Generation = batchTime, generation
		if letter {
			size.letter(b, f, r)
		}
		size.set(b, k, r)
	}
	must(b.Set(idKey(kindQuarantine, f.record.ID), size.encode(), nil))
	return size, nil
}

// entry returns what is under a key, or nil, and takes it out of size.
func (f *Flow) entry(k []byte, size *QuarantineSize) (*Quarantined, error) {
	v, err := f.store.get(f.store.db, k)
	if err != nil || v == nil {
		return nil, err
	}
	q, err := decodeQuarantined(parseRowKey(k), v)
	if err != nil {
		return nil, f.store.readFailed(err)
	}
	size.add(&q, len(k)+len(v), -1)
	return &q, nil
}

// set writes an entry and counts it.
func (n *QuarantineSize) set(b *pebble.Batch, k []byte, q *Quarantined) {
	v := q.encode()
	must(b.Set(k, v, nil))
	n.add(q, len(k)+len(v), 1)
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
	if f.Quarantined().Bytes == 0 {
		return nil, nil
	}
	var out []Place
	err := f.eachIn(r, func(s *batch.SplitRange, p rowPosition, _ []byte) error {
		out = append(out, Place{s.Split, s.ID, batch.Offset{At: p.offset, Index: p.index}})
		return nil
	})
	return out, err
}

// eachIn visits the entries of a range, split by split.
func (f *Flow) eachIn(r *batch.Range, visit func(s *batch.SplitRange, p rowPosition, v []byte) error) error {
	numbers, err := f.numbersOf(r)
	if err != nil {
		return err
	}
	for i := range r.Splits {
		s := &r.Splits[i]
		from := quarantineKey(f.record.ID, rowPosition{numbers[i], s.From.At, s.From.Index})
		to := quarantineKey(f.record.ID, rowPosition{numbers[i], s.To.At, s.To.Index})
		if err := f.store.each(f.store.db, from, to, func(k, v []byte) error { return visit(s, parseRowKey(k), v) }); err != nil {
			return err
		}
	}
	return nil
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
	b := binary.AppendVarint(binary.AppendVarint(nil, n.Records), n.Bytes)
	if n.Ordered == 0 && n.InForce == 0 && n.Letters == 0 {
		return b
	}
	b = binary.AppendVarint(binary.AppendVarint(b, n.Ordered), n.InForce)
	if n.Letters == 0 {
		return b
	}
	return binary.AppendVarint(binary.AppendVarint(b, n.Letters), n.LetterBytes)
}

func decodeQuarantineSize(b []byte) (n QuarantineSize, err error) {
	r := reader{b: b}
	n = QuarantineSize{Records: r.varint(), Bytes: r.varint()}
	if len(r.b) > 0 {
		n.Ordered, n.InForce = r.varint(), r.varint()
	}
	if len(r.b) > 0 {
		n.Letters, n.LetterBytes = r.varint(), r.varint()
	}
	return n, r.done()
}

// encode is the value of an entry: split, id, time of the record, key, value, headers, error, batch time, generation; then, unless
// all of it is empty, marks, the edit, and when it was replayed.
func (q *Quarantined) encode() []byte {
	b := appendText(appendText(nil, q.Split), q.ID)
	b = binary.AppendVarint(b, q.Time)
	b = appendBytes(appendBytes(b, q.Key), q.Value)
	b = binary.AppendUvarint(b, uint64(len(q.Headers)))
	for _, h := range q.Headers {
		b = appendBytes(appendText(b, h.Key), h.Value)
	}
	b = appendText(appendText(appendText(b, q.Code), q.Message), q.Column)
	b = binary.AppendUvarint(binary.AppendVarint(b, q.BatchTime), q.Generation)
	marks := q.marks()
	if marks == 0 && !q.Edited() && q.Replayed == 0 {
		return b
	}
	b = appendBytes(appendBytes(append(b, marks), q.EditedKey), q.EditedValue)
	return binary.AppendVarint(b, q.Replayed)
}

// Marks of an entry, as they lie on disk.
const (
	markOrdered = 1 << iota
	markInForce
	markLogAppend
	markLettered
)

func (q *Quarantined) marks() (m byte) {
	for i, set := range [...]bool{q.Ordered, q.InForce, q.LogAppend, q.Lettered} {
		if set {
			m |= 1 << i
		}
	}
	return m
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
	if len(r.b) > 0 {
		marks := r.take(1)[0]
		q.Ordered, q.InForce, q.LogAppend, q.Lettered = marks&markOrdered != 0, marks&markInForce != 0, marks&markLogAppend != 0, marks&markLettered != 0
		q.EditedKey, q.EditedValue, q.Replayed = r.bytes(), r.bytes(), r.varint()
	}
	return q, r.done()
}

// checkQuarantine compares the entries of a flow with their sum.
func (s *Store) checkQuarantine(f *Flow) error {
	found := QuarantineSize{Letters: f.quarantine.Letters, LetterBytes: f.quarantine.LetterBytes} // checkLetters
	err := s.eachQuarantined(s.db, f.record.ID, func(k []byte, q Quarantined, size int) error {
		if q.Split == "" || q.Code == "" {
			return s.corrupt("a record of flow %s in quarantine has no split or no error", f.name)
		}
		found.add(&q, len(k)+size, 1)
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
