package csv

import (
	"bytes"

	"sluice/format"
)

// NewSplitter returns a splitter that knows about line breaks inside quotes. Blank lines are no records.
func NewSplitter(d Dialect) format.Splitter { return &splitter{d} }

type splitter struct{ dialect Dialect }

func (s *splitter) Split(data []byte, eof bool, max int, spans []format.Span) ([]format.Span, int, error) {
	at := 0
	for n := 0; n < max && at < len(data); {
		end, next, whole := s.record(data, at, eof)
		if !whole {
			break
		}
		if end > at {
			spans = append(spans, format.Span{Start: at, End: end})
			n++
		}
		at = next
	}
	return spans, at, nil
}

// record finds the end of the record at data[at], and where the next one starts.
func (s *splitter) record(data []byte, at int, eof bool) (end, next int, whole bool) {
	newline := bytes.IndexByte(data[at:], '\n')
	if newline < 0 && !eof {
		return 0, 0, false
	}
	if end = len(data); newline >= 0 {
		end = at + newline
	}
	if s.dialect.Quote != 0 && bytes.IndexByte(data[at:end], s.dialect.Quote) >= 0 {
		if end = s.fields(data, at); end == len(data) && !eof {
			return 0, 0, false
		}
	}
	return beforeBreak(data, at, end), min(end+1, len(data)), true
}

// fields goes over the fields of a record and returns the index of the newline or end of the data behind the last one.
func (s *splitter) fields(data []byte, i int) int {
	for {
		next := s.dialect.field(data, i).next
		if next == len(data) || data[next] == '\n' {
			return next
		}
		i = next + 1
	}
}
