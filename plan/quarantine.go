package plan

import (
	"strings"

	"sluice/catalog"
)

// Quarantine is the name of the table that shows what the flow has in quarantine (D-15): that of its target, and a suffix.
func (f *Flow) Quarantine() string {
	if f.Sink != nil {
		return strings.ToLower(f.Sink.Name) + catalog.QuarantineSuffix
	}
	return f.Table.Name + catalog.QuarantineSuffix
}
