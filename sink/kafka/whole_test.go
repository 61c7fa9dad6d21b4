package kafka

import (
	"testing"

	"sluice/batch"
	"sluice/fault"
	"sluice/option"
	"sluice/sink"
)

// Rows that are records go out byte for byte: null and empty are told apart in key, value and headers, whose names come repeatedly and in order and are any bytes.
func TestRowsThatAreRecords(t *testing.T) {
	bytes := batch.Of(batch.Binary)
	fields := []batch.Field{{Name: "key", Type: bytes}, {Name: "value", Type: bytes},
		{Name: "headers", Type: batch.ArrayOf(batch.StructOf(batch.Field{Name: "key", Type: bytes}, batch.Field{Name: "value", Type: bytes}))}}
	key, value, headers := batch.NewBuilder(bytes, 0), batch.NewBuilder(bytes, 0), batch.NewBuilder(fields[2].Type, 0)
	header := func(name string, v []byte) {
		entry := headers.Child(0)
		entry.Child(0).AppendString(name)
		if v == nil {
			entry.Child(1).AppendNull()
		} else {
			entry.Child(1).AppendText(v)
		}
		entry.AppendNested()
	}
	key.AppendNull()
	value.AppendText(nil)
	headers.AppendNested()
	key.AppendText([]byte("\x00k"))
	value.AppendNull()
	header("a", []byte("\xff"))
	header("a", nil)
	header("\xfe", []byte{})
	headers.AppendNested()
	options, problems := Options().Parse("test", []option.Given{{Name: "topic", Value: "dead"}, {Name: "bootstrapServers", Value: "127.0.0.1:1"}}, fault.Pos{})
	if err := problems.Err(); err != nil {
		t.Fatal(err)
	}
	s, err := New(Config{Options: options, Pipeline: "p", Flow: "f", Fields: fields, Records: true})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	rows := sink.Rows{Columns: batch.Columns{Len: 2, Fields: fields, Cols: []batch.Column{key.Column(), value.Column(), headers.Column()}}}
	out, err := s.records.build(batch.ID{Pipeline: "p", Flow: "f", Store: "s", Epoch: 1}, &rows)
	if err != nil || len(out) != 2 {
		t.Fatal(out, err)
	}
	first, second := out[0], out[1]
	if first.Key != nil || first.Value == nil || len(first.Value) > 0 || len(first.Headers) != 1 || first.Headers[0].Key != HeaderName {
		t.Errorf("the first is %+v", first)
	}
	h := second.Headers
	if string(second.Key) != "\x00k" || second.Value != nil || len(h) != 4 || h[3].Key != HeaderName {
		t.Fatalf("the second is %+v", second)
	}
	if h[0].Key != "a" || string(h[0].Value) != "\xff" || h[1].Key != "a" || h[1].Value != nil || h[2].Key != "\xfe" || h[2].Value == nil || len(h[2].Value) > 0 {
		t.Errorf("its headers are %+v", h)
	}
}
