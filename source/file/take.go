package file

import (
	"context"
	"errors"
	"slices"
	"strings"

	"sluice/batch"
	"sluice/fault"
	"sluice/format"
)

const (
	// splitAtOnce bounds the records that are found before they are decoded.
	splitAtOnce = 4096
	// mostBytes closes a batch that nothing else bounds.
	mostBytes = 256 << 20
)

// taking is what one Read brings together.
type taking struct {
	set     *columnSet
	columns *columns
	limit   batch.Limit
	rows    int
	records int64
	bytes   int64
	splits  []batch.SplitRange // in the order of reading
	bad     []batch.Bad
	errors  batch.ColumnErrors
	headers *headers
}

// take reads parts until a limit is reached. A fault that comes after records were read is left for the next Read, which
// meets it again.
func (s *Source) take(ctx context.Context, parts []part, limit batch.Limit) (*taking, error) {
	t := &taking{set: s.columns.begin(), columns: s.columns, limit: limit, headers: &s.headers}
	s.headers.next()
	for i, p := range parts {
		if t.full(s.opts.maxBytes) || s.opts.maxFiles > 0 && i == s.opts.maxFiles {
			break
		}
		if p.over {
			t.pass(p)
			continue
		}
		o, err := s.openAt(p, limit.Until == nil)
		if errors.Is(err, errStale) {
			s.listing = nil // look again
			continue
		}
		if err == nil {
			err = s.takeFile(ctx, t, o)
		}
		if err == nil {
			continue
		}
		sound := ctx.Err() == nil && !fault.Of(err, fault.FileChanged) && (s.open == nil || s.open.verify() == nil)
		if !sound || !t.moved() {
			return nil, err
		}
		s.closeFile()
		break
	}
	return t, nil
}

// full reports whether a limit is reached.
func (t *taking) full(maxBytes int64) bool {
	return t.limit.Rows > 0 && t.records >= int64(t.limit.Rows) || t.bytes >= t.mostBytes(maxBytes)
}

func (t *taking) mostBytes(maxBytes int64) int64 {
	most := int64(mostBytes)
	for _, n := range []int64{t.limit.Bytes, maxBytes} {
		if n > 0 {
			most = min(most, n)
		}
	}
	return most
}

func (t *taking) moved() bool { return len(t.splits) > 0 }

// takeFile reads an open file until its part ends or a limit is reached.
func (s *Source) takeFile(ctx context.Context, t *taking, o *opened) error {
	t.columns.file(o.listed, s.dir)
	if s.columns.reader.Header != nil {
		s.headers.see(o.path, nil)
	}
	from := o.from
	for o.at < o.to && !t.full(s.opts.maxBytes) {
		if err := ctx.Err(); err != nil {
			return err
		}
		spans, used, large, err := o.split(s, t.room(), t.columns.spans)
		t.columns.spans = spans
		if err != nil {
			return err
		}
		if !large {
			spans, used, large = t.bound(o, spans, used, s)
		}
		if large {
			if err := s.takeLarge(ctx, t, o, from); err != nil {
				return err
			}
			from = o.at
			continue
		}
		t.decode(o, spans)
		t.cover(o, from, int64(used), int64(len(spans)))
		from = o.at + int64(used)
		o.use(used)
	}
	if err := o.verify(); err != nil {
		return err
	}
	t.cover(o, from, 0, 0) // a header without records
	if o.at == o.size {
		s.closeFile()
	}
	return nil
}

// room is how many records may be split off now.
func (t *taking) room() int {
	if t.limit.Rows == 0 {
		return splitAtOnce
	}
	return min(splitAtOnce, t.limit.Rows-int(t.records))
}

// bound drops the records behind the one that passes the limit of bytes, and those from one on that is too large. Where that is the
// first one, data begins with it then.
func (t *taking) bound(o *opened, spans []format.Span, used int, s *Source) (kept []format.Span, n int, large bool) {
	most := t.mostBytes(s.opts.maxBytes)
	for i, span := range spans {
		if int64(span.End-span.Start) > s.opts.maxRecord {
			if i == 0 {
				o.use(span.Start)
				return nil, 0, true
			}
			return spans[:i], span.Start, false
		}
		if t.bytes+int64(span.End) >= most && i+1 < len(spans) {
			return spans[:i+1], spans[i+1].Start, false
		}
	}
	return spans, used, false
}

// decode makes rows of the records.
func (t *taking) decode(o *opened, spans []format.Span) {
	c := t.columns
	c.values = c.values[:0]
	for _, span := range spans {
		c.values = append(c.values, o.data[span.Start:span.End])
	}
	var bad []format.BadValue
	if c.reader.Decoder != nil && len(spans) > 0 {
		bad = c.reader.Decoder.Decode(c.values, t.set.decoded)
	}
	split := int32(len(t.splits))
	if t.covering(o.path) {
		split--
	}
	if of := c.reader.Tolerated; of != nil && len(spans) > 0 {
		for i, record := range of.Record {
			t.errors.Add(split, batch.Offset{At: o.at + int64(spans[record].Start)}, c.fields[c.decoded[of.Column[i]]].Name)
		}
	}
	for i, span := range spans {
		if len(bad) > 0 && bad[0].Index == i {
			t.bad = append(t.bad, batch.Bad{Split: o.path, At: batch.Offset{At: o.at + int64(span.Start)},
				Value: slices.Clone(c.values[i]), Headers: t.headers.beside(o.path), Kept: bad[0].Kept, Err: bad[0].Err})
			kept := bad[0].Kept
			if bad = bad[1:]; !kept {
				continue
			}
		}
		t.set.row(split, o.at+int64(span.Start))
		if c.record >= 0 {
			t.set.meta[c.record].AppendText(c.values[i])
		}
		t.rows++
	}
	t.columns.describe(t.set, t.rows)
}

// covering reports whether the last split of the range is the file.
func (t *taking) covering(path string) bool {
	return len(t.splits) > 0 && t.splits[len(t.splits)-1].Split == path
}

// cover adds the bytes from..o.at+used, with n records, to the range.
func (t *taking) cover(o *opened, from, used, n int64) {
	to := o.at + used
	if to == from && !t.covering(o.path) {
		return
	}
	if !t.covering(o.path) {
		t.splits = append(t.splits, batch.SplitRange{Split: o.path, ID: o.id(), From: batch.Offset{At: from}, End: o.size})
	}
	r := &t.splits[len(t.splits)-1]
	r.To.At = to
	r.Records += n
	r.Bytes = to - r.From.At
	t.records += n
	t.bytes += to - from
}

// pass covers a part without reading it.
func (t *taking) pass(p part) {
	t.splits = append(t.splits, batch.SplitRange{Split: p.path, ID: p.id(), From: batch.Offset{At: p.from}, To: batch.Offset{At: p.to}, End: p.to})
}

// result returns the rows, whose positions index the splits sorted by name, and the range.
func (t *taking) result() (batch.Columns, batch.Range) {
	rank := make([]int32, len(t.splits))
	sorted := make([]int32, len(t.splits))
	for i := range sorted {
		sorted[i] = int32(i)
	}
	slices.SortFunc(sorted, func(a, b int32) int { return strings.Compare(t.splits[a].Split, t.splits[b].Split) })
	covered := batch.Range{Splits: make([]batch.SplitRange, len(t.splits))}
	for to, from := range sorted {
		rank[from] = int32(to)
		covered.Splits[to] = t.splits[from]
	}
	for i, s := range t.set.pos.Split {
		t.set.pos.Split[i] = rank[s]
	}
	for i, s := range t.errors.Pos.Split {
		t.errors.Pos.Split[i] = rank[s]
	}
	covered.Errors = t.errors
	return t.columns.output(t.set, t.rows), covered
}
