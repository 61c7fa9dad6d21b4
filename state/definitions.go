package state

import (
	"encoding/json"
	"errors"
	"sort"

	"github.com/cockroachdb/pebble/v2"
)

// errEnough ends a walk over keys early.
var errEnough = errors.New("state: enough")

// Definition returns what was stored under a name, such as the settings a run was started with, or nil.
func (s *Store) Definition(name string) ([]byte, error) {
	return s.get(s.db, nameKey(kindDefinition, name))
}

// PutDefinitions stores values under their names, and forgets the names whose value is nil, in one commit.
func (s *Store) PutDefinitions(values map[string][]byte) error {
	return s.update(func(b *pebble.Batch) {
		for name, value := range values {
			if k := nameKey(kindDefinition, name); value == nil {
				must(b.Delete(k, nil))
			} else {
				must(b.Set(k, value, nil))
			}
		}
	})
}

// allocate lets fill take numbers, and commits what it writes before anything can use them. One caller at a time.
func (s *Store) allocate(fill func(b *pebble.Batch) error) error {
	s.ids.Lock()
	defer s.ids.Unlock()
	b := s.db.NewIndexedBatch()
	defer b.Close()
	if err := fill(b); err != nil || b.Empty() {
		return err
	}
	return s.commit(b, false)
}

// nextID takes the next number of a counter of the store, from 0 on, within allocate.
func (s *Store) nextID(b *pebble.Batch, counter string) (uint32, error) {
	v, err := s.get(b, nameKey(kindMeta, counter))
	if err != nil {
		return 0, err
	}
	n := int64(0)
	if v != nil {
		if n, err = decodeNumber(v); err != nil {
			return 0, s.readFailed(err)
		}
	}
	must(b.Set(nameKey(kindMeta, counter), encodeNumber(n+1), nil))
	return uint32(n), nil
}

// readJSON reads a record; ok is false when there is none.
func readJSON[T any](s *Store, r pebble.Reader, k []byte, into *T) (ok bool, err error) {
	b, err := s.get(r, k)
	if err != nil || b == nil {
		return false, err
	}
	if err := json.Unmarshal(b, into); err != nil {
		return false, s.fail(s.corrupt("record %q: %v", k, err))
	}
	return true, nil
}

// names returns the names under which records of a kind are stored, sorted.
func (s *Store) names(kind byte) ([]string, error) {
	var out []string
	err := s.eachOf(s.db, key(kind), func(name, _ []byte) error {
		out = append(out, string(name))
		return nil
	})
	sort.Strings(out)
	return out, err
}
