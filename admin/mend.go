package admin

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"slices"

	"sluice/fault"
)

// Mending is the body of POST /api/dlq: what is to be done about which records in quarantine (D-31). What is left out of the choice is any.
type Mending struct {
	Action  string   `json:"action"` // edit, replay or forget
	Tables  []string `json:"tables,omitempty"`
	Flow    string   `json:"flow,omitempty"`
	Split   string   `json:"split,omitempty"`
	SplitID string   `json:"split_id,omitempty"`
	Code    string   `json:"error_code,omitempty"`
	Offset  *int64   `json:"offset,omitempty"`
	Index   int32    `json:"index,omitempty"`

	Key   []byte `json:"key,omitzero"` // of an edit; what is left out stays as it is
	Value []byte `json:"value,omitzero"`
}

// Mended is the answer to it.
type Mended struct {
	Records int `json:"records"` // that were meant; for replay those that are on their way
}

// Mends are the actions of a Mending.
func Mends() []string { return []string{"edit", "replay", "forget"} }

func (s *server) mend(w http.ResponseWriter, r *http.Request) error {
	text, err := body(w, r, base64Size(s.config.MaxRecord)+maxOrder)
	if fault.Of(err, fault.RequestTooLarge) {
		return fault.From(err).WithHint("an edit makes a record of at most %d bytes: `maxRecordSize` of read_files says how many, and at least 64 MiB are taken; the store of a stopped daemon takes any", s.config.MaxRecord)
	}
	if err != nil {
		return err
	}
	var order Mending
	in := json.NewDecoder(bytes.NewReader(text))
	in.DisallowUnknownFields()
	switch err := in.Decode(&order); {
	case err != nil || in.More():
		return fault.New(fault.BadRequest, "the body does not say what to do about records in quarantine").Because(err).WithHint(`send {"action": "replay", "flow": "NAME"}`)
	case !slices.Contains(Mends(), order.Action):
		return fault.New(fault.BadRequest, "action %q is not edit, replay or forget", order.Action)
	case order.Action == "edit" && order.Key == nil && order.Value == nil:
		return fault.New(fault.BadRequest, "an edit has neither a key nor a value").WithHint("both are in base64")
	}
	n, err := s.config.Mend(r.Context(), order)
	if err != nil {
		return err
	}
	answer(w, http.StatusOK, Mended{n})
	return nil
}

// base64Size is what n bytes are in base64, in which JSON has them.
func base64Size(n int64) int64 { return (n + 2) / 3 * 4 }

// Mend does something about records in quarantine and returns about how many.
func (c *Client) Mend(ctx context.Context, m Mending) (int, error) {
	order, err := json.Marshal(m)
	if err != nil {
		return 0, err
	}
	var out Mended
	err = c.order(ctx, "/api/dlq", order, &out)
	return out.Records, err
}
