package state

import (
	"bytes"

	"sluice/batch"
	"sluice/fault"
)

// What people do about records in quarantine (D-31): they edit one, order that some are replayed, or have some forgotten. An order
// is kept in the store until the flow carries it out, in the commit of the rows: so it outlasts every crash, and is carried out once.

// Mend is what was done about a record in quarantine.
type Mend struct {
	EditedKey, EditedValue []byte // instead of its own; nil: as it came
	Ordered                bool   // a replay was ordered, and has not come to anything yet
	InForce                bool   // rows were made of the edit once: it is used whenever the position is read again
	Replayed               int64  // when rows were made of the edit, microseconds; 0: not
}

// Edited reports whether there is an edit.
func (m *Mend) Edited() bool { return m.EditedKey != nil || m.EditedValue != nil }

// reads reports whether the edit is read where the record stands: it was replayed, or is to be.
func (m *Mend) reads() bool { return m.Edited() && (m.InForce || m.Ordered) }

// Status is what has become of the record, in a word.
func (m *Mend) Status() string {
	switch {
	case m.Ordered:
		return "ordered"
	case m.Replayed != 0:
		return "replayed"
	}
	return "refused"
}

// refusedAgain makes q, which is refused now, the successor of what was there. Where that has an edit, it is what was refused, and
// the record stays as it came; one that was never replayed waits for another order.
func (q *Quarantined) refusedAgain(old *Quarantined) {
	if old == nil {
		return
	}
	if old.Edited() {
		q.Key, q.Value, q.Headers, q.Time, q.LogAppend = old.Key, old.Value, old.Headers, old.Time, old.LogAppend
	}
	q.Mend, q.Lettered = old.Mend, old.Lettered
	q.Ordered, q.Replayed = false, 0
}

// Mended is the record as it is to be read: with its edit.
func (q *Quarantined) Mended() (key, value []byte) {
	key, value = q.Key, q.Value
	if q.EditedKey != nil {
		key = q.EditedKey
	}
	if q.EditedValue != nil {
		value = q.EditedValue
	}
	return key, value
}

// Chosen says which records in quarantine are meant; what is empty is any.
type Chosen struct {
	Split, ID, Code string
	At              *batch.Offset
}

func (c *Chosen) has(q *Quarantined) bool {
	return (c.Split == "" || c.Split == q.Split) && (c.ID == "" || c.ID == q.ID) && (c.Code == "" || c.Code == q.Code) && (c.At == nil || *c.At == q.At)
}

// Edit sets what is read instead of one record in quarantine. One of which rows were made cannot be edited: they would stay. It is called
// by the one who uses the flow, as OrderReplay and Forget are, and returns how many records were meant.
func (f *Flow) Edit(which Chosen, key, value []byte) (int, error) {
	n, err := f.Count(which)
	if err == nil && n > 1 { // before anything is written
		err = fault.New(fault.RecordNameAmbiguous, "several records of flow %s are meant, and one is edited at a time", f.name).WithHint("name it with its split, its id and its offset")
	}
	if err != nil {
		return n, err
	}
	err = f.mend(which, func(q *Quarantined) (verdict, error) {
		if q.Replayed != 0 {
			return keep, fault.New(fault.AlreadyReplayed, "the record at %s of %s was replayed by flow %s, and its rows are in the target", q.At, q.Split, f.name).
				WithHint("`processor dlq forget` drops the edit, and a full refresh makes the target without it")
		}
		q.InForce, q.Ordered = false, false
		if key != nil {
			q.EditedKey = key
		}
		if value != nil {
			q.EditedValue = value
		}
		return write, nil
	})
	return n, err
}

// OrderReplay has the flow read records in quarantine again, with their edits, at its next batch or its next start. Those of which
// rows were made in this generation are passed over. It returns how many were ordered; those that had been already count.
func (f *Flow) OrderReplay(which Chosen) (int, error) {
	n, generation := 0, f.Generation()
	err := f.mend(which, func(q *Quarantined) (verdict, error) {
		if q.Replayed != 0 && q.Generation == generation {
			return keep, nil
		}
		if n++; q.Ordered {
			return keep, nil
		}
		q.Ordered = true
		return write, nil
	})
	return n, err
}

// Forget takes records out of quarantine, with their edits, and returns how many. Rows that were made of an edit stay in the target; a record
// that is read again is judged as it comes.
func (f *Flow) Forget(which Chosen) (int, error) {
	n := 0
	err := f.mend(which, func(*Quarantined) (verdict, error) {
		n++
		return forget, nil
	})
	return n, err
}

// Count is how many records in quarantine are meant.
func (f *Flow) Count(which Chosen) (n int, err error) {
	err = f.store.eachQuarantined(f.store.db, f.record.ID, func(_ []byte, q Quarantined, _ int) error {
		if which.has(&q) {
			n++
		}
		return nil
	})
	return n, err
}

// verdict is what becomes of an entry.
type verdict uint8

const (
	keep verdict = iota
	write
	forget
)

// mendBytes is how much of the quarantine one write changes: what is left of an order that a crash breaks off is ordered again.
const mendBytes = 8 << 20

// mend decides about every record that is meant. The changes are on disk when it returns.
func (f *Flow) mend(which Chosen, decide func(*Quarantined) (verdict, error)) error {
	b, size := f.store.db.NewBatch(), f.Quarantined()
	defer func() { b.Close() }()
	flush := func(sync bool) error {
		f.mu.Lock()
		defer f.mu.Unlock()
		must(b.Set(idKey(kindQuarantine, f.record.ID), size.encode(), nil))
		if err := f.store.commit(b, sync); err != nil {
			return err
		}
		f.hold(size)
		return nil
	}
	err := f.store.eachQuarantined(f.store.db, f.record.ID, func(k []byte, q Quarantined, bytesOf int) error {
		if !which.has(&q) {
			return nil
		}
		before := q
		what, err := decide(&q)
		if err != nil || what == keep {
			return err
		}
		size.add(&before, len(k)+bytesOf, -1)
		if k = bytes.Clone(k); what == forget {
			must(b.Delete(k, nil))
		} else {
			size.set(b, k, &q)
		}
		if b.Len() < mendBytes {
			return nil
		}
		if err := flush(false); err != nil {
			return err
		}
		_ = b.Close()
		b = f.store.db.NewBatch()
		return nil
	})
	if err != nil {
		return err
	}
	if b.Empty() {
		return nil
	}
	return flush(true)
}

// Ordered returns records that are to be replayed, beginning with the first place behind after, as many as fit: at most rows, and no
// more after the one that passes size. more says where to go on; it is nil at the end. With nil it begins.
func (f *Flow) Ordered(after []byte, rows int, size int64) (out []Quarantined, more []byte, err error) {
	prefix := idKey(kindQuarantine, f.record.ID)
	from := append(bytes.Clone(prefix), 0)
	if after != nil {
		from = append(bytes.Clone(after), 0)
	}
	err = f.store.each(f.store.db, from, prefixEnd(prefix), func(k, v []byte) error {
		q, err := decodeQuarantined(parseRowKey(k), v)
		if err != nil || !q.Ordered {
			return err
		}
		if size <= 0 || rows > 0 && len(out) >= rows {
			return errEnough
		}
		out, more, size = append(out, q), bytes.Clone(k), size-int64(len(v))
		return nil
	})
	if err == errEnough {
		return out, more, nil
	}
	return out, nil, err
}

// InForceIn returns the records of a range whose edits are read instead of them, split by split.
func (f *Flow) InForceIn(r *batch.Range) (out []Quarantined, err error) {
	if size := f.Quarantined(); size.InForce+size.Ordered == 0 {
		return nil, nil
	}
	err = f.eachIn(r, func(_ *batch.SplitRange, p rowPosition, v []byte) error {
		q, err := decodeQuarantined(p, v)
		if err == nil && q.reads() {
			out = append(out, q)
		}
		return err
	})
	return out, err
}
