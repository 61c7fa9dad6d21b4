package postgres

import (
	"encoding/binary"
	"fmt"
	"slices"
	"strings"

	"sluice/batch"
	"sluice/fault"
	"sluice/sink"
)

// planMirror makes the table hold the rows that the feed's table has, each as often (D-28): of every row the difference that the batch makes
// goes into the temporary table, then as many equal rows are deleted, and as many inserted.
func (s *Sink) planMirror(rows *sink.Rows) (*work, error) {
	cols := rows.Columns.Refs(nil)
	s.keys.Offsets, s.keys.Bytes = append(s.keys.Offsets[:0], 0), s.keys.Bytes[:0]
	for i := range rows.Columns.Len {
		s.keys.Bytes = batch.AppendExact(s.keys.Bytes, cols, i)
		s.keys.Offsets = append(s.keys.Offsets, uint32(len(s.keys.Bytes)))
	}
	first, net := sink.Differences(rows, &s.keys)
	w := &work{copySQL: fmt.Sprintf("COPY %s FROM STDIN (FORMAT binary)", stageName)}
	var index []int32
	for i, row := range first {
		if net[i] < 0 {
			w.deletes -= int64(net[i])
		}
		if net[i] != 0 {
			index = append(index, row)
		}
	}
	net = slices.DeleteFunc(net, func(n int32) bool { return n == 0 })
	if len(index) == 0 {
		return w, nil
	}
	data, err := s.table.copier.encode(rows, index, func(b []byte, i int) []byte {
		return binary.BigEndian.AppendUint32(fixed(b, 4), uint32(net[i]))
	})
	if err != nil {
		return nil, err
	}
	w.data, w.statements = data, s.mirrorSQL(cols, index)
	return w, nil
}

// mirrorSQL deletes, of the rows that equal a staged one, as many as it says, and inserts the others.
func (s *Sink) mirrorSQL(cols []*batch.Column, index []int32) []string {
	t := s.table
	var match, from []string
	for i, c := range cols {
		match, from = append(match, t.same(i, slices.ContainsFunc(index, func(row int32) bool { return c.IsNull(int(row)) }))), append(from, fmt.Sprintf("s.c%d", i))
	}
	return []string{
		fmt.Sprintf(`DELETE FROM %[1]s t USING (
			SELECT t.tableoid AS part, t.ctid AS place, row_number() OVER (PARTITION BY s.ctid) AS i, -s.many AS many FROM %[2]s s JOIN %[1]s t ON %[3]s WHERE s.many < 0
		) gone WHERE t.tableoid = gone.part AND t.ctid = gone.place AND gone.i <= gone.many`, t.name, stageName, strings.Join(match, " AND ")),
		fmt.Sprintf("INSERT INTO %s (%s) SELECT %s FROM %s s, generate_series(1, s.many)", t.name, strings.Join(t.fields, ", "), strings.Join(from, ", "), stageName),
	}
}

// same is the condition that column i of t and s has one value, down to the sign of a zero. nulls says that s has nulls there, without which the
// database can join by the column.
func (t *table) same(i int, nulls bool) string {
	a, b := "t."+t.fields[i], fmt.Sprintf("s.c%d", i)
	equal := "="
	if nulls {
		equal = "IS NOT DISTINCT FROM"
	}
	switch t.copier.columns[i].form {
	case asJSON: // has no equality; the sink has written the same text for the same value
		return fmt.Sprintf("%s::text %s %s::text", a, equal, b)
	case asFloat4:
		return sameFloat(a, equal, b, "float4send")
	case asFloat8:
		return sameFloat(a, equal, b, "float8send")
	}
	return fmt.Sprintf("%s %s %s", a, equal, b)
}

// sameFloat compares zeros by their bytes: all NaNs are one to the database, and the zeros are.
func sameFloat(a, equal, b, bytes string) string {
	return fmt.Sprintf("(%[1]s %[2]s %[3]s AND (%[1]s = 0) IS NOT TRUE OR %[4]s(%[1]s) = %[4]s(%[3]s))", a, equal, b, bytes)
}

// missing is the error that the table lacks rows that are to be deleted.
func (t *table) missing(have, want int64) error {
	return fault.New(fault.SinkRowsMissing, "the table %s has %d of %d rows that its source has lost", t.name, have, want).
		WithHint("something else has changed the table; a checkpoint reset of the flow empties it and sends every row again")
}
