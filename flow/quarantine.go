package flow

import (
	"sluice/batch"
	"sluice/fault"
	"sluice/source"
	"sluice/state"
)

// mode is what happens to records of the batch that cannot be used. What is replayed out of quarantine goes back there.
func (f *Flow) mode(w *work) batch.Mode {
	if w.replayed != nil {
		return batch.Quarantine
	}
	return f.plan.Input.Mode
}

// quarantine notes records that the batch will keep as they came (D-15).
func (f *Flow) quarantine(w *work, bad []batch.Bad) {
	for i := range bad {
		if !bad[i].Kept {
			w.place(bad[i].Split, bad[i].At)
		}
	}
	if f.mode(w) == batch.Quarantine {
		w.quarantined = append(w.quarantined, bad...)
	}
}

// place notes where a record stands that was refused.
func (w *work) place(split string, at batch.Offset) {
	if w.refused == nil {
		w.refused = map[place]bool{}
	}
	w.refused[place{split, at}] = true
}

// original is the record that an input row was made of: of a source outside as it came, of a table the row.
func (f *Flow) original(w *work, row int32) batch.Bad {
	keeper, ok := f.source.(source.Keeper)
	if !ok || w.replayed != nil { // which has the record in quarantine already
		return batch.Bad{}
	}
	return keeper.Original(&w.rows, int(row), w.rng.Splits[w.rows.Pos.Split[row]].Split)
}

// whole refuses with a row all others that were made of its record: in quarantine is the whole record, and what lies there is not in
// the table.
func (f *Flow) whole(w *work, unfit map[int32]*fault.Error) {
	if f.mode(w) != batch.Quarantine || len(unfit) == 0 {
		return
	}
	why := map[int32]*fault.Error{}
	for i := range w.len() {
		from := w.result.Row[w.row(i)]
		if err := unfit[w.row(i)]; err != nil && why[from] == nil {
			why[from] = err
		}
	}
	for i := range w.len() {
		if err := why[w.result.Row[w.row(i)]]; err != nil {
			unfit[w.row(i)] = err
		}
	}
}

// setAside is what the batch does to the flow's quarantine: what it refused goes in, and what was there and is a row now goes.
func (f *Flow) setAside(w *work) (q state.Quarantine, err error) {
	q.Letters = f.plan.Letters != nil
	ids := map[string]string{}
	for _, s := range w.rng.Splits {
		ids[s.Split] = s.ID
	}
	for _, bad := range w.quarantined {
		r := state.Quarantined{Split: bad.Split, ID: ids[bad.Split], At: bad.At, Time: bad.Time, LogAppend: bad.LogAppend, Key: bad.Key, Value: bad.Value, Headers: bad.Headers}
		r.Because(bad.Err)
		q.Put = append(q.Put, r)
	}
	if w.replayed != nil {
		back := w.replayedBack(q.Put)
		back.Letters = q.Letters
		return back, nil
	}
	held, err := f.state.QuarantinedIn(&w.rng)
	if err != nil || len(held) == 0 {
		return q, err
	}
	read := make(map[place]bool, w.rows.Len)
	for i := range w.rows.Pos.Len() {
		p := w.rows.Pos
		if p.Split[i] < 0 {
			continue // of a split that a cut took out
		}
		read[place{w.rng.Splits[p.Split[i]].Split, batch.Offset{At: p.Offset[i], Index: p.Index[i]}}] = true
	}
	for _, h := range held {
		if at := (place{h.Split, h.At}); read[at] && !w.refused[at] {
			q.Drop = append(q.Drop, h)
		}
	}
	return q, nil
}
