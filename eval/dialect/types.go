package dialect

import (
	"fmt"
	"slices"
	"strings"

	"sluice/batch"
	"sluice/fault"
)

var (
	boolean   = batch.Of(batch.Boolean)
	tinyint   = batch.Of(batch.TinyInt)
	smallint  = batch.Of(batch.SmallInt)
	integer   = batch.Of(batch.Int)
	bigint    = batch.Of(batch.BigInt)
	float     = batch.Of(batch.Float)
	double    = batch.Of(batch.Double)
	text      = batch.Of(batch.String)
	binary    = batch.Of(batch.Binary)
	date      = batch.Of(batch.Date)
	timestamp = batch.Of(batch.Timestamp)
	localTime = batch.Of(batch.TimestampNTZ)
	void      = batch.Of(batch.Void)
)

var duckNames = map[batch.Kind]string{
	batch.Void: "INTEGER", batch.Boolean: "BOOLEAN", batch.TinyInt: "TINYINT", batch.SmallInt: "SMALLINT", batch.Int: "INTEGER",
	batch.BigInt: "BIGINT", batch.Float: "FLOAT", batch.Double: "DOUBLE", batch.String: "VARCHAR", batch.Binary: "BLOB",
	batch.Date: "DATE", batch.Timestamp: "TIMESTAMPTZ", batch.TimestampNTZ: "TIMESTAMP", batch.Variant: "VARCHAR",
}

// duckType writes t as DuckDB calls it. A column of nothing but NULL is an INTEGER there.
func duckType(t batch.Type) string {
	switch t.Kind {
	case batch.Decimal:
		return fmt.Sprintf("DECIMAL(%d, %d)", t.Precision, t.Scale)
	case batch.Array:
		return duckType(t.Fields[0].Type) + "[]"
	case batch.Map:
		return "MAP(" + duckType(t.Fields[0].Type) + ", " + duckType(t.Fields[1].Type) + ")"
	case batch.Struct:
		parts := make([]string, len(t.Fields))
		for i, f := range t.Fields {
			parts[i] = quoteName(f.Name) + " " + duckType(f.Type)
		}
		return "STRUCT(" + strings.Join(parts, ", ") + ")"
	}
	return duckNames[t.Kind]
}

// sparkName writes t as Spark's typeof does.
func sparkName(t batch.Type) string {
	switch t.Kind {
	case batch.Struct:
		parts := make([]string, len(t.Fields))
		for i, f := range t.Fields {
			parts[i] = f.Name + ":" + sparkName(f.Type)
		}
		return "struct<" + strings.Join(parts, ",") + ">"
	case batch.Array:
		return "array<" + sparkName(t.Fields[0].Type) + ">"
	case batch.Map:
		return "map<" + sparkName(t.Fields[0].Type) + "," + sparkName(t.Fields[1].Type) + ">"
	}
	return strings.ToLower(t.String())
}

// quoteName writes an identifier of DuckDB.
func quoteName(s string) string { return `"` + strings.ReplaceAll(s, `"`, `""`) + `"` }

// quoteText writes a VARCHAR constant. A NUL would end the statement.
func quoteText(s string) string {
	quoted := "'" + strings.ReplaceAll(s, "'", "''") + "'"
	if strings.Contains(s, "\x00") {
		return "(" + strings.ReplaceAll(quoted, "\x00", "' || chr(0) || '") + ")"
	}
	return quoted
}

// isFractional reports whether t is FLOAT or DOUBLE.
func isFractional(t batch.Type) bool { return t.Kind == batch.Float || t.Kind == batch.Double }

// isTime reports whether t is a date or a timestamp.
func isTime(t batch.Type) bool {
	return t.Kind == batch.Date || t.Kind == batch.Timestamp || t.Kind == batch.TimestampNTZ
}

// isAtomic reports whether t is neither nested nor one of the types that are no values of columns.
func isAtomic(t batch.Type) bool {
	return !t.IsNested() && t.Kind != batch.Void && t.Kind != batch.Interval && t.Kind != batch.Variant
}

// asDecimal is the DECIMAL type that holds every value of an integer type.
func asDecimal(t batch.Type) batch.Type {
	switch t.Kind {
	case batch.TinyInt:
		return batch.DecimalOf(3, 0)
	case batch.SmallInt:
		return batch.DecimalOf(5, 0)
	case batch.Int:
		return batch.DecimalOf(10, 0)
	case batch.BigInt:
		return batch.DecimalOf(20, 0)
	}
	return t
}

// common is the type that values of types t and u have together: Spark's findWiderTypeForTwo in ANSI mode.
func common(t, u batch.Type) (batch.Type, bool) {
	switch {
	case t.Equal(u):
		return t, true
	case t.Kind == batch.Void:
		return u, true
	case u.Kind == batch.Void:
		return t, true
	case t.IsNumeric() && u.IsNumeric():
		return commonNumber(t, u)
	case isTime(t) && isTime(u):
		return commonTime(t, u), true
	case t.Kind == batch.String && isAtomic(u):
		return besideText(u), true
	case u.Kind == batch.String && isAtomic(t):
		return besideText(t), true
	case t.IsNested() && t.Kind == u.Kind && len(t.Fields) == len(u.Fields):
		return commonNested(t, u)
	}
	return void, false
}

func commonNumber(t, u batch.Type) (batch.Type, bool) {
	switch {
	case t.IsInteger() && u.IsInteger():
		return batch.Of(max(t.Kind, u.Kind)), true
	case isFractional(t) || isFractional(u):
		return double, true // an integer beside a FLOAT too, since a FLOAT would lose digits
	}
	t, u = asDecimal(t), asDecimal(u)
	scale := max(int(t.Scale), int(u.Scale))
	precision := max(int(t.Precision)-int(t.Scale), int(u.Precision)-int(u.Scale)) + scale
	if precision > 38 {
		return void, false // Spark drops digits behind the point here
	}
	return batch.DecimalOf(precision, scale), true
}

func commonTime(t, u batch.Type) batch.Type {
	if t.Kind == batch.Timestamp || u.Kind == batch.Timestamp {
		return timestamp
	}
	return localTime
}

// besideText is the type a STRING is cast to when it stands beside a value of type t.
func besideText(t batch.Type) batch.Type {
	switch {
	case t.IsInteger():
		return bigint
	case t.IsNumeric():
		return double
	}
	return t
}

func commonNested(t, u batch.Type) (batch.Type, bool) {
	fields := make([]batch.Field, len(t.Fields))
	for i, f := range t.Fields {
		g := u.Fields[i]
		if t.Kind == batch.Struct && !strings.EqualFold(f.Name, g.Name) {
			return void, false
		}
		typ, ok := common(f.Type, g.Type)
		if !ok {
			return void, false
		}
		fields[i] = batch.Field{Name: f.Name, Type: typ, NotNull: f.NotNull && g.NotNull}
	}
	return batch.Type{Kind: t.Kind, Fields: fields}, true
}

// hollow reports whether there is a struct without fields in t. DuckDB has no such type.
func hollow(t batch.Type) bool {
	return t.Kind == batch.Struct && len(t.Fields) == 0 || slices.ContainsFunc(t.Fields, func(f batch.Field) bool { return hollow(f.Type) })
}

func hollowed(t batch.Type, at fault.Pos) *fault.Error {
	return fault.New(fault.UnsupportedDatatype, "there are no values of type %s, which has a struct without fields", t).At(at).WithHint("leave that struct out")
}
