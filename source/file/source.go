package file

import (
	"context"
	"slices"
	"strings"
	"time"

	"sluice/batch"
	"sluice/fault"
	"sluice/format"
	"sluice/option"
	"sluice/source"
)

// Config says what a Source reads and how.
type Config struct {
	Options option.Values      // parsed with Options() among others
	At      fault.Pos          // of the read_files call, for messages
	Dir     string             // the pipeline's folder
	Stream  bool               // false for a once flow
	Columns []source.Column    // what to deliver, in this order
	Reader  format.Reader      // Decoder is of the columns without Meta, and may be nil when there are none
	Warn    func(*fault.Error) // is told what does not stop the reading; nil: nobody
}

// Source implements source.Source.
type Source struct {
	opts   options
	at     fault.Pos
	dir    string
	stream bool

	columns *columns
	open    *opened  // the file that the last Read stopped in, or nil
	buffer  []byte   // memory of opened
	block   int      // how much of a file is read at once
	listing []listed // of a stream: what was found when there was last nothing to read
	warn    func(*fault.Error)
	warned  map[string]bool
	headers headers
}

// New makes a Source. No file is touched.
func New(c Config) (*Source, error) {
	opts, problems := parse(c.Options, c.At)
	if err := problems.Err(); err != nil {
		return nil, err
	}
	columns, err := newColumns(c.Columns, c.Reader)
	if err != nil {
		return nil, err
	}
	if c.Reader.Splitter != nil {
		c.Reader.Splitter.Limit(int(opts.maxRecord))
	}
	warn := c.Warn
	if warn == nil {
		warn = func(*fault.Error) {}
	}
	return &Source{opts: opts, at: c.At, dir: c.Dir, stream: c.Stream, columns: columns, block: block, warn: warn, warned: map[string]bool{}}, nil
}

// Start implements source.Source: the files that are there now, unread.
func (s *Source) Start(ctx context.Context) (batch.Position, error) {
	return s.position(ctx, func(listed) int64 { return 0 })
}

// End implements source.Source: the files that are there now, with their sizes (D-53).
func (s *Source) End(ctx context.Context) (batch.Position, error) {
	return s.position(ctx, func(f listed) int64 { return f.size })
}

func (s *Source) position(ctx context.Context, offset func(listed) int64) (batch.Position, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	files, err := s.list()
	if err != nil {
		return nil, err
	}
	out := batch.Position{}
	for _, f := range files {
		out = append(out, batch.Mark{Split: f.path, ID: f.id(), Next: batch.Offset{At: offset(f)}})
	}
	slices.SortFunc(out, func(a, b batch.Mark) int { return strings.Compare(a.Split, b.Split) })
	return out, nil
}

// Close implements source.Source.
func (s *Source) Close() error {
	s.closeFile()
	return nil
}

// part is what is to be read of a file.
type part struct {
	listed
	from, to int64
	over     bool // it was read whole before it changed: there is nothing in it to read
}

// Read implements source.Source.
func (s *Source) Read(ctx context.Context, from batch.Position, limit batch.Limit) (batch.Columns, batch.Range, []batch.Bad, error) {
	for {
		parts, err := s.parts(ctx, from, limit.Until)
		if err != nil || len(parts) == 0 {
			return s.columns.none(), batch.Range{}, nil, err
		}
		t, err := s.take(ctx, parts, limit)
		if err != nil {
			s.closeFile()
			return batch.Columns{}, batch.Range{}, nil, err
		}
		if t.moved() {
			rows, covered := t.result()
			return rows, covered, t.bad, nil
		}
	}
}

// parts lists what is to be read, in order: up to until when there is one, else what is there, for which it waits.
func (s *Source) parts(ctx context.Context, from, until batch.Position) ([]part, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if until != nil {
		return s.remaining(from, until)
	}
	for {
		if parts, err := s.unread(from); err != nil || len(parts) > 0 {
			return parts, err
		}
		var err error
		if s.listing, err = s.list(); err != nil {
			return nil, err
		}
		if parts, err := s.unread(from); err != nil || len(parts) > 0 {
			return parts, err
		}
		if err := s.gone(from); err != nil {
			return nil, err
		}
		if err := sleep(ctx, s.opts.poll); err != nil {
			return nil, err
		}
	}
}

func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}

// remaining lists what lies between two positions. A file that was read whole is done, whatever until says of it (D-53).
func (s *Source) remaining(from, until batch.Position) ([]part, error) {
	var parts []part
	for _, end := range until {
		have, _ := from.Find(end.Split)
		p, err := s.rest(have, end)
		if err != nil {
			return nil, err
		}
		if have.Next.Less(end.Next) {
			parts = append(parts, p)
		}
	}
	slices.SortFunc(parts, func(a, b part) int { return a.compare(b.listed) })
	return parts, nil
}

// rest is the part of a file between two marks, of which have may be zero.
func (s *Source) rest(have, end batch.Mark) (part, error) {
	now, err := fromMark(end)
	p := part{listed: now, from: have.Next.At, to: end.Next.At}
	if err != nil || have.Next.At == 0 || have.ID == end.ID {
		return p, err
	}
	before, err := fromMark(have)
	if err != nil {
		return p, err
	}
	if have.Next.At < before.size {
		return p, changed(now, have.ID, end.ID)
	}
	s.warnOfChange(now, before)
	p.over = true
	return p, nil
}

// unread lists what of the last listing is not in from. A file read whole is done, whatever it looks like now (D-53).
func (s *Source) unread(from batch.Position) ([]part, error) {
	var parts []part
	for _, f := range s.listing {
		have, _ := from.Find(f.path)
		if have.Next.At == 0 {
			if f.size > 0 {
				parts = append(parts, part{listed: f, to: f.size})
			}
			continue
		}
		before, err := fromMark(have)
		switch {
		case err != nil:
			return nil, err
		case have.Next.At >= before.size:
			s.warnOfChange(f, before)
		case before != f:
			return nil, changed(f, before.id(), f.id())
		default:
			parts = append(parts, part{listed: f, from: have.Next.At, to: f.size})
		}
	}
	return parts, nil
}

func (s *Source) warnOfChange(now, before listed) {
	if now != before && !s.warned[now.path] {
		s.warned[now.path] = true
		s.warn(fault.New(fault.FileChanged, "read_files: %s changed after it was read; the change is ignored", now.path).
			WithDetail("size and time in nanoseconds were %s and are %s", before.id(), now.id()).
			WithHint("write what is new to a file of another name; a full refresh reads all files anew"))
	}
}

// gone finds a file that from stops in and that is no longer listed.
func (s *Source) gone(from batch.Position) error {
	there := map[string]bool{}
	for _, f := range s.listing {
		there[f.path] = true
	}
	for _, m := range from {
		if m.Next.At == 0 || there[m.Split] {
			continue
		}
		if f, err := fromMark(m); err != nil || m.Next.At < f.size {
			return missing(m.Split)
		}
	}
	return nil
}

func missing(name string) *fault.Error {
	return fault.New(fault.FileGone, "read_files: %s was listed and is gone", name).
		WithHint("put it back as it was, or start anew with a full refresh or a checkpoint reset")
}

func changed(f listed, before, now string) *fault.Error {
	return fault.New(fault.FileChanged, "read_files: %s changed while it was being read", f.path).
		WithDetail("size and time in nanoseconds were %s and are %s", before, now).
		WithHint("write files elsewhere and rename them into place; restore the file, or start anew with a full refresh or a checkpoint reset")
}
