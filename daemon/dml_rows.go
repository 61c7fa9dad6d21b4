package daemon

import (
	"sluice/batch"
	"sluice/eval"
	"sluice/state"
)

// rewrittenRows are the rows of one file after UPDATE or DELETE. It is a state.Rows.
type rewrittenRows struct {
	*rewriter
	file state.FileID
	rows *eval.Rows // nil before the first and after the last
}

// matches reports whether a row of the file matches, without keeping anything.
func (r *rewrittenRows) matches() (bool, error) {
	rows, err := r.open(r.file)
	if err != nil {
		return false, err
	}
	defer rows.Close()
	for {
		piece, err := rows.Next()
		if err != nil || piece.Len == 0 {
			return false, err
		}
		if _, some := r.verdicts(&piece); some {
			return true, nil
		}
	}
}

// verdicts are the rows that match, and whether there are any.
func (r *rewriter) verdicts(piece *batch.Columns) (match []bool, some bool) {
	c := &piece.Cols[len(piece.Cols)-1]
	values := batch.Values[uint8](c)
	match = make([]bool, piece.Len)
	for i := range match {
		match[i] = !c.IsNull(i) && values[i] != 0
		some = some || match[i]
	}
	return match, some
}

// Next returns the next rows, none at the end.
func (r *rewrittenRows) Next() (batch.Columns, error) {
	if r.rows == nil {
		var err error
		if r.rows, err = r.open(r.file); err != nil {
			return batch.Columns{}, err
		}
	}
	for {
		piece, err := r.rows.Next()
		if err != nil || piece.Len == 0 {
			if err == nil {
				err = r.close()
			}
			return batch.Columns{}, err
		}
		match, some := r.verdicts(&piece)
		if rows, err := r.changed(&piece, match, some); err != nil || rows.Len > 0 {
			return rows, err
		}
	}
}

// changed are the rows that the table has afterwards, with their places if they have some.
func (r *rewrittenRows) changed(piece *batch.Columns, match []bool, some bool) (batch.Columns, error) {
	n := len(r.fields)
	old := batch.Columns{Fields: r.compiled.Columns[:n], Cols: piece.Cols[:n:n], Len: piece.Len}
	stored := n + len(r.relation.Hidden)
	out := batch.Columns{Fields: r.compiled.Columns[:stored:stored], Cols: piece.Cols[:stored:stored], Len: piece.Len}
	if !some {
		return out, nil
	}
	var gone, stay []int32
	for i, is := range match {
		if is {
			gone = append(gone, int32(i))
		} else {
			stay = append(stay, int32(i))
		}
	}
	before := old.Take(gone)
	if err := r.edit.Touch(&before); err != nil {
		return out, err
	}
	r.removed += int64(len(gone))
	if r.kind == "DELETE" {
		return out.Take(stay), nil
	}
	r.added += int64(len(gone))
	out.Cols = append([]batch.Column(nil), out.Cols...)
	for i, at := range r.columns {
		out.Cols[at] = merged(&out.Cols[at], &piece.Cols[stored+i], match)
	}
	after := batch.Columns{Fields: old.Fields, Cols: out.Cols[:n:n], Len: out.Len}
	after = after.Take(gone)
	return out, r.whole(&after)
}

// merged has the values of b where a row matches, else those of a.
func merged(a, b *batch.Column, match []bool) batch.Column {
	out := batch.NewBuilder(a.Type, len(match))
	for i, is := range match {
		if is {
			out.AppendFrom(b, i)
		} else {
			out.AppendFrom(a, i)
		}
	}
	return out.Column()
}

func (r *rewrittenRows) close() (err error) {
	if r.rows != nil {
		err = r.rows.Close()
		r.rows = nil
	}
	return err
}
