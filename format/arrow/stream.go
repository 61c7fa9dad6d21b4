package arrow

import (
	"io"

	"github.com/apache/arrow-go/v18/arrow/ipc"

	"sluice/batch"
	"sluice/format"
)

// WriteStream writes rows as a whole IPC stream: schema, one record batch, end.
func WriteStream(w io.Writer, rows *batch.Columns) error {
	schema, err := Schema(rows.Fields)
	if err != nil {
		return err
	}
	if err := format.Complete(rows); err != nil {
		return err
	}
	record, err := Record(schema, rows)
	if err != nil {
		return err
	}
	stream := ipc.NewWriter(w, ipc.WithSchema(schema))
	if err := stream.Write(record); err != nil {
		stream.Close()
		return err
	}
	return stream.Close()
}
