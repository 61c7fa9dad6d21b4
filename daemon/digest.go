package daemon

import (
	"context"

	"sluice/admin"
	"sluice/digest"
	"sluice/plan"
	"sluice/state"
)

// Digests computes the digests of tables by reading them, all as of one moment; of every table when none is named (D-29).
func Digests(ctx context.Context, p *plan.Pipeline, store *state.Store, names []string) ([]admin.Digest, error) {
	wanted, err := tablesNamed(p, names)
	if err != nil {
		return nil, err
	}
	snapshot := store.Snapshot()
	defer snapshot.Close()
	out := []admin.Digest{}
	for _, t := range p.Tables {
		if wanted != nil && !wanted[t.Name] {
			continue
		}
		sum, err := digestOf(ctx, snapshot, t.Name)
		if err != nil {
			return nil, err
		}
		out = append(out, admin.Digest{Table: t.Display, Rows: sum.Rows, Digest: sum.String(), Varies: p.Varies(t, false)})
	}
	return out, nil
}

func digestOf(ctx context.Context, snapshot *state.Snapshot, table string) (sum digest.Sum, err error) {
	info, err := snapshot.Table(table)
	if err != nil || info == nil { // a table that no run has made yet is empty
		return sum, err
	}
	scan, err := snapshot.Scan(table, nil, 0, 1)
	if err != nil {
		return sum, err
	}
	defer scan.Close()
	for h := digest.New(info.Fields); ctx.Err() == nil; {
		rows, err := scan.Next(0)
		if err != nil || rows.Len == 0 {
			return sum, err
		}
		h.Add(&sum, &rows)
	}
	return sum, ctx.Err()
}

// Digests computes the digests of tables. What it tells of is durable.
func (d *Daemon) Digests(ctx context.Context, names []string) ([]admin.Digest, error) {
	if err := d.store.Sync(ctx); err != nil {
		return nil, err
	}
	return Digests(ctx, d.Plan, d.store, names)
}
