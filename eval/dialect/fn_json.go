package dialect

import (
	"slices"
	"strings"

	"sluice/batch"
	"sluice/fault"
	"sluice/format"
	"sluice/format/json"
	"sluice/syntax"
)

var documents = []*function{
	{name: "from_json", args: "text, schema [, options]", min: 2, max: 3, bind: bindFromJSON,
		exact: "exact for JSON by RFC 8259; what D-8 refuses is NULL: an object with a name twice, a decimal with too many digits, a number out of range (Spark makes Infinity of one beyond DOUBLE or FLOAT), a number for a TIMESTAMP without timestampUnit, a number for a DATE (Spark counts days), a date without its zeros (2026-1-3); a number in a STRING keeps its text (1.50, 1e2), which Spark writes anew (1.5, 100.0); a schema with a struct without fields is refused; its options are above"},
	{name: "to_json", args: "x [, options]", min: 1, max: 2, bind: bindToJSON, exact: "exact; its options are above"},
	{name: "get_json_object", args: "text, path", min: 2, max: 2, bind: bindGetJSON,
		exact: "exact for JSON by RFC 8259, NULL for other texts; the path is a constant: $.a.b[0]['c'][*]"},
	{name: "schema_of_json", args: "text", min: 1, max: 2, bind: bindSchemaOfJSON, exact: "exact for JSON by RFC 8259; options are refused"},
}

var timeOptions = []string{"dateFormat", "timestampFormat", "timestampNTZFormat", format.ZoneOption}

// laxer are options of Spark's that take more than RFC 8259; they can only be false (D-8).
var laxer = []string{"allowComments", "allowUnquotedFieldNames", "allowSingleQuotes", "allowNumericLeadingZeros", "allowNonNumericNumbers", "allowBackslashEscapingAnyCharacter", "allowUnquotedControlChars"}

var fromJSONOptions = slices.Concat([]string{"mode", "columnNameOfCorruptRecord", "numbers_as_strings", "timestampUnit"}, timeOptions, laxer)

func bindFromJSON(c *call) value {
	typ, ok := c.schema(1, "from_json")
	options, fine := c.options(2, fromJSONOptions)
	if !ok || !fine {
		return wrong(c.pos)
	}
	if c.args[0].typ.Kind != batch.String && !c.args[0].isNull() {
		return c.mistyped(0, "a STRING")
	}
	if _, err := json.NewFrom(json.FromOptions{Type: typ, CorruptRecord: -1}); err != nil {
		return c.fail(fault.From(err).At(c.args[1].pos))
	}
	x := c.document()
	if isBroken(x) || !c.times(2, true, options) {
		return wrong(c.pos)
	}
	var v value
	if column := c.fromStream(x); column != nil {
		v = c.wholeOf(typ, options, x, column)
	} else {
		v = c.external(typ, options, x)
	}
	if mode(options) == "FAILFAST" {
		v = v.with(raises)
	}
	return v
}

// document is the first argument. CAST(value AS STRING) over bytes, as records come, hands over the bytes as they are: what is no
// UTF-8 is no JSON, while the cast alone would refuse the record.
func (c *call) document() value {
	var inner syntax.Expr
	switch e := c.expr.Args[0].(type) {
	case *syntax.Cast:
		if !e.Try {
			inner = e.X
		}
	case *syntax.Func:
		if len(e.Name.Parts) == 1 && strings.EqualFold(e.Name.Parts[0].Text, "string") && len(e.Args) == 1 {
			inner = e.Args[0]
		}
	}
	if column, ok := inner.(*syntax.Column); ok && c.args[0].typ.Kind == batch.String {
		if v := c.bind(column); v.typ.Kind == batch.Binary {
			return v
		}
	}
	return c.as(0, text)
}

func mode(options [][2]string) string {
	for _, o := range options {
		if o[0] == "mode" {
			return o[1]
		}
	}
	return "PERMISSIVE"
}

func bindToJSON(c *call) value {
	options, ok := c.options(1, append([]string{"ignoreNullFields"}, timeOptions...))
	if !ok || !c.times(1, false, options) {
		return wrong(c.pos)
	}
	switch typ := c.args[0].typ; {
	case typ.Kind == batch.Void:
		return c.convert(null(), text, false)
	case !typ.IsNested():
		return c.fail(fault.New(fault.InvalidJSONSchema, "to_json takes a struct, an array or a map, not %s", typ).At(c.args[0].pos))
	case holds(typ, batch.Interval):
		return c.fail(fault.New(fault.InvalidJSONSchema, "to_json has no text for a value of type %s", typ).At(c.args[0].pos).WithHint("CAST it"))
	case oddKeys(unvoided(typ)):
		return c.refuse("CAST the keys to STRING", "to_json writes the keys of maps that are texts, numbers or BOOLEAN; Spark writes others as it keeps them")
	}
	return c.external(text, options, filled(c.args[0]))
}

// oddKeys reports whether there is a map in t whose keys have no text of their own in JSON.
func oddKeys(t batch.Type) bool {
	if t.Kind == batch.Map {
		key := t.Fields[0].Type
		if key.Kind != batch.String && key.Kind != batch.Boolean && !key.IsInteger() && key.Kind != batch.Decimal {
			return true
		}
	}
	return slices.ContainsFunc(t.Fields, func(f batch.Field) bool { return oddKeys(f.Type) })
}

// filled is v with INT for the type of every bare NULL in it: what is written is the same.
func filled(v value) value {
	if holds(v.typ, batch.Void) {
		v.typ = unvoided(v.typ)
		v.sql = safe(v.sql, v.typ)
	}
	return v
}

func unvoided(t batch.Type) batch.Type {
	if t.Kind == batch.Void {
		return integer
	}
	t.Fields = slices.Clone(t.Fields)
	for i, f := range t.Fields {
		t.Fields[i].Type = unvoided(f.Type)
	}
	return t
}

// holds reports whether t is of a kind or has a part that is.
func holds(t batch.Type, kind batch.Kind) bool {
	return t.Kind == kind || slices.ContainsFunc(t.Fields, func(f batch.Field) bool { return holds(f.Type, kind) })
}

// bindGetJSON takes a path apart once. At what is no path nothing is found.
func bindGetJSON(c *call) value {
	path, isNull, ok := c.constText(1)
	if k := c.args[0].typ.Kind; k != batch.String && k != batch.Void {
		return c.mistyped(0, "a STRING")
	}
	x := c.document()
	if !ok || isBroken(x) {
		return wrong(c.pos)
	}
	if _, valid := json.NewPath(path); isNull || !valid {
		return derive(text, "CAST(NULL AS VARCHAR)", x)
	}
	return c.builtin(c.name, text, [][2]string{{"path", path}}, x)
}

func bindSchemaOfJSON(c *call) value {
	if c.has(1) {
		return c.fail(fault.New(fault.InvalidOptions, "schema_of_json takes no options").At(c.args[1].pos).WithHint("leave them out: JSON is that of RFC 8259 (D-8), and fields can be given other types in the schema of from_json"))
	}
	s, isNull, ok := c.constText(0)
	if !ok {
		return wrong(c.pos)
	}
	if isNull {
		return c.fail(fault.New(fault.NonFoldable, "schema_of_json takes a text, not NULL").At(c.pos))
	}
	typ, err := json.Infer([]byte(s))
	if err != nil {
		return c.fail(fault.From(err).At(c.args[0].pos))
	}
	return textValue(typ.String())
}

// schema returns the type that argument i, a constant text, describes: columns or a type. It is without NOT NULL, as in Spark.
func (c *call) schema(i int, function string) (batch.Type, bool) {
	s, isNull, ok := c.constText(i)
	if !ok || isNull {
		if isNull {
			c.report(fault.New(fault.NonFoldable, "the schema of %s is NULL", function).At(c.args[i].pos))
		}
		return batch.Type{}, false
	}
	at := c.args[i].pos
	if l, literal := c.expr.Args[i].(*syntax.Literal); literal {
		at = l.TextPos
	}
	columns, problems := syntax.ParseSchema(s, at)
	if len(problems) == 0 {
		fields, problems := syntax.Fields(columns)
		for _, p := range problems {
			c.report(p)
		}
		return c.filled(nullable(batch.StructOf(fields...)), at, len(problems) == 0)
	}
	expr, noType := syntax.ParseType(s, at)
	if len(noType) > 0 {
		for _, p := range problems {
			c.report(p)
		}
		return batch.Type{}, false
	}
	typ, err := syntax.ResolveType(expr)
	if err != nil {
		c.report(err)
		return batch.Type{}, false
	}
	if !typ.IsNested() {
		if function == "from_csv" {
			c.report(fault.New(fault.NonStructSchema, "from_csv makes structs, not %s", typ).At(at))
		} else {
			c.report(fault.New(fault.InvalidJSONSchema, "%s makes structs, arrays and maps, not %s", function, typ).At(at))
		}
		return batch.Type{}, false
	}
	return c.filled(nullable(typ), at, true)
}

// filled refuses a schema that the engine has no values of.
func (c *call) filled(typ batch.Type, at fault.Pos, ok bool) (batch.Type, bool) {
	if ok && hollow(typ) {
		c.report(hollowed(typ, at))
		return batch.Type{}, false
	}
	return typ, ok
}

// nullable returns t without NOT NULL and comments at any depth.
func nullable(t batch.Type) batch.Type {
	fields := slices.Clone(t.Fields)
	for i, f := range fields {
		fields[i] = batch.Field{Name: f.Name, Type: nullable(f.Type)}
	}
	t.Fields = fields
	return t
}

// times checks the patterns and the zone among options, which are argument i.
func (c *call) times(i int, reading bool, options [][2]string) bool {
	value := func(name string) string { return named(options)[strings.ToLower(name)] }
	_, err := format.ParseTimes(reading, value)
	if err == nil {
		_, err = format.ParseZone(value(format.ZoneOption), nil)
	}
	if err != nil {
		c.report(fault.From(err).At(c.args[i].pos))
	}
	return err == nil
}

// options reads argument i, when it is given: a call of map with constant texts. Names match without case.
func (c *call) options(i int, known []string) (out [][2]string, ok bool) {
	if !c.has(i) {
		return nil, true
	}
	m, isCall := c.expr.Args[i].(*syntax.Func)
	if !isCall || len(m.Name.Parts) != 1 || !strings.EqualFold(m.Name.Parts[0].Text, "map") || len(m.Args)%2 != 0 {
		c.report(fault.New(fault.InvalidOptions, "the options of %s must be map('name', 'value', ...)", c.name).At(c.args[i].pos))
		return nil, false
	}
	for j := 0; j < len(m.Args); j += 2 {
		name, isText := m.Args[j].(*syntax.Literal)
		val, alsoText := m.Args[j+1].(*syntax.Literal)
		if !isText || !alsoText || name.Kind != syntax.StringLiteral || val.Kind != syntax.StringLiteral {
			c.report(fault.New(fault.InvalidOptions, "the options of %s must be constant texts", c.name).At(m.Args[j].Position()))
			return nil, false
		}
		at := slices.IndexFunc(known, func(k string) bool { return strings.EqualFold(k, name.Text) })
		if at < 0 {
			c.report(fault.New(fault.InvalidOptions, "%s has no option %q", c.name, name.Text).At(name.Pos).WithHint("its options are %s", strings.Join(known, ", ")))
			return nil, false
		}
		value, err := optionValue(known[at], val.Text)
		if err != nil {
			c.report(err.At(val.Pos))
			return nil, false
		}
		out = append(out, [2]string{strings.ToLower(known[at]), value})
	}
	slices.SortStableFunc(out, func(a, b [2]string) int { return strings.Compare(a[0], b[0]) })
	return out, true
}

// optionValue checks the value of an option.
func optionValue(name, value string) (string, *fault.Error) {
	var allowed []string
	switch name {
	case "mode":
		allowed = []string{"PERMISSIVE", "FAILFAST"}
		value = strings.ToUpper(value)
		if !slices.Contains(allowed, value) {
			return "", fault.New(fault.ParseModeUnsupported, "the mode %s is not supported by a function", value).WithHint("it is PERMISSIVE or FAILFAST")
		}
	case "numbers_as_strings", "ignoreNullFields":
		allowed = []string{"true", "false"}
		value = strings.ToLower(value)
	case "timestampUnit":
		allowed = format.TimestampUnits
	default:
		if !slices.Contains(laxer, name) {
			return value, nil
		}
		if value = strings.ToLower(value); value != "false" {
			return "", fault.New(fault.InvalidOptions, "%s is %q, and JSON is that of RFC 8259 (D-8)", name, value).WithHint("it can only be false")
		}
		return value, nil
	}
	if !slices.Contains(allowed, value) {
		return "", fault.New(fault.InvalidOptions, "%s is %q", name, value).WithHint("it is one of %s", strings.Join(allowed, ", "))
	}
	return value, nil
}
