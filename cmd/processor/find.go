package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"time"

	"sluice/admin"
	"sluice/fault"
	"sluice/option"
	"sluice/plan"
	"sluice/state"
)

// daemonFile stands in the storage folder while a daemon runs (D-57). It may be stale after a kill: the lock decides.
const daemonFile = "daemon.json"

// daemonInfo is its content.
type daemonInfo struct {
	PID       int       `json:"pid"`
	Address   string    `json:"address"`
	Started   time.Time `json:"started"`
	Version   string    `json:"version"`
	TokenFile string    `json:"token_file,omitempty"`
}

func writeDaemonFile(path string, info daemonInfo) error {
	text, err := json.Marshal(info)
	if err != nil {
		return err
	}
	if err := os.WriteFile(path+".new", append(text, '\n'), 0o600); err != nil {
		return err
	}
	return os.Rename(path+".new", path)
}

// reach returns the running daemon of a pipeline, or its stopped store, opened for reading. One of both is nil.
func reach(p *plan.Pipeline) (*admin.Client, *state.Store, error) {
	store, err := state.Open(state.Options{Dir: p.Storage, Pipeline: p.Name, ReadOnly: true})
	if err == nil || !fault.Of(err, fault.StoreLocked) {
		return nil, store, err
	}
	text, readErr := os.ReadFile(filepath.Join(p.Storage, daemonFile))
	var info daemonInfo
	if readErr != nil || json.Unmarshal(text, &info) != nil {
		return nil, nil, err // locked by something that does not serve: a daemon that starts or stops, another verb
	}
	token := ""
	if info.TokenFile != "" {
		text, err := os.ReadFile(info.TokenFile)
		if err != nil {
			return nil, nil, fault.New(fault.InvalidTokenFile, "cannot read the token of the daemon from %s", info.TokenFile).Because(err)
		}
		token = strings.TrimSpace(string(text))
	}
	return admin.NewClient(info.Address, token), nil, nil
}

func unknownFlow(p *plan.Pipeline, name string) error {
	names := make([]string, len(p.Flows))
	for i, f := range p.Flows {
		names[i] = f.Name
	}
	e := fault.New(fault.FlowNotFound, "the pipeline has no flow %q", name)
	if near := option.Nearest(name, names); near != "" {
		return e.WithHint("did you mean %q?", near)
	}
	return e.WithHint("its flows are %s", strings.Join(names, ", "))
}

// retentionAge reads sluice.retention; the planner has checked it.
func retentionAge(text string) time.Duration {
	age, _ := option.ParseDuration(text)
	return age
}
