package flow

import "sluice/batch"

// told are the records of a batch that cannot be used, in the groups in which that was found: each once, with what became of it in the
// end.
type told struct {
	groups [][]batch.Bad // where they stand and why; without what they hold
	at     map[place][2]int
	bad    int64
}

// add notes a group. A record that was kept in part and is refused later, or of which several rows are refused, is one bad record.
func (t *told) add(bad []batch.Bad) {
	if t.at == nil {
		t.at = make(map[place][2]int, len(bad))
	}
	group := make([]batch.Bad, 0, len(bad))
	for _, b := range bad {
		at := place{b.Split, b.At}
		if before, known := t.at[at]; known {
			if before[0] == len(t.groups) || !t.groups[before[0]][before[1]].Kept {
				continue
			}
			t.groups[before[0]][before[1]].Err = nil
		} else {
			t.bad++
		}
		t.at[at] = [2]int{len(t.groups), len(group)}
		group = append(group, batch.Bad{Split: b.Split, At: b.At, Kept: b.Kept, Err: b.Err})
	}
	t.groups = append(t.groups, group)
}
