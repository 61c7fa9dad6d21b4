package scenario

import (
	"context"
	"fmt"
	"strings"

	"sluice/daemon"
	"sluice/fault"
	"sluice/plan"
	"sluice/state"
)

// keepDigests turns digests on for two tables of three, so that every file runs with them and with tables that have none.
func keepDigests(p *plan.Pipeline) {
	for i, t := range p.Tables {
		t.Digest = t.Retention == "forever" && i%3 != 2 && !t.Replaced
	}
}

// verify holds every digest that is kept against the rows of its table (D-29). Every file and every case of internal/proof ends with it.
func (w *world) verify() error {
	if w.plan == nil {
		return nil
	}
	err := w.look(func(s *state.Store) error {
		_, err := daemon.VerifyDigests(context.Background(), w.plan, s, nil)
		return err
	})
	if fault.Of(err, fault.StoreNotFound) || fault.Of(err, fault.DigestNotKept) {
		return nil
	}
	return err
}

func showDigests(ctx context.Context, w *world, a *words) (text string, err error) {
	kept := a.flag("kept")
	err = w.look(func(s *state.Store) error {
		digests, err := daemon.Digests(ctx, w.plan, s, nil)
		var lines []string
		for _, d := range digests {
			if d.Kept || !kept {
				lines = append(lines, fmt.Sprintf("%s %d %s", d.Table, d.Rows, d.Digest))
			}
		}
		text = strings.Join(lines, "\n")
		return err
	})
	return text, err
}
