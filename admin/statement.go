package admin

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"strings"

	"sluice/fault"
)

// Statement is the body of POST /api/statement: one statement of a script, without a semicolon behind it. The answer is that of a query. A
// statement that changes a table answers with the counts of rows, REFRESH with its update.
type Statement struct {
	Text string `json:"statement"`
	// Where it stands, for the positions of what is wrong with it.
	File   string `json:"file,omitempty"`
	Line   int    `json:"line,omitempty"`
	Column int    `json:"column,omitempty"`
}

// Position is where the statement begins.
func (s *Statement) Position() fault.Pos {
	return fault.Pos{File: s.File, Line: max(1, s.Line), Column: max(1, s.Column)}
}

func (s *server) statement(w http.ResponseWriter, r *http.Request) error {
	text, err := body(w, r, maxQuery)
	if err != nil {
		return err
	}
	var order Statement
	in := json.NewDecoder(bytes.NewReader(text))
	in.DisallowUnknownFields()
	if err := in.Decode(&order); err != nil || in.More() || strings.TrimSpace(order.Text) == "" {
		return fault.New(fault.BadRequest, "the body has no statement").Because(err).WithHint(`send {"statement": "SELECT ..."}`)
	}
	return stream(w, r, func(ctx context.Context) (Rows, error) { return s.config.Execute(ctx, order) })
}

// Execute runs one statement of a script. The caller closes the result.
func (c *Client) Execute(ctx context.Context, s Statement) (*QueryResult, error) {
	order, err := json.Marshal(s)
	if err != nil {
		return nil, err
	}
	return c.rows(ctx, "/api/statement", order)
}
