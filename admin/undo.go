package admin

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"

	"sluice/fault"
)

// Undo is the body of POST /api/undo: a table, named by its whole name or the end of it, is to be what it was at a version (D-27).
type Undo struct {
	Table   string `json:"table"`
	Version *int64 `json:"version"`
}

// Undone is the answer to it.
type Undone struct {
	Table       string `json:"table"`
	Version     int64  `json:"version"` // that the table has since then: as before when it was so already
	RowsRemoved int64  `json:"num_removed_rows"`
	RowsAdded   int64  `json:"num_added_rows"`
	Unchanged   bool   `json:"unchanged,omitempty"` // the table was so already
}

func (s *server) undo(w http.ResponseWriter, r *http.Request) error {
	text, err := body(w, r, maxOrder)
	if err != nil {
		return err
	}
	var order Undo
	in := json.NewDecoder(bytes.NewReader(text))
	in.DisallowUnknownFields()
	if err := in.Decode(&order); err != nil || order.Table == "" || order.Version == nil || in.More() {
		return fault.New(fault.BadRequest, "the body does not say which table is to be put back to which version").Because(err).WithHint(`send {"table": "NAME", "version": N}`)
	}
	done, err := s.config.Undo(r.Context(), order)
	if err != nil {
		return err
	}
	answer(w, http.StatusOK, done)
	return nil
}

// Undo puts a table back to a version.
func (c *Client) Undo(ctx context.Context, u Undo) (out Undone, err error) {
	order, err := json.Marshal(u)
	if err != nil {
		return out, err
	}
	err = c.order(ctx, "/api/undo", order, &out)
	return out, err
}
