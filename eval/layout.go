package eval

/*
#include "scan.h"
*/
import "C"

import (
	duckdb "github.com/duckdb/duckdb-go-bindings"

	"sluice/batch"
	"sluice/fault"
)

// rowColumn is the column that numbers the rows of an input, from 0.
const rowColumn = "_row"

// scalars are the types that DuckDB has under one name, without parameters. VARIANT travels as its text, and the NULLs of VOID
// as those of an integer, as the dialect writes them.
var scalars = map[batch.Kind]duckdb.Type{
	batch.Void:         duckdb.TypeInteger,
	batch.Boolean:      duckdb.TypeBoolean,
	batch.TinyInt:      duckdb.TypeTinyInt,
	batch.SmallInt:     duckdb.TypeSmallInt,
	batch.Int:          duckdb.TypeInteger,
	batch.BigInt:       duckdb.TypeBigInt,
	batch.Float:        duckdb.TypeFloat,
	batch.Double:       duckdb.TypeDouble,
	batch.String:       duckdb.TypeVarchar,
	batch.Variant:      duckdb.TypeVarchar,
	batch.Binary:       duckdb.TypeBlob,
	batch.Date:         duckdb.TypeDate,
	batch.Timestamp:    duckdb.TypeTimestampTZ,
	batch.TimestampNTZ: duckdb.TypeTimestamp,
}

// logicalType makes DuckDB's type for t; destroy it with duckdb.DestroyLogicalType.
func logicalType(t batch.Type) (duckdb.LogicalType, error) {
	switch t.Kind {
	case batch.Decimal:
		return duckdb.CreateDecimalType(t.Precision, t.Scale), nil
	case batch.Array, batch.Map, batch.Struct:
		return nestedType(t)
	}
	id, ok := scalars[t.Kind]
	if !ok {
		return duckdb.LogicalType{}, fault.New(fault.InternalError, "a column of type %s cannot be read by SQL", t)
	}
	return duckdb.CreateLogicalType(id), nil
}

func nestedType(t batch.Type) (duckdb.LogicalType, error) {
	members := make([]duckdb.LogicalType, 0, len(t.Fields))
	names := make([]string, 0, len(t.Fields))
	defer func() {
		for i := range members {
			duckdb.DestroyLogicalType(&members[i])
		}
	}()
	for _, f := range t.Fields {
		m, err := logicalType(f.Type)
		if err != nil {
			return duckdb.LogicalType{}, err
		}
		members, names = append(members, m), append(names, f.Name)
	}
	switch t.Kind {
	case batch.Array:
		return duckdb.CreateListType(members[0]), nil
	case batch.Map:
		return duckdb.CreateMapType(members[0], members[1]), nil
	}
	return duckdb.CreateStructType(members, names), nil
}

// hasType reports whether values of DuckDB's type can be read as t. Names of struct members do not count: what the parts
// of a tuple are called is not DuckDB's business.
func hasType(have duckdb.LogicalType, t batch.Type) bool {
	id := duckdb.GetTypeId(have)
	switch t.Kind {
	case batch.Void:
		return id == duckdb.TypeInteger || id == duckdb.TypeSQLNull
	case batch.Decimal:
		return id == duckdb.TypeDecimal && duckdb.DecimalWidth(have) == t.Precision && duckdb.DecimalScale(have) == t.Scale
	case batch.Array:
		return id == duckdb.TypeList && owned(duckdb.ListTypeChildType(have), t.Fields[0].Type)
	case batch.Map:
		return id == duckdb.TypeMap && owned(duckdb.MapTypeKeyType(have), t.Fields[0].Type) &&
			owned(duckdb.MapTypeValueType(have), t.Fields[1].Type)
	case batch.Struct:
		if id != duckdb.TypeStruct || int(duckdb.StructTypeChildCount(have)) != len(t.Fields) {
			return false
		}
		for i, f := range t.Fields {
			if !owned(duckdb.StructTypeChildType(have, duckdb.IdxT(i)), f.Type) {
				return false
			}
		}
		return true
	}
	want, ok := scalars[t.Kind]
	return ok && id == want
}

// owned is hasType for a type that is then destroyed.
func owned(have duckdb.LogicalType, t batch.Type) bool {
	defer duckdb.DestroyLogicalType(&have)
	return hasType(have, t)
}

// appendNodes appends the tree of t in preorder.
func appendNodes(nodes []C.sluice_node, t batch.Type) []C.sluice_node {
	at := len(nodes)
	nodes = append(nodes, C.sluice_node{layout: C.int32_t(layoutOf(t)), width: C.int32_t(t.Width())})
	if t.IsNested() {
		nodes[at].children = C.int32_t(len(t.Fields))
		for _, f := range t.Fields {
			nodes = appendNodes(nodes, f.Type)
		}
	}
	nodes[at].size = C.int32_t(len(nodes) - at)
	return nodes
}

func layoutOf(t batch.Type) int {
	switch t.Kind {
	case batch.Void:
		return C.SLUICE_VOID
	case batch.Decimal:
		switch {
		case t.Precision <= 4:
			return C.SLUICE_DECIMAL16
		case t.Precision <= 9:
			return C.SLUICE_DECIMAL32
		}
		return C.SLUICE_FIXED
	case batch.Struct:
		return C.SLUICE_STRUCT
	case batch.Array:
		return C.SLUICE_LIST
	case batch.Map:
		return C.SLUICE_MAP
	}
	if t.IsText() {
		return C.SLUICE_TEXT
	}
	return C.SLUICE_FIXED
}
