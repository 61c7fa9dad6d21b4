package main

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"

	"sluice/internal/broker"
	"sluice/internal/testenv"
)

// schema infer prints what can be pasted, of files and of topics, and says what it left out.
func TestSchemaInfer(t *testing.T) {
	dir := files(t, map[string]string{
		"a.json":  "{\"id\":1,\"it's\":\"x\"}\n\n{\"id\":2.5,\"tags\":[\"a\"]}\noops\n",
		"b.csv":   "id;at;note;n\n1;2026-01-31 12:00:00;\"a;b\";\n2;2026-02-01 12:00:00;;7\n",
		"c.json":  "{\n \"a\": 1\n}\n",
		"d.empty": "",
		"e.csv":   "id,x,y,id,\n9223372036854775808,99999999999999999999,0.0,1,1\n5,2,7,1,1\n",
		"f.json":  "{\"_metadata\":1,\"_Ordinal\":2,\"a\":1,\"A\":\"x\"}\n",
	})
	b := testenv.Broker(t, broker.Options{Topics: map[string]int32{"in": 2, "none": 1}})
	client, err := kgo.NewClient(kgo.SeedBrokers(b.Brokers()...))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	for _, value := range []string{`{"old":1}`, `{"id":1}`, `{"id":2,"x":{"y":null}}`} {
		if err := client.ProduceSync(t.Context(), &kgo.Record{Topic: "in", Value: []byte(value), Key: []byte("k")}).FirstErr(); err != nil {
			t.Fatal(err)
		}
	}
	if err := client.ProduceSync(t.Context(), &kgo.Record{Topic: "in", Key: []byte("k")}).FirstErr(); err != nil { // a tombstone
		t.Fatal(err)
	}
	set := "kafka.bootstrap.servers=" + strings.Join(b.Brokers(), ",")
	at := func(name string) string { return filepath.Join(dir, name) }
	for _, c := range []struct {
		args string
		code int
		want string // of what is printed
	}{
		{"schema infer " + at("a.json"), 0, "id DOUBLE, `it''s` STRING, tags ARRAY<STRING>\n1 of 3 records could not be read"},
		{"schema infer " + at("a.json") + " -n 1", 0, "id BIGINT, `it''s` STRING\n"},
		{"schema infer " + at("a.json") + " -o json", 0, `"name":"id","type":"DOUBLE"`},
		{"schema infer --format csv --header --sep ; " + at("b.csv"), 0, "id BIGINT, at TIMESTAMP, note STRING, n BIGINT\n"},
		{"schema infer --format csv --sep ; " + at("b.csv"), 0, "c1 STRING, c2 STRING, c3 STRING, c4 STRING\n"},
		{"schema infer --format csv --header " + at("e.csv"), 0, "id DECIMAL(20,0), x DECIMAL(20,0), y DOUBLE\nleft out: id, a name that stands there already\nleft out: a column without a name\n"},
		{"schema infer " + at("f.json"), 0, "a STRING\nleft out: A and a differ only in case and are one column\nleft out: _Ordinal, a name that is reserved\nleft out: _metadata, a name that is reserved\n"},
		{"schema infer in --set " + set, 0, "id BIGINT, old BIGINT, x STRUCT<y: STRING>\n"},
		{"schema infer in -n 2 --set " + set, 0, "id BIGINT, x STRUCT<y: STRING>\n"},
		{"schema infer none --set " + set, 1, "UNABLE_TO_INFER_SCHEMA: none has no record"},
		{"schema infer missing --set " + set, 1, "UNKNOWN_TOPIC_OR_PARTITION"},
		{"schema infer in --option kafka.nonsense=1 --set " + set, 1, "kafka.nonsense"},
		{"schema infer " + at("c.json"), 1, "in a file each line is a record"},
		{"schema infer " + at("d.empty"), 1, "UNABLE_TO_INFER_SCHEMA"},
		{"schema infer " + at("missing"), 1, "FAILED_READ_FILE"},
		{"schema infer --format xml x", 2, "--format takes json or csv"},
		{"schema infer -n 0 x", 2, "-n takes a number above zero"},
	} {
		code, out, told := command(strings.Fields(c.args)...)
		out += told
		if code != c.code || !strings.Contains(out, c.want) {
			t.Errorf("%s: exit %d, want %d, with %q in\n%s", c.args, code, c.code, c.want, out)
		}
	}
}
