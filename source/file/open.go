package file

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"

	"sluice/fault"
	"sluice/format"
)

// block is how much is read at once.
const block = 256 << 10

// opened is a file being read: its bytes from offset at on are data, as far as they have been read. They may reach beyond the part: where
// a record ends depends on what follows, and must not on what is asked for.
type opened struct {
	part
	file  *os.File
	block int    // how much is read at once
	at    int64  // offset of data[0]
	data  []byte // read and not yet used
	rest  []byte // memory behind data
}

// errStale says that a file of which nothing was read yet is not as listed any more.
var errStale = errors.New("not as listed")

// openAt opens p's file at p.from, or goes on in the one that is open. Without an end the listing may be old: a file that
// was replaced before anything of it was read is errStale.
func (s *Source) openAt(p part, endless bool) (*opened, error) {
	if o := s.open; o != nil && o.listed == p.listed && o.at == p.from {
		o.part = p
		return o, nil
	}
	s.closeFile()
	file, err := os.Open(resolve(s.dir, p.path))
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, errNotFolder) {
		if p.from == 0 && endless {
			return nil, errStale
		}
		return nil, missing(p.path)
	}
	if err != nil {
		return nil, unreadable(p.path, err)
	}
	o := &opened{part: p, file: file, block: s.block, rest: s.buffer[:0]}
	s.open = o
	if err := o.verify(); err != nil {
		if p.from == 0 && endless && fault.Of(err, fault.FileChanged) {
			return nil, errStale
		}
		return nil, err
	}
	return o, s.begin(o)
}

// begin reads the header, if files have one, and goes to where reading starts.
func (s *Source) begin(o *opened) error {
	if s.columns.reader.Header == nil {
		return s.skipTo(o, o.from)
	}
	if err := s.skipTo(o, 0); err != nil {
		return err
	}
	spans, used, large, err := o.split(s, 1, nil)
	switch {
	case err != nil:
		return err
	case large:
		return fault.New(fault.RecordTooLarge, "the header is larger than %d bytes", s.opts.maxRecord).Within("in %s", o.path).WithHint(largeHint)
	}
	if len(spans) == 1 {
		if err := s.columns.reader.Header(o.data[spans[0].Start:spans[0].End]); err != nil {
			return fault.From(err).Within("in %s", o.path)
		}
		s.headers.see(o.path, o.data[spans[0].Start:spans[0].End])
	}
	if o.use(used); o.from > 0 {
		return s.skipTo(o, o.from)
	}
	return nil
}

// skipTo makes at the offset of the next byte. A byte order mark at the start of the file is no part of it.
func (s *Source) skipTo(o *opened, at int64) error {
	o.at, o.data = at, o.rest[:0]
	if at > 0 {
		return nil
	}
	if err := o.fill(); err != nil {
		return err
	}
	if bytes.HasPrefix(o.data, []byte("\xef\xbb\xbf")) {
		o.use(3)
	}
	return nil
}

// use drops the first n bytes of data.
func (o *opened) use(n int) {
	o.data = o.data[n:]
	o.at += int64(n)
}

// whole reports whether data reaches to the end of the file.
func (o *opened) whole() bool { return o.at+int64(len(o.data)) >= o.size }

// fill reads on. Data that is not used yet moves to the front of the memory, which grows for a record that needs it.
func (o *opened) fill() error {
	if len(o.data)+o.block > cap(o.rest) {
		o.rest = make([]byte, 0, 2*len(o.data)+o.block)
	}
	n := copy(o.rest[:cap(o.rest)], o.data)
	room := min(int64(cap(o.rest)-n), o.size-o.at-int64(n))
	read, err := o.file.ReadAt(o.rest[n:n+int(room)], o.at+int64(n))
	o.data = o.rest[:n+read]
	switch {
	case int64(read) == room:
	case err == io.EOF:
		return changed(o.listed, o.id(), "shorter")
	default:
		return unreadable(o.path, err)
	}
	return nil
}

// split finds at most max records of the part in data, reading on until there is one or the part ends. The record at the start of
// data may be too large; then it is the only one.
func (o *opened) split(s *Source, max int, spans []format.Span) (found []format.Span, used int, large bool, err error) {
	for {
		spans, used, err := s.columns.reader.Splitter.Split(o.data, o.whole(), max, spans[:0])
		if end := o.to - o.at; int64(used) >= end {
			for len(spans) > 0 && int64(spans[len(spans)-1].Start) >= end {
				spans = spans[:len(spans)-1]
			}
			return spans, int(end), false, err
		}
		if err != nil || len(spans) > 0 || o.whole() {
			return spans, used, false, err
		}
		if o.use(used); int64(len(o.data)) > s.opts.maxRecord {
			return spans, 0, true, nil
		}
		if err := o.fill(); err != nil {
			return spans, 0, false, err
		}
	}
}

// verify checks that the file is still the one listed.
func (o *opened) verify() error {
	info, err := o.file.Stat()
	if err != nil {
		return unreadable(o.path, err)
	}
	if now := (listed{o.path, info.Size(), info.ModTime().UnixNano()}); now != o.listed {
		return changed(o.listed, o.id(), now.id())
	}
	return nil
}

func (s *Source) closeFile() {
	if s.open == nil {
		return
	}
	if s.buffer = s.open.rest; cap(s.buffer) > 16*block {
		s.buffer = nil // it was for a record of unusual size
	}
	s.open.file.Close()
	s.open = nil
}
