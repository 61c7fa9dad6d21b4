package proof

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"sluice/eval"
)

var (
	seedFlag = flag.Uint64("seed", 0, "run this seed alone")
	forFlag  = flag.Duration("for", 0, "search new seeds for so long")
)

func TestMain(m *testing.M) {
	flag.Parse()
	if err := flag.Set("test.parallel", "8"); err != nil { // most of what a run does is wait
		panic(err)
	}
	goleak.VerifyTestMain(m)
}

// seeds of make test.
const seeds = 40

func engine(t *testing.T) *eval.Engine {
	e, err := eval.Open(eval.Options{Threads: 1, MemoryLimit: 256 << 20, Zone: "UTC", Files: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	})
	return e
}

// TestEngineAndModelAgree runs random pipelines in both (PT-01, PT-02).
func TestEngineAndModelAgree(t *testing.T) {
	e := engine(t)
	from, to := uint64(1), uint64(seeds)
	if *seedFlag != 0 {
		from, to = *seedFlag, *seedFlag
	}
	t.Run("seed", func(t *testing.T) {
		for seed := from; seed <= to; seed++ {
			t.Run(fmt.Sprint(seed), func(t *testing.T) {
				t.Parallel()
				agree(t, Generate(seed), e)
			})
		}
	})
}

// TestSearch runs seeds that nobody has run, for as long as -for says.
func TestSearch(t *testing.T) {
	if *forFlag == 0 {
		t.Skip("make soak FOR=30m searches")
	}
	e := engine(t)
	began := time.Now()
	first := uint64(began.Unix())
	fmt.Printf("seeds from %d on\n", first)
	var next atomic.Uint64
	var workers sync.WaitGroup
	for range 8 {
		workers.Go(func() {
			for time.Since(began) < *forFlag {
				n := next.Add(1)
				if n%4 == 0 {
					agree(t, GenerateWindows(first+n-1), e)
				} else {
					agree(t, Generate(first+n-1), e)
				}
				if n%100 == 0 {
					fmt.Printf("%s: %d seeds\n", time.Since(began).Round(time.Second), n)
				}
			}
		})
	}
	workers.Wait()
	fmt.Printf("%d seeds in %s\n", next.Load(), time.Since(began).Round(time.Second))
}

// agree reports a difference between engine and model, with the smallest case that shows it.
func agree(t *testing.T, c *Case, e *eval.Engine) {
	seed := c.Seed
	d, err := Check(c, e, Harm{})
	if err != nil {
		t.Errorf("seed %d: %v", seed, err)
	}
	if d == nil {
		return
	}
	small := Reduce(c, 300, func(c *Case) bool {
		d, err := Check(c, e, Harm{})
		return err == nil && d != nil && !d.Invalid
	})
	again, err := Check(small, e, Harm{})
	if err != nil {
		t.Errorf("seed %d: %v", seed, err)
	}
	if again == nil { // it does not fail every time
		small, again = c, d
	}
	path := filepath.Join(os.TempDir(), fmt.Sprintf("proof-%d.txt", seed))
	if err := os.WriteFile(path, []byte(small.File()), 0o600); err != nil {
		t.Error(err)
	}
	t.Errorf("seed %d: engine and model differ at %v\n\n%s is the case as a scenario: move it to internal/scenario/testdata\n\n%s", seed, again, path, small.File())
}
