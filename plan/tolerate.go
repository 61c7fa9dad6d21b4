package plan

import (
	"slices"
	"time"

	"sluice/batch"
	"sluice/catalog"
	"sluice/format"
)

// tolerances are what the columns have that columnErrors names.
func (p *planner) tolerances(read *catalog.Read) (out []format.Tolerance) {
	location, err := time.LoadLocation(p.Zone)
	if err != nil {
		return nil // which has been told
	}
	for _, c := range read.Errors {
		at := slices.IndexFunc(read.Schema, func(f batch.Field) bool { return f.Name == c.Column.Text })
		if at < 0 {
			continue // which has been told
		}
		var text *string
		if c.Default != nil {
			text = &c.Default.Text
		}
		t, problem := format.NewTolerance(read.Schema[at], text, format.NewZone(location))
		if problem != nil {
			p.problems = append(p.problems, problem.At(c.Column.Pos))
			continue
		}
		out = append(out, t)
	}
	return out
}
