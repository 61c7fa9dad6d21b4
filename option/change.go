package option

import "maps"

// Without returns v without the options that drop picks by their name.
func (v Values) Without(drop func(name string) bool) Values {
	out := Values{set: v.set, given: map[string]Given{}}
	for name, g := range v.given {
		if !drop(name) {
			out.given[name] = g
		}
	}
	return out
}

// With returns v with options added or replaced, as if the user had given them. Their names are spelt as in the Set.
func (v Values) With(given ...Given) Values {
	out := Values{set: v.set, given: maps.Clone(v.given)}
	if out.given == nil {
		out.given = map[string]Given{}
	}
	for _, g := range given {
		out.given[g.Name] = g
	}
	return out
}

// Has reports whether the set has an option of that name, under a prefix or by itself.
func (s Set) Has(name string) bool {
	_, ok := s.find(name)
	return ok
}
