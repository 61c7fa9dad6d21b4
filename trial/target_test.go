package trial

import (
	"fmt"
	"strings"
	"testing"

	"sluice/batch"
	"sluice/fault"
	"sluice/sink"
)

var (
	kafkaSink    = "FORMAT kafka OPTIONS (topic => 'out', mode => 'upsert', keys => 'k')"
	postgresSink = "FORMAT postgres OPTIONS (url => 'postgres://127.0.0.1:1/db', table => 'out', "
)

// tiesSQL has a table of ties and a sink over its changes.
func tiesSQL(sink string) string {
	return `CREATE STREAMING TABLE latest FLOW REPLACE USING (k) SEQUENCE BY s BY NAME
SELECT k, s, v FROM STREAM read_kafka(subscribe => 'in', format => 'json', schema => 'k STRING, s INT, v INT');
CREATE SINK out ` + sink + `;
CREATE FLOW publish AS INSERT INTO SINK out BY NAME SELECT k, s, v FROM STREAM(latest) WITH (readChangeFeed = true);
`
}

func values(lines ...string) Topic {
	var t Topic
	for _, line := range lines {
		t.Records = append(t.Records, Record{Value: []byte(line)})
	}
	t.complete()
	return t
}

// Ties of a table meet under one key of an upsert sink: in one batch the sink refuses them, in two the later one stays. Both is
// found, by a test file and by shuffled runs. Keys that tell them apart, and replace_using, are in order.
func TestTiesUnderAnUpsertKey(t *testing.T) {
	ties := values(`{"k":"x","s":1,"v":1}`, `{"k":"x","s":1,"v":2}`)
	for _, c := range []struct {
		sink string
		fine bool
	}{
		{kafkaSink, false},
		{strings.Replace(kafkaSink, "keys => 'k'", "keys => 'K, v'", 1), true},
		{"FORMAT kafka OPTIONS (topic => 'out', keys => 'k')", true},
		{postgresSink + "mode => 'upsert', keys => 'k')", false},
		{postgresSink + "mode => 'upsert', keys => 'k,v')", true},
		{postgresSink + "mode => 'replace_using', keys => 'k', sequence => 's')", true},
	} {
		t.Run(c.sink, func(t *testing.T) {
			p := pipeline(t, tiesSQL(c.sink), nil)
			r := rehearse(t, &Case{Name: "ties", Plan: p, Topics: map[string]Topic{"in": ties}}, Options{Shuffle: 20, Seed: 1})
			if c.fine {
				if !r.Equal() || len(r.Failed) > 0 || r.Sinks["out (flow publish)"] != 2 {
					t.Errorf("%+v", r)
				}
				return
			}
			if e := r.Failed["publish"]; e == nil || e.Code != fault.SinkKeyNotUnique || r.Equal() {
				t.Errorf("%+v", r)
			}
		})
	}
}

// D-43, D-44: what a target holds after batches is what the tests of sink/kafka and sink/postgres find there.
func TestTarget(t *testing.T) {
	for _, c := range []struct {
		name, sink, batches, want string
	}{
		{"append adds changes up", "FORMAT kafka OPTIONS (topic => 'out')", "+a 1 1,+b 1 2|-a 1 1", `{"k":"b","s":1,"v":2}`},
		{"the last batch wins", kafkaSink, "+a 2 1|+a 1 2", `{"k":"a","s":1,"v":2}`},
		{"a tombstone", kafkaSink, "+a 1 1,+b 1 1|-a 1 1", `{"k":"b","s":1,"v":1}`},
		{"a tombstone of what came and went", kafkaSink, "+a 1 1|+a 2 2,-a 2 2", ""},
		{"a delete before its insert", kafkaSink, "+a 1 1|-a 1 1,+a 2 2", `{"k":"a","s":2,"v":2}`},
		{"two rows", kafkaSink, "+a 1 1|+a 1 2,+a 1 3", "SINK_UPSERT_KEY_NOT_UNIQUE"},
		{"without a trace of what came and went", postgresSink + "mode => 'upsert', keys => 'k')", "+a 1 1|+a 2 2,-a 2 2", `{"k":"a","s":1,"v":1}`},
		{"delete", postgresSink + "mode => 'upsert', keys => 'k')", "+a 1 1,+b 1 2|-a 1 1|+b 2 3", `{"k":"b","s":2,"v":3}`},
		{"two rows in a table", postgresSink + "mode => 'upsert', keys => 'k')", "+a 1 1,+a 1 2", "SINK_UPSERT_KEY_NOT_UNIQUE"},
		{"ties stay together", postgresSink + "mode => 'replace_using', keys => 'k', sequence => 's')", "+a 4 1,+a 4 2,+b 1 4,+a 2 6|+a 4 3,+b 2 5|+a 3 6", `{"k":"a","s":4,"v":1}{"k":"a","s":4,"v":2}{"k":"a","s":4,"v":3}{"k":"b","s":2,"v":5}`},
		{"the highest is deleted", postgresSink + "mode => 'replace_using', keys => 'k', sequence => 's')", "+a 4 1,+b 2 2|-a 4 1,-b 1 2", `{"k":"b","s":2,"v":2}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := foldOf(t, c.sink)
			var err error
			for i, text := range strings.Split(c.batches, "|") {
				if err == nil {
					err = f.accept(batch.ID{Number: uint64(i)}, changes(f.fields, strings.Split(text, ",")))
				}
			}
			got := strings.Join(sorted(f.rows), "")
			if err != nil {
				got = fault.From(err).Code.Name
			}
			if got != c.want {
				t.Errorf("got %s", got)
			}
		})
	}
}

// foldOf is what stands in for a sink.
func foldOf(t *testing.T, sink string) *fold {
	t.Helper()
	for _, f := range pipeline(t, tiesSQL(sink), nil).Flows {
		if f.Sink != nil {
			target, err := targetOf(f)
			if err != nil {
				t.Fatal(err)
			}
			return newFold(f.Query.Columns, target)
		}
	}
	t.Fatal("no flow writes to the sink")
	return nil
}

// changes is a batch of a change feed: +k s v and -k s v.
func changes(fields []batch.Field, texts []string) (out sink.Rows) {
	k, s, v := batch.NewBuilder(fields[0].Type, 0), batch.NewBuilder(fields[1].Type, 0), batch.NewBuilder(fields[2].Type, 0)
	for _, text := range texts {
		var key string
		var sequence, value int32
		if _, err := fmt.Sscanf(text[1:], "%s %d %d", &key, &sequence, &value); err != nil {
			panic(err)
		}
		k.AppendString(key)
		batch.Append(s, sequence)
		batch.Append(v, value)
		out.Change = append(out.Change, map[byte]sink.Change{'+': sink.InsertRow, '-': sink.DeleteRow}[text[0]])
	}
	out.Columns = batch.Columns{Fields: fields, Cols: []batch.Column{k.Column(), s.Column(), v.Column()}, Len: len(texts)}
	return out
}
