package daemon

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"time"

	"sluice/admin"
	"sluice/flow"
	"sluice/metrics"
	"sluice/plan"
)

// Serve starts the HTTP server, writes where it is found (D-57) and returns its address. Close ends both.
func (d *Daemon) Serve() (address string, err error) {
	server, err := admin.Listen(admin.Config{Listen: d.Plan.Settings.Listen, TokenFile: d.Plan.Settings.TokenFile, Log: d.Log, Build: d.Build,
		Metrics: metrics.Handler(d.registry), Status: d.Status, Events: d.Events, Query: d.Query, Execute: d.Execute, Digests: d.Digests, VerifyDigests: d.VerifyDigests,
		Definitions: d.Definitions, ResetCheckpoint: d.ResetCheckpoint, Mend: d.Mend, Undo: d.Undo, MaxRecord: d.maxRecord(), StartUpdate: d.StartUpdate, Updates: d.Updates})
	if err != nil {
		return "", err
	}
	d.onClose(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
		defer cancel()
		d.logged("closing the server", server.Close(ctx))
	})
	where := filepath.Join(d.Plan.Storage, whereFile)
	if err := writeWhere(where, Where{PID: os.Getpid(), Address: server.Addr(), Started: time.Now().UTC(), Version: d.Build.Version, TokenFile: d.Plan.Settings.TokenFile}); err != nil {
		return "", err
	}
	d.onClose(func() { d.logged("removing "+whereFile, os.Remove(where)) })
	return server.Addr(), nil
}

// maxRecord is the size of the largest record that a source of the pipeline reads, and no less than what read_files reads when nothing is said.
func (d *Daemon) maxRecord() int64 {
	most := int64(64 << 20)
	for _, f := range d.Plan.Flows {
		for _, in := range f.Inputs() {
			size := d.batchLimit(f).Record
			if in.Kind == plan.FromFiles {
				size = in.Options.Size("maxRecordSize")
			}
			most = max(most, size)
		}
	}
	return most
}

// whereFile stands in the storage folder while a daemon serves (D-57). It may be stale after a kill: the store's lock
// decides.
const whereFile = "daemon.json"

// Where says where a daemon is found.
type Where struct {
	PID       int       `json:"pid"`
	Address   string    `json:"address"`
	Started   time.Time `json:"started"`
	Version   string    `json:"version"`
	TokenFile string    `json:"token_file,omitempty"`
}

func writeWhere(path string, w Where) error {
	text, err := json.Marshal(w)
	if err != nil {
		return err
	}
	if err := os.WriteFile(path+".new", append(text, '\n'), 0o600); err != nil {
		return err
	}
	return os.Rename(path+".new", path)
}

// ReadWhere returns where the daemon with this storage folder is found; ok is false when none has said so.
func ReadWhere(storage string) (w Where, ok bool) {
	text, err := os.ReadFile(filepath.Join(storage, whereFile))
	return w, err == nil && json.Unmarshal(text, &w) == nil
}

func (d *Daemon) readStore() (admin.Store, []admin.Table) {
	who := d.store.Identity()
	s := admin.Store{ID: who.ID, Epoch: who.Epoch, Path: d.Plan.Storage, Bytes: int64(d.store.Metrics().DiskSpaceUsage())}
	flows := slices.Clone(d.removed)
	for _, j := range d.jobs {
		flows = append(flows, j.state.Info())
	}
	for _, f := range flows {
		s.Totals = append(s.Totals, admin.Totals{Flow: f.Name, Counts: flow.Counts(f.Counters), ColumnErrors: flow.ColumnErrors(f.Counters)})
		if f.Quarantine != "" {
			s.Quarantines = append(s.Quarantines, admin.Quarantine{Flow: f.Name, Table: f.Quarantine, Records: f.Quarantined.Records, Bytes: f.Quarantined.Bytes,
				Ordered: f.Quarantined.Ordered, Edits: f.Quarantined.InForce, DeadLetters: f.Letters.Waiting, DeadLetterBytes: f.Letters.Bytes})
		}
	}
	var tables []admin.Table
	for _, t := range d.Plan.Tables {
		info := d.table(t.Name).Info()
		row := admin.Table{Name: t.Display, Rows: info.Rows, Bytes: &info.Bytes, Version: uint64(info.Version)}
		if info.Keyed {
			row.Keys = &info.KeyCount
		}
		row.Schedule = scheduleOf(d.turns.Standing(t.Name))
		if info.Digest != nil {
			row.Digest = info.Digest.String()
		}
		tables = append(tables, row)
	}
	return s, tables
}

func (d *Daemon) readMetrics() metrics.Store {
	store, tables := d.readStore()
	out := metrics.Store{Epoch: store.Epoch, Bytes: store.Bytes}
	for _, q := range store.Quarantines {
		out.Quarantines = append(out.Quarantines, metrics.Quarantine{Flow: q.Flow, Records: q.Records, Bytes: q.Bytes, Ordered: q.Ordered, DeadLetters: q.DeadLetters, DeadLetterBytes: q.DeadLetterBytes})
	}
	for _, t := range tables {
		row := metrics.Table{Name: t.Name, Rows: t.Rows, Keys: -1, Bytes: -1, Version: t.Version, Digest: t.Digest}
		if t.Keys != nil {
			row.Keys = *t.Keys
		}
		if t.Bytes != nil {
			row.Bytes = *t.Bytes
		}
		if t.Schedule != nil && t.Schedule.Next != nil {
			row.NextTurn = float64(t.Schedule.Next.Unix())
		}
		out.Tables = append(out.Tables, row)
	}
	sort.Slice(out.Tables, func(i, j int) bool { return out.Tables[i].Name < out.Tables[j].Name })
	return out
}
