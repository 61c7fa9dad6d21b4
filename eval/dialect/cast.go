package dialect

import (
	"fmt"
	"slices"
	"strings"

	"sluice/batch"
	"sluice/fault"
)

// castable reports whether Spark casts between the two types in ANSI mode (D-47) and this package can do it.
func castable(from, to batch.Type) bool {
	switch {
	case from.Equal(to) || from.Kind == batch.Void:
		return to.Kind != batch.Interval || from.Kind == batch.Interval
	case from.IsNested() && to.Kind == batch.String:
		return writable(from)
	case from.IsNested() || to.IsNested():
		if from.Kind != to.Kind || len(from.Fields) != len(to.Fields) {
			return false
		}
		for i := range from.Fields {
			if !castable(from.Fields[i].Type, to.Fields[i].Type) {
				return false
			}
		}
		return true
	case !isAtomic(from) || !isAtomic(to):
		return false
	case from.Kind == batch.String || to.Kind == batch.String:
		return true
	case from.Kind == batch.Binary || to.Kind == batch.Binary:
		return false
	case from.Kind == batch.Boolean:
		return to.IsNumeric()
	case from.IsNumeric():
		return to.IsNumeric() || to.Kind == batch.Boolean || to.Kind == batch.Timestamp
	case from.Kind == batch.Timestamp:
		return isTime(to) || to.IsNumeric()
	}
	return isTime(to)
}

// writable reports whether a nested value can be written as text: what it has of atomic values.
func writable(t batch.Type) bool {
	for _, f := range t.Fields {
		if !isAtomic(f.Type) && f.Type.Kind != batch.Void && !(f.Type.IsNested() && writable(f.Type)) {
			return false
		}
	}
	return true
}

// failing reports whether Spark takes a cast as one that fails for some values.
func failing(from, to batch.Type) bool {
	switch {
	case from.Equal(to) || to.Kind == batch.String || to.Kind == batch.Binary:
		return false
	case from.Kind == batch.String || to.Kind == batch.Date && from.Kind != batch.Timestamp || to.Kind == batch.Decimal:
		return true
	case from.Kind == batch.Timestamp:
		return to.IsInteger() && to.Kind != batch.BigInt
	}
	return to.Kind == batch.Timestamp && isFractional(from) || to.IsInteger() && (isFractional(from) || from.Kind == batch.Decimal)
}

func holdsBytes(t batch.Type) bool {
	return t.Kind == batch.Binary || slices.ContainsFunc(t.Fields, func(f batch.Field) bool { return holdsBytes(f.Type) })
}

// cast is CAST or TRY_CAST as the user wrote it.
func (f *frame) cast(v value, to batch.Type, try bool) value {
	if isBroken(v) {
		return v
	}
	if !castable(v.typ, to) {
		if v.typ.IsNested() && to.Kind == batch.String {
			return f.fail(fault.New(fault.UnsupportedMeaning, "%s is not cast to STRING", v.typ).At(v.pos).WithHint("take its members that are no VARIANT"))
		}
		return f.fail(fault.New(fault.CannotCast, "%s cannot be cast to %s", v.typ, to).At(v.pos))
	}
	if v.typ.Kind == batch.Decimal && v.typ.Scale > 20 && to.Kind == batch.Timestamp { // Spark rounds to 34 digits first
		return f.fail(fault.New(fault.UnsupportedMeaning, "%s is not cast to TIMESTAMP", v.typ).At(v.pos).WithHint("CAST it to DECIMAL(38,20) first"))
	}
	if try && v.typ.Kind == batch.Map && failing(v.typ.Fields[0].Type, to.Fields[0].Type) { // a key would be NULL
		return f.fail(fault.New(fault.CannotCast, "%s cannot be cast to %s by TRY_CAST", v.typ, to).At(v.pos).WithHint("CAST it"))
	}
	if try && holdsBytes(v.typ) && to.Kind == batch.String { // Spark keeps bytes that are no UTF-8
		return f.fail(fault.New(fault.UnsupportedMeaning, "TRY_CAST from BINARY to STRING is not supported").At(v.pos).WithHint("CAST fails for bytes that are no UTF-8"))
	}
	out := f.convert(v, to, try)
	if out.konst != nil {
		cast := *out.konst
		cast.cast = true
		out.konst = &cast
	}
	return out
}

// convert casts v to a type it is castable to. With try, a value that cannot be cast is NULL.
func (f *frame) convert(v value, to batch.Type, try bool) value {
	switch {
	case v.typ.Equal(to) || isBroken(v):
		return v
	case v.typ.Kind == batch.Void || v.isNull():
		out := v
		out.typ, out.sql = to, fmt.Sprintf("CAST(NULL AS %s)", duckType(to))
		if v.is(raises) && !v.isNull() {
			out.sql = fmt.Sprintf("CASE WHEN %s IS NULL THEN %s END", v.sql, out.sql)
		}
		return out
	case v.konst != nil:
		if out, done := f.constantTo(v, to, try); done {
			return out
		}
	}
	c := caster{binder: f.binder, try: try}
	out := derive(to, c.write(v.sql, v.typ, to), v)
	out.pos, out.name, out.notNull = v.pos, v.name, v.notNull && !try
	if c.raises && !try {
		out.marks |= raises
	}
	return out
}

// caster writes casts.
type caster struct {
	*binder
	try    bool
	raises bool // some value may fail
	depth  int  // lambdas around what is written
}

// cast is a cast of DuckDB's own that fails for some values.
func (c *caster) cast(x string, to batch.Type) string {
	c.raises = true
	if c.try {
		return fmt.Sprintf("TRY_CAST(%s AS %s)", x, duckType(to))
	}
	return safe(x, to)
}

// safe is a cast of DuckDB's own that fails for no value.
func safe(x string, to batch.Type) string { return fmt.Sprintf("CAST(%s AS %s)", x, duckType(to)) }

// builtin is a cast that package builtin computes.
func (c *caster) builtin(name, x string, from, to batch.Type) string {
	f := Function{Name: name, Args: []batch.Type{from}, Result: to}
	if c.try {
		f.Options = [][2]string{{"try", "true"}}
	}
	handle := Placeholder(c.function(f))
	_, quiet := f.External()
	return fmt.Sprintf("%s(%s, %s)", quiet, handle, x)
}

func (c *caster) write(x string, from, to batch.Type) string {
	switch {
	case from.Equal(to):
		return x
	case from.IsNested() && to.Kind == batch.String:
		c.raises = true // bytes that are no UTF-8
		return c.builtin("to_text", x, from, to)
	case from.IsNested():
		return c.nested(x, from, to)
	case from.Kind == batch.String:
		return c.fromText(x, to)
	case to.Kind == batch.String:
		return c.toText(x, from)
	case to.Kind == batch.Boolean:
		return fmt.Sprintf("(%s <> 0)", x)
	case from.Kind == batch.Boolean:
		return c.fromNumber(fmt.Sprintf("CAST(%s AS INTEGER)", x), integer, to)
	case isTime(from) && isTime(to):
		return c.betweenTimes(x, from, to)
	case from.Kind == batch.Timestamp:
		return c.epoch(x, to)
	case to.Kind == batch.Timestamp:
		return c.fromEpoch(x, from)
	}
	return c.fromNumber(x, from, to)
}

// fromNumber casts between numbers. DuckDB rounds where Spark cuts off, and makes a DECIMAL of a DOUBLE's binary value where
// Spark takes its text.
func (c *caster) fromNumber(x string, from, to batch.Type) string {
	switch {
	case from.Equal(to):
		return x
	case to.IsInteger() && from.IsInteger():
		if to.Kind > from.Kind {
			return safe(x, to)
		}
		return c.cast(x, to)
	case to.Kind == batch.BigInt && isFractional(from): // 2^63 is the largest BIGINT in Java
		return fmt.Sprintf("CASE WHEN %[1]s = 9223372036854775808 THEN 9223372036854775807 ELSE %[2]s END", x, c.cast(fmt.Sprintf("trunc(%s)", x), to))
	case to.IsInteger():
		return c.cast(fmt.Sprintf("trunc(%s)", x), to)
	case to.Kind == batch.Decimal && isFractional(from):
		if from.Kind == batch.Float {
			x = safe(x, double)
		}
		return fmt.Sprintf("CASE WHEN isfinite(%s) THEN %s END", x, c.cast(plainText(x), to))
	case to.Kind == batch.Decimal:
		if d := asDecimal(from); d.Precision-d.Scale <= to.Precision-to.Scale && d.Scale <= to.Scale {
			return safe(x, to)
		}
		return c.cast(x, to)
	case from.Kind == batch.Decimal && from.Precision > 15:
		return safe(fmt.Sprintf("CAST(%s AS VARCHAR)", x), to) // 16 digits and a power of ten are not exact in a DOUBLE
	case from.Kind == batch.Decimal && to.Kind == batch.Float:
		return safe(fmt.Sprintf("CAST(%s AS VARCHAR)", x), to)
	case from.Kind == batch.Double && to.Kind == batch.Float: // what is too large is infinite
		return fmt.Sprintf("CASE WHEN abs(%[1]s) >= 3.4028235677973366e38 AND NOT isnan(%[1]s) THEN CAST(CASE WHEN %[1]s < 0 THEN '-inf' ELSE 'inf' END AS FLOAT) ELSE CAST(%[1]s AS FLOAT) END", x)
	}
	return safe(x, to)
}

// betweenTimes goes over local time: the day of an instant is a day in the session's zone.
func (c *caster) betweenTimes(x string, from, to batch.Type) string {
	if from.Kind == batch.Timestamp {
		x = c.zone.local(x)
	}
	if to.Kind == batch.Timestamp {
		if from.Kind == batch.Date {
			x = safe(x, localTime)
		}
		return c.zone.instant(x)
	}
	return safe(x, to)
}

// epoch casts an instant to a number of seconds.
func (c *caster) epoch(x string, to batch.Type) string {
	micros := fmt.Sprintf("epoch_us(%s)", x)
	switch {
	case to.Kind == batch.Decimal:
		return c.cast(fmt.Sprintf("(CAST(%s AS DECIMAL(19, 0)) * '0.000001'::DECIMAL(6, 6))", micros), to)
	case isFractional(to):
		return safe(fmt.Sprintf("(CAST(%s AS DOUBLE) / 1000000)", micros), to)
	}
	return c.fromNumber(floorDivide(micros, 1_000_000), bigint, to)
}

// floorDivide divides a BIGINT by a positive constant, rounding down.
func floorDivide(x string, by int) string {
	return fmt.Sprintf("(%[1]s // %[2]d - CASE WHEN %[1]s %% %[2]d < 0 THEN 1 ELSE 0 END)", x, by)
}

// fromEpoch casts a number of seconds to an instant.
func (c *caster) fromEpoch(x string, from batch.Type) string {
	c.raises = true
	switch {
	case from.IsInteger():
		x = fmt.Sprintf("(CAST(%s AS BIGINT) * 1000000)", x)
	case from.Kind == batch.Decimal:
		x = fmt.Sprintf("CAST(trunc(%s * 1000000) AS BIGINT)", x)
	default:
		seconds := fmt.Sprintf("CAST(trunc(CAST(%s AS DOUBLE) * 1000000) AS BIGINT)", x)
		failure := raise(fault.CastInvalidInput, fmt.Sprintf("'the value ' || CAST(%s AS VARCHAR) || ' of the type %s cannot be cast to TIMESTAMP'", x, from), bigint)
		x = fmt.Sprintf("CASE WHEN isfinite(%s) THEN %s ELSE %s END", x, seconds, failure)
	}
	if c.try {
		return fmt.Sprintf("TRY(make_timestamptz(%s))", x)
	}
	return fmt.Sprintf("make_timestamptz(%s)", x)
}

// nested casts member by member. DuckDB casts structs by name, Spark by position.
func (c *caster) nested(x string, from, to batch.Type) string {
	c.depth++
	defer func() { c.depth-- }()
	e := fmt.Sprintf("e%d", c.depth)
	switch from.Kind {
	case batch.Array:
		return fmt.Sprintf("list_transform(%s, lambda %s: %s)", x, e, c.write(e, from.Fields[0].Type, to.Fields[0].Type))
	case batch.Map:
		return fmt.Sprintf("map_from_entries(list_transform(map_entries(%s), lambda %s: {'k': %s, 'v': %s}))", x, e,
			c.write(e+".key", from.Fields[0].Type, to.Fields[0].Type), c.write(e+".value", from.Fields[1].Type, to.Fields[1].Type))
	}
	members := make([]string, len(from.Fields))
	for i, f := range from.Fields {
		member := fmt.Sprintf("struct_extract(%s, %s)", x, quoteText(f.Name))
		members[i] = quoteName(to.Fields[i].Name) + " := " + c.write(member, f.Type, to.Fields[i].Type)
	}
	return fmt.Sprintf("CASE WHEN %s IS NOT NULL THEN struct_pack(%s) END", x, strings.Join(members, ", "))
}
