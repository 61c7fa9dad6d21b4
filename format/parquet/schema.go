package parquet

import (
	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/schema"

	"sluice/batch"
	"sluice/fault"
)

// Check refuses columns that Parquet cannot hold.
func Check(fields []batch.Field) error {
	_, err := root(fields)
	return err
}

func root(fields []batch.Field) (*schema.GroupNode, error) {
	inner, err := nodes(fields)
	if err != nil {
		return nil, err
	}
	return schema.NewGroupNode("schema", parquet.Repetitions.Required, inner, -1)
}

func nodes(fields []batch.Field) (schema.FieldList, error) {
	out := make(schema.FieldList, len(fields))
	for i, f := range fields {
		var err error
		if out[i], err = node(f); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func node(f batch.Field) (schema.Node, error) {
	repetition := parquet.Repetitions.Optional
	if f.NotNull {
		repetition = parquet.Repetitions.Required
	}
	if f.Type.IsNested() {
		return group(f, repetition)
	}
	logical, physical, length := primitive(f.Type)
	if physical == parquet.Types.Undefined {
		return nil, fault.New(fault.UnsupportedTypes, "column %s: Parquet has no type for %s", batch.QuoteName(f.Name), f.Type)
	}
	return schema.NewPrimitiveNodeLogical(f.Name, repetition, logical, physical, length, -1)
}

// group is a STRUCT, or one of the three levels that lists and maps have by Parquet's convention.
func group(f batch.Field, repetition parquet.Repetition) (schema.Node, error) {
	if len(f.Type.Fields) == 0 {
		return nil, fault.New(fault.UnsupportedTypes, "column %s: Parquet has no STRUCT without fields", batch.QuoteName(f.Name))
	}
	members := f.Type.Fields
	if f.Type.Kind == batch.Map {
		members = []batch.Field{{Name: "key", Type: members[0].Type, NotNull: true}, {Name: "value", Type: members[1].Type, NotNull: members[1].NotNull}}
	}
	inner, err := nodes(members)
	if err != nil {
		return nil, err
	}
	switch f.Type.Kind {
	case batch.Struct:
		return schema.NewGroupNode(f.Name, repetition, inner, -1)
	case batch.Array:
		return repeated(f.Name, repetition, "list", inner, schema.NewListLogicalType())
	}
	return repeated(f.Name, repetition, "key_value", inner, schema.MapLogicalType{})
}

func repeated(name string, repetition parquet.Repetition, entry string, inner schema.FieldList, logical schema.LogicalType) (schema.Node, error) {
	entries, err := schema.NewGroupNode(entry, parquet.Repetitions.Repeated, inner, -1)
	if err != nil {
		return nil, err
	}
	return schema.NewGroupNodeLogical(name, repetition, schema.FieldList{entries}, logical, -1)
}

// primitive returns how values of a type are marked and stored; length is that of fixed byte arrays.
func primitive(t batch.Type) (logical schema.LogicalType, physical parquet.Type, length int) {
	switch t.Kind {
	case batch.Boolean:
		return schema.NoLogicalType{}, parquet.Types.Boolean, -1
	case batch.TinyInt, batch.SmallInt, batch.Int:
		return schema.NewIntLogicalType(int8(8*t.Width()), true), parquet.Types.Int32, -1
	case batch.BigInt:
		return schema.NewIntLogicalType(64, true), parquet.Types.Int64, -1
	case batch.Float:
		return schema.NoLogicalType{}, parquet.Types.Float, -1
	case batch.Double:
		return schema.NoLogicalType{}, parquet.Types.Double, -1
	case batch.Decimal:
		logical = schema.NewDecimalLogicalType(int32(t.Precision), int32(t.Scale))
		switch {
		case t.Precision <= 9:
			return logical, parquet.Types.Int32, -1
		case t.Precision <= 18:
			return logical, parquet.Types.Int64, -1
		}
		return logical, parquet.Types.FixedLenByteArray, decimalBytes
	case batch.String:
		return schema.StringLogicalType{}, parquet.Types.ByteArray, -1
	case batch.Binary:
		return schema.NoLogicalType{}, parquet.Types.ByteArray, -1
	case batch.Variant:
		return schema.JSONLogicalType{}, parquet.Types.ByteArray, -1
	case batch.Date:
		return schema.DateLogicalType{}, parquet.Types.Int32, -1
	case batch.Timestamp, batch.TimestampNTZ:
		return schema.NewTimestampLogicalType(t.Kind == batch.Timestamp, schema.TimeUnitMicros), parquet.Types.Int64, -1
	}
	return nil, parquet.Types.Undefined, -1
}

// decimalBytes is the size of decimals of more than 18 digits.
const decimalBytes = 16
