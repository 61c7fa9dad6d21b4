package catalog

import (
	"regexp"
	"sort"
	"strings"

	"sluice/fault"
	"sluice/option"
)

var (
	variableName = regexp.MustCompile(`^[A-Za-z0-9_.-]+$`)
	envName      = regexp.MustCompile(`^env:[A-Za-z_][A-Za-z0-9_]*$`)
)

// variables give ${name} and ${env:NAME} their values (D-54): from --set, then from configuration; from the environment,
// and then the value is a secret, as is everything made of it. A value of configuration may itself name others.
type variables struct {
	set    map[string]string
	config map[string]*variable
	env    func(string) (string, bool)

	secrets map[string]bool // values of the environment that were used; nil does not note them
	named   map[string]bool // names that some text has as ${name}; nil does not note them
}

// variable is one value of configuration; it is worked out when it is first asked for.
type variable struct {
	scalar
	state resolution
	err   *fault.Error
}

type resolution uint8

const (
	asWritten resolution = iota
	underWay
	resolved
)

// substitute replaces every ${...} of text, which stands at the given place. `$${` gives `${`.
func (v *variables) substitute(text string, at fault.Pos) (out string, secret bool, err *fault.Error) {
	if !strings.Contains(text, "${") {
		return text, false, nil
	}
	var b strings.Builder
	for {
		i := strings.Index(text, "${")
		if i < 0 {
			b.WriteString(text)
			return b.String(), secret, nil
		}
		if i > 0 && text[i-1] == '$' {
			b.WriteString(text[:i-1] + "${")
			text = text[i+2:]
			continue
		}
		b.WriteString(text[:i])
		name, rest, closed := strings.Cut(text[i+2:], "}")
		if !closed {
			return "", false, fault.New(fault.InvalidVariable, "${ without a closing brace").At(at).WithHint("write $${ for a plain ${")
		}
		value, hidden, err := v.lookup(name, at)
		if err != nil {
			return "", false, err
		}
		b.WriteString(value)
		secret = secret || hidden
		text = rest
	}
}

func (v *variables) lookup(name string, at fault.Pos) (value string, secret bool, err *fault.Error) {
	if envName.MatchString(name) {
		name = strings.TrimPrefix(name, "env:")
		if value, ok := v.env(name); ok {
			if v.secrets != nil {
				v.secrets[value] = true
			}
			return value, true, nil
		}
		return "", false, fault.New(fault.UnsetVariable, "the environment has no variable %s", name).At(at)
	}
	if !variableName.MatchString(name) {
		return "", false, fault.New(fault.InvalidVariable, "${%s} is not a reference", name).At(at).
			WithHint("write ${name} for a value of configuration, ${env:NAME} for one of the environment, $${ for a plain ${")
	}
	if v.named != nil {
		v.named[name] = true
	}
	if value, ok := v.set[name]; ok {
		return value, false, nil
	}
	if c, ok := v.config[name]; ok {
		if err := v.resolve(name, c, at); err != nil {
			return "", false, err
		}
		return c.text, c.secret, nil
	}
	e := fault.New(fault.UnsetVariable, "${%s} has no value", name).At(at)
	if near := option.Nearest(name, v.names()); near != "" {
		return "", false, e.WithHint("did you mean ${%s}?", near)
	}
	return "", false, e.WithHint("set it under configuration or with --set %s=...", name)
}

// resolve works out a value of configuration that is used at the given place.
func (v *variables) resolve(name string, c *variable, used fault.Pos) *fault.Error {
	switch c.state {
	case underWay:
		return fault.New(fault.InvalidVariable, "the value of %s is made of itself", name).At(used)
	case asWritten:
		c.state = underWay
		c.text, c.secret, c.err = v.substitute(c.text, c.pos)
		c.state = resolved
	}
	return c.err
}

// Unused are the names of configuration and --set that are no settings and that no text has as ${name}: each does nothing. It is
// complete when all files have been read.
func (s *Spec) Unused() (out []Named) {
	for _, name := range s.vars.names() {
		if s.vars.named[name] || isSetting(name) || name == servers {
			continue
		}
		at := fault.Pos{File: "--set " + name}
		if c, ok := s.vars.config[name]; ok {
			at = c.pos
		}
		if n := len(out); n == 0 || out[n-1].Name != name {
			out = append(out, Named{name, at})
		}
	}
	return out
}

// Named is a name and where it stands.
type Named struct {
	Name string
	Pos  fault.Pos
}

// OfKafka reports whether the name is one that only Kafka's client could read.
func (n Named) OfKafka() bool { return strings.HasPrefix(strings.ToLower(n.Name), "kafka.") }

func (v *variables) names() []string {
	var out []string
	for name := range v.set {
		out = append(out, name)
	}
	for name := range v.config {
		out = append(out, name)
	}
	sort.Strings(out)
	return out
}
