package parquet

import "sluice/batch"

// slots are the places of a column in its rows, as Parquet counts them. Def says how many of the nullable and repeated
// levels from the root down are there, rep at which repeated level the place starts anew. Row is the row of the column that
// stands there, or -1 where some level above is null or empty.
type slots struct {
	def, rep []int16
	row      []int32
}

func (s *slots) add(def, rep int16, row int32) {
	s.def = append(s.def, def)
	s.rep = append(s.rep, rep)
	s.row = append(s.row, row)
}

// top returns the slots of rows from..to-1 of a batch.
func top(from, to int) slots {
	s := slots{make([]int16, to-from), make([]int16, to-from), make([]int32, to-from)}
	for i := range s.row {
		s.row[i] = int32(from + i)
	}
	return s
}

// leaf is a column without children, with its slots.
type leaf struct {
	slots
	column         *batch.Column
	maxDef, maxRep int16
}

// leaves takes a column apart, level by level. It may change s.
func leaves(out []leaf, c *batch.Column, notNull bool, s slots, maxDef, maxRep int16) []leaf {
	if !notNull {
		maxDef++
		for i, row := range s.row {
			switch {
			case row < 0:
			case c.IsNull(int(row)):
				s.row[i] = -1
			default:
				s.def[i]++
			}
		}
	}
	switch c.Type.Kind {
	case batch.Array, batch.Map:
		maxDef++
		maxRep++
		s = elements(c, s, maxRep)
	case batch.Struct:
	default:
		return append(out, leaf{s, c, maxDef, maxRep})
	}
	for i := range c.Children {
		f := c.Type.Fields[i]
		own := slots{append([]int16(nil), s.def...), append([]int16(nil), s.rep...), append([]int32(nil), s.row...)}
		out = leaves(out, &c.Children[i], f.NotNull || c.Type.Kind == batch.Map && i == 0, own, maxDef, maxRep)
	}
	return out
}

// elements returns the slots of the elements of lists: one per element, and one for a list that has none.
func elements(c *batch.Column, s slots, maxRep int16) slots {
	var out slots
	for i, row := range s.row {
		if row < 0 || c.Offsets[row] == c.Offsets[row+1] {
			out.add(s.def[i], s.rep[i], -1)
			continue
		}
		rep := s.rep[i]
		for element := c.Offsets[row]; element < c.Offsets[row+1]; element++ {
			out.add(s.def[i]+1, rep, int32(element))
			rep = maxRep
		}
	}
	return out
}
