package batch

import (
	"fmt"
	"strings"
)

// Kind is a SQL type without its parameters.
type Kind uint8

const (
	Void Kind = iota // the type of a bare NULL; no stored column has it
	Boolean
	TinyInt
	SmallInt
	Int
	BigInt
	Float
	Double
	Decimal   // precision 1 to 38, scale 0 to precision; 8 bytes up to precision 18, else 16 (Int128)
	String    // UTF-8
	Binary    // bytes
	Date      // int32 days since 1970-01-01, proleptic Gregorian
	Timestamp // int64 microseconds since the epoch: an instant
	TimestampNTZ
	Interval // in expressions only; never in a table
	Struct   // Fields are its fields
	Array    // Fields[0] is its element
	Map      // Fields[0] is its key, Fields[1] its value
	Variant  // any JSON value, kept as its exact text
)

// Type is a SQL type. The zero Type is Void.
type Type struct {
	Kind      Kind
	Precision uint8 // Decimal only
	Scale     uint8 // Decimal only
	Fields    []Field
}

// Field is a named column or a member of a nested type.
type Field struct {
	Name    string
	Type    Type
	NotNull bool
	Comment string
}

// Of returns the type of a kind that has no parameters.
func Of(k Kind) Type { return Type{Kind: k} }

// DecimalOf returns DECIMAL(precision, scale).
func DecimalOf(precision, scale int) Type {
	return Type{Kind: Decimal, Precision: uint8(precision), Scale: uint8(scale)}
}

// ArrayOf returns ARRAY<elem>.
func ArrayOf(elem Type) Type {
	return Type{Kind: Array, Fields: []Field{{Name: "element", Type: elem}}}
}

// MapOf returns MAP<key, value>.
func MapOf(key, value Type) Type {
	return Type{Kind: Map, Fields: []Field{{Name: "key", Type: key}, {Name: "value", Type: value}}}
}

// StructOf returns STRUCT<fields>.
func StructOf(fields ...Field) Type { return Type{Kind: Struct, Fields: fields} }

var kindNames = [...]string{"VOID", "BOOLEAN", "TINYINT", "SMALLINT", "INT", "BIGINT", "FLOAT", "DOUBLE", "DECIMAL", "STRING",
	"BINARY", "DATE", "TIMESTAMP", "TIMESTAMP_NTZ", "INTERVAL", "STRUCT", "ARRAY", "MAP", "VARIANT"}

func (k Kind) String() string { return kindNames[k] }

// String prints t as Spark's DDL does: DECIMAL(10,2), STRUCT<a: INT, b: ARRAY<STRING>>.
func (t Type) String() string {
	switch t.Kind {
	case Decimal:
		return fmt.Sprintf("DECIMAL(%d,%d)", t.Precision, t.Scale)
	case Array:
		return "ARRAY<" + t.Fields[0].Type.String() + ">"
	case Map:
		return "MAP<" + t.Fields[0].Type.String() + ", " + t.Fields[1].Type.String() + ">"
	case Struct:
		parts := make([]string, len(t.Fields))
		for i, f := range t.Fields {
			parts[i] = QuoteName(f.Name) + ": " + f.Type.String()
			if f.NotNull {
				parts[i] += " NOT NULL"
			}
		}
		return "STRUCT<" + strings.Join(parts, ", ") + ">"
	}
	return t.Kind.String()
}

// QuoteName returns name as it may stand in SQL: bare when it is a plain identifier, in backticks otherwise.
func QuoteName(name string) string {
	plain := name != ""
	for i, r := range name {
		if r != '_' && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (i == 0 || r < '0' || r > '9') {
			plain = false
		}
	}
	if plain {
		return name
	}
	return "`" + strings.ReplaceAll(name, "`", "``") + "`"
}

// Equal reports whether two types are the same; names of struct fields count, comments and NOT NULL do not.
func (t Type) Equal(u Type) bool {
	if t.Kind != u.Kind || t.Precision != u.Precision || t.Scale != u.Scale || len(t.Fields) != len(u.Fields) {
		return false
	}
	for i := range t.Fields {
		if t.Kind == Struct && t.Fields[i].Name != u.Fields[i].Name || !t.Fields[i].Type.Equal(u.Fields[i].Type) {
			return false
		}
	}
	return true
}

// Width is the size in bytes of one value of a fixed-width type, and 0 for text and nested types.
func (t Type) Width() int {
	switch t.Kind {
	case Boolean, TinyInt:
		return 1
	case SmallInt:
		return 2
	case Int, Float, Date:
		return 4
	case BigInt, Double, Timestamp, TimestampNTZ:
		return 8
	case Decimal:
		if t.Precision <= 18 {
			return 8
		}
		return 16
	}
	return 0
}

// IsText reports whether values are bytes with offsets: STRING, BINARY and VARIANT.
func (t Type) IsText() bool { return t.Kind == String || t.Kind == Binary || t.Kind == Variant }

// IsNested reports whether values are made of child columns.
func (t Type) IsNested() bool { return t.Kind == Struct || t.Kind == Array || t.Kind == Map }

// IsInteger reports whether t is one of the four integer types.
func (t Type) IsInteger() bool { return t.Kind >= TinyInt && t.Kind <= BigInt }

// IsNumeric reports whether t is an integer, a float or a decimal.
func (t Type) IsNumeric() bool { return t.Kind >= TinyInt && t.Kind <= Decimal }

// Orderable reports whether values have an order and may be keys and sequences: all but MAP and VARIANT, at any depth
// (RU-12, A-16).
func (t Type) Orderable() bool {
	if t.Kind == Map || t.Kind == Variant || t.Kind == Interval {
		return false
	}
	for _, f := range t.Fields {
		if !f.Type.Orderable() {
			return false
		}
	}
	return true
}

// DDL prints fields as a column list: "a BIGINT, b STRING NOT NULL".
func DDL(fields []Field) string {
	parts := make([]string, len(fields))
	for i, f := range fields {
		parts[i] = QuoteName(f.Name) + " " + f.Type.String()
		if f.NotNull {
			parts[i] += " NOT NULL"
		}
	}
	return strings.Join(parts, ", ")
}
