package state

import (
	"bytes"
	"encoding/binary"
	"slices"
	"sort"
	"time"

	"sluice/batch"
)

// slicing says how the rows of a table with windows are laid: by the values of a column, in slices (D-24, D-26). A slice is a day of a
// TIMESTAMP, in the pipeline's zone, and a value of anything else.
type slicing struct {
	column int // of the schema's latest version
	zone   *time.Location
	cols   [1]*batch.Column
}

const dayMicros = 24 * 60 * 60 * 1_000_000

// value appends what row i is laid by, in the order of D-36.
func (s *slicing) value(b []byte, rows *batch.Columns, i int) []byte {
	s.cols[0] = &rows.Cols[s.column]
	return batch.AppendKey(b, s.cols[:], i)
}

// slice appends which slice row i is of.
func (s *slicing) slice(b []byte, rows *batch.Columns, i int) []byte {
	c := &rows.Cols[s.column]
	if kind := c.Type.Kind; kind != batch.Timestamp && kind != batch.TimestampNTZ || c.IsNull(i) {
		return s.value(b, rows, i)
	}
	at := batch.Values[int64](c)[i]
	if c.Type.Kind == batch.Timestamp {
		_, offset := time.UnixMicro(at).In(s.zone).Zone()
		at += int64(offset) * 1_000_000
	}
	day := at / dayMicros
	if at%dayMicros < 0 {
		day--
	}
	return binary.BigEndian.AppendUint64(b, uint64(day))
}

// bounds are what the values of the clustering column of some rows lie between, themselves included.
type bounds struct{ low, high []byte }

// Below and above every value; and NULL, which is below every other one.
var (
	lowest  = []byte{0}
	highest = []byte{0xff}
	ofNull  = batch.AppendKey(nil, []*batch.Column{{Type: batch.Of(batch.Int), Len: 1, Valid: []uint64{0}, Fixed: make([]byte, 4)}}, 0)
)

// boundsOf are those of a file; it has the column at some place, or not.
func (f *fileRecord) boundsOf(place int) bounds {
	if place < 0 || !f.columns[place].Known {
		return bounds{lowest, highest}
	}
	c := &f.columns[place]
	b := bounds{c.Min, c.Max}
	switch {
	case c.Nulls > 0:
		b.low = ofNull
	case c.Min == nil:
		b.low = lowest
	}
	switch {
	case c.NaN:
		b.high = highest
	case c.Max == nil:
		b.high = ofNull
	}
	return b
}

// ends are places in the order of values at which files end.
type ends []end

// end is a place right before the first row with a value, or right behind the last one.
type end struct {
	value  []byte
	behind bool
}

// with are the ends and those of some bounds.
func (e ends) with(all ...bounds) ends {
	for _, b := range all {
		e = append(e, end{b.low, false}, end{b.high, true})
	}
	slices.SortFunc(e, func(a, b end) int {
		if c := bytes.Compare(a.value, b.value); c != 0 || a.behind == b.behind {
			return c
		}
		if a.behind {
			return 1
		}
		return -1
	})
	return e
}

// region is how many ends lie before a value.
func (e ends) region(value []byte) int {
	return sort.Search(len(e), func(i int) bool {
		c := bytes.Compare(e[i].value, value)
		return c > 0 || c == 0 && e[i].behind
	})
}
