package json

import (
	"encoding/binary"
	"math/bits"
	"strconv"
	"unicode/utf8"

	"sluice/fault"
)

// The scanning functions take the record and the index at which something must stand, and return the index behind it, or
// failed when the record is not valid; what is wrong is then in scanner.syntax.
const failed = -1

// scanner holds what validating a record needs.
type scanner struct {
	syntax   *fault.Error
	text     []byte   // the last string with escapes, without them
	nested   []*names // per depth, for objects whose members are no columns
	depth    int
	maxDepth int
}

// fail notes what is wrong at src[i].
func (s *scanner) fail(src []byte, i int, expected string) int {
	found := "the end of the record"
	if i < len(src) {
		_, n := utf8.DecodeRune(src[i:])
		found = quote(src[i : i+n])
	}
	s.syntax = fault.New(fault.MalformedRecord, "invalid JSON at byte %d: expected %s, found %s", i, expected, fault.Payload(found))
	return failed
}

// refuse notes what is wrong around src[i].
func (s *scanner) refuse(i int, what string, args ...any) int {
	s.syntax = fault.New(fault.MalformedRecord, "invalid JSON at byte %d: "+what, append([]any{i}, args...)...)
	return failed
}

// blank returns the index of the first byte from i on that is no white space.
func blank(src []byte, i int) int {
	for i < len(src) && (src[i] == ' ' || src[i] == '\n' || src[i] == '\r' || src[i] == '\t') {
		i++
	}
	return i
}

// enter and leave count nesting.
func (s *scanner) enter(i int) bool {
	s.depth++
	if s.depth > s.maxDepth {
		s.refuse(i, "nested deeper than %d", s.maxDepth)
		return false
	}
	return true
}

func (s *scanner) leave() { s.depth-- }

// skip validates a value of any kind.
func (s *scanner) skip(src []byte, i int) int {
	if i >= len(src) {
		return s.fail(src, i, "a value")
	}
	switch c := src[i]; {
	case c == '"':
		_, next := s.str(src, i)
		return next
	case c == '{':
		return s.skipObject(src, i)
	case c == '[':
		return s.skipArray(src, i)
	case c == '-' || c-'0' <= 9:
		return s.number(src, i)
	case c == 't':
		return s.literal(src, i, "true")
	case c == 'f':
		return s.literal(src, i, "false")
	case c == 'n':
		return s.literal(src, i, "null")
	}
	return s.fail(src, i, "a value")
}

func (s *scanner) literal(src []byte, i int, word string) int {
	if len(src)-i < len(word) || string(src[i:i+len(word)]) != word {
		return s.fail(src, i, word)
	}
	return i + len(word)
}

func (s *scanner) skipArray(src []byte, i int) int {
	if !s.enter(i) {
		return failed
	}
	i = blank(src, i+1)
	if i < len(src) && src[i] == ']' {
		s.leave()
		return i + 1
	}
	for {
		if i = s.skip(src, i); i < 0 {
			return failed
		}
		more, next := s.more(src, i, ']')
		if !more {
			return next
		}
		i = next
	}
}

// more reads what follows an element or a member: a comma, or the closing bracket, which leaves the nesting.
func (s *scanner) more(src []byte, i int, closing byte) (more bool, next int) {
	if i >= len(src) || src[i] <= ' ' {
		i = blank(src, i)
	}
	if i < len(src) {
		switch src[i] {
		case ',':
			if i++; i < len(src) && src[i] <= ' ' {
				i = blank(src, i)
			}
			return true, i
		case closing:
			s.leave()
			return false, i + 1
		}
	}
	if closing == '}' {
		return false, s.fail(src, i, "a comma or }")
	}
	return false, s.fail(src, i, "a comma or ]")
}

func (s *scanner) skipObject(src []byte, i int) int {
	if !s.enter(i) {
		return failed
	}
	n := s.namesHere()
	n.begin()
	i = blank(src, i+1)
	if i < len(src) && src[i] == '}' {
		s.leave()
		return i + 1
	}
	at := int32(0)
	for {
		if at, i = s.name(src, i, n, at); i < 0 {
			return failed
		}
		if i = s.skip(src, i); i < 0 {
			return failed
		}
		more, next := s.more(src, i, '}')
		if !more {
			return next
		}
		i = next
	}
}

// namesHere returns the names of objects at this depth. One object per depth is open at any time.
func (s *scanner) namesHere() *names {
	for len(s.nested) <= s.depth {
		s.nested = append(s.nested, newNames(noMember))
	}
	return s.nested[s.depth]
}

// name reads a member's name and the colon behind it, up to the value. After is the name before it in this object, 0 at
// its start.
func (s *scanner) name(src []byte, i int, n *names, after int32) (id int32, next int) {
	if i < len(src) {
		id, next = n.guess(src, i, after)
	}
	if id == 0 {
		if id, next = s.unexpectedName(src, i, n, after); next < 0 {
			return 0, failed
		}
	}
	if next < len(src) && src[next] <= ' ' {
		next = blank(src, next)
	}
	return id, next
}

func (s *scanner) unexpectedName(src []byte, i int, n *names, after int32) (id int32, next int) {
	if i >= len(src) || src[i] != '"' {
		return 0, s.fail(src, i, "a member's name in double quotes")
	}
	text, next := s.str(src, i)
	if next < 0 {
		return 0, failed
	}
	bare := next-i-2 == len(text) // an escape is always longer than what it stands for
	id = n.find(text, bare, after)
	if !n.first(id) {
		return 0, s.refuse(i, "the name %s is in the object twice", quote(text))
	}
	next = blank(src, next)
	if next >= len(src) || src[next] != ':' {
		return 0, s.fail(src, next, "a colon")
	}
	return id, next + 1
}

// number validates a number. What may not follow one is the caller's to see.
func (s *scanner) number(src []byte, i int) int {
	if src[i] == '-' {
		i++
	}
	switch {
	case i >= len(src) || src[i]-'0' > 9:
		return s.fail(src, i, "a digit")
	case src[i] == '0':
		i++
	default:
		i = digits(src, i)
	}
	if i < len(src) && src[i] == '.' {
		end := digits(src, i+1)
		if end == i+1 {
			return s.fail(src, end, "a digit")
		}
		i = end
	}
	if i < len(src) && (src[i] == 'e' || src[i] == 'E') {
		i++
		if i < len(src) && (src[i] == '+' || src[i] == '-') {
			i++
		}
		end := digits(src, i)
		if end == i {
			return s.fail(src, end, "a digit")
		}
		i = end
	}
	return i
}

func digits(src []byte, i int) int {
	for i < len(src) && src[i]-'0' <= 9 {
		i++
	}
	return i
}

const (
	ones  = 0x0101010101010101
	highs = 0x8080808080808080
)

// special returns a word whose lowest set bit is in the first byte of w that is a quote, a backslash or a control
// character; bits above that one mean nothing. It is the test for a zero byte, (x-1)&^x, on three words at once.
func special(w uint64) uint64 {
	quotes, backslashes := w^('"'*ones), w^('\\'*ones)
	return ((quotes-ones)&^quotes | (backslashes-ones)&^backslashes | (w-' '*ones)&^w) & highs
}

// plain returns the index of the first byte from i on that is a quote, a backslash or a control character, and whether
// all before it are ASCII. It does not look further than the last byte of src.
func plain(src []byte, i int) (at int, ascii bool) {
	var all uint64
	for len(src)-i >= 8 {
		w := binary.LittleEndian.Uint64(src[i:])
		if hit := special(w); hit != 0 {
			n := bits.TrailingZeros64(hit) // 8*k+7
			all |= w & (1<<(n-7) - 1)
			return i + n>>3, all&highs == 0
		}
		all |= w
		i += 8
	}
	for ; i < len(src); i++ {
		c := src[i]
		if c == '"' || c == '\\' || c < ' ' {
			break
		}
		all |= uint64(c)
	}
	return i, all&highs == 0
}

// str reads a string and returns its text, which is part of src or valid until the next call.
func (s *scanner) str(src []byte, i int) (text []byte, next int) {
	at, ascii := plain(src, i+1)
	if at < len(src) && src[at] == '"' {
		text = src[i+1 : at]
		if ascii || utf8.Valid(text) {
			return text, at + 1
		}
	}
	return s.strangeString(src, i)
}

// strangeString reads a string with escapes, or one that is not valid.
func (s *scanner) strangeString(src []byte, i int) (text []byte, next int) {
	s.text = s.text[:0]
	start := i + 1
	for {
		at, ascii := plain(src, start)
		if part := src[start:at]; !ascii && !utf8.Valid(part) {
			return nil, s.refuse(start+invalidUTF8(part), "the string is not UTF-8")
		}
		s.text = append(s.text, src[start:at]...)
		switch {
		case at == len(src):
			return nil, s.fail(src, at, "the end of the string")
		case src[at] == '"':
			return s.text, at + 1
		case src[at] == '\\':
			if start = s.escape(src, at); start < 0 {
				return nil, failed
			}
		default:
			return nil, s.refuse(at, "the control character %s must be escaped in a string", quote(src[at:at+1]))
		}
	}
}

// invalidUTF8 returns the index of the first byte that is not part of a character.
func invalidUTF8(text []byte) int {
	i := 0
	for i < len(text) {
		r, n := utf8.DecodeRune(text[i:])
		if r == utf8.RuneError && n == 1 {
			break
		}
		i += n
	}
	return i
}

// escape reads an escape and adds its character to s.text. A surrogate that is not half of a pair is refused.
func (s *scanner) escape(src []byte, i int) int {
	if i+1 >= len(src) {
		return s.fail(src, i+1, "an escape")
	}
	switch c := src[i+1]; c {
	case '"', '\\', '/':
		s.text = append(s.text, c)
	case 'b':
		s.text = append(s.text, '\b')
	case 'f':
		s.text = append(s.text, '\f')
	case 'n':
		s.text = append(s.text, '\n')
	case 'r':
		s.text = append(s.text, '\r')
	case 't':
		s.text = append(s.text, '\t')
	case 'u':
		return s.unicodeEscape(src, i)
	default:
		return s.fail(src, i+1, "an escape")
	}
	return i + 2
}

func (s *scanner) unicodeEscape(src []byte, i int) int {
	r := hex4(src, i+2)
	if r < 0 {
		return s.refuse(i, "\\u needs four hexadecimal digits")
	}
	if r < 0xd800 || r > 0xdfff {
		s.text = utf8.AppendRune(s.text, r)
		return i + 6
	}
	low := rune(-1)
	if i+7 < len(src) && src[i+6] == '\\' && src[i+7] == 'u' {
		low = hex4(src, i+8)
	}
	if r > 0xdbff || low < 0xdc00 || low > 0xdfff {
		return s.refuse(i, "the surrogate %s has no other half", src[i:i+6])
	}
	s.text = utf8.AppendRune(s.text, (r-0xd800)<<10|(low-0xdc00)+0x10000)
	return i + 12
}

// hex4 reads four hexadecimal digits, or returns -1.
func hex4(src []byte, i int) rune {
	if len(src)-i < 4 {
		return -1
	}
	var r rune
	for _, c := range src[i : i+4] {
		switch {
		case c-'0' <= 9:
			c -= '0'
		case c-'a' <= 5:
			c -= 'a' - 10
		case c-'A' <= 5:
			c -= 'A' - 10
		default:
			return -1
		}
		r = r<<4 | rune(c)
	}
	return r
}

// quote shows bytes of a record in a message, the start of them when they are many.
func quote(text []byte) string {
	const most = 64
	if len(text) > most {
		return strconv.Quote(string(text[:most])) + "..."
	}
	return strconv.Quote(string(text))
}
