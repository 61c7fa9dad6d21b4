package syntax

import (
	"strings"

	"sluice/batch"
	"sluice/fault"
)

// simpleTypes are the types without parameters, all of Spark's spellings.
var simpleTypes = map[string]batch.Kind{
	"BOOLEAN": batch.Boolean,
	"TINYINT": batch.TinyInt, "BYTE": batch.TinyInt,
	"SMALLINT": batch.SmallInt, "SHORT": batch.SmallInt,
	"INT": batch.Int, "INTEGER": batch.Int,
	"BIGINT": batch.BigInt, "LONG": batch.BigInt,
	"FLOAT": batch.Float, "REAL": batch.Float,
	"DOUBLE":    batch.Double,
	"STRING":    batch.String,
	"BINARY":    batch.Binary,
	"DATE":      batch.Date,
	"TIMESTAMP": batch.Timestamp, "TIMESTAMP_LTZ": batch.Timestamp,
	"TIMESTAMP_NTZ": batch.TimestampNTZ, "TIMESTAMP WITHOUT TIME ZONE": batch.TimestampNTZ,
	"VARIANT": batch.Variant,
	"VOID":    batch.Void,
}

// ResolveType gives the type that was written.
func ResolveType(t *TypeExpr) (batch.Type, *fault.Error) {
	if kind, ok := simpleTypes[t.Name]; ok {
		if len(t.Params) > 0 {
			return batch.Type{}, fault.New(fault.UnsupportedDatatype, "%s takes no parameters", t.Name).At(t.Pos)
		}
		return batch.Of(kind), nil
	}
	switch name, _, _ := strings.Cut(t.Name, " "); name {
	case "DECIMAL", "DEC", "NUMERIC":
		return resolveDecimal(t)
	case "INTERVAL":
		return batch.Of(batch.Interval), nil
	case "ARRAY", "MAP", "STRUCT":
		return resolveNested(t)
	case "CHAR", "CHARACTER", "VARCHAR":
		return batch.Type{}, fault.New(fault.UnsupportedDatatype, "the type %s is not supported", name).At(t.Pos).
			WithHint("use STRING and an expectation on its length")
	}
	e := fault.New(fault.UnsupportedDatatype, "there is no type %s", t.Name).At(t.Pos)
	if near := nearest(t.Name, typeNames); near != "" {
		e.WithHint("did you mean %s?", near)
	}
	return batch.Type{}, e
}

var typeNames = strings.Fields("ARRAY BIGINT BINARY BOOLEAN DATE DECIMAL DOUBLE FLOAT INT INTEGER MAP SMALLINT STRING STRUCT TIMESTAMP " +
	"TIMESTAMP_NTZ TINYINT VARIANT")

// resolveDecimal gives DECIMAL(10,0) when nothing is said, as Spark does.
func resolveDecimal(t *TypeExpr) (batch.Type, *fault.Error) {
	precision, scale := 10, 0
	switch len(t.Params) {
	case 0:
	case 1:
		precision = t.Params[0]
	case 2:
		precision, scale = t.Params[0], t.Params[1]
	default:
		return batch.Type{}, fault.New(fault.UnsupportedDatatype, "%s takes a precision and a scale", t.Name).At(t.Pos)
	}
	if precision < 1 || precision > 38 || scale > precision {
		return batch.Type{}, fault.New(fault.InvalidDecimalPrecision, "%s has the precision %d and the scale %d", t.Name, precision, scale).
			At(t.Pos).WithHint("the precision is 1 to 38, the scale at most the precision")
	}
	return batch.DecimalOf(precision, scale), nil
}

func resolveNested(t *TypeExpr) (batch.Type, *fault.Error) {
	fields := make([]batch.Field, len(t.Fields))
	seen := names{}
	for i, f := range t.Fields {
		inner, err := ResolveType(f.Type)
		if err != nil {
			return batch.Type{}, err
		}
		fields[i] = batch.Field{Name: f.Name.Text, Type: inner, NotNull: f.NotNull, Comment: f.Comment}
		if t.Name == "STRUCT" {
			if err := seen.add(f.Name); err != nil {
				return batch.Type{}, err
			}
		}
	}
	switch t.Name {
	case "ARRAY":
		return batch.ArrayOf(fields[0].Type), nil
	case "MAP":
		return batch.MapOf(fields[0].Type, fields[1].Type), nil
	}
	return batch.StructOf(fields...), nil
}

// Fields resolves a column list. Columns whose type was not written are a problem.
func Fields(columns []ColumnDef) ([]batch.Field, fault.List) {
	var problems fault.List
	fields := make([]batch.Field, 0, len(columns))
	seen := names{}
	for _, c := range columns {
		if err := seen.add(c.Name); err != nil {
			problems = append(problems, err)
		}
		if c.Type == nil {
			problems = append(problems, syntaxError(c.Pos, "the column %s has no type", c.Name.Text))
			continue
		}
		t, err := ResolveType(c.Type)
		if err != nil {
			problems = append(problems, err)
			continue
		}
		fields = append(fields, batch.Field{Name: c.Name.Text, Type: t, NotNull: c.NotNull, Comment: c.Comment})
	}
	return fields, problems
}

// names are the names of a list, lower-cased. Two that differ only in case may stand together when both are in backticks
// (D-9).
type names map[string][]Ident

func (n names) add(name Ident) *fault.Error {
	low := strings.ToLower(name.Text)
	for _, other := range n[low] {
		if other.Text == name.Text || !other.Quoted || !name.Quoted {
			return fault.New(fault.ColumnAlreadyExists, "the column %s stands twice", name.Text).At(name.Pos)
		}
	}
	n[low] = append(n[low], name)
	return nil
}
