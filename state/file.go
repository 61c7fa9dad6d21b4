package state

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"

	"sluice/batch"
	"sluice/digest"
)

// Sealer writes and reads the files of tables, which lie in Options.Files. eval fits it. What ReadFile gives is bit for bit what
// WriteFile was given.
type Sealer interface {
	// WriteFile writes the rows that next brings, until it brings none, to a new file, and does not sync it. It gathers about
	// rowGroup rows in memory. After an error there may be part of a file.
	WriteFile(ctx context.Context, path string, fields []batch.Field, rowGroup int, next func() (batch.Columns, error)) error
	// ReadFile reads columns of a file that was made of fields, by their numbers, in the order of its rows. Where from is not zero
	// the last two columns are the rows' commits and ordinals, and those before from, and from to on, are left out. Rows are valid until next
	// is called again, end is called once.
	ReadFile(ctx context.Context, path string, fields []batch.Field, columns []int, from, to batch.Offset) (next func() (batch.Columns, error), end func() error, err error)
}

// FileID names a file of the store for ever: by the opening that wrote it, and its number in it.
type FileID struct {
	Epoch  uint64
	Number uint32
}

// fileName is what a file is called in the folder of files.
func (f FileID) fileName() string { return fmt.Sprintf("%x-%x.parquet", f.Epoch, f.Number) }

// parseFileName is the file of a name; others lie in the folder without being ours.
func parseFileName(name string) (f FileID, ok bool) {
	n, err := fmt.Sscanf(name, "%x-%x.parquet", &f.Epoch, &f.Number)
	return f, err == nil && n == 2 && f.fileName() == name
}

// FileInfo is a file of a table as of a snapshot, for those who look for the files that they need.
type FileInfo struct {
	ID      FileID
	Added   int64 // the version of the table that brought it
	Rows    int64
	Bytes   int64         // on disk
	Columns []ColumnStats // of the columns of the table, in their order
}

// ColumnStats say what a column of a file holds. Min and Max are bounds in the order of D-36: values encoded as batch.EncodeKeys does
// for one column of the type. No value that is neither NULL nor NaN lies below Min or above Max; both are nil when there is no such
// value. Of texts that are long, Min and Max are bounds that no row need have.
type ColumnStats struct {
	Nulls    int64 // rows that are NULL
	NaN      bool  // some row is NaN
	Min, Max []byte
	// Known is false where Min, Max and NaN say nothing: of a column that is nested, that has no order, or that had another type.
	Known bool
}

// fileRecord is what the store knows of a file. It stands under a key of its own, so that a change of a table costs as much as it changes.
type fileRecord struct {
	added, removed int64 // versions of a table with windows, see Replaced; removed 0: the file is live
	schema         uint64
	rows           int64
	size           int64        // bytes on disk
	weight         int64        // bytes in memory
	first, last    batch.Offset // of an append table: places of the first and the last row
	columns        []ColumnStats
	summed         bool       // sum is known
	sum            digest.Sum // of a table with windows: of the bytes of the rows, under the file's schema version
}

// tableFile is a file with its name.
type tableFile struct {
	id FileID
	fileRecord
}

const (
	statsKnown = 1 << iota
	statsNaN
	statsBounds
)

func (f *fileRecord) encode() []byte {
	b := binary.AppendVarint(binary.AppendVarint(nil, f.added), f.removed)
	b = binary.AppendUvarint(b, f.schema)
	for _, n := range []int64{f.rows, f.size, f.weight, f.first.At, int64(f.first.Index), f.last.At, int64(f.last.Index)} {
		b = binary.AppendVarint(b, n)
	}
	b = binary.AppendUvarint(b, uint64(len(f.columns)))
	for _, c := range f.columns {
		b = c.append(b)
	}
	if f.summed {
		b = binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint64(b, f.sum.Hi), f.sum.Lo)
	}
	return b
}

func (c *ColumnStats) append(b []byte) []byte {
	var flags byte
	if c.Known {
		flags |= statsKnown
	}
	if c.NaN {
		flags |= statsNaN
	}
	if c.Min != nil {
		flags |= statsBounds
	}
	b = binary.AppendVarint(append(b, flags), c.Nulls)
	if c.Min != nil {
		b = appendText(appendText(b, c.Min), c.Max)
	}
	return b
}

func decodeFile(b []byte) (f fileRecord, err error) {
	r := reader{b: b}
	f.added, f.removed, f.schema = r.varint(), r.varint(), r.uvarint()
	f.rows, f.size, f.weight = r.varint(), r.varint(), r.varint()
	f.first = batch.Offset{At: r.varint(), Index: int32(r.varint())}
	f.last = batch.Offset{At: r.varint(), Index: int32(r.varint())}
	f.columns = make([]ColumnStats, r.count(2))
	for i := range f.columns {
		flags := r.byte()
		c := ColumnStats{Known: flags&statsKnown != 0, NaN: flags&statsNaN != 0, Nulls: r.varint()}
		if flags&statsBounds != 0 {
			c.Min, c.Max = bytes.Clone(r.text()), bytes.Clone(r.text())
		}
		f.columns[i] = c
	}
	if f.summed = len(r.b) > 0; f.summed {
		f.sum = digest.Sum{Hi: r.uint64(), Lo: r.uint64(), Rows: f.rows}
	}
	return f, r.done()
}

// info shows a file of a table with the given schema: columns that came later are NULL in it.
func (f *tableFile) info(s *schema) FileInfo {
	out := FileInfo{ID: f.id, Added: f.added, Rows: f.rows, Bytes: f.size}
	for _, id := range s.visible() {
		stats := ColumnStats{Nulls: f.rows, Known: true}
		for i, stored := range s.Versions[f.schema] {
			if stored.ID != id {
				continue
			}
			if stats = f.columns[i]; !stored.typ().Equal(s.field(id).Type) {
				stats = ColumnStats{Nulls: stats.Nulls}
			}
		}
		out.Columns = append(out.Columns, stats)
	}
	return out
}

// statsBytes is how much of a bound is kept.
const statsBytes = 64

// statsOf gathers the statistics of a column while its file is written.
type statsOf struct {
	ColumnStats
	least, most []byte // of the rows so far, whole
	key         []byte
}

func newStats(t batch.Type) statsOf {
	return statsOf{ColumnStats: ColumnStats{Known: t.Orderable() && !t.IsNested()}}
}

// add takes rows in.
func (s *statsOf) add(c *batch.Column) {
	if c.Valid != nil {
		for i := range c.Len {
			if c.IsNull(i) {
				s.Nulls++
			}
		}
	}
	if !s.Known {
		return
	}
	low, high, nan := extremes(c)
	s.NaN = s.NaN || nan
	if low < 0 {
		return
	}
	cols := []*batch.Column{c}
	if s.key = batch.AppendKey(s.key[:0], cols, low); s.least == nil || bytes.Compare(s.key, s.least) < 0 {
		s.least = append(s.least[:0], s.key...)
	}
	if s.key = batch.AppendKey(s.key[:0], cols, high); bytes.Compare(s.key, s.most) > 0 {
		s.most = append(s.most[:0], s.key...)
	}
}

// done is what was gathered.
func (s *statsOf) done() ColumnStats {
	if s.least != nil {
		s.Min, s.Max = s.least[:min(len(s.least), statsBytes)], s.most
		if len(s.most) > statsBytes {
			s.Max = prefixEnd(s.most[:statsBytes])
		}
	}
	return s.ColumnStats
}

// extremes are the rows with the least and the largest value, -1 when there is none but NULL and NaN, and whether there is NaN.
func extremes(c *batch.Column) (low, high int, nan bool) {
	switch c.Type.Kind {
	case batch.Boolean:
		return fixedExtremes(c, batch.Values[uint8](c))
	case batch.TinyInt:
		return fixedExtremes(c, batch.Values[int8](c))
	case batch.SmallInt:
		return fixedExtremes(c, batch.Values[int16](c))
	case batch.Int, batch.Date:
		return fixedExtremes(c, batch.Values[int32](c))
	case batch.Float:
		return fixedExtremes(c, batch.Values[float32](c))
	case batch.Double:
		return fixedExtremes(c, batch.Values[float64](c))
	case batch.Decimal:
		if c.Type.Width() == 16 {
			return wideExtremes(c, batch.Values[batch.Int128](c))
		}
	case batch.String, batch.Binary:
		return textExtremes(c)
	}
	return fixedExtremes(c, batch.Values[int64](c))
}

func fixedExtremes[T uint8 | int8 | int16 | int32 | int64 | float32 | float64](c *batch.Column, values []T) (low, high int, nan bool) {
	low, high = -1, -1
	for i, v := range values[:c.Len] {
		switch {
		case c.IsNull(i):
		case v != v:
			nan = true
		case low < 0:
			low, high = i, i
		case v < values[low]:
			low = i
		case v > values[high]:
			high = i
		}
	}
	return low, high, nan
}

func wideExtremes(c *batch.Column, values []batch.Int128) (low, high int, nan bool) {
	less := func(a, b batch.Int128) bool { return a.Hi < b.Hi || a.Hi == b.Hi && a.Lo < b.Lo }
	low, high = -1, -1
	for i, v := range values[:c.Len] {
		switch {
		case c.IsNull(i):
		case low < 0:
			low, high = i, i
		case less(v, values[low]):
			low = i
		case less(values[high], v):
			high = i
		}
	}
	return low, high, false
}

func textExtremes(c *batch.Column) (low, high int, nan bool) {
	low, high = -1, -1
	for i := range c.Len {
		switch {
		case c.IsNull(i):
		case low < 0:
			low, high = i, i
		case bytes.Compare(c.Text(i), c.Text(low)) < 0:
			low = i
		case bytes.Compare(c.Text(i), c.Text(high)) > 0:
			high = i
		}
	}
	return low, high, false
}
