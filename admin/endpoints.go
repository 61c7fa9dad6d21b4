package admin

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"strconv"

	"sluice/fault"
)

func (s *server) live(w http.ResponseWriter, _ *http.Request) error {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	io.WriteString(w, "live\n")
	return nil
}

// Readiness is the answer of /readyz. Reasons are told to those who have the token.
type Readiness struct {
	Ready   bool     `json:"ready"`
	Reasons []string `json:"reasons,omitempty"`
}

func (s *server) ready(w http.ResponseWriter, r *http.Request) error {
	now := s.config.Status()
	out, status := Readiness{Ready: now.Ready}, http.StatusOK
	if !now.Ready {
		status = http.StatusServiceUnavailable
	}
	if s.authenticated(r) {
		out.Reasons = now.Reasons
	}
	answer(w, status, out)
	return nil
}

func (s *server) version(w http.ResponseWriter, _ *http.Request) error {
	answer(w, http.StatusOK, s.config.Build)
	return nil
}

func (s *server) status(w http.ResponseWriter, _ *http.Request) error {
	answer(w, http.StatusOK, s.config.Status())
	return nil
}

// number reads a parameter of the query string.
func number(r *http.Request, name string, preset, most uint64) (uint64, error) {
	text := r.URL.Query().Get(name)
	if text == "" {
		return preset, nil
	}
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil || n > most {
		return 0, fault.New(fault.BadRequest, "%s=%s is not a whole number from 0 to %d", name, text, most)
	}
	return n, nil
}

// Digest stands for the rows of a table (D-29): two daemons that were fed the same records have the same digests, but for
// tables that vary from run to run.
type Digest struct {
	Table   string   `json:"table"`
	Rows    int64    `json:"rows"`
	Digest  string   `json:"digest"`           // 32 hexadecimal digits
	Varies  []string `json:"varies,omitempty"` // why another daemon may come to other rows
	Kept    bool     `json:"kept"`             // with every batch, and not computed for this answer
	Version uint64   `json:"version"`          // of the table, as in Status
}

// digest answers with the digests of every ?table=, of all tables when none is named. Tables of which none is kept are read whole,
// and with ?verify=true all of which one is kept.
func (s *server) digest(w http.ResponseWriter, r *http.Request) error {
	answers := s.config.Digests
	switch verify := r.URL.Query().Get("verify"); verify {
	case "", "false":
	case "true":
		answers = s.config.VerifyDigests
	default:
		return fault.New(fault.BadRequest, "verify=%s is neither true nor false", verify)
	}
	out, err := answers(r.Context(), r.URL.Query()["table"])
	if err != nil {
		return err
	}
	answer(w, http.StatusOK, out)
	return nil
}

// definitions answers with what the store knows of the definitions, for those who compare others with them.
func (s *server) definitions(w http.ResponseWriter, _ *http.Request) error {
	out, err := s.config.Definitions()
	if err != nil {
		return err
	}
	answer(w, http.StatusOK, out)
	return nil
}

// Reset is the body of POST /api/reset-checkpoint, and its answer, which has the new generation.
type Reset struct {
	Flow       string `json:"flow"`
	Generation uint64 `json:"generation,omitempty"`
}

func (s *server) resetCheckpoint(w http.ResponseWriter, r *http.Request) error {
	text, err := body(w, r, maxOrder)
	if err != nil {
		return err
	}
	var order Reset
	in := json.NewDecoder(bytes.NewReader(text))
	in.DisallowUnknownFields()
	if err := in.Decode(&order); err != nil || order.Flow == "" || in.More() {
		return fault.New(fault.BadRequest, "the body does not name a flow").Because(err).WithHint(`send {"flow": "NAME"}`)
	}
	if order.Generation, err = s.config.ResetCheckpoint(r.Context(), order.Flow); err != nil {
		return err
	}
	answer(w, http.StatusOK, order)
	return nil
}
