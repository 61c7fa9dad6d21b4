package state

import (
	"context"
	"encoding/binary"
	"slices"

	"github.com/cockroachdb/pebble/v2"

	"sluice/batch"
	"sluice/fault"
)

// A dead letter is the copy of a record that went into quarantine, on its way to the dead-letter topic (D-15). It is written in the
// commit that puts the record in quarantine, numbered, and read by another flow, which sends it; the commit of that flow's batch takes it
// out. So what becomes of the record in quarantine meanwhile does not change what the topic gets.

// lettersSplit is the one split of dead letters. No topic, path or table has its name.
const lettersSplit = "dead letters"

// sent is how far the dead letters of a flow were taken.
type sent struct {
	letters int64 // those with lower numbers
	bytes   int64 // of them
}

// Letters are the dead letters of a flow that were not sent yet.
type Letters struct {
	Waiting int64
	Bytes   int64 // in the store, before compression
}

// waiting is the flow's backlog. f.mu is held.
func (f *Flow) waiting() Letters {
	return Letters{f.quarantine.Letters - f.sent.letters, f.quarantine.LetterBytes - f.sent.bytes}
}

// SendLettersOf makes f the flow that takes the dead letters of another one out of the store. It is called before f reads.
func (f *Flow) SendLettersOf(of *Flow) { f.letters = of }

// letter adds the dead letter of a record to a write, unless the record has had one: it is read again then (D-31).
func (n *QuarantineSize) letter(b *pebble.Batch, f *Flow, q *Quarantined) {
	if q.Lettered {
		return
	}
	q.Lettered = true
	v := binary.AppendVarint(nil, n.LetterBytes)
	v = binary.AppendVarint(binary.AppendVarint(v, q.At.At), int64(q.At.Index))
	v = append(v, q.encode()...)
	must(b.Set(letterKey(f.record.ID, n.Letters), v, nil))
	n.Letters++
	n.LetterBytes += int64(len(v))
}

// decodeLetter takes a letter apart. before are the bytes of all letters before it.
func decodeLetter(v []byte) (q Quarantined, before int64, err error) {
	r := reader{b: v}
	before = r.varint()
	at := batch.Offset{At: r.varint(), Index: int32(r.varint())}
	if r.err != nil {
		return q, 0, r.err
	}
	q, err = decodeQuarantined(rowPosition{offset: at.At, index: at.Index}, r.b)
	return q, before, err
}

// LettersStart is where the dead letters begin that f sends: with the first that was not taken.
func (f *Flow) LettersStart() batch.Position {
	of := f.letters
	of.mu.Lock()
	defer of.mu.Unlock()
	return lettersAt(of.sent.letters)
}

// LettersEnd is where they end now.
func (f *Flow) LettersEnd() batch.Position {
	return lettersAt(f.letters.Quarantined().Letters)
}

func lettersAt(n int64) batch.Position {
	return batch.Position{{Split: lettersSplit, Next: batch.Offset{At: n}}}
}

// WaitForLetters returns nil as soon as there is a dead letter behind from, and ctx's error when that ends before.
func (f *Flow) WaitForLetters(ctx context.Context, from batch.Position) error {
	at, _ := from.Find(lettersSplit)
	for {
		arrived := f.letters.lettersAfter(at.Next.At)
		if arrived == nil {
			return nil
		}
		select {
		case <-arrived:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// lettersAfter returns nil when there is a letter with this number, else what is closed when one has come.
func (f *Flow) lettersAfter(n int64) <-chan struct{} {
	f.mu.Lock()
	defer f.mu.Unlock()
	if n < f.quarantine.Letters {
		return nil
	}
	if f.arrived == nil {
		f.arrived = make(chan struct{})
	}
	return f.arrived
}

// hold takes the size of the quarantine after a commit, and wakes who waits for letters. f.mu is held.
func (f *Flow) hold(size QuarantineSize) {
	if size.Letters > f.quarantine.Letters && f.arrived != nil {
		close(f.arrived)
		f.arrived = nil
	}
	f.quarantine = size
}

// ReadLetters returns the dead letters behind from that f sends, within limit, and the range they are. It does not wait.
func (f *Flow) ReadLetters(from batch.Position, limit batch.Limit) ([]Quarantined, batch.Range, error) {
	of := f.letters
	at, _ := from.Find(lettersSplit)
	end := of.Quarantined().Letters
	s := batch.SplitRange{Split: lettersSplit, From: at.Next, To: at.Next, End: end}
	if until, bounded := limit.Until.Find(lettersSplit); bounded {
		end = min(end, until.Next.At)
	}
	var out []Quarantined
	err := of.store.each(of.store.db, letterKey(of.record.ID, at.Next.At), letterKey(of.record.ID, end), func(k, v []byte) error {
		if limit.Rows > 0 && len(out) >= limit.Rows || limit.Bytes > 0 && s.Bytes >= limit.Bytes {
			return errEnough
		}
		q, _, err := decodeLetter(v)
		if number := letterNumber(k); err == nil && number != s.To.At {
			err = of.store.corrupt("dead letter %d of flow %s is not there", s.To.At, of.name)
		}
		s.To.At++
		s.Bytes += int64(len(v))
		s.Time = q.BatchTime
		out = append(out, q)
		return err
	})
	switch {
	case err == errEnough:
		err = nil
	case err == nil && s.To.At < end:
		err = of.store.fail(of.store.corrupt("dead letter %d of flow %s is not there", s.To.At, of.name))
	}
	if err != nil || len(out) == 0 {
		return nil, batch.Range{}, err
	}
	s.Records = int64(len(out))
	return out, batch.Range{Splits: []batch.SplitRange{s}}, nil
}

// takeLetters takes the dead letters of a range out of the store, with the commit of b, after which taken holds.
func (f *Flow) takeLetters(b *pebble.Batch, r batch.Range) (taken sent, err error) {
	of := f.letters
	if of == nil || len(r.Splits) == 0 {
		return sent{}, nil
	}
	from, to := r.Splits[0].From.At, r.Splits[0].To.At
	for n := from; n < to; n++ { // not by a range deletion: there would be one per batch for readers to step over
		must(b.Delete(letterKey(of.record.ID, n), nil))
	}
	size := of.Quarantined()
	if taken = (sent{to, size.LetterBytes}); to < size.Letters {
		v, err := of.store.get(of.store.db, letterKey(of.record.ID, to))
		if err != nil {
			return sent{}, err
		}
		if _, taken.bytes, err = decodeLetter(v); err != nil {
			return sent{}, of.store.readFailed(err)
		}
	}
	if to > size.Letters || from < 0 {
		return sent{}, fault.New(fault.InternalError, "flow %s takes dead letters up to %d, and flow %s has %d", f.name, to, of.name, size.Letters)
	}
	must(b.Set(idKey(kindLetter, of.record.ID), taken.encode(), nil))
	return taken, nil
}

// tookLetters is called when that commit is done.
func (f *Flow) tookLetters(taken sent) {
	if f.letters == nil || taken == (sent{}) {
		return
	}
	f.letters.mu.Lock()
	defer f.letters.mu.Unlock()
	f.letters.sent = taken
}

func (s sent) encode() []byte {
	return binary.AppendVarint(binary.AppendVarint(nil, s.letters), s.bytes)
}

func (f *Flow) loadLetters() error {
	f.sent = sent{}
	v, err := f.store.get(f.store.db, idKey(kindLetter, f.record.ID))
	if err != nil || v == nil {
		return err
	}
	r := reader{b: v}
	f.sent = sent{r.varint(), r.varint()}
	if err := r.done(); err != nil {
		return f.store.readFailed(err)
	}
	return nil
}

// checkLetters compares the dead letters of a flow with what is known of them.
func (s *Store) checkLetters(f *Flow) error {
	prefix := idKey(kindLetter, f.record.ID)
	next := f.sent
	err := s.each(s.db, append(slices.Clone(prefix), 0), prefixEnd(prefix), func(k, v []byte) error {
		q, before, err := decodeLetter(v)
		if err == nil && (letterNumber(k) != next.letters || before != next.bytes || !q.Lettered) {
			err = s.corrupt("flow %s has the dead letter %d behind %d bytes where number %d behind %d bytes comes", f.name, letterNumber(k), before, next.letters, next.bytes)
		}
		next.letters++
		next.bytes += int64(len(v))
		return err
	})
	if end := (sent{f.quarantine.Letters, f.quarantine.LetterBytes}); err == nil && next != end {
		err = s.corrupt("the dead letters of flow %s end at %v, its sum says %v", f.name, next, end)
	}
	return err
}
