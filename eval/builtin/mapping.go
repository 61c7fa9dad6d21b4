package builtin

import (
	"bytes"

	"sluice/batch"
	"sluice/fault"
)

var maps = map[string]func(*Spec) (Function, error){
	"map_from_arrays": newMap(mapFromArrays), "map_from_entries": newMap(mapFromEntries), "map_concat": newMap(mapConcat), "str_to_map": newStrToMap,
	"map_entries": plain(mapEntries),
}

// newMap is the maker of a function that appends the keys and values of a map; that no key is null or there twice is seen to
// here. It appends nothing where the map is null.
func newMap(entries func(args []batch.Column, i int, keys, values *batch.Builder) (null bool, err *fault.Error)) func(*Spec) (Function, error) {
	return func(*Spec) (Function, error) {
		var k keyed
		return strict(func(args []batch.Column, i int, out *batch.Builder) *fault.Error {
			keys := out.Child(0)
			from := keys.Len()
			null, err := entries(args, i, keys, out.Child(1))
			switch {
			case err != nil:
				return err
			case null:
				out.AppendNull()
				return nil
			}
			column := keys.Column()
			if err := k.unique(list{&column, from, keys.Len()}); err != nil {
				return err
			}
			out.AppendNested()
			return nil
		}), nil
	}
}

// unique reports a null among the keys of a map, or one that is there twice.
func (k *keyed) unique(keys list) *fault.Error {
	k.reset()
	k.add(keys)
	for j := keys.from; j < keys.to; j++ {
		if keys.elements.IsNull(j) {
			return fault.New(fault.NullMapKey, "a key of the map is NULL")
		}
	}
	distinct := 0
	k.firsts(0, keys.len(), func(int) { distinct++ })
	if distinct < keys.len() {
		return fault.New(fault.DuplicateMapKey, "the map has a key twice")
	}
	return nil
}

func mapFromArrays(args []batch.Column, i int, keys, values *batch.Builder) (bool, *fault.Error) {
	a, b := listAt(&args[0], i), listAt(&args[1], i)
	if a.len() != b.len() {
		return false, fault.New(fault.InvalidParameter, "there are %d keys and %d values", a.len(), b.len())
	}
	for n := range a.len() {
		keys.AppendFrom(a.elements, a.from+n)
		values.AppendFrom(b.elements, b.from+n)
	}
	return false, nil
}

// mapFromEntries is null where an entry is.
func mapFromEntries(args []batch.Column, i int, keys, values *batch.Builder) (bool, *fault.Error) {
	a := listAt(&args[0], i)
	for j := a.from; j < a.to; j++ {
		if a.elements.IsNull(j) {
			return true, nil
		}
	}
	for j := a.from; j < a.to; j++ {
		keys.AppendFrom(&a.elements.Children[0], j)
		values.AppendFrom(&a.elements.Children[1], j)
	}
	return false, nil
}

func mapConcat(args []batch.Column, i int, keys, values *batch.Builder) (bool, *fault.Error) {
	for c := range args {
		m := &args[c]
		for j := m.Offsets[i]; j < m.Offsets[i+1]; j++ {
			keys.AppendFrom(&m.Children[0], int(j))
			values.AppendFrom(&m.Children[1], int(j))
		}
	}
	return false, nil
}

func mapEntries(args []batch.Column, i int, out *batch.Builder) *fault.Error {
	m, entry := &args[0], out.Child(0)
	for j := m.Offsets[i]; j < m.Offsets[i+1]; j++ {
		entry.Child(0).AppendFrom(&m.Children[0], int(j))
		entry.Child(1).AppendFrom(&m.Children[1], int(j))
		entry.AppendNested()
	}
	out.AppendNested()
	return nil
}

// newStrToMap cuts a text into entries and each into key and value; without a value that is null.
func newStrToMap(s *Spec) (Function, error) {
	between, inside := []byte(s.Options["between"]), []byte(s.Options["inside"])
	return newMap(func(args []batch.Column, i int, keys, values *batch.Builder) (bool, *fault.Error) {
		for text, more := args[0].Text(i), true; more; {
			var entry []byte
			entry, text, more = bytes.Cut(text, between)
			key, value, found := bytes.Cut(entry, inside)
			keys.AppendText(key)
			if found {
				values.AppendText(value)
			} else {
				values.AppendNull()
			}
		}
		return false, nil
	})(s)
}
