package postgres

import (
	"fmt"

	"github.com/jackc/pgx/v5/pgtype"

	"sluice/batch"
)

// form is how a value goes over the wire: the binary form of a type of PostgreSQL.
type form uint8

const (
	asBool form = iota
	asInt2
	asInt4
	asInt8
	asFloat4
	asFloat8
	asNumeric
	asText
	asBytes
	asDate
	asTimestamp // both kinds: microseconds
	asJSON
	asJSONB
)

// sqlType is the type a column of a table that the sink creates has. Nested values and VARIANT are json, not jsonb: that
// keeps their text, down to the order of members.
func sqlType(t batch.Type) string {
	switch t.Kind {
	case batch.Boolean:
		return "boolean"
	case batch.TinyInt, batch.SmallInt:
		return "smallint"
	case batch.Int:
		return "integer"
	case batch.BigInt:
		return "bigint"
	case batch.Float:
		return "real"
	case batch.Double:
		return "double precision"
	case batch.Decimal:
		return fmt.Sprintf("numeric(%d,%d)", t.Precision, t.Scale)
	case batch.String:
		return "text"
	case batch.Binary:
		return "bytea"
	case batch.Date:
		return "date"
	case batch.Timestamp:
		return "timestamp with time zone"
	case batch.TimestampNTZ:
		return "timestamp without time zone"
	}
	return "json"
}

// formFor says how values of t go into a column of a type; ok is false when the column cannot hold each of them exactly.
func formFor(t batch.Type, oid uint32, typmod int32) (f form, ok bool) {
	switch t.Kind {
	case batch.Boolean:
		return asBool, oid == pgtype.BoolOID
	case batch.TinyInt, batch.SmallInt, batch.Int, batch.BigInt:
		return integerForm(t, oid, typmod)
	case batch.Float:
		if oid == pgtype.Float4OID {
			return asFloat4, true
		}
		return asFloat8, oid == pgtype.Float8OID
	case batch.Double:
		return asFloat8, oid == pgtype.Float8OID
	case batch.Decimal:
		return asNumeric, oid == pgtype.NumericOID && holdsDigits(typmod, int(t.Precision)-int(t.Scale), int(t.Scale))
	case batch.String:
		return asText, oid == pgtype.TextOID || oid == pgtype.VarcharOID
	case batch.Binary:
		return asBytes, oid == pgtype.ByteaOID
	case batch.Date:
		return asDate, oid == pgtype.DateOID
	case batch.Timestamp:
		return asTimestamp, oid == pgtype.TimestamptzOID && typmod < 0 || oid == pgtype.TimestamptzOID && typmod == 6
	case batch.TimestampNTZ:
		return asTimestamp, oid == pgtype.TimestampOID && typmod < 0 || oid == pgtype.TimestampOID && typmod == 6
	case batch.Struct, batch.Array, batch.Map, batch.Variant:
		switch oid {
		case pgtype.JSONBOID:
			return asJSONB, true
		case pgtype.TextOID, pgtype.VarcharOID:
			return asText, true
		}
		return asJSON, oid == pgtype.JSONOID
	}
	return 0, false
}

// integerForm also takes columns that are wider than the integer.
func integerForm(t batch.Type, oid uint32, typmod int32) (form, bool) {
	digits := map[batch.Kind]int{batch.TinyInt: 3, batch.SmallInt: 5, batch.Int: 10, batch.BigInt: 19}[t.Kind]
	switch {
	case oid == pgtype.Int2OID:
		return asInt2, digits <= 5
	case oid == pgtype.Int4OID:
		return asInt4, digits <= 10
	case oid == pgtype.Int8OID:
		return asInt8, true
	}
	return asNumeric, oid == pgtype.NumericOID && holdsDigits(typmod, digits, 0)
}

// holdsDigits reports whether a numeric column has room for so many digits before and after the point. A typmod of -1 is
// numeric without a precision.
func holdsDigits(typmod int32, whole, fraction int) bool {
	if typmod < 0 {
		return true
	}
	precision, scale := int((typmod-4)>>16&0xffff), int((typmod-4)&0x7ff)
	if scale >= 1024 {
		scale -= 2048 // negative scales are kept in eleven bits
	}
	return scale >= fraction && precision-scale >= whole
}
