package state

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"

	"github.com/cockroachdb/pebble/v2"

	"sluice/batch"
)

// Check reads the whole store and returns the first contradiction it finds: row, key and byte counts against what is
// stored, floors against rows, kept digests against rows, positions against starts and tables, chunks of append tables,
// feeds and copies without gaps, nothing left of what was reset. Nothing may be writing. Tests run it before every Close.
func (s *Store) Check() error {
	instances := map[uint32]bool{}
	versions := map[string]tableVersion{}
	names, err := s.names(kindTable)
	if err != nil {
		return err
	}
	for _, name := range names {
		t, err := s.table(name)
		if err != nil {
			return err
		}
		instances[t.record.Instance] = true
		versions[name+" "+t.markOf(t.record.Generation).ID] = t.version
		if err := t.check(); err != nil {
			return s.corrupt("table %s: %v", name, err)
		}
	}
	if err := s.checkInstances(instances); err != nil {
		return err
	}
	flows, err := s.Flows()
	if err != nil {
		return err
	}
	for _, f := range flows {
		if err := checkFlow(&f, versions); err != nil {
			return s.corrupt("flow %s: %v", f.Name, err)
		}
		flow, err := s.Flow(f.Name)
		if err == nil {
			err = s.checkQuarantine(flow)
		}
		if err == nil {
			err = s.checkLetters(flow)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// checkInstances looks for keys of tables that no longer are.
func (s *Store) checkInstances(alive map[uint32]bool) error {
	for _, kind := range instanceKinds {
		err := s.eachOf(s.db, key(kind), func(k, _ []byte) error {
			if !alive[be32(k)] {
				return s.corrupt("a key of kind %c belongs to instance %d, which no table has", kind, be32(k))
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func checkFlow(f *FlowInfo, versions map[string]tableVersion) error {
	for _, m := range f.Start {
		at, ok := f.Position.Find(m.Split)
		if !ok || at.ID == m.ID && at.Next.Less(m.Next) {
			return fmt.Errorf("stands at %v of %s, before its start %v", at.Next, m.Split, m.Next)
		}
	}
	for _, m := range f.Position {
		v, ok := versions[m.Split+" "+m.ID]
		if ok && m.Next.At > v.version+1 {
			return fmt.Errorf("stands at %v of table %s, which has %d commits", m.Next, m.Split, v.version)
		}
	}
	return nil
}

func (t *Table) check() error {
	if !t.record.Declared {
		return nil
	}
	err := t.checkFiles()
	if err != nil {
		return err
	}
	if t.record.Keyed {
		if err = t.checkGroups(); err == nil {
			err = t.checkFloors()
		}
	} else if !t.record.Replaced {
		err = t.checkAppends()
	}
	if err == nil && t.record.Feed && t.feedFirst <= t.version.version {
		err = t.checkChunks(kindChanges, t.feedFirst, 0)
	}
	for flow, r := range t.readers {
		if err == nil {
			err = t.checkCopy(flow, r)
		}
	}
	if err == nil {
		err = t.checkDigest()
	}
	return err
}

// checkDigest compares the digest that is kept with the rows (D-29).
func (t *Table) checkDigest() error {
	snapshot := t.store.Snapshot()
	defer snapshot.Close()
	info, err := snapshot.Table(t.name)
	if err != nil || info == nil || info.Digest == nil {
		return err
	}
	found, err := snapshot.Digest(context.Background(), t.name)
	if err == nil && found != *info.Digest {
		err = fmt.Errorf("the kept digest is %s of %d rows, the rows have %s of %d", info.Digest, info.Digest.Rows, found, found.Rows)
	}
	return err
}

// checkGroups compares every group with itself and all of them with the table's sums.
func (t *Table) checkGroups() error {
	prefix := idKey(kindRows, t.record.Instance)
	it, err := t.store.db.NewIter(&pebble.IterOptions{LowerBound: prefix, UpperBound: prefixEnd(prefix)})
	if err != nil {
		return err
	}
	defer it.Close()
	c := &groupCheck{it: it, rows: newRowDecoder(&t.record.Schema, t.record.Schema.visible())}
	for ok := it.First(); ok; ok = it.Next() {
		if err := c.group(); err != nil {
			return err
		}
	}
	if err := it.Error(); err != nil {
		return err
	}
	have, want := c.sum, t.version
	if have.keys != want.keys || have.rows != want.rows || have.bytes != want.bytes {
		return fmt.Errorf("has %d keys, %d rows, %d bytes; the counts say %d, %d, %d", have.keys, have.rows, have.bytes, want.keys, want.rows, want.bytes)
	}
	return nil
}

type groupCheck struct {
	it   *pebble.Iterator
	rows *rowDecoder
	sum  tableVersion
}

func (c *groupCheck) group() error {
	k := bytes.Clone(c.it.Key())
	v, err := c.it.ValueAndErr()
	if err != nil {
		return err
	}
	g, err := parseGroup(bytes.Clone(v))
	if err != nil {
		return err
	}
	if len(g.floor) == 0 || g.rows == 0 || g.meta() == 0 {
		return fmt.Errorf("key %x has %d rows and floor %x", k, g.rows, g.floor)
	}
	if shardOf(hashOf(k[tupleAt:])) != k[tupleAt-1] {
		return fmt.Errorf("key %x lies in the wrong shard", k)
	}
	c.sum.keys++
	c.sum.rows += g.rows
	c.sum.bytes += g.storedBytes(len(k))
	size, last := int64(0), rowPosition{split: -1}
	r := reader{b: g.inline}
	for i := range g.rows {
		p, row := rowPosition{}, []byte(nil)
		if !g.spilled {
			p, row = nextRow(&r)
		} else if !c.it.Next() || !bytes.HasPrefix(c.it.Key(), k) {
			return fmt.Errorf("key %x has %d spilled rows, its group says %d", k, i, g.rows)
		} else {
			p = parseRowKey(c.it.Key())
			if row, err = c.it.ValueAndErr(); err != nil {
				return err
			}
			size += int64(len(c.it.Key()) + len(row))
		}
		if last.compare(p) >= 0 {
			return fmt.Errorf("key %x has position %v after %v", k, p, last)
		}
		last = p
		if err := c.rows.append(row); err != nil {
			return err
		}
	}
	c.rows.reset()
	if g.spilled && (size != g.bytes || last != g.last) {
		return fmt.Errorf("key %x has %d bytes of rows up to %v, its group says %d up to %v", k, size, last, g.bytes, g.last)
	}
	return r.done()
}

// checkFloors compares the floors that are stored or in memory with the groups.
func (t *Table) checkFloors() error {
	x := &t.floors
	n := int64(0)
	err := x.eachGroup(func(k, floor []byte, meta groupMeta) error {
		n++
		if x.loaded && x.memory != nil {
			hash := hashOf(k[tupleAt:])
			s := x.memory.shard(hash)
			ref := s.get(hash, k[tupleAt:])
			if ref == noEntry {
				return fmt.Errorf("key %x has no floor in memory", k)
			}
			if m, _, f := s.entry(ref); m != meta || !bytes.Equal(f, floor) {
				return fmt.Errorf("key %x has floor %x (%x) in memory, its group %x (%x)", k, f, m, floor, meta)
			}
		}
		if !t.record.Floors {
			return nil
		}
		v, err := t.store.get(t.store.db, floorKey(nil, k))
		if err != nil {
			return err
		}
		want := append(binary.LittleEndian.AppendUint32(nil, uint32(meta)), floor...)
		if !bytes.Equal(v, want) {
			return fmt.Errorf("key %x has floor %x stored, its group %x", k, v, want)
		}
		return nil
	})
	if err == nil && x.memory != nil && int64(x.memory.used) != n {
		err = fmt.Errorf("%d floors are in memory, the table has %d keys", x.memory.used, n)
	}
	return err
}

// checkChunks walks the commits from first to the table's version. So many rows come before.
func (t *Table) checkChunks(kind byte, first, rows int64) error {
	s, id := t.store, t.record.Instance
	want, some := batch.Offset{At: first}, false
	err := s.each(s.db, idKey(kind, id), prefixEnd(idKey(kind, id)), func(k, v []byte) error {
		c, err := parseChunk(v)
		if err != nil {
			return err
		}
		at := chunkAt(k)
		if at != want && at != (batch.Offset{At: want.At + 1}) || at.At > t.version.version {
			return fmt.Errorf("a chunk is at %v, after %v of %d commits", at, want, t.version.version)
		}
		dec := newChunkDecoder(&t.record.Schema, t.record.Schema.visible())
		if err := dec.append(&c, 0, c.rows); err != nil {
			return err
		}
		rows, some = rows+int64(c.rows), true
		want = batch.Offset{At: at.At, Index: at.Index + int32(c.rows)}
		return nil
	})
	if err != nil {
		return err
	}
	if some && want.At != t.version.version || !some && first <= t.version.version {
		return fmt.Errorf("chunks end at %v of %d commits", want, t.version.version)
	}
	if kind == kindAppends && rows != t.version.rows {
		return fmt.Errorf("has %d rows, the counts say %d", rows, t.version.rows)
	}
	return nil
}

func (t *Table) checkCopy(flow uint32, r *tableReader) error {
	if r.at.At > t.version.version+1 {
		return fmt.Errorf("reader %s is at %v of %d commits", r.Flow, r.at, t.version.version)
	}
	n := int32(0)
	err := t.store.eachOf(t.store.db, copyPrefix(t.record.Instance, flow), func(k, v []byte) error {
		if int32(be32(k)) != n {
			return fmt.Errorf("the copy of %s has a chunk at %d after %d rows", r.Flow, be32(k), n)
		}
		c, err := parseChunk(v)
		n += int32(c.rows)
		return err
	})
	if err == nil && n != r.Copied {
		err = fmt.Errorf("the copy of %s has %d rows, not %d", r.Flow, n, r.Copied)
	}
	return err
}
