package eval

import (
	"context"
	"errors"
	"slices"
	"time"

	"sluice/batch"
	"sluice/fault"
)

// Refused is a row that SQL refuses.
type Refused struct {
	Row  int // of the first input
	Err  *fault.Error
	Kept bool // there is a row all the same, in which what failed is null
}

// RunIsolated is Run for a batch that contains rows which SQL refuses: it evaluates the others and names those (D-15). An
// expectation that raises an error refuses nothing: its check is NULL, and Result.Ran says so (D-4, D-49). The query must be row-wise in its first input, which must be a batch; the rows come out in the order of the
// input. The batch is split in halves, each of which runs once; few rows run singly. So n rows take at most 3n runs, and
// k refused ones among many about 2k log2(n/k). A refused row names the column that fails, where that can be only one. The whole batch comes first, so a batch in which only expectations raise takes one run.
// With keep, a refused row is kept where its columns can be null instead (PERMISSIVE). Errors of another class than Data end it, but for
// a row alone for which there is not enough memory, where no other relation takes some.
func (s *Statement) RunIsolated(ctx context.Context, inputs []Input, at time.Time, keep bool) (Result, []Refused, error) {
	guarded, err := s.guard()
	if err != nil {
		return Result{}, nil, err
	}
	if len(inputs) == 0 || inputs[0].Batch == nil {
		return Result{}, nil, fault.New(fault.InternalError, "rows can be isolated in a batch only")
	}
	end, err := s.begin(ctx, inputs)
	if err != nil {
		return Result{}, nil, err
	}
	defer end()
	i := isolation{Statement: s, prepared: guarded, keep: keep, ctx: ctx, at: at, out: s.nextResults(guarded)}
	if _, err := i.run(0, inputs[0].Batch.Len); err != nil {
		return Result{}, nil, err
	}
	out, err := i.out.take()
	return out, i.refused, err
}

// isolation is one call of RunIsolated. ctx lives as long as the call.
type isolation struct {
	*Statement
	prepared *prepared
	keep     bool
	ctx      context.Context
	at       time.Time
	out      *results
	refused  []Refused
}

// singly is how many rows are no longer split in halves.
const singly = 4

// run evaluates the rows from first up to end and reports whether all of them were good.
func (i *isolation) run(first, end int) (good bool, err error) {
	refused, err := i.try(i.prepared, first, end)
	if err != nil || refused == nil {
		return err == nil, err
	}
	if end-first == 1 {
		kept, column, err := i.tolerate(first)
		if column != "" {
			refused = refused.Within("column %s", batch.QuoteName(column)).OfColumn(column)
		}
		i.refused = append(i.refused, Refused{first, refused, kept})
		return false, err
	}
	return false, i.split(first, end)
}

// split evaluates the parts of a range that contains a refused row.
func (i *isolation) split(first, end int) error {
	if end-first <= singly {
		for row := first; row < end; row++ {
			if _, err := i.run(row, row+1); err != nil {
				return err
			}
		}
		return nil
	}
	middle := first + (end-first)/2
	good, err := i.run(first, middle)
	if err != nil {
		return err
	}
	if good { // then the refused row is in the other half, which need not run to know that
		return i.split(middle, end)
	}
	_, err = i.run(middle, end)
	return err
}

// tolerate evaluates a refused row once more, with null for the columns that fail, and reports whether that gave a row, which is kept where
// that is asked for, and which column fails, if it can be only one.
func (i *isolation) tolerate(row int) (kept bool, column string, err error) {
	if !i.keep && !slices.Contains(i.compiled.Tried, true) {
		return false, "", nil
	}
	tolerant, err := i.once(&i.tolerant, i.compiled.Tolerant)
	if err != nil {
		return false, "", err
	}
	mark, nulled := i.out.rows, i.out.nulled
	refused, err := i.try(tolerant, row, row+1)
	if err != nil || refused != nil {
		return false, "", err
	}
	column = i.failing(mark)
	if !i.keep {
		i.out.truncate(mark)
		i.out.nulled = nulled
	}
	return i.keep, column, nil
}

// failing is the only column that may have failed in the rows from first on.
func (i *isolation) failing(first int) (column string) {
	if first == i.out.rows {
		return ""
	}
	for c, field := range i.compiled.Columns {
		if !i.compiled.Tried[c] {
			continue
		}
		values := i.out.columns[c].column()
		for row := first; row < values.Len; row++ {
			if values.IsNull(row) {
				if column != "" {
					return ""
				}
				column = field.Name
				break
			}
		}
	}
	return column
}

// try evaluates a range; rows of a refused one are taken back.
func (i *isolation) try(p *prepared, first, end int) (refused *fault.Error, err error) {
	i.sources[0].limit(first, end)
	mark := i.out.rows
	err = i.pass(i.ctx, p, i.at, i.out)
	if err == nil {
		return nil, nil
	}
	i.out.truncate(mark)
	if errors.As(err, &refused) && (refused.Code.Class == fault.Data || refused.Code == fault.OutOfMemory && len(i.sources) == 1) {
		return refused, nil
	}
	return nil, err
}
