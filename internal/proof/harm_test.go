package proof

import (
	"context"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"sluice/batch"
	"sluice/internal/model"
	"sluice/internal/scenario"
	"sluice/sink"
)

// A fault that is planted is found: with any rule of the model broken, some seed of make test parts from the engine. Which one is
// found by two models, and its case made small; then it is the engine's turn.
func TestABrokenRuleIsFound(t *testing.T) {
	e := engine(t)
	for _, rule := range model.AllRules {
		t.Run(string(rule), func(t *testing.T) {
			t.Parallel()
			first, seen := (*Case)(nil), 0
			for seed := uint64(1); seed <= seeds; seed++ {
				if c := Generate(seed); shows(c, rule) {
					if seen++; first == nil {
						first = c
					}
				}
			}
			if first == nil {
				t.Fatalf("none of the %d seeds depends on it", seeds)
			}
			t.Logf("%d of %d seeds depend on it", seen, seeds)
			small := Reduce(first, 1000, func(c *Case) bool { return shows(c, rule) })
			d, err := Check(small, e, Harm{Rule: rule})
			if err != nil {
				t.Fatal(err)
			}
			if d == nil {
				t.Errorf("the engine agrees with a model that breaks it:\n%s", small.File())
			}
		})
	}
}

// shows reports whether a case has another outcome when the rule is broken.
func shows(c *Case, rule model.Rule) bool {
	good, bad := c.script(""), c.script(rule)
	for i, s := range good {
		if s.want != bad[i].want {
			return true
		}
	}
	return false
}

// A sink that loses or doubles something, and a disk that forgets what it was asked to keep, are found.
func TestAFaultOutsideTheModelIsFound(t *testing.T) {
	e := engine(t)
	for name, harm := range map[string]struct {
		through scenario.Through
		variant map[string]string // nil: that of the seed
	}{
		"a sink loses a row":            {through: arrives(func(r sink.Rows) []int32 { return rowsUpTo(r.Columns.Len - 1) })},
		"a sink doubles a row":          {through: arrives(func(r sink.Rows) []int32 { return append(rowsUpTo(r.Columns.Len), rowsUpTo(min(r.Columns.Len, 1))...) })},
		"a sink loses deletes":          {through: arrives(inserts)},
		"a disk forgets what it synced": {through: scenario.Through{Disk: func(fs vfs.FS) vfs.FS { return forgetful{fs} }}, variant: map[string]string{"stop": "crash"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for seed := uint64(1); seed <= seeds; seed++ {
				c := Generate(seed)
				if len(c.Pipeline.Sinks) == 0 {
					continue
				}
				if harm.variant != nil {
					c.Variant = harm.variant
				}
				d, err := Check(c, e, Harm{Through: harm.through})
				if err != nil {
					t.Fatal(err)
				}
				if d != nil {
					t.Logf("found by seed %d: %v", seed, d)
					return
				}
			}
			t.Error("nobody noticed")
		})
	}
}

// arrives lets only some rows of each batch arrive at memory sinks, in the order given.
func arrives(which func(sink.Rows) []int32) scenario.Through {
	return scenario.Through{Sink: func(s sink.Sink) sink.Sink { return &harmed{s, which} }}
}

type harmed struct {
	sink.Sink
	which func(sink.Rows) []int32
}

// Write implements sink.Sink.
func (h *harmed) Write(ctx context.Context, id batch.ID, rows sink.Rows) error {
	index := h.which(rows)
	some := sink.Rows{Columns: rows.Columns.Take(index)}
	for _, i := range index {
		if rows.Change != nil {
			some.Change = append(some.Change, rows.Change[i])
		}
	}
	return h.Sink.Write(ctx, id, some)
}

func rowsUpTo(n int) (rows []int32) {
	for i := range n {
		rows = append(rows, int32(i))
	}
	return rows
}

func inserts(r sink.Rows) (rows []int32) {
	for _, i := range rowsUpTo(r.Columns.Len) {
		if r.Change == nil || r.Change[i] == sink.InsertRow {
			rows = append(rows, i)
		}
	}
	return rows
}

// forgetful is a disk on which nothing that was synced is safe.
type forgetful struct{ vfs.FS }

// Create implements vfs.FS.
func (f forgetful) Create(name string, category vfs.DiskWriteCategory) (vfs.File, error) {
	file, err := f.FS.Create(name, category)
	return forgotten{file}, err
}

type forgotten struct{ vfs.File }

// Sync and SyncData implement vfs.File.
func (forgotten) Sync() error     { return nil }
func (forgotten) SyncData() error { return nil }

// SyncTo implements vfs.File.
func (forgotten) SyncTo(length int64) (bool, error) { return false, nil }
