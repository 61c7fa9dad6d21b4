package scenario

import (
	"fmt"
	"os"
	"strings"
)

// axis is one way in which the runs of a file differ. The first value is the plain one.
type axis struct {
	name   string
	values []string
}

// axes is every way (docs/architecture.md, section 7).
var axes = []axis{
	{"limit", []string{"none", "1", "3"}},         // records in a batch
	{"partitions", []string{"1", "3"}},            // of topics that a file does not make itself
	{"mode", []string{"triggered", "continuous"}}, // of the pipeline
	{"restart", []string{"no", "batches"}},        // the daemon ends after every batch and is started again
	{"stop", []string{"soft", "crash"}},           // how it ends
	{"files", []string{"no", "yes"}},              // what append tables have becomes files at once, not when it is much
}

// variant has a value for each axis, in their order.
type variant []string

// is reports whether an axis has a value.
func (v variant) is(name, value string) bool { return v.get(name) == value }

func (v variant) get(name string) string {
	for i, a := range axes {
		if a.name == name {
			return v[i]
		}
	}
	panic("no axis " + name)
}

func (v variant) String() string {
	parts := make([]string, len(v))
	for i, a := range axes {
		parts[i] = a.name + "=" + v[i]
	}
	return strings.Join(parts, ",")
}

// family returns the variants of a file in which some axes are fixed: the plain one first, then enough for every pair of
// values of two axes to meet, or all of them with SLUICE_SOAK=1.
func family(fixed map[string]string) ([]variant, error) {
	free := make([][]string, len(axes))
	known := map[string]bool{}
	for i, a := range axes {
		known[a.name] = true
		free[i] = a.values
		value, ok := fixed[a.name]
		if !ok {
			continue
		}
		if !contains(a.values, value) {
			return nil, fmt.Errorf("axis %s has no value %q: %s", a.name, value, strings.Join(a.values, ", "))
		}
		free[i] = []string{value}
	}
	for name := range fixed {
		if !known[name] {
			return nil, fmt.Errorf("no axis %q", name)
		}
	}
	all := product(free)
	if os.Getenv("SLUICE_SOAK") == "1" {
		return all, nil
	}
	return pairwise(all), nil
}

func contains(values []string, value string) bool {
	for _, v := range values {
		if v == value {
			return true
		}
	}
	return false
}

// product is every choice of one value for each axis, the first values first.
func product(values [][]string) []variant {
	out := []variant{{}}
	for _, choices := range values {
		var longer []variant
		for _, v := range out {
			for _, c := range choices {
				longer = append(longer, append(append(variant{}, v...), c))
			}
		}
		out = longer
	}
	return out
}

// pairwise picks from all: the first, then always the one that shows the most pairs of values not seen yet.
func pairwise(all []variant) []variant {
	type pair struct {
		i, j int
		a, b string
	}
	missing := map[pair]bool{}
	each := func(v variant, f func(pair)) {
		for i := range v {
			for j := range i {
				f(pair{i, j, v[i], v[j]})
			}
		}
	}
	for _, v := range all {
		each(v, func(p pair) { missing[p] = true })
	}
	var picked []variant
	pick := func(v variant) {
		picked = append(picked, v)
		each(v, func(p pair) { delete(missing, p) })
	}
	pick(all[0])
	for len(missing) > 0 {
		var best variant
		most := 0
		for _, v := range all {
			n := 0
			each(v, func(p pair) {
				if missing[p] {
					n++
				}
			})
			if n > most {
				best, most = v, n
			}
		}
		pick(best)
	}
	return picked
}
