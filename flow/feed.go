package flow

import (
	"sluice/batch"
	"sluice/source/table"
)

// feedOf returns what the change feed says about the rows that are in, for a sink (D-43): what each means, and the key
// and sequence it has in the table. All are empty when the input is not a change feed.
func feedOf(w *work) (changes []batch.Change, keys, sequences batch.Keys) {
	change := w.rows.Col(table.ChangeColumn)
	if change == nil {
		return nil, keys, sequences
	}
	key, sequence := w.rows.Col(table.KeyColumn), w.rows.Col(table.SequenceColumn)
	changes = make([]batch.Change, w.len())
	codes := batch.Values[int8](change)
	for i := range changes {
		from := int(w.result.Row[w.row(i)])
		changes[i] = batch.Change(codes[from])
		if key != nil {
			keys = appendKey(keys, key.Text(from))
			sequences = appendKey(sequences, sequence.Text(from))
		}
	}
	return changes, keys, sequences
}

// places are the positions by which a table that replaces keys knows rows again (D-1). They are those of the records; a row of
// another keyed table is known by where it lies there, since a new reader gets it at another place of the feed (D-41).
func (f *Flow) places(w *work, rows *batch.Columns) (batch.Positions, error) {
	place := w.rows.Col(table.PlaceColumn)
	if place == nil {
		return f.state.Positions(&w.rng, rows.Pos)
	}
	places, again := make([][]byte, rows.Len), make([]int32, rows.Len)
	for i := range places {
		from := w.result.Row[w.row(i)]
		places[i] = place.Text(int(from))
		if i > 0 && from == w.result.Row[w.row(i-1)] {
			again[i] = again[i-1] + 1
		}
	}
	return f.state.Places(f.plan.Input.Table.Name, places, again)
}

func appendKey(k batch.Keys, key []byte) batch.Keys {
	if k.Offsets == nil {
		k.Offsets = append(k.Offsets, 0)
	}
	k.Bytes = append(k.Bytes, key...)
	k.Offsets = append(k.Offsets, uint32(len(k.Bytes)))
	return k
}
