package memory_test

import (
	"testing"

	"sluice/batch"
	"sluice/fault"
	"sluice/sink"
	"sluice/sink/memory"
	"sluice/sink/sinktest"
)

type target struct {
	store  memory.Store
	fields []batch.Field
}

func (m *target) Open(*testing.T) sink.Sink { return m.store.Sink() }

func (m *target) Break(*testing.T) func() {
	m.store.Fail(&fault.Error{Code: &fault.Code{Name: "BROKEN", Class: fault.External, Retry: fault.Backoff}, Message: "broken by the test"})
	return func() {}
}

func (m *target) Read(_ *testing.T, feed bool) batch.Columns {
	fields := m.fields
	if feed {
		fields = append([]batch.Field{{Name: "_change_type", Type: batch.Of(batch.String)}}, fields...)
	}
	out := make([]batch.Builder, len(fields))
	for i, f := range fields {
		out[i].Init(f.Type, 8)
	}
	rows := 0
	for _, b := range m.store.Batches() {
		first := 0
		if feed {
			for _, c := range b.Rows.Change {
				out[0].AppendString(c.String())
			}
			first = 1
		}
		for c := range b.Rows.Columns.Cols {
			for i := range b.Rows.Columns.Len {
				out[first+c].AppendFrom(&b.Rows.Columns.Cols[c], i)
			}
		}
		rows += b.Rows.Columns.Len
	}
	cols := batch.Columns{Fields: fields, Len: rows}
	for i := range out {
		cols.Cols = append(cols.Cols, out[i].Column())
	}
	return cols
}

func TestConformance(t *testing.T) {
	sinktest.Run(t, sinktest.Kind{OnceOnly: true, Feed: true, New: func(_ *testing.T, fields []batch.Field) sinktest.Target {
		return &target{fields: fields}
	}})
}

func TestNumbersOutOfOrderAreRefused(t *testing.T) {
	var store memory.Store
	s := store.Sink()
	for n, want := range []bool{true, true, false} {
		err := s.Write(t.Context(), sinktest.ID(0, []uint64{4, 5, 3}[n]), sink.Rows{})
		if (err == nil) != want {
			t.Errorf("write %d: %v", n, err)
		}
	}
	if store.Writes() != 3 {
		t.Errorf("%d writes, want 3", store.Writes())
	}
}
