package sink

import (
	"maps"
	"slices"

	"sluice/fault"
	"sluice/option"
)

// Misplaced finds options that were given and belong to another format of values than the one chosen; of says to which. what names the
// owner in messages.
func Misplaced(v option.Values, what, format string, of map[string]string) (problems fault.List) {
	for _, name := range slices.Sorted(maps.Keys(of)) {
		if g, ok := v.Given(name); ok && of[name] != format {
			problems = append(problems, fault.New(fault.InvalidOption, "%s: %s is not an option of format %s", what, name, format).At(g.Pos))
		}
	}
	return problems
}
