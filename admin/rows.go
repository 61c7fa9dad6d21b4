package admin

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"time"

	"sluice/fault"
)

// The answer to a query is lines of JSON. The first is {"columns": [{"name": ..., "type": ...}]}; then each row is an
// array with one value per column; the last is {"rows": N}, or {"error": {...}} when the query failed on the way. An answer
// without a last line was cut.

// Column is a column of a query's result. Type is the SQL type.
type Column struct {
	Name string `json:"name"`
	Type string `json:"type"`
}

// Rows is the result of a query, read once from start to end by one goroutine.
type Rows interface {
	Columns() []Column
	// Next returns the next rows, each as a line with a JSON array that has one value per column, and how many they are. It
	// returns io.EOF after the last. The bytes are valid until the next call.
	Next(ctx context.Context) (lines []byte, rows int, err error)
	Close() error
}

// head, tail and failure are the lines of an answer that are not rows.
type (
	head struct {
		Columns []Column `json:"columns"`
	}
	tail struct {
		Rows  *int64 `json:"rows,omitempty"`
		Error *Error `json:"error,omitempty"`
	}
)

// writePatience is how long a client may take to receive a piece of an answer.
const writePatience = 30 * time.Second

func (s *server) query(w http.ResponseWriter, r *http.Request) error {
	text, err := body(w, r, maxQuery)
	if err != nil {
		return err
	}
	if len(text) == 0 {
		return fault.New(fault.BadRequest, "the request has no query").WithHint("send the SQL text as the body")
	}
	return stream(w, r, func(ctx context.Context) (Rows, error) { return s.config.Query(ctx, string(text)) })
}

// stream answers a request with rows.
func stream(w http.ResponseWriter, r *http.Request, run func(context.Context) (Rows, error)) error {
	control := http.NewResponseController(w)
	control.SetReadDeadline(time.Time{}) // it is for the request; passing it later would end the query
	rows, err := run(r.Context())
	if err != nil {
		return err
	}
	defer rows.Close()
	w.Header().Set("Content-Type", "application/x-ndjson")
	out := &lineWriter{w: w, control: control}
	out.line(head{Columns: rows.Columns()})
	var last tail
	var count int64
	for {
		lines, n, err := rows.Next(r.Context())
		if errors.Is(err, io.EOF) {
			last.Rows = &count
			break
		}
		if err != nil {
			last.Error = ErrorOf(fault.From(err))
			break
		}
		count += int64(n)
		if out.write(lines); out.err != nil {
			return nil // the client has gone; there is nobody to tell
		}
	}
	out.line(last)
	return nil
}

// lineWriter sends an answer piece by piece, each within writePatience.
type lineWriter struct {
	w       http.ResponseWriter
	control *http.ResponseController
	err     error // the first one
}

func (l *lineWriter) write(b []byte) {
	if l.err != nil {
		return
	}
	l.control.SetWriteDeadline(time.Now().Add(writePatience)) // a recorder in a test has none
	if _, l.err = l.w.Write(b); l.err == nil {
		l.control.Flush()
	}
}

func (l *lineWriter) line(v any) {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err) // neither head nor tail has anything that cannot be JSON
	}
	l.write(append(text, '\n'))
}
