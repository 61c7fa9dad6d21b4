package eval

import (
	"context"
	"time"

	"sluice/batch"
	"sluice/eval/dialect"
	"sluice/fault"
)

// selfTest sends values through DuckDB and back. Their layout is part of no contract that DuckDB keeps between versions, so
// an engine that misreads them must not start.
func (e *Engine) selfTest() error {
	rows := selfTestRows()
	read := dialect.Read{Relation: &dialect.Relation{Name: "selftest", Handle: "selftest", Fields: rows.Fields}}
	for _, f := range rows.Fields {
		read.Columns = append(read.Columns, f.Name)
	}
	s, err := e.Prepare(&dialect.Compiled{SQL: "SELECT i, d, t, l, $1::TIMESTAMPTZ FROM selftest", Reads: []dialect.Read{read}, Clock: true,
		Columns: append(rows.Fields[:len(rows.Fields):len(rows.Fields)], batch.Field{Name: "at", Type: batch.Of(batch.Timestamp)})})
	if err != nil {
		return err
	}
	defer s.Close()
	at := time.UnixMicro(1_700_000_000_123_456)
	out, err := s.Run(context.Background(), []Input{{Batch: rows}}, at)
	if err != nil {
		return err
	}
	var want, got batch.Keys
	batch.EncodeKeys(&want, &rows.Cols[0], &rows.Cols[1], &rows.Cols[2], &rows.Cols[3])
	batch.EncodeKeys(&got, &out.Rows.Cols[0], &out.Rows.Cols[1], &out.Rows.Cols[2], &out.Rows.Cols[3])
	same := string(got.Bytes) == string(want.Bytes)
	for _, v := range batch.Values[int64](&out.Rows.Cols[4]) {
		same = same && v == at.UnixMicro()
	}
	if !same {
		return fault.New(fault.InternalError, "this DuckDB lays out values in another way than Sluice does")
	}
	return nil
}

// selfTestRows has numbers, decimals of each width that is converted, texts around the twelve bytes that DuckDB keeps
// inside a string, lists, and nulls of all of them.
func selfTestRows() *batch.Columns {
	types := []batch.Type{batch.Of(batch.Int), batch.DecimalOf(4, 2), batch.Of(batch.String), batch.ArrayOf(batch.DecimalOf(38, 0))}
	rows := &batch.Columns{Len: 40}
	for c, name := range []string{"i", "d", "t", "l"} {
		b := batch.NewBuilder(types[c], rows.Len)
		for i := range rows.Len {
			switch {
			case i%7 == c:
				b.AppendNull()
			case c == 2:
				b.AppendString("abcdefghijklmnopqrstuvwxyz0123456789äöüß"[:i])
			case c == 3:
				for j := range i % 3 {
					batch.Append(b.Child(0), batch.Int128{Lo: uint64(i), Hi: int64(-j)})
				}
				b.AppendNested()
			default:
				b.AppendInt(int64(i - 20))
			}
		}
		rows.Fields = append(rows.Fields, batch.Field{Name: name, Type: types[c]})
		rows.Cols = append(rows.Cols, b.Column())
	}
	return rows
}
