package csv

import "bytes"

// token is one field as any dialect has it. What is not told of package json's strictness is as in Spark, whose reader is
// univocity-parsers: docs/sql.md says so for from_csv, whose goldens hold it.
type token struct {
	text    []byte // it belongs to the data or to the reader
	next    int    // of the separator, line break or end of the data behind it
	quoted  bool
	stray   bool // there are quotes where none may be
	open    bool // the data ends before the closing quote
	skipped bool // it was left out (SkipValue)
}

// reader finds fields. Texts with escapes are put together in its memory, which is good until the next field.
type reader struct {
	*Dialect
	memory []byte
}

func blank(c byte) bool { return c <= ' ' }

// ends reports whether a field ends at data[i], which is a separator or line break.
func (d *Dialect) ends(data []byte, i int) bool { return d.separates(data, i) || d.breaks(data, i) }

func (d *Dialect) separates(data []byte, i int) bool {
	return data[i] == d.Sep && (d.Tail == "" || bytes.HasPrefix(data[i+1:], []byte(d.Tail)))
}

// breaks reports whether a record ends at data[i].
func (d *Dialect) breaks(data []byte, i int) bool { return !d.noLines && data[i] == d.newline() }

func (d *Dialect) newline() byte {
	if d.Line != 0 {
		return d.Line
	}
	return '\n'
}

func (d *Dialect) separator() []byte { return append([]byte{d.Sep}, d.Tail...) }

// width is the length of the separator.
func (d *Dialect) width() int { return 1 + len(d.Tail) }

// end returns where the field ends that data[i] is a part of.
func (d *Dialect) end(data []byte, i int) int {
	if d.Tail == "" && d.Line == 0 && !d.noLines {
		return d.skip(data, i)
	}
	for i < len(data) && !d.ends(data, i) {
		i++
	}
	return i
}

// last returns the end of the text of a field that is data[start:end], without the carriage return of its line break.
func (d *Dialect) last(data []byte, start, end int) int {
	if d.Line == 0 && !d.noLines {
		return beforeBreak(data, start, end)
	}
	return end
}

// token reads the field that starts at data[i].
func (r *reader) token(data []byte, i int) token {
	if r.TrimLeading {
		for i < len(data) && blank(data[i]) && !r.ends(data, i) && (data[i] != r.Quote || r.Quote == 0) {
			i++
		}
	}
	if i < len(data) && data[i] == r.Quote && r.Quote != 0 {
		return r.inQuotes(data, i+1)
	}
	next := r.end(data, i)
	t := token{text: r.trimmed(data[i:r.last(data, i, next)]), next: next}
	t.stray = r.Unescaped == Refuse && !r.quotesInside && r.Quote != 0 && bytes.IndexByte(t.text, r.Quote) >= 0
	return t
}

func (r *reader) trimmed(text []byte) []byte {
	if r.TrimTrailing {
		for len(text) > 0 && blank(text[len(text)-1]) {
			text = text[:len(text)-1]
		}
	}
	return text
}

// inQuotes reads a field whose text begins at data[i]. A quote or escape is held back until it is known what follows it: held is
// that character, or 0.
func (r *reader) inQuotes(data []byte, i int) token {
	text, held, begin := r.memory[:0], byte(0), i
	strayed, goesOn := false, false // goesOn: there was a quote that did not end the field
	for i < len(data) {
		c := data[i]
		switch {
		case held == r.Quote && (blank(c) || r.ends(data, i)):
			after := r.behind(data, i)
			if after == len(data) || r.ends(data, after) {
				strayed = strayed || r.Unescaped == Refuse && !r.TrimTrailing && r.last(data, i, after) > i
				return r.closed(text, after, strayed)
			}
			if r.Unescaped != StopAtClosingQuote {
				return r.unescaped(data, text, i)
			}
			text, i, held = append(append(text, r.Quote), data[i:after]...), after, 0
			if data[i] == r.Quote || r.escapes(data[i]) {
				held = data[i]
			} else {
				text = append(text, data[i])
			}
			i++
		case c == r.Quote || r.escapes(c):
			switch {
			case held != 0 && r.escapes(held):
				text, held = append(text, c), 0
			case held == r.Quote && c == r.Quote:
				text = append(text, c)
				strayed = strayed || r.Unescaped == Refuse
			case held == r.Quote:
				return r.unescaped(data, text, i)
			default:
				held = c
			}
			if i++; goesOn && i < len(data) && r.ends(data, i) {
				return r.closed(text, i, strayed)
			}
		default:
			if held == r.Quote {
				if r.Unescaped != StopAtClosingQuote {
					return r.unescaped(data, text, i)
				}
				text, goesOn = append(text, r.Quote), true
			} else if held != 0 {
				text = append(text, held)
			}
			end := r.special(data, i)
			text = append(text, data[i:end]...)
			if held = 0; end < len(data) {
				held = data[end]
				end++
			}
			i = end
		}
	}
	if held == r.Quote {
		return r.closed(text, i, strayed)
	}
	if begin == len(data) {
		text = append(text, r.Quote) // nothing but the quote
	}
	t := r.closed(text, i, strayed)
	t.open = true
	return t
}

func (r *reader) escapes(c byte) bool { return c == r.Escape && c != 0 }

// special returns the index of the quote or escape at or behind i.
func (r *reader) special(data []byte, i int) int {
	for i < len(data) && data[i] != r.Quote && !r.escapes(data[i]) {
		i++
	}
	return i
}

// behind returns the index of what follows the blanks behind a closing quote.
func (r *reader) behind(data []byte, i int) int {
	for i < len(data) && blank(data[i]) && !r.ends(data, i) {
		i++
	}
	return i
}

func (r *reader) closed(text []byte, next int, stray bool) token {
	r.memory = text
	return token{text: text, next: next, quoted: true, stray: stray}
}

// unescaped reads a field to its end in which a closing quote stands in front of data[i], where there is no separator.
func (r *reader) unescaped(data, text []byte, i int) token {
	next := r.end(data, i)
	if r.Unescaped == SkipValue {
		t := r.closed(text[:0], next, false)
		t.skipped = true
		return t
	}
	rest := data[i:r.last(data, i, next)]
	text = append(text, 0, r.Quote)
	copy(text[1:], text[:len(text)-2])
	text[0], text[len(text)-1] = r.Quote, r.Quote
	text = append(text, rest...)
	r.memory = text
	return token{text: r.trimmed(text), next: next, quoted: true, stray: r.Unescaped == Refuse}
}
