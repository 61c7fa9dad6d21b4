package arrow

import (
	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/extensions"

	"sluice/batch"
	"sluice/fault"
)

// Schema returns the fields as an Arrow schema.
func Schema(fields []batch.Field) (*arrow.Schema, error) {
	out, err := members(fields)
	if err != nil {
		return nil, err
	}
	return arrow.NewSchema(out, nil), nil
}

func members(fields []batch.Field) ([]arrow.Field, error) {
	out := make([]arrow.Field, len(fields))
	for i, f := range fields {
		t, err := typeOf(f.Type)
		if err != nil {
			return nil, err
		}
		out[i] = arrow.Field{Name: f.Name, Type: t, Nullable: !f.NotNull}
	}
	return out, nil
}

var plain = map[batch.Kind]arrow.DataType{
	batch.Boolean:      arrow.FixedWidthTypes.Boolean,
	batch.TinyInt:      arrow.PrimitiveTypes.Int8,
	batch.SmallInt:     arrow.PrimitiveTypes.Int16,
	batch.Int:          arrow.PrimitiveTypes.Int32,
	batch.BigInt:       arrow.PrimitiveTypes.Int64,
	batch.Float:        arrow.PrimitiveTypes.Float32,
	batch.Double:       arrow.PrimitiveTypes.Float64,
	batch.String:       arrow.BinaryTypes.String,
	batch.Binary:       arrow.BinaryTypes.Binary,
	batch.Date:         arrow.FixedWidthTypes.Date32,
	batch.Timestamp:    &arrow.TimestampType{Unit: arrow.Microsecond, TimeZone: "UTC"},
	batch.TimestampNTZ: &arrow.TimestampType{Unit: arrow.Microsecond},
}

func typeOf(t batch.Type) (arrow.DataType, error) {
	switch t.Kind {
	case batch.Decimal:
		return &arrow.Decimal128Type{Precision: int32(t.Precision), Scale: int32(t.Scale)}, nil
	case batch.Variant:
		return extensions.NewJSONType(arrow.BinaryTypes.String)
	case batch.Struct, batch.Array, batch.Map:
		return nestedType(t)
	}
	if out, ok := plain[t.Kind]; ok {
		return out, nil
	}
	return nil, fault.New(fault.UnsupportedTypes, "Arrow has no type for %s", t)
}

func nestedType(t batch.Type) (arrow.DataType, error) {
	inner, err := members(t.Fields)
	switch {
	case err != nil:
		return nil, err
	case t.Kind == batch.Struct:
		return arrow.StructOf(inner...), nil
	case t.Kind == batch.Array:
		return arrow.ListOfField(inner[0]), nil
	}
	inner[0].Nullable = false
	return arrow.MapOfFields(inner[0], inner[1]), nil
}
