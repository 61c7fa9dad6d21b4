package dialect

import "sluice/batch"

var others = []*function{
	{name: "typeof", args: "x", min: 1, max: 1, exact: exact, bind: func(c *call) value {
		if span := c.args[0].span; span != nil {
			return textValue(span.typeName())
		}
		return textValue(sparkName(c.args[0].typ))
	}},
	{name: "rand random", args: "", min: 0, max: 0, exact: "in batch queries only", bind: func(c *call) value { return c.volatile("random()", double) }},
	{name: "uuid", args: "", min: 0, max: 0, exact: "in batch queries only", bind: func(c *call) value { return c.volatile("CAST(uuid() AS VARCHAR)", text) }},
}

// volatile is a function that gives another value each time. The rows of a stream must come out the same when they are read
// again.
func (c *call) volatile(sql string, typ batch.Type) value {
	if c.opt.Streaming {
		return c.refuse("derive the value from columns of the row, for instance md5(concat(...))", "%s gives another value each time, so a batch could not be repeated", c.name)
	}
	return value{typ: typ, sql: sql, marks: random | unordered, notNull: true}
}

// refused are functions of Spark that are known and not offered, each with what to do instead.
var refused = map[string]string{
	"from_avro":                   "this format is not supported yet",
	"randn":                       "rand() is there, in batch queries",
	"monotonically_increasing_id": "_metadata has the position of a record",
	"input_file_name":             "_metadata.file_path has it",
	"timediff":                    "subtract unix_micros() or unix_seconds()",
	"approx_count_distinct":       "count(DISTINCT x) is exact",
	"percentile_approx":           "min, max and avg are there",
	"grouping":                    "GROUPING SETS, ROLLUP and CUBE are not supported",
	"cube":                        "GROUPING SETS, ROLLUP and CUBE are not supported",
	"rollup":                      "GROUPING SETS, ROLLUP and CUBE are not supported",
	"window":                      "in a batch query GROUP BY date_trunc(unit, time), or timestamp_seconds(unix_seconds(time) DIV 300 * 300) for five minutes",
	"session_window":              "in a batch query find the gaps with lag(time) OVER (PARTITION BY key ORDER BY time), and number the sessions with sum() OVER",
	"current_user":                "there is no user",
	"current_catalog":             "the spec file names the catalog",
	"current_schema":              "the spec file names the schema",
	"current_database":            "the spec file names the schema",
	"parse_json":                  "declare the column as VARIANT in the schema of the source",
	"variant_get":                 "declare the field in the schema of the source",
}
