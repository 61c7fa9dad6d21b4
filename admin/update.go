package admin

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strings"
	"time"

	"sluice/fault"
)

// The part of Databricks' REST API for pipelines that starts updates and tells how they stand, with its paths, fields and states, so that its
// clients work as they are. The id of the pipeline is its name.

// UpdateRequest asks for an update (PO-03, FR-16): the body of POST /api/2.0/pipelines/{id}/updates. Tables are named by their whole name or the
// end of it, sinks and flows by their names. With no selection it is an update of everything.
type UpdateRequest struct {
	FullRefresh              bool       `json:"full_refresh,omitempty"`
	RefreshSelection         []string   `json:"refresh_selection,omitempty"`
	FullRefreshSelection     []string   `json:"full_refresh_selection,omitempty"`
	ResetCheckpointSelection []string   `json:"reset_checkpoint_selection,omitempty"` // flows
	Overrides                []Override `json:"replace_where_overrides,omitempty"`
	ValidateOnly             bool       `json:"validate_only,omitempty"`
	AcceptLoss               bool       `json:"accept_data_loss,omitempty"` // not Databricks': go on without what topics do not hold any more (FR-O1)
	Cause                    string     `json:"cause,omitempty"`
}

// Override gives a REPLACE WHERE flow another predicate for one update (PO-01).
type Override struct {
	Flow      string `json:"flow_name"`
	Predicate string `json:"predicate_override"`
}

// UpdateInfo is an update and how it stands.
type UpdateInfo struct {
	ID       string `json:"update_id"`
	Pipeline string `json:"pipeline_id"`
	UpdateRequest
	Mode    string    `json:"mode"` // DEFAULT, or CONTINUOUS for the run of a continuous pipeline itself
	State   string    `json:"state"`
	Created time.Time `json:"-"`
	Error   *Error    `json:"error,omitempty"`
}

// Over reports whether the update has ended.
func (u *UpdateInfo) Over() bool {
	return u.State == "COMPLETED" || u.State == "FAILED" || u.State == "CANCELED"
}

// MarshalJSON writes the creation time as Databricks does, in milliseconds since 1970.
func (u UpdateInfo) MarshalJSON() ([]byte, error) {
	type plain UpdateInfo
	return json.Marshal(struct {
		plain
		Creation int64 `json:"creation_time"`
	}{plain(u), u.Created.UnixMilli()})
}

// UnmarshalJSON reads what MarshalJSON writes.
func (u *UpdateInfo) UnmarshalJSON(text []byte) error {
	type plain UpdateInfo
	in := struct {
		*plain
		Creation int64 `json:"creation_time"`
	}{plain: (*plain)(u)}
	err := json.Unmarshal(text, &in)
	u.Created = time.UnixMilli(in.Creation).UTC()
	return err
}

// updateBody is the request with fields of the API that change what an update does and are not served.
type updateBody struct {
	UpdateRequest
	Rewind        json.RawMessage   `json:"rewind_spec"`
	RefreshByPath []string          `json:"refresh_selection_by_path"`
	FullByPath    []string          `json:"full_refresh_selection_by_path"`
	Parameters    map[string]string `json:"parameters"`
}

// refused is the first field of the body that is not served, or "".
func (b *updateBody) refused() string {
	switch {
	case len(b.Rewind) > 0 && string(b.Rewind) != "null":
		return "rewind_spec"
	case len(b.RefreshByPath) > 0:
		return "refresh_selection_by_path"
	case len(b.FullByPath) > 0:
		return "full_refresh_selection_by_path"
	case len(b.Parameters) > 0:
		return "parameters"
	}
	return ""
}

// hostMetadata is what Databricks' clients ask first, without a token: there is nothing to say.
func hostMetadata(w http.ResponseWriter, _ *http.Request) error {
	answer(w, http.StatusOK, struct{}{})
	return nil
}

// pipelineNamed refuses a path with the id of another pipeline.
func (s *server) pipelineNamed(r *http.Request) (string, error) {
	name := s.config.Status().Pipeline
	if id := r.PathValue("pipeline"); id != name {
		return "", fault.New(fault.PipelineNotFound, "this daemon runs the pipeline %s, not %s", name, id).WithHint("the id of a pipeline is its name")
	}
	return name, nil
}

func (s *server) startUpdate(w http.ResponseWriter, r *http.Request) error {
	if _, err := s.pipelineNamed(r); err != nil {
		return err
	}
	text, err := body(w, r, maxOrder)
	if err != nil {
		return err
	}
	var order updateBody
	if text = bytes.TrimSpace(text); len(text) > 0 {
		if err := json.Unmarshal(text, &order); err != nil {
			return fault.New(fault.BadRequest, "the body is not a request for an update").Because(err).WithHint(`send {"refresh_selection": ["TABLE"]}`)
		}
	}
	if field := order.refused(); field != "" {
		return fault.New(fault.UnsupportedFeature, "%s is not supported", field).WithHint("select tables by their names")
	}
	id, err := s.config.StartUpdate(r.Context(), order.UpdateRequest)
	if err != nil {
		return err
	}
	answer(w, http.StatusOK, map[string]string{"update_id": id})
	return nil
}

func (s *server) getUpdate(w http.ResponseWriter, r *http.Request) error {
	if _, err := s.pipelineNamed(r); err != nil {
		return err
	}
	id := r.PathValue("update")
	for _, u := range s.config.Updates() {
		if u.ID == id {
			answer(w, http.StatusOK, map[string]UpdateInfo{"update": u})
			return nil
		}
	}
	return fault.New(fault.UpdateNotFound, "there is no update %s", id).WithHint("the daemon remembers its last updates since it started")
}

func (s *server) listUpdates(w http.ResponseWriter, r *http.Request) error {
	if _, err := s.pipelineNamed(r); err != nil {
		return err
	}
	all := s.config.Updates()
	if until := r.URL.Query().Get("until_update_id"); until != "" {
		for i, u := range all {
			if u.ID == until {
				all = all[i:]
				break
			}
		}
	}
	most, err := number(r, "max_results", uint64(len(all)), 1000)
	if err != nil {
		return err
	}
	answer(w, http.StatusOK, map[string][]UpdateInfo{"updates": all[:min(len(all), int(most))]})
	return nil
}

// Pipeline is the answer of GET /api/2.0/pipelines/{id}.
type Pipeline struct {
	ID     string        `json:"pipeline_id"`
	Name   string        `json:"name"`
	State  string        `json:"state"`
	Health string        `json:"health"`
	Cause  string        `json:"cause,omitempty"`
	Latest []UpdateState `json:"latest_updates"` // newest first
	Spec   PipelineSpec  `json:"spec"`
}

// UpdateState is an update in a Pipeline.
type UpdateState struct {
	ID      string `json:"update_id"`
	State   string `json:"state"`
	Created string `json:"creation_time"`
}

// PipelineSpec is what Pipeline says of the definition.
type PipelineSpec struct {
	ID         string `json:"id"`
	Name       string `json:"name"`
	Continuous bool   `json:"continuous"`
}

func (s *server) pipeline(w http.ResponseWriter, r *http.Request) error {
	name, err := s.pipelineNamed(r)
	if err != nil {
		return err
	}
	now := s.config.Status()
	out := Pipeline{ID: name, Name: name, State: pipelineStates[now.Update.State], Health: "HEALTHY", Cause: strings.Join(now.Reasons, "; "), Latest: []UpdateState{},
		Spec: PipelineSpec{ID: name, Name: name, Continuous: now.Continuous}}
	if !now.Ready {
		out.Health = "UNHEALTHY"
	}
	for _, u := range s.config.Updates() {
		out.Latest = append(out.Latest, UpdateState{u.ID, u.State, u.Created.UTC().Format(time.RFC3339Nano)})
	}
	answer(w, http.StatusOK, out)
	return nil
}

// pipelineStates is the state of a pipeline by that of its run.
var pipelineStates = map[string]string{"INITIALIZING": "STARTING", "RESETTING": "RESETTING", "SETTING_UP_TABLES": "STARTING", "RUNNING": "RUNNING",
	"STOPPING": "STOPPING", "COMPLETED": "IDLE", "CANCELED": "IDLE", "FAILED": "FAILED"}
