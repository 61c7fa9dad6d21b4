package eval

import (
	"sluice/batch"
)

// pieces is an input that brings the rows of a batch in pieces of n rows, all in the same memory, which it spoils between
// two calls: who still looks at the last piece is found out.
func pieces(rows *batch.Columns, n int) Input {
	return Input{Open: func() (Scan, error) { return &piecewise{rows: rows, n: n}, nil }}
}

type piecewise struct {
	rows   *batch.Columns
	n, at  int
	piece  batch.Columns
	closed *int
}

func (p *piecewise) Next(max int) (batch.Columns, error) {
	spoil(p.piece.Cols)
	index := make([]int32, 0, p.n)
	for ; len(index) < p.n && p.at < p.rows.Len; p.at++ {
		index = append(index, int32(p.at))
	}
	p.piece = p.rows.Take(index)
	return p.piece, nil
}

func (p *piecewise) Close() error {
	spoil(p.piece.Cols)
	if p.closed != nil {
		*p.closed++
	}
	return nil
}

func spoil(cols []batch.Column) {
	for i := range cols {
		for j := range cols[i].Fixed {
			cols[i].Fixed[j] = 1
		}
		for j := range cols[i].Bytes {
			cols[i].Bytes[j] = '#'
		}
		spoil(cols[i].Children)
	}
}
