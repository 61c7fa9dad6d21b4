package main

import (
	"os"
	"strings"

	"sluice/admin"
	"sluice/daemon"
	"sluice/fault"
	"sluice/option"
	"sluice/plan"
	"sluice/state"
)

// reach returns the running daemon of a pipeline, or its stopped store, opened for reading. One of both is nil.
func reach(p *plan.Pipeline) (*admin.Client, *state.Store, error) {
	store, err := state.Open(state.Options{Dir: p.Storage, Pipeline: p.Name, ReadOnly: true, Sealer: daemon.Files(p)})
	if err == nil || !fault.Of(err, fault.StoreLocked) {
		return nil, store, err
	}
	where, serves := daemon.ReadWhere(p.Storage)
	if !serves {
		return nil, nil, err // locked by something that does not serve: a daemon that starts or stops, another verb
	}
	token := ""
	if where.TokenFile != "" {
		text, err := os.ReadFile(where.TokenFile)
		if err != nil {
			return nil, nil, fault.New(fault.InvalidTokenFile, "cannot read the token of the daemon from %s", where.TokenFile).Because(err)
		}
		token = strings.TrimSpace(string(text))
	}
	return admin.NewClient(where.Address, token), nil, nil
}

// ask takes an answer from the running daemon of a pipeline, else from its stopped store.
func ask[T any](p *plan.Pipeline, live func(*admin.Client) (T, error), stored func(*state.Store) (T, error)) (answer T, err error) {
	client, store, err := reach(p)
	if err != nil {
		return answer, err
	}
	if client != nil {
		return live(client)
	}
	defer store.Close()
	return stored(store)
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
