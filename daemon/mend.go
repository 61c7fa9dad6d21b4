package daemon

import (
	"context"
	"errors"
	"slices"
	"strings"

	"sluice/admin"
	"sluice/batch"
	"sluice/eventlog"
	"sluice/fault"
	"sluice/plan"
	"sluice/state"
)

// mends is what may be done about records in quarantine, by the name of the verb (D-31).
var mends = map[string]func(*state.Flow, *admin.Mending) (int, error){
	"edit":   func(f *state.Flow, m *admin.Mending) (int, error) { return f.Edit(chosen(m), m.Key, m.Value) },
	"replay": func(f *state.Flow, m *admin.Mending) (int, error) { return f.OrderReplay(chosen(m)) },
	"forget": func(f *state.Flow, m *admin.Mending) (int, error) { return f.Forget(chosen(m)) },
}

func chosen(m *admin.Mending) state.Chosen {
	c := state.Chosen{Split: m.Split, ID: m.SplitID, Code: m.Code}
	if m.Offset != nil {
		c.At = &batch.Offset{At: *m.Offset, Index: m.Index}
	}
	return c
}

// mended are the flows of which records may be meant.
func mended(m *admin.Mending, flows []state.FlowInfo) (out []state.FlowInfo) {
	for _, f := range flows {
		if f.Quarantine != "" && (m.Flow == "" || m.Flow == f.Name) && (len(m.Tables) == 0 || slices.Contains(m.Tables, f.Quarantine)) {
			out = append(out, f)
		}
	}
	return out
}

// mendable checks what was asked for before anything is done: one record is edited, and it is there; a flow that replays can.
func mendable(p *plan.Pipeline, m *admin.Mending, flows []state.FlowInfo, state func(name string) (*state.Flow, error)) error {
	found := 0
	for _, f := range flows {
		s, err := state(f.Name)
		if err != nil {
			return err
		}
		n, err := s.Count(chosen(m))
		if err != nil {
			return err
		}
		if found += n; n == 0 || m.Action != "replay" {
			continue
		}
		at := slices.IndexFunc(p.Flows, func(d *plan.Flow) bool { return d.Name == f.Name })
		switch {
		case at < 0:
			return fault.New(fault.CannotReplay, "flow %s is not declared any more", f.Name).WithHint("`processor dlq forget --flow %s` drops what it left in quarantine", f.Name)
		case overwrites(p.Flows[at]):
			return fault.New(fault.CannotReplay, "flow %s writes over what its sink has of a key, and an old record must not come behind newer ones", f.Name).
				WithHint("mend the query; `processor reset-checkpoint %s` sends everything again, in order", f.Name)
		}
	}
	switch one := m.Offset != nil; {
	case found == 0 && (one || m.Action == "edit"):
		return fault.New(fault.NotInQuarantine, "no such record is in quarantine").WithHint("`processor dlq list` names those that are")
	case found > 1 && m.Action == "edit":
		return fault.New(fault.RecordNameAmbiguous, "%d records in quarantine are meant, and one is edited at a time", found).WithHint("choose one with its flow, table or split id")
	}
	return nil
}

// overwrites reports whether what a flow sends to its sink takes the place of what came before, whatever its sequence is.
func overwrites(f *plan.Flow) bool {
	if f.Sink == nil {
		return false
	}
	mode, _ := f.Sink.Options.Given("mode")
	return f.Input.Kind == plan.FromChangeFeed || strings.EqualFold(mode.Value, "upsert")
}

// MendStored does something about records in quarantine in the store of a stopped daemon, and returns about how many. What is ordered to be
// replayed is replayed by the next run.
func MendStored(p *plan.Pipeline, store *state.Store, m admin.Mending) (n int, err error) {
	flows, err := store.Flows()
	if err != nil {
		return 0, err
	}
	flows = mended(&m, flows)
	if err := mendable(p, &m, flows, store.Flow); err != nil {
		return 0, err
	}
	emit, failed := StoredLog(p.Name, store)
	for _, f := range flows {
		s, failure := store.Flow(f.Name)
		if failure != nil {
			return n, failure
		}
		some, failure := mends[m.Action](s, &m)
		if failure != nil {
			return n, failure
		}
		if n += some; some > 0 {
			emit(&eventlog.UserAction{Action: m.Action + " quarantine", Names: []string{f.Name}})
		}
	}
	return n, failed()
}

// StoredLog is the event log in the store of a stopped daemon, and what of it could not be written.
func StoredLog(pipeline string, store *state.Store) (emit eventlog.Listener, failed func() error) {
	var err error
	log := eventlog.NewDurable(pipeline, "", 0, func(record func(uint64) []byte) { err = errors.Join(err, store.AppendEvent(record)) })
	return log.Listen, func() error { return err }
}

// Mend does something about records in quarantine, between two batches of the flows they are of, and returns about how many. What is
// ordered to be replayed is replayed at once by flows that run.
func (d *Daemon) Mend(ctx context.Context, m admin.Mending) (n int, err error) {
	flows, err := d.store.Flows()
	if err != nil {
		return 0, err
	}
	flows = mended(&m, flows)
	if err := mendable(d.Plan, &m, flows, d.store.Flow); err != nil {
		return 0, err
	}
	for _, f := range flows {
		some, err := d.mendFlow(ctx, f.Name, &m)
		if n += some; err != nil {
			return n, err
		}
	}
	return n, nil
}

// mendFlow does it for one flow. A flow that has nothing to do with it is not disturbed.
func (d *Daemon) mendFlow(ctx context.Context, name string, m *admin.Mending) (n int, err error) {
	s, err := d.store.Flow(name)
	if err != nil {
		return 0, err
	}
	if there, err := s.Count(chosen(m)); there == 0 || err != nil {
		return 0, err
	}
	var refused error
	carryOut := func(context.Context) error {
		if n, refused = mends[m.Action](s, m); n > 0 && refused == nil {
			d.emit(&eventlog.UserAction{Action: m.Action + " quarantine", Names: []string{name}})
		}
		return nil // what is refused is no matter of the flow
	}
	at := slices.IndexFunc(d.jobs, func(j *job) bool { return j.plan.Name == name })
	if at < 0 {
		err = carryOut(ctx) // nobody uses the state of a flow that is not declared any more
	} else {
		err = d.jobs[at].between(ctx, carryOut)
	}
	if err != nil {
		return n, err
	}
	return n, refused
}

// ResetStored makes a flow of a stopped store start anew from an empty checkpoint, and returns its new generation (FR-13).
func ResetStored(store *state.Store, pipeline, flow string) (generation uint64, err error) {
	if err := store.Reset(nil, []string{flow}); err != nil {
		return 0, err
	}
	emit, failed := StoredLog(pipeline, store)
	emit(&eventlog.UserAction{Action: "reset checkpoint", Names: []string{flow}})
	f, err := store.Flow(flow)
	if err != nil {
		return 0, err
	}
	return f.Generation(), failed()
}
