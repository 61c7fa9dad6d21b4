package catalog

import (
	"strings"

	"sluice/fault"
	"sluice/option"
	"sluice/syntax"
	"sluice/timetable"
)

// clauses takes what stands between a table's columns and its flow.
func (b *builder) clauses(t *Table) {
	c := &t.Decl.Clauses
	refuse := func(code *fault.Code, clause, format string, args ...any) *fault.Error {
		return b.report(code, c.Positions[clause], format, args...)
	}
	if c.Schedule != nil {
		var err error
		if t.Schedule, err = timetable.Of(c.Schedule); err != nil {
			b.Problems = append(b.Problems, fault.From(err))
		}
	}
	if c.RowFilter != nil {
		refuse(fault.NoRowFilter, "WITH ROW FILTER", "the table %s has a row filter", t.Display)
	}
	if c.Location != "" {
		refuse(fault.NoLocation, "LOCATION", "the table %s has a location", t.Display).WithHint("tables are kept in the storage of the spec file")
	}
	if c.Using != "" && !strings.EqualFold(c.Using, "DELTA") {
		refuse(fault.NoTableFormat, "USING", "the table %s is to be kept as %s", t.Display, c.Using).WithHint("leave USING out")
	}
	if c.Collation != "" && !strings.EqualFold(c.Collation, "UTF8_BINARY") {
		refuse(fault.NoCollation, "DEFAULT COLLATION", "the table %s has the collation %s", t.Display, c.Collation).WithHint("text compares by its bytes, as with UTF8_BINARY")
	}
	b.properties(t, c.Properties)
}

// tableProperties are the TBLPROPERTIES Sluice reads. Other names are the user's, unless they begin like ours.
var tableProperties = option.Set{
	{Name: propResetAllowed, Kind: option.Bool, Default: "true", Doc: "false protects the table from a full refresh (FR-04)."},
	{Name: propRetention, Default: "forever", Doc: "How long an append table keeps rows: forever, consumed, or a duration (D-16)."},
	{Name: propHistory, Default: "24 hours", Doc: "How long a table keeps earlier versions, and how much of them: '7 days', '7 days, 5x' (times what it has; 2x when it is not said) or '7 days, 10 GiB' (D-27)."},
	{Name: propDigest, Kind: option.Bool, Default: "false", Doc: "true keeps a digest of the table's rows with every batch (D-29)."},
}

const (
	propResetAllowed = "pipelines.reset.allowed"
	propRetention    = "sluice.retention"
	propHistory      = "sluice.history"
	propDigest       = "sluice.digest"
)

func (b *builder) properties(t *Table, properties []syntax.Option) {
	var ours []option.Given
	for _, p := range given(properties) {
		if isSetting(p.Name) && !strings.HasPrefix(p.Name, "spark.") {
			ours = append(ours, p)
		}
	}
	values, problems := tableProperties.Parse("TBLPROPERTIES of "+t.Display, ours, t.Decl.Name.Pos)
	b.Problems = append(b.Problems, problems...)
	t.ResetAllowed, t.Digest = values.Bool(propResetAllowed), values.Bool(propDigest)
	if g, ok := values.Given(propHistory); ok {
		b.history(t, g)
	}
	t.Retention = strings.ToLower(values.String(propRetention))
	if t.Retention == "forever" {
		return
	}
	if g, _ := values.Given(propDigest); t.Digest {
		b.report(fault.InvalidTableProperty, g.Pos, "%s keeps a digest of the rows that the table %s has, and %s takes rows away", propDigest, t.Display, propRetention).
			WithHint("leave one of both out; a table that loses rows by its retention is comparable with no other")
	}
	if d, err := option.ParseDuration(t.Retention); t.Retention != "consumed" && (err != nil || d <= 0) {
		g, _ := values.Given(propRetention)
		b.report(fault.InvalidTableProperty, g.Pos, "%s of %s is %q", propRetention, t.Display, g.Value).
			WithHint("write 'forever', 'consumed' or a duration such as '7 days'")
	}
}
