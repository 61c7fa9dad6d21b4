package daemon

import (
	"context"
	"strings"

	"sluice/admin"
	"sluice/digest"
	"sluice/fault"
	"sluice/plan"
	"sluice/state"
)

// Digests are the digests of tables, all as of one moment; of every table when none is named (D-29). Those that are not kept are
// computed by reading the table.
func Digests(ctx context.Context, p *plan.Pipeline, store *state.Store, names []string) ([]admin.Digest, error) {
	tables, snapshot, err := digested(p, store, names)
	if err != nil {
		return nil, err
	}
	defer snapshot.Close()
	out := []admin.Digest{}
	for _, t := range tables {
		row, kept, err := keptDigest(p, snapshot, t)
		if err == nil && kept == nil {
			var found digest.Sum
			found, err = snapshot.Digest(ctx, t.Name)
			row.Rows, row.Digest = found.Rows, found.String()
		}
		if err != nil {
			return nil, err
		}
		out = append(out, row)
	}
	return out, nil
}

// VerifyDigests reads the tables named, or all of which a digest is kept, and compares the kept digests with those of the rows. The
// first that differs is the error, DIGEST_DIFFERS, and its detail names the others. That nothing is kept is an error too.
func VerifyDigests(ctx context.Context, p *plan.Pipeline, store *state.Store, names []string) ([]admin.Digest, error) {
	tables, snapshot, err := digested(p, store, names)
	if err != nil {
		return nil, err
	}
	defer snapshot.Close()
	out := []admin.Digest{}
	var differ fault.List
	for _, t := range tables {
		row, kept, err := keptDigest(p, snapshot, t)
		switch {
		case err != nil:
			return nil, err
		case kept == nil && len(names) > 0:
			return nil, notKept("no digest is kept of table %s", t.Display)
		case kept == nil:
			continue
		}
		found, err := snapshot.Digest(ctx, t.Name)
		if err != nil {
			return nil, err
		}
		if found != *kept {
			differ = append(differ, fault.New(fault.DigestDiffers, "table %s: the digest kept with batch %d of the table is %s of %d rows, and its rows have %s of %d",
				t.Display, row.Version, kept, kept.Rows, found, found.Rows).
				WithHint("keep a copy of the storage folder for whoever looks for the cause; then restore a backup, or refresh the table fully"))
		}
		out = append(out, row)
	}
	if len(differ) > 0 {
		return nil, allOf(differ)
	}
	if len(out) == 0 {
		return nil, notKept("no digest is kept of any table of the pipeline")
	}
	return out, nil
}

// allOf is the first of several errors, with the others in its detail.
func allOf(list fault.List) error {
	var others []string
	for _, e := range list[1:] {
		others = append(others, e.Message)
	}
	if others == nil {
		return list[0]
	}
	return list[0].WithDetail("%s", strings.Join(others, "\n"))
}

func notKept(format string, args ...any) error {
	return fault.New(fault.DigestNotKept, format, args...).WithHint("set TBLPROPERTIES ('sluice.digest' = 'true') and start the daemon; without it `processor digest` reads the table")
}

// digested are the tables of the given names, all when there is none, and a snapshot to read them in.
func digested(p *plan.Pipeline, store *state.Store, names []string) ([]*plan.Table, *state.Snapshot, error) {
	wanted, err := targetsNamed(p.Tables, nil, names)
	if err != nil {
		return nil, nil, err
	}
	var tables []*plan.Table
	for _, t := range p.Tables {
		if wanted == nil || wanted[plan.TargetTable+t.Name] {
			tables = append(tables, t)
		}
	}
	return tables, store.Snapshot(), nil
}

// keptDigest is what a snapshot has of a table's digest; kept is nil where none is kept. A table that no run has made yet is empty.
func keptDigest(p *plan.Pipeline, snapshot *state.Snapshot, t *plan.Table) (row admin.Digest, kept *digest.Sum, err error) {
	row = admin.Digest{Table: t.Display, Varies: p.Varies(t, false)}
	info, err := snapshot.Table(t.Name)
	if err != nil || info == nil {
		return row, nil, err
	}
	row.Version = uint64(info.Version)
	if kept = info.Digest; kept != nil {
		row.Rows, row.Digest, row.Kept = kept.Rows, kept.String(), true
	}
	return row, kept, nil
}

// Digests are the digests of tables. What they tell of is durable.
func (d *Daemon) Digests(ctx context.Context, names []string) ([]admin.Digest, error) {
	if err := d.store.Sync(ctx); err != nil {
		return nil, err
	}
	return Digests(ctx, d.Plan, d.store, names)
}

// VerifyDigests compares the digests that are kept with the rows.
func (d *Daemon) VerifyDigests(ctx context.Context, names []string) ([]admin.Digest, error) {
	return VerifyDigests(ctx, d.Plan, d.store, names)
}
