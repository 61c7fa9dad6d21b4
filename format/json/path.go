package json

import (
	"math"
	"strconv"
	"strings"

	"sluice/batch"
	"sluice/format"
)

// Path computes get_json_object(text, path), as Spark does: what stands at the path, a string without its quotes, anything else
// as JSON without blanks, with numbers of a fraction or an exponent written as Java writes a DOUBLE. Of several members with a name the
// first that is not null counts. What is no JSON by RFC 8259 up to the end of the document is NULL; what stands behind is not looked at.
type Path struct {
	s    scanner
	path []step
	out  []byte
}

// step of a path: a member, an element, or all elements.
type step struct {
	name  string
	index int // of an element, or one of these
}

const (
	aMember  = -1
	allItems = -2
	nothing  = -3 // .* finds nothing in Spark
)

// NewPath reads a path such as $.a.b[0]['x'][*]. It is not ok for what is no path, at which Spark finds nothing.
func NewPath(path string) (*Path, bool) {
	p := &Path{s: scanner{maxDepth: DefaultMaxDepth}}
	rest, ok := strings.CutPrefix(path, "$")
	for ok && rest != "" {
		var s step
		if s, rest, ok = nextStep(rest); ok {
			p.path = append(p.path, s)
		}
	}
	return p, ok
}

func nextStep(path string) (s step, rest string, ok bool) {
	switch {
	case path[0] == '.':
		end := 1 + strings.IndexAny(path[1:]+".", ".[")
		s = step{name: path[1:end], index: aMember}
		rest = path[end:]
	case strings.HasPrefix(path, "['"):
		end := strings.IndexByte(path[2:], '\'')
		if end < 0 || !strings.HasPrefix(path[2+end:], "']") || strings.Contains(path[2:2+end], "?") {
			return s, "", false
		}
		s, rest = step{name: path[2 : 2+end], index: aMember}, path[2+end+2:]
	default:
		inside, after, found := strings.Cut(path[1:], "]")
		if path[0] != '[' || !found {
			return s, "", false
		}
		if inside == "*" {
			return step{index: allItems}, after, true
		}
		n, err := strconv.ParseUint(inside, 10, 31)
		return step{index: int(n)}, after, err == nil
	}
	if s.name == "*" {
		s.index = nothing
	}
	return s, rest, s.name != ""
}

// Append appends the value of each text.
func (p *Path) Append(texts *batch.Column, out *batch.Builder) {
	for i := range texts.Len {
		if texts.IsNull(i) || !p.find(texts.Text(i)) {
			out.AppendNull()
		} else {
			out.AppendText(p.out)
		}
	}
}

func (p *Path) find(src []byte) bool {
	p.out, p.s.depth = p.out[:0], 0
	i := blank(src, 0)
	if i == len(src) {
		return false
	}
	g := &output{p: p}
	found, next := p.evaluate(src, i, g, raw, p.path)
	return found && next > 0
}

// style says how matches are written: as they are, quoted, or with arrays taken apart.
type style uint8

const (
	raw style = iota
	quoted
	flattened
)

// output is what matches are written to: the text itself, or an array in it, whose elements have commas between them.
type output struct {
	p       *Path
	inArray bool
	some    bool
}

func (g *output) begin() {
	if g.inArray && g.some {
		g.p.out = append(g.p.out, ',')
	}
	g.some = true
}

// evaluate looks for path in the value at src[i], and returns whether it wrote something, and what is behind the value.
func (p *Path) evaluate(src []byte, i int, g *output, how style, path []step) (found bool, next int) {
	if i >= len(src) {
		return false, failed
	}
	switch c := src[i]; {
	case len(path) == 0:
		return p.match(src, i, g, how)
	case c == '{' && path[0].index == aMember:
		return p.members(src, i, g, how, path)
	case c == '[' && path[0].index == allItems:
		return p.items(src, i, g, how, path)
	case c == '[' && path[0].index >= 0:
		return p.item(src, i, g, how, path)
	}
	return false, p.pass(src, i)
}

// match writes a value to which the path leads.
func (p *Path) match(src []byte, i int, g *output, how style) (bool, int) {
	switch {
	case src[i] == '"' && how == raw:
		text, next := p.s.str(src, i)
		g.begin()
		p.out = append(p.out, text...)
		return true, next
	case src[i] == '[' && how == flattened:
		found := false
		next := p.each(src, i, func(at, _ int) int {
			one, next := p.evaluate(src, at, g, how, nil)
			found = found || one
			return next
		})
		return found, next
	}
	g.begin()
	return true, p.copy(src, i)
}

// members goes on with the first member of the name in which something is found.
func (p *Path) members(src []byte, i int, g *output, how style, path []step) (found bool, next int) {
	next = p.each(src, i, func(at, name int) int {
		if found {
			return p.pass(src, at)
		}
		if text, _ := p.s.str(src, name); string(text) != path[0].name || src[at] == 'n' {
			return p.pass(src, at)
		}
		var end int
		found, end = p.evaluate(src, at, g, how, path[1:])
		return end
	})
	return found, next
}

// items goes on with every element. Outside of another array, one match stands alone.
func (p *Path) items(src []byte, i int, g *output, how style, path []step) (found bool, next int) {
	double := len(path) > 1 && path[1].index == allItems
	inner := quoted
	switch {
	case double:
		inner, path = flattened, path[1:]
	case how == flattened:
		inner = flattened
	}
	start, wasSome := len(p.out), g.some
	g.begin()
	p.out = append(p.out, '[')
	open := len(p.out)
	array, count := &output{p: p, inArray: true}, 0
	next = p.each(src, i, func(at, _ int) int {
		one, next := p.evaluate(src, at, array, inner, path[1:])
		if one {
			count++
		}
		return next
	})
	p.out = append(p.out, ']')
	switch {
	case double || how == quoted:
	case count == 0:
		p.out, g.some = p.out[:start], wasSome
	case count == 1:
		p.out = append(p.out[:open-1], p.out[open:len(p.out)-1]...)
	}
	return count > 0, next
}

// item goes on with one element.
func (p *Path) item(src []byte, i int, g *output, how style, path []step) (found bool, next int) {
	if len(path) > 1 && path[1].index == allItems {
		how = quoted
	}
	n := 0
	next = p.each(src, i, func(at, _ int) int {
		n++
		if n-1 != path[0].index {
			return p.pass(src, at)
		}
		var end int
		found, end = p.evaluate(src, at, g, how, path[1:])
		return end
	})
	return found, next
}

// each walks over the elements of an array or the members of an object: visit gets the place of a value and of its name, and
// returns what is behind the value.
func (p *Path) each(src []byte, i int, visit func(at, name int) int) (next int) {
	if !p.s.enter(i) {
		return failed
	}
	closing := src[i] + 2 // of [ and {
	i = blank(src, i+1)
	if i < len(src) && src[i] == closing {
		p.s.leave()
		return i + 1
	}
	for {
		name := i
		if closing == '}' {
			if i >= len(src) || src[i] != '"' {
				return failed
			}
			if _, i = p.s.str(src, i); i < 0 {
				return failed
			}
			if i = blank(src, i); i >= len(src) || src[i] != ':' {
				return failed
			}
			i = blank(src, i+1)
		}
		if i >= len(src) {
			return failed
		}
		if i = visit(i, name); i < 0 {
			return failed
		}
		more, next := p.s.more(src, i, closing)
		if !more {
			return next
		}
		i = next
	}
}

// pass validates a value and leaves it out. A name may stand in an object twice.
func (p *Path) pass(src []byte, i int) int {
	if src[i] == '{' || src[i] == '[' {
		return p.each(src, i, func(at, _ int) int { return p.pass(src, at) })
	}
	return p.s.skip(src, i)
}

// copy writes a value.
func (p *Path) copy(src []byte, i int) (next int) {
	switch c := src[i]; {
	case c == '{' || c == '[':
		p.out = append(p.out, c)
		first := true
		next = p.each(src, i, func(at, name int) int {
			if !first {
				p.out = append(p.out, ',')
			}
			first = false
			if c == '{' {
				text, _ := p.s.str(src, name)
				p.out = append(appendJackson(p.out, text), ':')
			}
			return p.copy(src, at)
		})
		p.out = append(p.out, c+2)
	case c == '"':
		var text []byte
		text, next = p.s.str(src, i)
		p.out = appendJackson(p.out, text)
	case c == '-' || c-'0' <= 9:
		if next = p.s.number(src, i); next > 0 {
			p.out = appendNumber(p.out, src[i:next])
		}
	default:
		if next = p.s.skip(src, i); next > 0 {
			p.out = append(p.out, src[i:next]...)
		}
	}
	return next
}

// appendNumber writes a number: integers as they are, others as Java writes a DOUBLE, in quotes when it is infinite.
func appendNumber(dst, text []byte) []byte {
	for _, c := range text {
		if c == '.' || c|0x20 == 'e' {
			v, _ := strconv.ParseFloat(string(text), 64)
			if math.IsInf(v, 0) {
				return append(format.AppendFloat(append(dst, '"'), v, 64), '"')
			}
			return format.AppendJavaFloat(dst, v, 64)
		}
	}
	if string(text) == "-0" {
		text = text[1:]
	}
	return append(dst, text...)
}

// appendJackson writes a string as Jackson does, which Spark uses: characters beyond 65535 are two escapes.
func appendJackson(dst, text []byte) []byte {
	start := len(dst)
	dst = format.AppendJSONString(dst, text)
	for _, c := range text {
		if c >= 0xf0 {
			return escapeBeyond(dst[:start], string(dst[start:]))
		}
	}
	return dst
}

func escapeBeyond(dst []byte, text string) []byte {
	const hex = "0123456789ABCDEF"
	for _, r := range text {
		if r <= 0xffff {
			dst = append(dst, string(r)...)
			continue
		}
		r -= 0x10000
		for _, u := range []rune{0xd800 + r>>10, 0xdc00 + r&0x3ff} {
			dst = append(dst, '\\', 'u', hex[u>>12], hex[u>>8&15], hex[u>>4&15], hex[u&15])
		}
	}
	return dst
}
