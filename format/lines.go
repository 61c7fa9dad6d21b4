package format

import "bytes"

// Lines finds records that are lines. A line break is a newline; a carriage return before it belongs to it.
type Lines struct {
	// Blanks makes lines without anything but blanks records too; otherwise they are skipped.
	Blanks bool
}

// Split implements Splitter.
func (l Lines) Split(data []byte, eof bool, max int, spans []Span) ([]Span, int, error) {
	at := 0
	for n := 0; n < max && at < len(data); {
		end, next := len(data), len(data)
		if newline := bytes.IndexByte(data[at:], '\n'); newline >= 0 {
			end, next = at+newline, at+newline+1
			if end > at && data[end-1] == '\r' {
				end--
			}
		} else if !eof {
			break
		}
		if l.Blanks || !blank(data[at:end]) {
			spans = append(spans, Span{at, end})
			n++
		}
		at = next
	}
	return spans, at, nil
}

// Limit implements Splitter. How large they are changes nothing.
func (Lines) Limit(int) {}

// Over implements Splitter: a record is its line.
func (Lines) Over(data []byte, _ bool) int { return bytes.IndexByte(data, '\n') + 1 }

func blank(line []byte) bool {
	for _, c := range line {
		if c != ' ' && c != '\t' && c != '\r' {
			return false
		}
	}
	return true
}
