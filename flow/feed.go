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

func appendKey(k batch.Keys, key []byte) batch.Keys {
	if k.Offsets == nil {
		k.Offsets = append(k.Offsets, 0)
	}
	k.Bytes = append(k.Bytes, key...)
	k.Offsets = append(k.Offsets, uint32(len(k.Bytes)))
	return k
}
