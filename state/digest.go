package state

import (
	"context"
	"encoding/binary"
	"time"

	"github.com/cockroachdb/pebble/v2"

	"sluice/batch"
	"sluice/digest"
	"sluice/fault"
)

// digestRecord is the digest of a table's rows (D-29), written with every commit where it is kept. It holds for the commit
// and for the columns that it names alone, so that one which was not written on, by whatever, is never taken for the table's.
type digestRecord struct {
	commit   int64
	versions int    // of the table's schema: a row is as the latest one shows it
	seed     uint64 // digest.Hasher.Seed
	sum      digest.Sum
}

func (d digestRecord) encode() []byte {
	b := binary.AppendVarint(nil, d.commit)
	b = binary.AppendUvarint(b, uint64(d.versions))
	for _, n := range []uint64{d.seed, d.sum.Hi, d.sum.Lo} {
		b = binary.BigEndian.AppendUint64(b, n)
	}
	return binary.AppendVarint(b, d.sum.Rows)
}

func decodeDigest(b []byte) (d digestRecord, err error) {
	r := reader{b: b}
	d.commit, d.versions = r.varint(), int(r.uvarint())
	for _, n := range []*uint64{&d.seed, &d.sum.Hi, &d.sum.Lo} {
		if b := r.take(8); b != nil {
			*n = binary.BigEndian.Uint64(b)
		}
	}
	d.sum.Rows = r.varint()
	return d, r.done()
}

// digestOf reads the digest that is kept of a table as of a commit, nil when none is.
func (s *Store) digestOf(r pebble.Reader, t *tableRecord, commit int64) (*digest.Sum, error) {
	v, err := s.get(r, idKey(kindDigest, t.Instance))
	if err != nil || v == nil {
		return nil, err
	}
	d, err := decodeDigest(v)
	if err != nil {
		return nil, s.readFailed(err)
	}
	if d.commit != commit || d.versions != len(t.Schema.Versions) || d.seed != digest.New(t.Schema.fields()).Seed() {
		return nil, nil
	}
	return &d.sum, nil
}

// KeepDigest turns the digest of the table on or off. Where it is on it changes with every commit, in the same write. When it
// was not on before, or the columns have changed since, it is computed from the rows first; writers wait meanwhile. It is asked
// for after every Store.Table, and not for a table that loses rows by its retention. That of a table with windows is never kept.
func (t *Table) KeepDigest(ctx context.Context, keep bool) error {
	if err := t.takeTurn(ctx); err != nil {
		return err
	}
	defer t.giveTurn()
	if !keep || t.record.Replaced { // an update is not made of rows that go and come
		return t.dropDigest()
	}
	if t.retention != RetainForever {
		return fault.New(fault.InternalError, "table %s loses rows by its retention, and its digest cannot be kept", t.name)
	}
	d := newDigester(&t.record.Schema)
	if t.digest == nil {
		sum, err := t.computeDigest(ctx)
		if err != nil {
			return err
		}
		record := digestRecord{t.version.version, len(t.record.Schema.Versions), d.hasher.Seed(), sum}
		if err := t.store.update(func(b *pebble.Batch) { must(b.Set(idKey(kindDigest, t.record.Instance), record.encode(), nil)) }); err != nil {
			return err
		}
		t.setDigest(&sum)
	}
	t.digester = d
	return nil
}

func (t *Table) dropDigest() error {
	k := idKey(kindDigest, t.record.Instance)
	v, err := t.store.get(t.store.db, k)
	if err != nil {
		return err
	}
	if v != nil {
		if err := t.store.update(func(b *pebble.Batch) { must(b.Delete(k, nil)) }); err != nil {
			return err
		}
		t.store.o.Logger.Info("the digest is no longer kept", "table", t.name)
	}
	t.digester = nil
	t.setDigest(nil)
	return nil
}

func (t *Table) setDigest(d *digest.Sum) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.digest = d
}

// computeDigest reads the whole table. It is the caller's turn to write.
func (t *Table) computeDigest(ctx context.Context) (sum digest.Sum, err error) {
	rows := t.version.rows - t.trimmed.rows
	if rows == 0 {
		return sum, nil
	}
	began, log := time.Now(), t.store.o.Logger.With("table", t.name, "rows", rows)
	log.Info("the digest is computed from the rows, before the first batch")
	snapshot := t.store.Snapshot()
	defer snapshot.Close()
	if sum, err = snapshot.Digest(ctx, t.name); err == nil {
		log.Info("the digest is computed and kept from now on", "digest", sum.String(), "took", time.Since(began).Round(time.Millisecond))
	}
	return sum, err
}

// Digest computes the digest of a table from its rows; a table that does not exist is empty.
func (s *Snapshot) Digest(ctx context.Context, name string) (sum digest.Sum, err error) {
	r, err := s.record(name)
	if err != nil || r == nil {
		return sum, err
	}
	scan, err := s.Scan(name, nil, 0, 1)
	if err != nil {
		return sum, err
	}
	defer scan.Close()
	for h := digest.New(r.Schema.fields()); ctx.Err() == nil; {
		rows, err := scan.Next(0)
		if err != nil || rows.Len == 0 {
			return sum, err
		}
		h.Add(&sum, &rows)
	}
	return sum, ctx.Err()
}

// digester keeps the digest of a table while batches are written, in turn.
type digester struct {
	hasher *digest.Hasher
	old    *rowDecoder // rows that go away and have not been taken out of the sum
	bytes  int         // of them
}

func newDigester(s *schema) *digester {
	return &digester{hasher: digest.New(s.fields()), old: newRowDecoder(s, s.visible())}
}

// append adds all rows of a batch, whose columns come in the order of the schema.
func (d *digester) append(sum *digest.Sum, cols []*batch.Column, rows int) {
	for i := range rows {
		d.hasher.AddRow(sum, cols, i)
	}
}

// remove takes a stored row out of the sum, now or together with those that follow.
func (d *digester) remove(sum *digest.Sum, row []byte) error {
	if err := d.old.append(row); err != nil {
		return err
	}
	if d.bytes += len(row); d.bytes >= chunkBytes || d.old.len >= chunkRows {
		d.settle(sum)
	}
	return nil
}

// settle takes out of the sum what remove has gathered.
func (d *digester) settle(sum *digest.Sum) {
	var gone digest.Sum
	rows := d.old.columns()
	d.hasher.Add(&gone, &rows)
	*sum = sum.Minus(gone)
	d.forget()
}

// forget drops what a batch has gathered that is given up.
func (d *digester) forget() {
	d.old.reset()
	d.bytes = 0
}
