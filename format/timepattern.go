package format

import (
	"fmt"
	"slices"
	"strings"
)

// TimePattern is a pattern of letters such as yyyy-MM-dd HH:mm:ss, as Java's DateTimeFormatter has them, of those letters that
// mean the same in every version of Spark.
type TimePattern []timePart

// timePart is a run of one letter, a text that stands for itself, or the begin or end of what may be missing: [ and ].
type timePart struct {
	letter byte
	count  int
	text   string
}

// writtenLetters and readLetters are the numbers of each letter that can be written and read.
var (
	writtenLetters = map[byte][]int{'G': {1, 2, 3, 4}, 'y': {1, 2, 3, 4, 5, 6}, 'M': {1, 2, 3, 4}, 'L': {1, 2, 3, 4}, 'Q': {1, 2, 3, 4}, 'q': {1, 2, 3, 4}, 'd': {1, 2},
		'D': {1, 2, 3}, 'E': {1, 2, 3, 4}, 'F': {1}, 'a': {1}, 'H': {1, 2}, 'h': {1, 2}, 'K': {1, 2}, 'k': {1, 2}, 'm': {1, 2}, 's': {1, 2},
		'S': {1, 2, 3, 4, 5, 6, 7, 8, 9}, 'X': {1, 2, 3, 4, 5}, 'x': {1, 2, 3, 4, 5}, 'Z': {1, 2, 3, 4, 5}, 'O': {1, 4}, 'V': {2}}
	readLetters = map[byte][]int{'y': {1, 2, 4}, 'M': {1, 2, 3, 4}, 'd': {1, 2}, 'D': {1, 3}, 'a': {1}, 'H': {1, 2}, 'h': {1, 2}, 'K': {1, 2}, 'k': {1, 2},
		'm': {1, 2}, 's': {1, 2}, 'S': {1, 2, 3, 4, 5, 6, 7, 8, 9}, 'X': {1, 2, 3}, 'x': {1, 2, 3}, 'Z': {1, 2, 3}, 'V': {2}}
)

// ParseTimePattern reads a pattern. Text between ' stands for itself, and so do characters that are no letters.
func ParseTimePattern(s string) (TimePattern, error) {
	var parts TimePattern
	open := false
	for i := 0; i < len(s); {
		c := s[i]
		end := i + 1
		switch {
		case c|0x20 >= 'a' && c|0x20 <= 'z':
			for end < len(s) && s[end] == c {
				end++
			}
			if !slices.Contains(writtenLetters[c], end-i) {
				return nil, fmt.Errorf("the letters %s", s[i:end])
			}
			parts = append(parts, timePart{letter: c, count: end - i})
		case c == '\'':
			quoted, n, ok := quotedPart(s[i:])
			if !ok {
				return nil, fmt.Errorf("a ' without its end")
			}
			parts, end = append(parts, timePart{text: quoted}), i+n
		case c == '[' && !open, c == ']' && open:
			open = !open
			parts = append(parts, timePart{letter: c})
		case strings.IndexByte("[]{}#", c) >= 0:
			return nil, fmt.Errorf("the character %c", c)
		default:
			for end < len(s) && s[end] >= 0x80 {
				end++
			}
			parts = append(parts, timePart{text: s[i:end]})
		}
		i = end
	}
	if open {
		return nil, fmt.Errorf("a [ without its end")
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

// HasOffset reports whether the pattern has the offset from UTC: it is then about instants, not local times.
func (p TimePattern) HasOffset() bool {
	return slices.ContainsFunc(p, func(t timePart) bool { return strings.IndexByte("XxZOV", t.letter) >= 0 && t.letter != 0 })
}

// runsFromYear reports whether part i stands behind a row of numbers that begins with the year, with nothing between them.
func (p TimePattern) runsFromYear(i int) bool {
	for i--; i >= 0 && strings.IndexByte("MdDHhKkms", p[i].letter) >= 0 && p[i].letter != 0; i-- {
	}
	return i >= 0 && p[i].letter == 'y'
}

// Readable says why the pattern cannot be read, if so.
func (p TimePattern) Readable() error {
	seen := map[byte]bool{}
	for i, part := range p {
		if part.letter == 0 || part.letter == '[' || part.letter == ']' {
			continue
		}
		letters := strings.Repeat(string(rune(part.letter)), part.count)
		switch {
		case !slices.Contains(readLetters[part.letter], part.count):
			return fmt.Errorf("the letters %s, which can be written but not read", letters)
		case part.letter == 'S' && p.runsFromYear(i): // the year takes the digits in Java
			return fmt.Errorf("a fraction behind numbers that have nothing between them and begin with the year")
		case seen[part.letter]:
			return fmt.Errorf("the letter %c twice", part.letter)
		case part.count == 1 && part.letter != 'a' && i+1 < len(p) && p[i+1].letter >= 'A' && p[i+1].letter != '[' && p[i+1].letter != ']' && p[i+1].letter != 'a':
			return fmt.Errorf("the letter %s in front of another one, so that the number has no end", letters)
		}
		seen[part.letter] = true
	}
	switch {
	case !seen['y']:
		return fmt.Errorf("no year")
	case seen['D'] && (seen['M'] || seen['d']):
		return fmt.Errorf("a day of the year and a month or day")
	case seen['H'] && seen['k']:
		return fmt.Errorf("the hour twice")
	case (seen['h'] || seen['K']) != seen['a'] || seen['h'] && seen['K'] || seen['a'] && (seen['H'] || seen['k']):
		return fmt.Errorf("the letters h and a, which stand together and without H")
	}
	return nil
}
