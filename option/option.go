// Package option describes the options of connectors, formats and settings once: from one Spec come parsing, checking,
// the nearest valid name for a misspelt one, the default, whether the value is a secret, and the reference page.
//
// It promises that every problem of a list of options is reported, each with the position of the option. It does not know
// what any option does.
package option

import (
	"fmt"
	"math"
	"sort"
	"strconv"
	"strings"
	"time"

	"sluice/fault"
)

// Kind is how an option's text is read.
type Kind uint8

const (
	Text Kind = iota
	Bool
	Int
	Duration // "10s", "5 minutes", "1 day"
	Size     // bytes: "512MB", "16KiB", "1048576"
	Enum     // one of Values, in any case
	List     // names separated by commas
)

// Spec describes one option.
type Spec struct {
	Name     string
	Kind     Kind
	Default  string // "" means no default
	Required bool
	Secret   bool // never printed
	Values   []string
	Prefix   bool // Name is a prefix: every option that starts with it is taken as text (kafka.)
	Blank    bool // a text that is empty or only blanks says something; elsewhere it is refused
	Edit     Edit
	Doc      string
}

// Edit says what it means to change an option of something that has run (D-62).
type Edit uint8

const (
	Applies Edit = iota // what is read or written from then on follows it
	Idle                // it does not say what is read or written: where the brokers are, how large a batch is
	AtStart             // it is asked once, when a flow begins
	AsPlace             // it names the target outside
	AsForm              // it says in which form the target keeps rows, so that those in it have another one
)

// Given is an option as the user wrote it.
type Given struct {
	Name   string
	Value  string
	Secret bool // the value came from ${env:...} (D-54)
	Pos    fault.Pos
}

// Set is every option of one connector, format or settings block.
type Set []Spec

// Values is a parsed list of options. Names are as in the Set; look-ups of names that are not in the Set panic, since
// that is a mistake of the program.
type Values struct {
	set   Set
	given map[string]Given
}

// Parse checks what the user gave against the set. Names compare without case. what names the owner in messages, such as
// "read_kafka" or "sink format kafka".
func (s Set) Parse(what string, given []Given, at fault.Pos) (Values, fault.List) {
	v := Values{set: s, given: map[string]Given{}}
	wrong := map[string]bool{} // given, with a value that is not one
	var problems fault.List
	for _, g := range given {
		spec, ok := s.find(g.Name)
		if !ok {
			e := fault.New(fault.UnknownOption, "%s has no option %q", what, g.Name).At(g.Pos)
			if near := s.Nearest(g.Name); near != "" {
				e.WithHint("did you mean %q?", near)
			} else {
				e.WithHint("the options are %s", strings.Join(s.names(), ", "))
			}
			problems = append(problems, e)
			continue
		}
		name := spec.Name
		if spec.Prefix {
			name = g.Name
		}
		if _, twice := v.given[name]; twice {
			problems = append(problems, fault.New(fault.DuplicateOption, "option %q of %s is given twice", g.Name, what).At(g.Pos))
			continue
		}
		if err := spec.check(g.Value); err != nil {
			e := fault.New(fault.InvalidOption, "option %q of %s: %s is not %v", name, what, spec.shown(g), err).At(g.Pos)
			if blank(g.Value) {
				e.WithHint("leave the option out to have its default, or none")
			}
			problems = append(problems, e)
			wrong[name] = true
			continue
		}
		v.given[name] = g
	}
	for _, spec := range s {
		if _, ok := v.given[spec.Name]; spec.Required && !ok && !wrong[spec.Name] {
			problems = append(problems, fault.New(fault.MissingOption, "%s needs the option %q", what, spec.Name).At(at).WithHint("%s", spec.Doc))
		}
	}
	return v, problems
}

func (s Set) find(name string) (Spec, bool) {
	for _, spec := range s {
		if strings.EqualFold(spec.Name, name) && !spec.Prefix {
			return spec, true
		}
	}
	for _, spec := range s {
		if spec.Prefix && len(name) > len(spec.Name) && strings.EqualFold(name[:len(spec.Name)], spec.Name) {
			return spec, true
		}
	}
	return Spec{}, false
}

// Nearest returns the name of an option that name may be meant for, or "".
func (s Set) Nearest(name string) string { return Nearest(name, s.names()) }

func (s Set) names() []string {
	var out []string
	for _, spec := range s {
		if spec.Prefix {
			out = append(out, spec.Name+"*")
		} else {
			out = append(out, spec.Name)
		}
	}
	sort.Strings(out)
	return out
}

// shown is a value as messages show it. An empty one is shown even where it would be a secret, since that is the mistake.
func (s Spec) shown(g Given) string {
	if (s.Secret || g.Secret) && !blank(g.Value) {
		return "the value given"
	}
	return strconv.Quote(g.Value)
}

// blank reports whether nobody wrote this value on purpose: it is what an environment variable that was never filled leaves.
func blank(value string) bool { return strings.TrimSpace(value) == "" }

// check returns what the value should have been, as the end of a sentence. No kind takes a blank value for its default or
// for zero: what is empty by mistake would mean the opposite of what was wanted.
func (s Spec) check(value string) error {
	switch s.Kind {
	case Text:
		if !s.Blank && blank(value) {
			return fmt.Errorf("a value")
		}
	case List:
		if strings.Trim(value, ", \t\r\n") == "" {
			return fmt.Errorf("a list of names")
		}
	case Bool:
		if _, err := parseBool(value); err != nil {
			return fmt.Errorf("true or false")
		}
	case Int:
		if _, err := strconv.ParseInt(value, 10, 64); err != nil {
			return fmt.Errorf("a whole number")
		}
	case Duration:
		if _, err := ParseDuration(value); err != nil {
			return fmt.Errorf("a duration such as 10s or 5 minutes")
		}
	case Size:
		if _, err := ParseSize(value); err != nil {
			return fmt.Errorf("a size such as 512MB")
		}
	case Enum:
		for _, v := range s.Values {
			if strings.EqualFold(v, value) {
				return nil
			}
		}
		return fmt.Errorf("one of %s", strings.Join(s.Values, ", "))
	}
	return nil
}

// Spec describes an option of the set by its name.
func (v Values) Spec(name string) (Spec, bool) { return v.set.find(name) }

// Has reports whether the user gave the option.
func (v Values) Has(name string) bool { _, ok := v.given[name]; return ok }

// Given returns the option as written.
func (v Values) Given(name string) (Given, bool) { g, ok := v.given[name]; return g, ok }

// String returns the option's text, or its default. Enums come back spelt as in the Set.
func (v Values) String(name string) string {
	spec, ok := v.set.find(name)
	if !ok {
		panic("option: no option " + name)
	}
	value := spec.Default
	if g, ok := v.given[name]; ok {
		value = g.Value
	}
	if spec.Kind == Enum {
		for _, e := range spec.Values {
			if strings.EqualFold(e, value) {
				return e
			}
		}
	}
	return value
}

// Bool returns the option as a truth value.
func (v Values) Bool(name string) bool { b, _ := parseBool(v.String(name)); return b }

// Int returns the option as a number, 0 without value and default.
func (v Values) Int(name string) int64 {
	n, _ := strconv.ParseInt(v.String(name), 10, 64)
	return n
}

// Duration returns the option as a duration, 0 without value and default.
func (v Values) Duration(name string) time.Duration { d, _ := ParseDuration(v.String(name)); return d }

// Size returns the option in bytes, 0 without value and default.
func (v Values) Size(name string) int64 { n, _ := ParseSize(v.String(name)); return n }

// List returns the option's names, trimmed, empty ones left out.
func (v Values) List(name string) []string {
	var out []string
	for _, p := range strings.Split(v.String(name), ",") {
		if p = strings.TrimSpace(p); p != "" {
			out = append(out, p)
		}
	}
	return out
}

// Prefixed returns what was given under a prefix option, sorted by name.
func (v Values) Prefixed(prefix string) []Given {
	var out []Given
	for name, g := range v.given {
		if len(name) > len(prefix) && strings.EqualFold(name[:len(prefix)], prefix) {
			if _, exact := v.set.exact(name); !exact {
				out = append(out, g)
			}
		}
	}
	sort.Slice(out, func(i, j int) bool { return out[i].Name < out[j].Name })
	return out
}

func (s Set) exact(name string) (Spec, bool) {
	for _, spec := range s {
		if spec.Name == name && !spec.Prefix {
			return spec, true
		}
	}
	return Spec{}, false
}

// All returns what was given, secrets as "******", sorted by name, for printing.
func (v Values) All() []Given {
	var out []Given
	for name, g := range v.given {
		if v.secret(g) {
			g.Value = Hidden
		}
		g.Name = name
		out = append(out, g)
	}
	sort.Slice(out, func(i, j int) bool { return out[i].Name < out[j].Name })
	return out
}

// Secrets returns the values that no output shows (D-54): those of options that are secrets, and those that came from the
// environment.
func (v Values) Secrets() (out []string) {
	for _, g := range v.given {
		if v.secret(g) {
			out = append(out, g.Value)
		}
	}
	sort.Strings(out)
	return out
}

func (v Values) secret(g Given) bool {
	spec, _ := v.set.find(g.Name)
	return spec.Secret || g.Secret
}

func parseBool(s string) (bool, error) {
	switch strings.ToLower(s) {
	case "true":
		return true, nil
	case "false":
		return false, nil
	}
	return false, fmt.Errorf("not a truth value")
}

// ParseDuration reads Go's form ("1m30s") and a number with a unit word ("5 minutes", "1 day").
func ParseDuration(s string) (time.Duration, error) {
	if d, err := time.ParseDuration(s); err == nil && d >= 0 {
		return d, nil
	}
	number, unit, _ := strings.Cut(strings.TrimSpace(s), " ")
	n, err := strconv.ParseInt(number, 10, 32)
	if err != nil || n < 0 {
		return 0, fmt.Errorf("not a duration: %q", s)
	}
	units := map[string]time.Duration{"millisecond": time.Millisecond, "second": time.Second, "minute": time.Minute,
		"hour": time.Hour, "day": 24 * time.Hour, "week": 7 * 24 * time.Hour}
	d, ok := units[strings.TrimSuffix(strings.ToLower(strings.TrimSpace(unit)), "s")]
	if !ok || n > math.MaxInt64/int64(d) {
		return 0, fmt.Errorf("not a duration: %q", s)
	}
	return time.Duration(n) * d, nil
}

// ParseSize reads bytes, with KB, MB, GB (powers of 1000) or KiB, MiB, GiB (powers of 1024).
func ParseSize(s string) (int64, error) {
	text := strings.ToLower(strings.TrimSpace(s))
	factor := int64(1)
	for _, u := range []struct {
		suffix string
		factor int64
	}{{"kib", 1 << 10}, {"mib", 1 << 20}, {"gib", 1 << 30}, {"kb", 1e3}, {"mb", 1e6}, {"gb", 1e9}, {"k", 1 << 10}, {"m", 1 << 20}, {"g", 1 << 30}, {"b", 1}} {
		if strings.HasSuffix(text, u.suffix) {
			text, factor = strings.TrimSpace(strings.TrimSuffix(text, u.suffix)), u.factor
			break
		}
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 0 || n > (1<<62)/factor {
		return 0, fmt.Errorf("not a size: %q", s)
	}
	return n * factor, nil
}

// Nearest returns the candidate that is at most two edits (a third of its length for longer names) away from name, or "". Where there is
// none, that which is so without its first part and whatever joins words: isolation_level is kafka.isolation.level.
func Nearest(name string, candidates []string) string {
	whole := func(s string) string { return strings.ToLower(strings.TrimSuffix(s, "*")) }
	bare := func(s string) string {
		s = whole(s)
		if _, rest, ok := strings.Cut(s, "."); ok {
			s = rest
		}
		return joints.Replace(s)
	}
	if near := nearest(whole(name), candidates, whole); near != "" {
		return near
	}
	return nearest(joints.Replace(whole(name)), candidates, bare)
}

var joints = strings.NewReplacer("_", "", ".", "", "-", "")

// nearest compares name with what form makes of the candidates.
func nearest(name string, candidates []string, form func(string) string) string {
	best, bestAt := "", 1<<30
	for _, c := range candidates {
		f := form(c)
		if d := distance(name, f); d < bestAt && d <= max(2, len(f)/3) {
			best, bestAt = c, d
		}
	}
	return best
}

// distance is the number of insertions, deletions, replacements and swaps of neighbours between a and b.
func distance(a, b string) int {
	rows := make([][]int, len(a)+1)
	for i := range rows {
		rows[i] = make([]int, len(b)+1)
		rows[i][0] = i
	}
	for j := range rows[0] {
		rows[0][j] = j
	}
	for i := 1; i <= len(a); i++ {
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			rows[i][j] = min(rows[i-1][j]+1, rows[i][j-1]+1, rows[i-1][j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				rows[i][j] = min(rows[i][j], rows[i-2][j-2]+1)
			}
		}
	}
	return rows[len(a)][len(b)]
}
