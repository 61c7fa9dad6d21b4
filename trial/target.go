package trial

import (
	"bytes"

	"sluice/batch"
	"sluice/fault"
	"sluice/plan"
	"sluice/sink"
)

// target is how the options of a sink let a batch change what is there already. The zero value is a sink that only takes more.
type target struct {
	keys       []int // columns; none for a sink without
	sequence   int   // column; -1 for a sink that holds one row per key
	tombstones bool  // a key of which the batch leaves nothing is deleted even if it came with the batch
	hint       string
}

// targetOf reads the options of the sink of a flow.
func targetOf(f *plan.Flow) (t target, err error) {
	o := f.Sink.Options
	if f.Sink.Format != "kafka" && f.Sink.Format != "postgres" {
		return t, nil
	}
	mode := o.String("mode")
	if mode == "append" || mode == "mirror" {
		return t, nil // keys are those of records then, and a topic has every record; a mirror has none
	}
	t = target{sequence: -1, tombstones: f.Sink.Format == "kafka", hint: "name all key columns in keys, or use another mode of the sink"}
	if t.keys, err = sink.Columns("keys", o.List("keys"), f.Query.Columns); err != nil || mode != "replace_using" {
		return t, err
	}
	found, err := sink.Columns("sequence", []string{o.String("sequence")}, f.Query.Columns)
	if err == nil {
		t.sequence = found[0]
	}
	return t, err
}

// step is what a batch does to the rows of a key.
type step struct {
	key      string
	sequence []byte  // of the rows that are left or deleted; empty without one
	left     []int32 // rows of the batch; none deletes what is there
}

// steps folds a batch by the keys, as the sinks do (D-43, D-44). lines are the rows as texts.
func (t *target) steps(rows *sink.Rows, lines []string) (out []step, err error) {
	if rows.Columns.Len == 0 {
		return nil, nil
	}
	var keys, sequence batch.Keys
	columns := make([]*batch.Column, len(t.keys))
	for i, k := range t.keys {
		columns[i] = &rows.Columns.Cols[k]
	}
	batch.EncodeKeys(&keys, columns...)
	if t.sequence >= 0 {
		if err := sink.EncodeSequence(&sequence, rows, t.sequence); err != nil {
			return nil, err
		}
	}
	net := sink.Fold(rows, &keys)
	for i, row := range net.Key {
		s, deleted := step{key: string(keys.At(int(row))), left: net.Left(i)}, net.Deleted[i]
		if t.sequence >= 0 {
			s.left = sink.Highest(s.left, &sequence)
		} else if e := net.Unique(i, "one key"); e != nil {
			return nil, e.WithDetail("two of them: %s and %s", fault.Payload(lines[s.left[0]]), fault.Payload(lines[s.left[1]])).WithHint("%s", t.hint)
		}
		switch {
		case len(s.left) == 0 && deleted < 0 && !t.tombstones:
			continue // it came and went with the batch
		case t.sequence >= 0 && len(s.left) > 0:
			s.sequence = sequence.At(int(s.left[0]))
		case t.sequence >= 0:
			s.sequence = sequence.At(int(deleted))
		}
		out = append(out, s)
	}
	return out, nil
}

// owned are the rows of a key that a target holds; all have the same sequence.
type owned struct {
	sequence []byte
	lines    []string
}

// after is what a target holds of a key when a step was taken: of lower sequences nothing, of the same one all (D-44).
func (t *target) after(own owned, s step, lines []string) owned {
	var kept []string
	if t.sequence >= 0 && len(own.lines) > 0 {
		switch order := bytes.Compare(s.sequence, own.sequence); {
		case order < 0:
			return own
		case order == 0 && len(s.left) > 0:
			kept = own.lines
		}
	}
	next := owned{sequence: s.sequence, lines: kept[:len(kept):len(kept)]}
	for _, row := range s.left {
		next.lines = append(next.lines, lines[row])
	}
	return next
}
