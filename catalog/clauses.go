package catalog

import (
	"strings"

	"sluice/fault"
	"sluice/option"
	"sluice/syntax"
)

// clauses takes what stands between a table's columns and its flow.
func (b *builder) clauses(t *Table) {
	c := &t.Decl.Clauses
	at := func(clause string) fault.Pos {
		if p, ok := c.Positions[clause]; ok {
			return p
		}
		return t.Decl.Name.Pos
	}
	if c.Schedule != nil {
		b.report(fault.NoSchedule, c.Schedule.Pos, "the table %s has a schedule", t.Display).WithHint("run the pipeline from a scheduler, or with continuous: true")
	}
	if c.RowFilter != nil {
		b.report(fault.NoRowFilter, at("ROW FILTER"), "the table %s has a row filter", t.Display)
	}
	if c.Location != "" {
		b.report(fault.NoLocation, at("LOCATION"), "the table %s has a location", t.Display).WithHint("tables are kept in the storage of the spec file")
	}
	if len(c.PartitionedBy) > 0 && (len(c.ClusterBy) > 0 || c.ClusterAuto) {
		b.report(fault.PartitionWithCluster, at("CLUSTER BY"), "the table %s has both PARTITIONED BY and CLUSTER BY", t.Display)
	}
	b.properties(t, c.Properties)
}

// tableProperties are the TBLPROPERTIES Sluice reads. Other names are the user's, unless they begin like ours.
var tableProperties = option.Set{
	{Name: propResetAllowed, Kind: option.Bool, Default: "true", Doc: "false protects the table from a full refresh (FR-04)."},
	{Name: propRetention, Default: "forever", Doc: "How long an append table keeps rows: forever, consumed, or a duration (D-16)."},
}

const (
	propResetAllowed = "pipelines.reset.allowed"
	propRetention    = "sluice.retention"
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
	t.ResetAllowed = values.Bool(propResetAllowed)
	t.Retention = strings.ToLower(values.String(propRetention))
	if t.Retention == "forever" || t.Retention == "consumed" {
		return
	}
	if d, err := option.ParseDuration(t.Retention); err != nil || d <= 0 {
		g, _ := values.Given(propRetention)
		b.report(fault.InvalidTableProperty, g.Pos, "%s of %s is %q", propRetention, t.Display, g.Value).
			WithHint("write 'forever', 'consumed' or a duration such as '7 days'")
	}
}
