package file

import (
	"context"
	"slices"

	"sluice/batch"
	"sluice/fault"
)

// keptOfLarge is how much is kept of a record that is too large.
const keptOfLarge = 4 << 10

const largeHint = "raise maxRecordSize, or look for a quote that is not closed"

// takeLarge makes a bad record of the one that data begins with, which is larger than records may be. It is passed over, in no more memory
// than others need, and costs only itself.
func (s *Source) takeLarge(ctx context.Context, t *taking, o *opened, from int64) error {
	at, head := o.at, slices.Clone(o.data[:min(s.opts.maxRecord, keptOfLarge)])
	if err := s.pass(ctx, o); err != nil {
		return err
	}
	size := o.at - at
	err := fault.New(fault.RecordTooLarge, "%s: the record at byte %d is larger than %d bytes; %d of it were passed over", o.path, at, s.opts.maxRecord, size).WithHint(largeHint)
	t.bad = append(t.bad, batch.Bad{Split: o.path, At: batch.Offset{At: at}, Value: head[:min(int64(len(head)), size)], Headers: t.headers.beside(o.path), Err: err})
	t.cover(o, from, 0, 1)
	return nil
}

// pass goes on behind the record that data begins with.
func (s *Source) pass(ctx context.Context, o *opened) error {
	beginning := int(s.opts.maxRecord) + 1
	n := s.columns.reader.Splitter.Over(o.data[:beginning], true)
	if n > 0 {
		o.use(n)
		return nil
	}
	o.use(beginning)
	for {
		if n := s.columns.reader.Splitter.Over(o.data, false); n > 0 {
			o.use(n)
			return nil
		}
		o.use(len(o.data))
		if o.whole() {
			return nil
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := o.fill(); err != nil {
			return err
		}
	}
}
