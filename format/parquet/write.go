package parquet

import (
	"encoding/binary"
	"io"

	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/compress"
	"github.com/apache/arrow-go/v18/parquet/file"

	"sluice/batch"
	"sluice/fault"
	"sluice/format"
)

// Compressions are the names that Write takes.
var Compressions = []string{"zstd", "snappy", "gzip", "none"}

var codecs = map[string]compress.Compression{"zstd": compress.Codecs.Zstd, "snappy": compress.Codecs.Snappy, "gzip": compress.Codecs.Gzip, "none": compress.Codecs.Uncompressed}

// rowGroup is how many rows lie together.
const rowGroup = 1 << 20

// Write writes rows as a whole file.
func Write(w io.Writer, rows *batch.Columns, compression string) error {
	schema, err := root(rows.Fields)
	if err != nil {
		return err
	}
	if err := format.Complete(rows); err != nil {
		return err
	}
	properties := parquet.NewWriterProperties(parquet.WithCompression(codecs[compression]), parquet.WithCreatedBy("Sluice"))
	out, err := file.NewParquetWriterWithError(keepOpen{w}, schema, file.WithWriterProps(properties))
	if err != nil {
		return err
	}
	for from := 0; from < rows.Len; from += rowGroup {
		if err := writeGroup(out, rows, from, min(from+rowGroup, rows.Len)); err != nil {
			out.Close()
			return err
		}
	}
	return out.Close()
}

// keepOpen hides Close: the library closes what it can, and the caller has still to sync.
type keepOpen struct{ io.Writer }

func writeGroup(out *file.Writer, rows *batch.Columns, from, to int) error {
	group, err := out.AppendRowGroupChecked()
	if err != nil {
		return err
	}
	for i := range rows.Cols {
		for _, l := range leaves(nil, &rows.Cols[i], rows.Fields[i].NotNull, top(from, to), 0, 0) {
			column, err := group.NextColumn()
			if err != nil {
				return err
			}
			if err := l.write(column); err != nil {
				return err
			}
			if err := column.Close(); err != nil {
				return err
			}
		}
	}
	return group.Close()
}

// write writes the values that are there, and the levels that say where.
func (l *leaf) write(w file.ColumnChunkWriter) (err error) {
	def, rep := l.def, l.rep
	if l.maxDef == 0 {
		def = nil
	}
	if l.maxRep == 0 {
		rep = nil
	}
	switch w := w.(type) {
	case *file.BooleanColumnChunkWriter:
		_, err = w.WriteBatch(collect(l, func(v uint8) bool { return v != 0 }), def, rep)
	case *file.Int32ColumnChunkWriter:
		_, err = w.WriteBatch(l.int32s(), def, rep)
	case *file.Int64ColumnChunkWriter:
		_, err = w.WriteBatch(collect(l, func(v int64) int64 { return v }), def, rep)
	case *file.Float32ColumnChunkWriter:
		_, err = w.WriteBatch(collect(l, func(v float32) float32 { return v }), def, rep)
	case *file.Float64ColumnChunkWriter:
		_, err = w.WriteBatch(collect(l, func(v float64) float64 { return v }), def, rep)
	case *file.ByteArrayColumnChunkWriter:
		_, err = w.WriteBatch(l.texts(), def, rep)
	case *file.FixedLenByteArrayColumnChunkWriter:
		_, err = w.WriteBatch(l.decimals(), def, rep)
	default:
		err = fault.New(fault.InternalError, "Parquet stores %s as %s", l.column.Type, w.Type())
	}
	return err
}

// collect returns the values of the slots that have one.
func collect[T batch.Fixed, U any](l *leaf, convert func(T) U) []U {
	values := batch.Values[T](l.column)
	out := make([]U, 0, len(l.row))
	for _, row := range l.row {
		if row >= 0 {
			out = append(out, convert(values[row]))
		}
	}
	return out
}

func (l *leaf) int32s() []int32 {
	switch l.column.Type.Kind {
	case batch.TinyInt:
		return collect(l, func(v int8) int32 { return int32(v) })
	case batch.SmallInt:
		return collect(l, func(v int16) int32 { return int32(v) })
	case batch.Decimal:
		return collect(l, func(v int64) int32 { return int32(v) })
	}
	return collect(l, func(v int32) int32 { return v })
}

func (l *leaf) texts() []parquet.ByteArray {
	out := make([]parquet.ByteArray, 0, len(l.row))
	for _, row := range l.row {
		if row >= 0 {
			out = append(out, l.column.Text(int(row)))
		}
	}
	return out
}

// decimals are big-endian and fixed in size.
func (l *leaf) decimals() []parquet.FixedLenByteArray {
	out := make([]parquet.FixedLenByteArray, 0, len(l.row))
	memory := make([]byte, 0, decimalBytes*len(l.row))
	for _, row := range l.row {
		if row < 0 {
			continue
		}
		v := format.DecimalAt(l.column, int(row))
		memory = binary.BigEndian.AppendUint64(memory, uint64(v.Hi))
		memory = binary.BigEndian.AppendUint64(memory, v.Lo)
		out = append(out, memory[len(memory)-decimalBytes:])
	}
	return out
}
