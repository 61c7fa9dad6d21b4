package dialect

import "sluice/batch"

// Casts that are written as calls of the type's name.
var casts = []*function{
	castFunction("boolean", boolean), castFunction("tinyint", tinyint), castFunction("smallint", smallint), castFunction("int", integer),
	castFunction("bigint", bigint), castFunction("float", float), castFunction("double", double), castFunction("decimal", batch.DecimalOf(10, 0)),
	castFunction("string", text), castFunction("binary", binary), castFunction("date", date), castFunction("timestamp", timestamp),
}

func castFunction(name string, typ batch.Type) *function {
	return &function{name: name, args: "x", min: 1, max: 1, exact: "as CAST", bind: func(c *call) value { return c.cast(c.args[0], typ, false) }}
}
