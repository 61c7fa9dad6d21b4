package batch

import "cmp"

// Compare orders rows i and j by where they came from: split, offset, index.
func (p Positions) Compare(i, j int32) int {
	return cmp.Or(cmp.Compare(p.Split[i], p.Split[j]), cmp.Compare(p.Offset[i], p.Offset[j]), cmp.Compare(p.Index[i], p.Index[j]))
}
