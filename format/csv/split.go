package csv

import (
	"bytes"

	"sluice/format"
)

// NewSplitter returns a splitter that knows about line breaks inside quotes. Blank lines and comments are no records.
func NewSplitter(d Dialect) format.Splitter { return newSplitter(d) }

func newSplitter(d Dialect) *splitter {
	s := &splitter{dialect: d, plain: d.plain()}
	s.reader = reader{Dialect: &s.dialect}
	return s
}

type splitter struct {
	dialect Dialect
	plain   bool
	reader  reader
	most    int // bytes of a record; 0 for any number
}

func (s *splitter) Split(data []byte, eof bool, max int, spans []format.Span) ([]format.Span, int, error) {
	at := 0
	for n := 0; n < max && at < len(data); {
		end, next, whole := s.record(data, at, eof)
		if !whole {
			break
		}
		if end > at && (s.dialect.Comment == 0 || data[at] != s.dialect.Comment) {
			spans = append(spans, format.Span{Start: at, End: end})
			n++
		}
		at = next
	}
	return spans, at, nil
}

// Limit implements format.Splitter.
func (s *splitter) Limit(most int) { s.most = most }

// Over implements format.Splitter: a record is given up with its first line. Where stray quotes are no error its lines are text of one
// field, and those that a record may have are given up together.
func (s *splitter) Over(data []byte, beginning bool) int {
	if beginning && s.dialect.Unescaped != Refuse {
		return bytes.LastIndexByte(data, s.dialect.newline()) + 1
	}
	return bytes.IndexByte(data, s.dialect.newline()) + 1
}

// record finds the end of the record at data[at], and where the next one starts. A quote that is not closed within what a record may have
// is closed by nothing, whatever comes behind.
func (s *splitter) record(data []byte, at int, eof bool) (end, next int, whole bool) {
	newline := bytes.IndexByte(data[at:], s.dialect.newline())
	if newline < 0 && !eof {
		return 0, 0, false
	}
	if end = len(data); newline >= 0 {
		end = at + newline
	}
	if s.spans(data, at, end) {
		if s.most > 0 && len(data)-at > s.most {
			data, eof = data[:at+s.most+1], true
		}
		var closed bool
		if end, closed = s.fields(data, at); (end == len(data) || !closed) && !eof {
			return 0, 0, false
		}
	}
	return s.dialect.last(data, at, end), min(end+1, len(data)), true
}

// spans reports whether the record that begins with the line data[at:end] may have further lines.
func (s *splitter) spans(data []byte, at, end int) bool {
	d := &s.dialect
	return d.Quote != 0 && !d.OneLine && (d.Comment == 0 || at == end || data[at] != d.Comment) && bytes.IndexByte(data[at:end], d.Quote) >= 0
}

// fields goes over the fields of a record and returns the index of the newline or end of the data behind the last one. A quote
// that nothing closes costs the line that it is in, not all that follows; where stray quotes are no error, all that follows is text.
func (s *splitter) fields(data []byte, i int) (end int, closed bool) {
	for {
		next, open := s.next(data, i)
		if open && s.dialect.Unescaped == Refuse {
			if newline := bytes.IndexByte(data[i:], s.dialect.newline()); newline >= 0 {
				return i + newline, false
			}
			return len(data), false
		}
		if next == len(data) || s.dialect.breaks(data, next) {
			return next, true
		}
		i = next + s.dialect.width()
	}
}

func (s *splitter) next(data []byte, i int) (next int, open bool) {
	if s.plain {
		f := s.dialect.field(data, i)
		return f.next, f.open
	}
	t := s.reader.token(data, i)
	return t.next, t.open
}
