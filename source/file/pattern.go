package file

import (
	"path"
	"strings"

	"sluice/fault"
)

// pattern is what read_files names: one or more paths of segments, of which some may be patterns.
type pattern struct {
	text  string
	paths [][]string // alternatives of the braces, split at slashes; "" in front of an absolute one
}

// parsePattern reads a path with *, ?, [...], {a,b} and **.
func parsePattern(text string) (pattern, *fault.Error) {
	p := pattern{text: text}
	bare := strings.TrimPrefix(text, "file:")
	if len(bare) < len(text) && strings.HasPrefix(bare, "//") {
		bare = bare[2:]
	}
	if bare == "" {
		return p, fault.New(fault.InvalidFileGlob, "the path is empty")
	}
	alternatives, ok := expand(bare)
	if !ok {
		return p, fault.New(fault.InvalidFileGlob, "%q has a brace that is not closed", text)
	}
	for _, a := range alternatives {
		segments := strings.Split(path.Clean(a), "/")
		for _, s := range segments {
			if _, err := path.Match(s, ""); err != nil {
				return p, fault.New(fault.InvalidFileGlob, "%q: %q is no pattern", text, s).WithHint("close the bracket, or escape it with a backslash")
			}
		}
		p.paths = append(p.paths, segments)
	}
	return p, nil
}

// expand replaces the first {a,b} by each of its alternatives, and so on.
func expand(text string) (out []string, ok bool) {
	open := strings.IndexByte(text, '{')
	if open < 0 {
		return []string{text}, strings.IndexByte(text, '}') < 0
	}
	depth, start := 0, open+1
	var choices []string
	for i := open; i < len(text); i++ {
		switch c := text[i]; {
		case c == '{':
			depth++
		case c == ',' && depth == 1:
			choices = append(choices, text[start:i])
			start = i + 1
		case c == '}':
			if depth--; depth > 0 {
				continue
			}
			for _, choice := range append(choices, text[start:i]) {
				more, ok := expand(text[:open] + choice + text[i+1:])
				if !ok {
					return nil, false
				}
				out = append(out, more...)
			}
			return out, true
		}
	}
	return nil, false
}

// literal reports whether the pattern is one path without wildcards.
func (p pattern) literal() bool {
	if len(p.paths) != 1 {
		return false
	}
	for _, s := range p.paths[0] {
		if wild(s) {
			return false
		}
	}
	return true
}

func wild(segment string) bool { return strings.ContainsAny(segment, `*?[\`) }

// hidden reports whether a name is skipped: temporary and marker files of other tools start so.
func hidden(name string) bool { return strings.HasPrefix(name, ".") || strings.HasPrefix(name, "_") }
