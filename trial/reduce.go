package trial

import (
	"context"
	"time"
)

// patience is how long a difference is made smaller.
const patience = 20 * time.Second

// reduce looks for few records that still differ, and for a run without crashes or redelivery that does, and returns them as a
// test file. It gives back nothing when the difference does not show again: then it is one of timing, and the seed is all that
// can be told. Whatever goes wrong meanwhile must not hide what was found.
func (s *sandbox) reduce(ctx context.Context, v variant) []byte {
	trying, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	r := &reducer{sandbox: s, ctx: trying, best: v, kept: everything(s.Topics)}
	if err := r.run(); err != nil && trying.Err() == nil || r.found == nil {
		return nil
	}
	text, err := r.file()
	if err != nil {
		return nil
	}
	return text
}

// reducer holds the smallest case found so far.
type reducer struct {
	*sandbox
	ctx   context.Context // of one reduction
	best  variant
	kept  map[string][]bool
	found []Difference // of best over kept
	ref   *outcome
}

func everything(topics map[string]Topic) map[string][]bool {
	kept := map[string][]bool{}
	for name, t := range topics {
		kept[name] = make([]bool, len(t.Records))
		for i := range kept[name] {
			kept[name][i] = true
		}
	}
	return kept
}

func (r *reducer) run() error {
	for _, simpler := range []func(*variant){
		func(v *variant) { v.kills, v.dup, v.limit = 0, 0, unlimitedRows },
		func(v *variant) { v.kills, v.dup = 0, 0 },
		func(v *variant) { v.kills = 0 },
		func(v *variant) { v.dup = 0 },
		func(*variant) {}, // as it was
	} {
		v := r.best
		simpler(&v)
		if ok, err := r.try(v, r.kept); err != nil || ok {
			if err != nil {
				return err
			}
			break
		}
	}
	if r.found == nil {
		return nil
	}
	return r.drop()
}

// try runs a variant over some records, and takes it for the best when it differs.
func (r *reducer) try(v variant, kept map[string][]bool) (bool, error) {
	ref, err := r.sandbox.run(r.ctx, arrange(r.Topics, reference, kept), reference)
	if err != nil {
		return false, err
	}
	got, err := r.sandbox.run(r.ctx, arrange(r.Topics, v, kept), v)
	if err != nil {
		return false, err
	}
	found, err := r.compare(ref).differences(ref, got)
	if err != nil || len(found) == 0 {
		return false, err
	}
	r.best, r.kept, r.found, r.ref = v, kept, found, ref
	return true, nil
}

// place is a record of a sample.
type place struct {
	topic  string
	record int
}

// drop leaves out parts of the records, first halves, then smaller ones, as long as what is left still differs.
func (r *reducer) drop() error {
	for parts := 2; ; {
		places := r.places()
		if len(places) < 2 {
			return nil
		}
		parts = min(parts, len(places))
		smaller := false
		for i := range parts {
			without := places[i*len(places)/parts : (i+1)*len(places)/parts]
			ok, err := r.try(r.best, r.without(without))
			if err != nil {
				return err
			}
			if ok {
				smaller = true
				break
			}
		}
		switch {
		case smaller:
			parts = max(parts-1, 2)
		case parts == len(places):
			return nil
		default:
			parts *= 2
		}
	}
}

func (r *reducer) places() (out []place) {
	for _, name := range sorted(r.kept) {
		for i, keep := range r.kept[name] {
			if keep {
				out = append(out, place{name, i})
			}
		}
	}
	return out
}

func (r *reducer) without(places []place) map[string][]bool {
	kept := map[string][]bool{}
	for name, k := range r.kept {
		kept[name] = append([]bool(nil), k...)
	}
	for _, p := range places {
		kept[p.topic][p.record] = false
	}
	return kept
}
