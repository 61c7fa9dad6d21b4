package dialect

import (
	"slices"
	"time"

	"sluice/batch"
	"sluice/fault"
	"sluice/format/csv"
)

var records = []*function{
	{name: "from_csv", args: "text, schema [, options]", min: 2, max: 3, bind: bindFromCSV,
		exact: "exact, but a text in quotes that goes on behind them with an escape or a part of a separator ends at the next separator; times alone are NULL; its options are above"},
	{name: "to_csv", args: "struct [, options]", min: 1, max: 2, bind: bindToCSV, exact: "exact, but a text of blanks is an empty one also where blanks in front are kept; BINARY and nested members are refused; its options are above"},
	{name: "schema_of_csv", args: "text [, options]", min: 1, max: 2, bind: bindSchemaOfCSV, exact: "exact"},
}

func bindFromCSV(c *call) value {
	typ, ok := c.csvSchema()
	options, fine := c.options(2, append([]string{"mode", "columnNameOfCorruptRecord"}, csv.ReadNames...))
	if !ok || !fine {
		return wrong(c.pos)
	}
	if c.args[0].typ.Kind != batch.String && !c.args[0].isNull() {
		return c.mistyped(0, "a STRING")
	}
	fields, err := csv.ParseFields(named(options), time.UTC)
	if err != nil {
		return c.fail(fault.From(err).At(c.args[2].pos))
	}
	if _, err := csv.NewFrom(csv.FromOptions{Fields: fields, Type: typ, CorruptRecord: corruptRecord(typ, options)}); err != nil {
		return c.fail(fault.From(err).At(c.args[1].pos))
	}
	// Too many fields, too many characters and quotes that are refused are errors in every mode.
	return c.external(typ, options, c.document()).with(raises)
}

// csvSchema is the type that argument 1 describes.
func (c *call) csvSchema() (batch.Type, bool) {
	typ, ok := c.schema(1, c.name)
	if ok && typ.Kind != batch.Struct {
		c.report(fault.New(fault.NonStructSchema, "from_csv makes structs, not %s", typ).At(c.args[1].pos))
		return typ, false
	}
	return typ, ok
}

// named are options by their names.
func named(options [][2]string) map[string]string {
	out := map[string]string{}
	for _, o := range options {
		out[o[0]] = o[1]
	}
	return out
}

// corruptRecord is the index of the field for texts that cannot be read, or -1.
func corruptRecord(t batch.Type, options [][2]string) int {
	name, given := named(options)["columnnameofcorruptrecord"]
	if !given {
		name = "_corrupt_record"
	}
	return slices.IndexFunc(t.Fields, func(f batch.Field) bool { return f.Name == name })
}

func bindToCSV(c *call) value {
	options, ok := c.options(1, csv.WriteNames)
	if !ok {
		return wrong(c.pos)
	}
	if c.args[0].typ.Kind == batch.Void {
		return c.convert(null(), text, false)
	}
	x := filled(c.args[0])
	typ := x.typ
	if typ.Kind != batch.Struct {
		return c.fail(fault.New(fault.UnsupportedIn, "to_csv takes a struct, not %s", typ).At(c.args[0].pos))
	}
	o, err := csv.ParseTo(named(options), time.UTC)
	if err != nil {
		return c.fail(fault.From(err).At(c.args[1].pos))
	}
	if _, err := csv.NewTo(typ, o); err != nil {
		return c.fail(fault.From(err).At(c.args[0].pos))
	}
	return c.external(text, options, x)
}

func bindSchemaOfCSV(c *call) value {
	s, isNull, ok := c.constText(0)
	options, fine := c.options(1, append([]string{"mode"}, csv.ReadNames...))
	if !ok || !fine {
		return wrong(c.pos)
	}
	if isNull {
		return c.fail(fault.New(fault.UnexpectedNull, "schema_of_csv takes a text, not NULL").At(c.pos))
	}
	fields, err := csv.ParseFields(named(options), time.UTC)
	if err != nil {
		return c.fail(fault.From(err).At(c.args[1].pos))
	}
	typ, err := csv.Infer([]byte(s), fields)
	if err != nil {
		return c.fail(fault.From(err).At(c.args[0].pos))
	}
	return textValue(typ.String())
}
