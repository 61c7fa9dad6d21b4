package trial

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"sluice/fault"
)

const goldenSQL = latestSQL + `CREATE STREAMING TABLE typed AS SELECT b, d, t, x, s, a, _metadata.topic AS topic, CAST(_metadata.key AS STRING) AS k, _metadata.partition AS p, _metadata.timestamp AS ts,
  size(_metadata.headers) AS h FROM STREAM read_kafka(subscribe => 'typed', format => 'json',
  schema => 'b BIGINT, d DECIMAL(10,2), t TIMESTAMP, x DOUBLE, s STRUCT<p: INT, q: STRING>, a ARRAY<STRING>');
CREATE STREAMING TABLE files AS SELECT a, b FROM STREAM read_files('data/*.csv', format => 'csv', schema => 'a INT, b STRING');
CREATE FLOW changes AS INSERT INTO SINK out BY NAME SELECT _change_type, id, n FROM STREAM(latest) WITH (readChangeFeed = true);
CREATE SINK raw_out FORMAT kafka OPTIONS (topic => 'raw');
CREATE FLOW raw_out AS INSERT INTO SINK raw_out BY NAME SELECT id, v, n FROM STREAM(raw);
`

// Test files over goldenSQL. The commands are
//
//	test
//
// which reads the test file in the input and runs it in order, and shows what is not as expected, or ok.
func TestFiles(t *testing.T) {
	datadriven.RunTest(t, "testdata/testfiles.txt", func(t *testing.T, d *datadriven.TestData) string {
		p := pipeline(t, goldenSQL, map[string]string{"data/1.csv": "1,x\n", "sample.json": "{\"id\":\"a\"}\n\n{\"id\":\"b\"}\n",
			"records.json": `{"topic":"in","partition":1,"key":"a","value":"{\"id\":\"a\"}"}` + "\n" + `{"nonsense":1}` + "\n"})
		path := filepath.Join(p.Dir, "test.yml")
		if err := os.WriteFile(path, []byte(d.Input), 0o600); err != nil {
			t.Fatal(err)
		}
		out := func() string {
			test, err := ReadTest(path, p.Dir)
			if err != nil {
				return err.Error()
			}
			c, err := test.Case(p)
			if err != nil {
				return err.Error()
			}
			r, err := Rehearse(ctx, c, Options{})
			if err != nil {
				return err.Error()
			}
			if r.Equal() {
				return "ok"
			}
			return show(r.Golden)
		}()
		return strings.ReplaceAll(strings.TrimRight(out, "\n"), p.Dir+"/", "") + "\n"
	})
}

func show(differences []Difference) string {
	var b strings.Builder
	for _, d := range differences {
		fmt.Fprintf(&b, "%s %s %s\n", d.Kind, d.Name, d.Detail)
		for _, row := range d.Missing {
			fmt.Fprintf(&b, "  missing %s\n", row)
		}
		for _, row := range d.Extra {
			fmt.Fprintf(&b, "  extra %s\n", row)
		}
	}
	return b.String()
}

// Samples: values, or whole records as they are printed, with everything a record has.
func TestReadSample(t *testing.T) {
	values, err := readSample(strings.NewReader("{\"a\":1}\n\nplain\r\n{\"value\":1,\"other\":2}"), "s")
	if err != nil || len(values.Records) != 3 || string(values.Records[1].Value) != "plain" || values.Partitions != 1 || values.Records[1].Time != epoch.Add(1e6) {
		t.Errorf("%+v %v", values, err)
	}
	text := `{"topic":"t","partition":2,"offset":7,"timestamp":"2026-01-02T03:04:05.678Z","key":"k","value":"v","headers":[{"key":"h","value":"x"},{"key":"n","value":null}]}
{"value":null}
{"value":{"a": 1.0}}
{"key":"//8=","value":"AA==","base64":["key","value"],"headers":[{"key":"h","value":""}]}
{"value":"v","base64":["header name 1","header /w=="],"headers":[{"key":"/w==","value":null},{"key":"/w==","value":"/g=="}]}
`
	whole, err := readSample(strings.NewReader(text), "s")
	if err != nil || len(whole.Records) != 5 || whole.Partitions != 3 {
		t.Fatalf("%+v %v", whole, err)
	}
	r := whole.Records
	if string(r[0].Key) != "k" || string(r[0].Value) != "v" || r[0].Partition != 2 || r[0].Time.UnixMilli() != 1767323045678 || len(r[0].Headers) != 2 || r[0].Headers[1].Value != nil ||
		r[1].Value != nil || r[1].Key != nil || string(r[2].Value) != `{"a": 1.0}` || string(r[3].Key) != "\xff\xff" || string(r[3].Value) != "\x00" {
		t.Errorf("%+v", r)
	}
	if h := r[4].Headers; len(h) != 2 || h[0].Key != "/w==" || h[0].Value != nil || h[1].Key != "\xff" || string(h[1].Value) != "\xfe" {
		t.Errorf("%+v", r[4].Headers)
	}
	for _, bad := range []string{`{"value":"x"}` + "\nplain", `{"value":"x","partition":"y"}`, `{"value":"x","base64":["value"]}`, `{"value":1}` + "\n" + `{"value":1,"more":2}`} {
		if _, err := readSample(strings.NewReader(bad), "s"); !fault.Of(err, fault.SampleInvalid) || !strings.HasPrefix(err.Error(), "s:") {
			t.Errorf("%s: %v", bad, err)
		}
	}
	if _, err := ReadSample("/nowhere"); !fault.Of(err, fault.SampleInvalid) {
		t.Error(err)
	}
}

// What is written as a test file is read as it was, byte by byte.
func TestWrittenRecordsAreRead(t *testing.T) {
	want := Topic{Partitions: 3, Records: []Record{
		{Value: []byte(`{"id":"a","n":1.0}`)}, {Value: []byte(`{ "id": "a" }`)}, {Value: []byte("plain: [")}, {Value: nil}, {Value: []byte("")},
		{Value: []byte("null")}, {Value: []byte("1e400")}, {Value: []byte(`{"a":1,"a":2}`)}, {Value: []byte("\"quoted\"\n\ttab")}, {Value: []byte("~")},
		{Value: []byte(`{"u":"é\u00e9"}`)}, {Value: []byte(`[1,{"x":null}]`)}, {Value: []byte("\xff\x00")}, {Key: []byte("k"), Value: []byte("v"), Partition: 2},
		{Key: []byte{}, Value: []byte("007")}, {Key: []byte("\xfe"), Value: []byte("v")},
	}}
	want.complete()
	for _, keyed := range []bool{true, false} {
		in := want
		if !keyed {
			in.Records = want.Records[:12]
		}
		var w writer
		w.line(0, "topics:")
		w.topic("in", in)
		path := filepath.Join(t.TempDir(), "t.yml")
		if err := os.WriteFile(path, w.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
		test, err := ReadTest(path, "")
		if err != nil {
			t.Fatalf("%v\n%s", err, w.String())
		}
		got := test.topics["in"]
		if got.Partitions != 3 || !slices.EqualFunc(in.Records, got.Records, func(a, b Record) bool { return fmt.Sprintf("%#v", a) == fmt.Sprintf("%#v", b) }) {
			t.Errorf("%#v\nis read as\n%#v\nof\n%s", in, got, w.String())
		}
	}
}

// A key keeps the order of its records and its partition; nothing is lost, and a part of the records has the order of the whole.
func TestArrange(t *testing.T) {
	topics := map[string]Topic{"in": topic(60), "other": topic(5)}
	orders := map[string]bool{}
	for seed := range uint64(20) {
		got := arrange(topics, variant{seed: seed, shuffled: true}, nil)["in"]
		last, home, seen := map[string]string{}, map[string]int32{}, map[string]bool{}
		var order []string
		for _, r := range got.Records {
			key, value := string(r.Key), string(r.Value)
			if at, ok := home[key]; ok && at != r.Partition || r.Partition >= got.Partitions {
				t.Errorf("key %s stands in partitions %d and %d of %d", key, at, r.Partition, got.Partitions)
			}
			if n := len(last[key]) - len(value); n > 0 || n == 0 && last[key] > value {
				t.Errorf("%s comes before %s", last[key], value)
			}
			home[key], last[key], seen[value] = r.Partition, value, true
			order = append(order, value)
		}
		if len(seen) != 60 {
			t.Errorf("%d records", len(seen))
		}
		orders[strings.Join(order, "")] = true
		kept := map[string][]bool{"in": make([]bool, 60), "other": make([]bool, 5)}
		for i := range kept["in"] {
			kept["in"][i] = i%3 == 0
		}
		part := arrange(topics, variant{seed: seed, shuffled: true}, kept)
		order = slices.DeleteFunc(order, func(v string) bool {
			return !slices.ContainsFunc(part["in"].Records, func(r Record) bool { return string(r.Value) == v })
		})
		for i, r := range part["in"].Records {
			if len(part["in"].Records) != 20 || string(r.Value) != order[i] {
				t.Fatalf("seed %d: a part has another order", seed)
			}
		}
	}
	if len(orders) < 20 {
		t.Errorf("only %d orders of 20 seeds", len(orders))
	}
	if names := slices.Sorted(maps.Keys(arrange(topics, reference, nil))); len(names) != 2 {
		t.Error(names)
	}
}

// No text makes the reader of test files panic, and what it takes it also binds to a pipeline or refuses.
func FuzzTestFile(f *testing.F) {
	cases, err := os.ReadFile("testdata/testfiles.txt")
	if err != nil {
		f.Fatal(err)
	}
	for part := range strings.SplitSeq(string(cases), "test\n") {
		text, _, _ := strings.Cut(part, "----")
		f.Add(text)
	}
	p := pipeline(f, goldenSQL, nil)
	f.Fuzz(func(t *testing.T, text string) {
		test, err := parseTest(text, "t.yml", p.Dir)
		if err != nil {
			return
		}
		if c, err := test.Case(p); err == nil {
			_ = c.Check()
		}
	})
}
