package option

import (
	"cmp"
	"errors"
	"net"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"sluice/fault"
)

// Hidden stands where a secret would.
const Hidden = "******"

// Mask hides secrets in text that something else has made: the error of a library, the name of what could not be reached.
// The zero Mask hides nothing.
type Mask struct{ replace *strings.Replacer }

// shortest is the length from which a secret is looked for: a shorter one would be found in everything.
const shortest = 4

// password finds the password inside a secret that holds more: a URL, a connection string, a login line of Java's.
var password = regexp.MustCompile(`://[^/@:]*:([^@]+)@|(?i:password)\s*=\s*(?:"([^"]+)"|'([^']+)'|([^\s;"']+))`)

// NewMask returns a Mask that hides the values given, the parts of those that are lists, the hosts among them, and passwords
// inside them.
func NewMask(secrets ...string) Mask {
	var all []string
	add := func(s string) {
		if s = strings.TrimSpace(s); len(s) >= shortest {
			all = append(all, s)
		}
	}
	for _, s := range secrets {
		add(s)
		for part := range strings.SplitSeq(s, ",") {
			add(part)
			if host, _, err := net.SplitHostPort(strings.TrimSpace(part)); err == nil {
				add(host)
			}
		}
		for _, found := range password.FindAllStringSubmatch(s, -1) {
			for _, group := range found[1:] {
				add(group)
				if plain, err := url.PathUnescape(group); err == nil {
					add(plain)
				}
			}
		}
	}
	if len(all) == 0 {
		return Mask{}
	}
	slices.SortFunc(all, func(a, b string) int { return cmp.Or(cmp.Compare(len(b), len(a)), cmp.Compare(a, b)) }) // the whole before its parts
	var pairs []string
	for _, s := range slices.Compact(all) {
		pairs = append(pairs, s, Hidden)
	}
	return Mask{strings.NewReplacer(pairs...)}
}

// Text returns s without secrets.
func (m Mask) Text(s string) string {
	if m.replace == nil {
		return s
	}
	return m.replace.Replace(s)
}

// Error returns err without secrets in its text. What it is stays: its code, and what errors.Is and errors.As find.
func (m Mask) Error(err error) error {
	if err == nil || m.replace == nil {
		return err
	}
	switch e := err.(type) {
	case *fault.Error:
		return m.Fault(e)
	case fault.List:
		return m.List(e)
	}
	if text := err.Error(); m.Text(text) != text {
		return masked{m.Text(text), err, m}
	}
	return err
}

// Fault is Error for an error that is coded. It changes a copy.
func (m Mask) Fault(e *fault.Error) *fault.Error {
	if e == nil || m.replace == nil {
		return e
	}
	return e.Map(m.Text).Because(m.Error(e.Cause))
}

// List is Error for a list.
func (m Mask) List(list fault.List) fault.List {
	out := slices.Clone(list)
	for i, e := range out {
		out[i] = m.Fault(e)
	}
	return out
}

// masked is an error whose text had a secret. What errors.As finds in it has none either.
type masked struct {
	text string
	err  error
	mask Mask
}

func (e masked) Error() string        { return e.text }
func (e masked) Is(target error) bool { return errors.Is(e.err, target) }
func (e masked) Unwrap() error        { return e.mask.Error(errors.Unwrap(e.err)) }

func (e masked) As(target any) bool {
	joined, ok := e.err.(interface{ Unwrap() []error })
	return ok && slices.ContainsFunc(joined.Unwrap(), func(err error) bool { return errors.As(e.mask.Error(err), target) })
}
