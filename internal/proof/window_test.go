package proof

import (
	"fmt"
	"testing"

	"sluice/internal/model"
)

// windowSeeds of make test.
const windowSeeds = 32

// The formula of section 2.1, PT-04, PO-01, PO-02, PO-09, PO-O8, FR-02, FR-03, DM-01 to DM-03, DM-05, DM-06, DM-O1 and D-22: engine and model agree under random predicates and overrides, over
// data with NULL, NaN, -0.0 and fractions that no DOUBLE is, whatever the batches, restarts and crashes.
func TestWindowsAgree(t *testing.T) {
	e := engine(t)
	t.Run("seed", func(t *testing.T) {
		for seed := uint64(1); seed <= windowSeeds; seed++ {
			t.Run(fmt.Sprint(seed), func(t *testing.T) {
				t.Parallel()
				agree(t, GenerateWindows(seed), e)
			})
		}
	})
}

// Each rule of windows, broken in the model, is noticed.
func TestABrokenRuleOfWindowsIsFound(t *testing.T) {
	e := engine(t)
	for _, rule := range model.WindowRules {
		t.Run(string(rule), func(t *testing.T) {
			t.Parallel()
			for seed := uint64(1); seed <= windowSeeds; seed++ {
				c := GenerateWindows(seed)
				if !shows(c, rule) {
					continue
				}
				small := Reduce(c, 1000, func(c *Case) bool { return shows(c, rule) })
				if d, err := Check(small, e, Harm{Rule: rule}); err != nil || d == nil {
					t.Errorf("the engine agrees with a model that breaks it (%v):\n%s", err, small.File())
				}
				return
			}
			t.Fatalf("none of the %d seeds depends on it", windowSeeds)
		})
	}
}
