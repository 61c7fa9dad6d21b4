package scenario

import (
	"flag"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"sluice/eval"
	"sluice/eventlog"
	"sluice/plan"
)

func TestMain(m *testing.M) {
	flag.Parse()
	if err := flag.Set("test.parallel", "8"); err != nil { // most of what a run does is wait
		panic(err)
	}
	goleak.VerifyTestMain(m)
}

// TestScenarios runs every file below testdata.
func TestScenarios(t *testing.T) {
	engine, err := eval.Open(eval.Options{Threads: 1, MemoryLimit: 256 << 20, Zone: "UTC", Files: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := engine.Close(); err != nil {
			t.Error(err)
		}
	})
	err = filepath.WalkDir("testdata", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || filepath.Ext(path) != ".txt" {
			return err
		}
		name := strings.TrimSuffix(strings.TrimPrefix(filepath.ToSlash(path), "testdata/"), ".txt")
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			Run(t, path, engine)
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// The plain variant comes first, eight are the most, and every pair of values of two axes meets in one of them.
func TestFamilyIsPairwise(t *testing.T) {
	if os.Getenv("SLUICE_SOAK") == "1" {
		t.Skip("the soak run takes the product")
	}
	variants, err := family(nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(variants) > 8 {
		t.Errorf("%d variants, want 8 at most", len(variants))
	}
	if got := variants[0].String(); got != "limit=none,partitions=1,mode=triggered,restart=no,stop=soft,files=no" {
		t.Errorf("the first is %s", got)
	}
	for i, a := range axes {
		for j, b := range axes[:i] {
			for _, x := range a.values {
				for _, y := range b.values {
					met := false
					for _, v := range variants {
						met = met || v[i] == x && v[j] == y
					}
					if !met {
						t.Errorf("%s=%s and %s=%s do not meet", a.name, x, b.name, y)
					}
				}
			}
		}
	}
	for _, wrong := range []map[string]string{{"limit": "2"}, {"color": "red"}} {
		if _, err := family(wrong); err == nil {
			t.Errorf("%v is taken", wrong)
		}
	}
	if one, err := family(map[string]string{"limit": "3", "partitions": "1", "mode": "continuous", "restart": "no", "stop": "soft", "files": "no"}); err != nil || len(one) != 1 {
		t.Errorf("all axes fixed: %v %v", one, err)
	}
}

// A batch that comes before its turn is found, whoever it waits for (PT-08).
func TestABatchBeforeItsTurnIsFound(t *testing.T) {
	before, live := &plan.Flow{Name: "before", Once: true}, &plan.Flow{Name: "live", DependsOn: []string{"before"}, Upstream: []string{"writer"}}
	for _, c := range []struct {
		status     eventlog.Status
		continuous bool
		early      bool
	}{{eventlog.Completed, true, false}, {eventlog.Idle, true, false}, {eventlog.Running, true, true}, {eventlog.Failed, true, true}, {"", true, true}, {eventlog.Completed, false, true}} {
		r := &run{world: &world{plan: &plan.Pipeline{Flows: []*plan.Flow{before, live}, Continuous: c.continuous}}, status: map[string]*eventlog.FlowProgress{}}
		if c.status != "" {
			r.hear(&eventlog.FlowProgress{Flow: "before", Status: c.status})
		}
		r.hear(&eventlog.BatchDone{Flow: "live"})
		if (r.wroteEarly() != nil) != c.early {
			t.Errorf("%+v: %v", c, r.wroteEarly())
		}
	}
}
