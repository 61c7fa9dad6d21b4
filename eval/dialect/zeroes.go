package dialect

import (
	"fmt"
	"slices"
	"strings"

	"sluice/batch"
)

// -0.0 equals 0.0 (D-36). Where equal values become one, in GROUP BY, DISTINCT, sets of rows and of elements and keys of maps, the
// one is 0.0, as in Spark: DuckDB would keep the one that came first.

// zeroed is v with 0.0 for every -0.0 in it, also in its members.
func zeroed(v value) value {
	if !fractioned(v.typ) {
		return v
	}
	v.sql, v.konst = zeroes(v.sql, v.typ, 0), nil
	return v
}

// zeroedKeys is a map, or an array of entries of one, with 0.0 for keys that are -0.0. Keys that are nested stay as they are, as in
// Spark.
func zeroedKeys(v value) value {
	entries, typ := v.sql, v.typ
	if typ.Kind == batch.Map {
		entries = "map_entries(" + v.sql + ")"
	} else {
		typ = typ.Fields[0].Type
	}
	if len(typ.Fields) == 0 || !isFractional(typ.Fields[0].Type) {
		return v
	}
	key, val := typ.Fields[0].Name, typ.Fields[1].Name
	if typ.Kind == batch.Map {
		key, val = "key", "value"
	}
	at := func(name string) string { return fmt.Sprintf("struct_extract(k0, %s)", quoteText(name)) }
	v.sql = fmt.Sprintf("list_transform(%s, lambda k0: CASE WHEN k0 IS NOT NULL THEN struct_pack(%s := %s, %s := %s) END)",
		entries, quoteName(key), zeroes(at(key), typ.Fields[0].Type, 0), quoteName(val), at(val))
	if typ.Kind == batch.Map {
		v.sql = "map_from_entries(" + v.sql + ")"
	}
	return v
}

// fractioned reports whether t is FLOAT or DOUBLE or has members that are.
func fractioned(t batch.Type) bool {
	return isFractional(t) || slices.ContainsFunc(t.Fields, func(f batch.Field) bool { return fractioned(f.Type) })
}

func zeroes(x string, t batch.Type, depth int) string {
	e := fmt.Sprintf("z%d", depth)
	switch {
	case !fractioned(t):
		return x
	case t.Kind == batch.Array:
		return fmt.Sprintf("list_transform(%s, lambda %s: %s)", x, e, zeroes(e, t.Fields[0].Type, depth+1))
	case t.Kind == batch.Struct:
		members := make([]string, len(t.Fields))
		for i, f := range t.Fields {
			members[i] = quoteName(f.Name) + " := " + zeroes(fmt.Sprintf("struct_extract(%s, %s)", x, quoteText(f.Name)), f.Type, depth)
		}
		return fmt.Sprintf("CASE WHEN %s IS NOT NULL THEN struct_pack(%s) END", x, strings.Join(members, ", "))
	case t.Kind == batch.Map:
		return x
	}
	return fmt.Sprintf("(%s + 0::%s)", x, duckType(t))
}
