package dialect

import (
	"fmt"
	"regexp"
	"strings"

	"sluice/fault"
)

// timePattern is a pattern of letters such as yyyy-MM-dd HH:mm:ss, of those letters that DuckDB has too.
type timePattern []patternPart

// patternPart is a run of one letter, or text that stands for itself.
type patternPart struct {
	letters string
	text    string
}

// directive is a run of letters in DuckDB's strftime, and the texts it takes when a time is read.
type directive struct {
	format string
	regex  string // "" where it is only written, not read
}

var directives = map[string]directive{
	"yyyy": {"%Y", "[0-9]{4}"}, "yy": {"%y", ""},
	"MM": {"%m", "(?:0[1-9]|1[0-2])"}, "M": {"%-m", "(?:0?[1-9]|1[0-2])"}, "MMM": {"%b", ""}, "MMMM": {"%B", ""},
	"dd": {"%d", "(?:0[1-9]|[12][0-9]|3[01])"}, "d": {"%-d", "(?:0?[1-9]|[12][0-9]|3[01])"},
	"HH": {"%H", "(?:[01][0-9]|2[0-3])"}, "H": {"%-H", "(?:[01]?[0-9]|2[0-3])"}, "hh": {"%I", ""}, "h": {"%-I", ""}, "a": {"%p", ""},
	"mm": {"%M", "[0-5][0-9]"}, "m": {"%-M", "[0-5]?[0-9]"}, "ss": {"%S", "[0-5][0-9]"}, "s": {"%-S", "[0-5]?[0-9]"},
	"SSS": {"%g", "[0-9]{3}"}, "SSSSSS": {"%f", "[0-9]{6}"},
	"E": {"%a", ""}, "EE": {"%a", ""}, "EEE": {"%a", ""}, "EEEE": {"%A", ""},
}

// parsePattern reads a pattern. Text between ' stands for itself, and so do characters that are no letters.
func parsePattern(s string) (timePattern, error) {
	var parts timePattern
	for i := 0; i < len(s); {
		c := s[i]
		end := i + 1
		switch {
		case c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z':
			for end < len(s) && s[end] == c {
				end++
			}
			if _, ok := directives[s[i:end]]; !ok {
				return nil, fmt.Errorf("the letters %s", s[i:end])
			}
			parts = append(parts, patternPart{letters: s[i:end]})
		case c == '\'':
			quoted, n, ok := quotedPart(s[i:])
			if !ok {
				return nil, fmt.Errorf("a ' without its end")
			}
			parts, end = append(parts, patternPart{text: quoted}), i+n
		case strings.IndexByte("[]{}#", c) >= 0:
			return nil, fmt.Errorf("the character %c", c)
		default:
			for end < len(s) && s[end] >= 0x80 {
				end++
			}
			parts = append(parts, patternPart{text: s[i:end]})
		}
		i = end
	}
	return parts, nil
}

// quotedPart reads 'text', in which ” is one quote, and ” alone, which is one as well.
func quotedPart(s string) (string, int, bool) {
	var b strings.Builder
	for i := 1; i < len(s); i++ {
		if s[i] != '\'' {
			b.WriteByte(s[i])
			continue
		}
		if i+1 < len(s) && s[i+1] == '\'' && i > 1 {
			b.WriteByte('\'')
			i++
			continue
		}
		if i == 1 {
			return "'", 2, true
		}
		return b.String(), i + 1, true
	}
	return "", 0, false
}

// duck writes the pattern as DuckDB's strftime and strptime take it.
func (p timePattern) duck() string {
	var b strings.Builder
	for _, part := range p {
		if part.letters != "" {
			b.WriteString(directives[part.letters].format)
		} else {
			b.WriteString(strings.ReplaceAll(part.text, "%", "%%"))
		}
	}
	return b.String()
}

// regex matches the texts that the pattern reads. The letters that are only written match nothing.
func (p timePattern) regex() string {
	var b strings.Builder
	for _, part := range p {
		if part.letters != "" {
			b.WriteString(directives[part.letters].regex)
		} else {
			b.WriteString(regexp.QuoteMeta(part.text))
		}
	}
	return b.String()
}

// readable says which letters of the pattern cannot be read, if any.
func (p timePattern) readable() error {
	seen := map[byte]bool{}
	for _, part := range p {
		if part.letters == "" {
			continue
		}
		if directives[part.letters].regex == "" {
			return fmt.Errorf("the letters %s, which can be written but not read", part.letters)
		}
		if seen[part.letters[0]] {
			return fmt.Errorf("the letter %c twice", part.letters[0])
		}
		seen[part.letters[0]] = true
	}
	if !seen['y'] {
		return fmt.Errorf("no year")
	}
	return nil
}

func patternError(pattern string, err error) *fault.Error {
	return fault.New(fault.UnsupportedFunction, "the pattern %q is not supported: it has %v", pattern, err).
		WithHint("patterns are made of yyyy MM dd HH mm ss SSS and text in quotes")
}
