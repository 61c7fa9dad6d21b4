package builtin

import (
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"sluice/batch"
	"sluice/fault"
)

// Functions over a regular expression, which is the option "regex": what eval/dialect makes of Java's. Group n of Java's is the
// n-th group without a name; a group called tail... is the line break that a $ leaves in front of the end of the text.
var patterns = map[string]func(*Spec) (Function, error){
	"regexp_replace": newReplace, "regexp_extract": newExtract, "regexp_extract_all": newExtractAll, "regexp_count": newCount,
	"regexp_substr": newSubstr, "regexp_instr": newInstr, "split": newSplit, "characters": newCharacters,
}

// AtStart is how a regular expression says that it matches at the start of the text only.
const AtStart = `(?:\A)`

// matcher finds one match of a regular expression after the other, as Java's Matcher.find does.
type matcher struct {
	first, rest *regexp.Regexp // at the start of a text, and behind it
	groups      []int          // of the groups without a name, their numbers
	tails       []int
	span        []int // of the match, then of each group, -1 for none
}

func newMatcher(s *Spec) (*matcher, error) {
	text := s.Options["regex"]
	first, err := regexp.Compile(text)
	if err != nil {
		return nil, fault.New(fault.InternalError, "%v", err)
	}
	m := &matcher{first: first, rest: first, groups: []int{0}}
	if strings.Contains(text, AtStart) {
		m.rest = regexp.MustCompile(strings.ReplaceAll(text, AtStart, `[^\x00-\x{10FFFF}]`))
	}
	for i, name := range first.SubexpNames()[1:] {
		if strings.HasPrefix(name, "tail") {
			m.tails = append(m.tails, i+1)
		} else {
			m.groups = append(m.groups, i+1)
		}
	}
	return m, nil
}

// find looks for a match from byte at on. The spans are offsets in text.
func (m *matcher) find(text []byte, at int) bool {
	re := m.rest
	if at == 0 {
		re = m.first
	}
	loc := re.FindSubmatchIndex(text[at:])
	if loc == nil {
		return false
	}
	end := loc[1] // $ takes no character
	for _, t := range m.tails {
		if from := loc[2*t]; from >= 0 {
			end = min(end, from)
		}
	}
	m.span = m.span[:0]
	for _, g := range m.groups {
		from, to := loc[2*g], loc[2*g+1]
		if from >= 0 {
			from, to = min(from, end)+at, min(to, end)+at
		}
		m.span = append(m.span, from, to)
	}
	return true
}

// each calls yield for every match from byte start on, until it returns false.
func (m *matcher) each(text []byte, start int, yield func() bool) {
	for at := start; at <= len(text) && m.find(text, at); {
		end, empty := m.span[1], m.span[0] == m.span[1]
		if !yield() {
			return
		}
		if at = end; empty {
			_, width := utf8.DecodeRune(text[end:])
			at += max(width, 1)
		}
	}
}

// group is what group n of the match holds; nothing when it took no part.
func (m *matcher) group(text []byte, n int) []byte {
	if m.span[2*n] < 0 {
		return nil
	}
	return text[m.span[2*n]:m.span[2*n+1]]
}

// piece of a replacement: a text, then a group, -1 for none.
type piece struct {
	text  string
	group int
}

// ParseReplacement reads the replacement of Java's Matcher: \c is the character c, $n a group; of several digits as many count as
// there are groups.
func ParseReplacement(s string, groups int) (pieces []piece, ok bool) {
	var text strings.Builder
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '\\':
			if i++; i == len(s) {
				return nil, false
			}
			text.WriteByte(s[i])
		case c == '$':
			if i++; i == len(s) || s[i]-'0' > 9 || int(s[i]-'0') > groups {
				return nil, false
			}
			n := int(s[i] - '0')
			for i+1 < len(s) && s[i+1]-'0' <= 9 && n*10+int(s[i+1]-'0') <= groups {
				i++
				n = n*10 + int(s[i]-'0')
			}
			pieces = append(pieces, piece{text.String(), n})
			text.Reset()
		default:
			text.WriteByte(c)
		}
	}
	return append(pieces, piece{text.String(), -1}), true
}

func newReplace(s *Spec) (Function, error) {
	m, err := newMatcher(s)
	if err != nil {
		return nil, err
	}
	pieces, ok := ParseReplacement(s.Options["by"], len(m.groups)-1)
	if !ok {
		return nil, fault.New(fault.InternalError, "the replacement %q was not checked", s.Options["by"])
	}
	skipped, _ := strconv.Atoi(s.Options["skipped"]) // characters in front that are left as they are
	var memory []byte
	return strict(func(args []batch.Column, i int, out *batch.Builder) *fault.Error {
		text := args[0].Text(i)
		head := prefix(text, skipped)
		memory = append(memory[:0], head...)
		if text = text[len(head):]; len(text) > 0 || skipped == 0 {
			done := 0
			m.each(text, 0, func() bool {
				memory = append(memory, text[done:m.span[0]]...)
				for _, p := range pieces {
					memory = append(memory, p.text...)
					if p.group >= 0 {
						memory = append(memory, m.group(text, p.group)...)
					}
				}
				out.Room(len(memory))
				done = m.span[1]
				return true
			})
			memory = append(memory, text[done:]...)
		}
		out.AppendText(memory)
		return nil
	}), nil
}

func newExtract(s *Spec) (Function, error) {
	m, err := newMatcher(s)
	group, _ := strconv.Atoi(s.Options["group"])
	return strict(func(args []batch.Column, i int, out *batch.Builder) *fault.Error {
		text := args[0].Text(i)
		if m.find(text, 0) {
			out.AppendText(m.group(text, group))
		} else {
			out.AppendText(nil)
		}
		return nil
	}), err
}

func newExtractAll(s *Spec) (Function, error) {
	m, err := newMatcher(s)
	group, _ := strconv.Atoi(s.Options["group"])
	return strict(func(args []batch.Column, i int, out *batch.Builder) *fault.Error {
		text := args[0].Text(i)
		m.each(text, 0, func() bool {
			out.Child(0).AppendText(m.group(text, group))
			return true
		})
		out.AppendNested()
		return nil
	}), err
}

func newCount(s *Spec) (Function, error) {
	m, err := newMatcher(s)
	return strict(func(args []batch.Column, i int, out *batch.Builder) *fault.Error {
		n := int32(0)
		m.each(args[0].Text(i), 0, func() bool { n++; return true })
		batch.Append(out, n)
		return nil
	}), err
}

// newSubstr is the first match, NULL without one.
func newSubstr(s *Spec) (Function, error) {
	m, err := newMatcher(s)
	return strict(func(args []batch.Column, i int, out *batch.Builder) *fault.Error {
		if text := args[0].Text(i); m.find(text, 0) && m.span[1] > m.span[0] {
			out.AppendText(m.group(text, 0))
		} else {
			out.AppendNull()
		}
		return nil
	}), err
}

// newInstr is the place of the first match, in characters from 1, or 0.
func newInstr(s *Spec) (Function, error) {
	m, err := newMatcher(s)
	return strict(func(args []batch.Column, i int, out *batch.Builder) *fault.Error {
		n := 0
		if text := args[0].Text(i); m.find(text, 0) {
			n = utf8.RuneCount(text[:m.span[0]]) + 1
		}
		batch.Append(out, int32(n))
		return nil
	}), err
}

// newSplit cuts at every match, into as many parts as the option "limit" says at most where it is above 0. A match of nothing
// at the start cuts nothing off.
func newSplit(s *Spec) (Function, error) {
	m, err := newMatcher(s)
	limit, _ := strconv.Atoi(s.Options["limit"])
	return strict(func(args []batch.Column, i int, out *batch.Builder) *fault.Error {
		text := args[0].Text(i)
		done, parts := 0, 1
		if limit != 1 {
			m.each(text, 0, func() bool {
				if m.span[1] == 0 && m.span[0] == 0 {
					return true
				}
				out.Child(0).AppendText(text[done:m.span[0]])
				done = m.span[1]
				parts++
				return parts != limit
			})
		}
		out.Child(0).AppendText(text[done:])
		out.AppendNested()
		return nil
	}), err
}

// newCharacters cuts a text into its characters; with a limit the last part is all that is left.
func newCharacters(s *Spec) (Function, error) {
	limit, _ := strconv.Atoi(s.Options["limit"])
	return strict(func(args []batch.Column, i int, out *batch.Builder) *fault.Error {
		text := args[0].Text(i)
		parts := 1
		for ; len(text) > 0 && parts != limit; parts++ {
			_, size := utf8.DecodeRune(text)
			if size == len(text) {
				break
			}
			out.Child(0).AppendText(text[:size])
			text = text[size:]
		}
		out.Child(0).AppendText(text)
		out.AppendNested()
		return nil
	}), nil
}
