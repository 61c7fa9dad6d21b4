package json

import (
	"bytes"
	stdjson "encoding/json"
	"os"
	"strconv"
	"strings"
	"testing"

	"sluice/batch"
	"sluice/format/formattest"
)

func lines(t *testing.T, file string) [][]byte {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return bytes.Split(bytes.TrimSuffix(data, []byte("\n")), []byte("\n"))
}

// decodeAll decodes records that must all be good.
func decodeAll(t *testing.T, ddl string, values [][]byte) batch.Columns {
	t.Helper()
	fields, quoted := formattest.Fields(t, ddl)
	d, err := NewDecoder(Options{Fields: fields, Quoted: quoted, CorruptRecord: -1})
	if err != nil {
		t.Fatal(err)
	}
	built := formattest.Builders(fields, len(values))
	for _, b := range d.Decode(values, built) {
		t.Fatalf("record %d %s: %v", b.Index, values[b.Index], b.Err)
	}
	return formattest.Columns(t, fields, built)
}

// TestLongIDsAreExact reads real ids of 18 digits beside their text.
func TestLongIDsAreExact(t *testing.T) {
	values := lines(t, "testdata/real/tweet-ids.ndjson")
	rows := decodeAll(t, "id BIGINT, id_str STRING", values)
	for i, id := range batch.Values[int64](&rows.Cols[0]) {
		if got, want := strconv.FormatInt(id, 10), string(rows.Cols[1].Text(i)); got != want {
			t.Errorf("record %d: id %s, its text %s", i, got, want)
		}
	}
	if rows.Len != 100 {
		t.Errorf("%d rows, want 100", rows.Len)
	}
}

func TestNestedEvents(t *testing.T) {
	values := lines(t, "testdata/real/github-events.ndjson")
	rows := decodeAll(t, "id STRING, type STRING, actor STRUCT<id: BIGINT, login: STRING>, repo VARIANT, payload MAP<STRING, VARIANT>, public BOOLEAN, created_at TIMESTAMP", values)
	for i, v := range values {
		var want struct {
			ID    string
			Actor struct{ ID int64 }
			Repo  stdjson.RawMessage
		}
		if err := stdjson.Unmarshal(v, &want); err != nil {
			t.Fatal(err)
		}
		if got := string(rows.Cols[0].Text(i)); got != want.ID {
			t.Errorf("record %d: id %s, want %s", i, got, want.ID)
		}
		if got := batch.Values[int64](&rows.Cols[2].Children[0])[i]; got != want.Actor.ID {
			t.Errorf("record %d: actor.id %d, want %d", i, got, want.Actor.ID)
		}
		if got := rows.Cols[3].Text(i); !bytes.Equal(got, want.Repo) {
			t.Errorf("record %d: repo %s, want %s", i, got, want.Repo)
		}
	}
}

// TestNaughtyStringsComeBack sends hostile texts through the encoder and the decoder, as values and as names.
func TestNaughtyStringsComeBack(t *testing.T) {
	data, err := os.ReadFile("testdata/naughty-strings.json")
	if err != nil {
		t.Fatal(err)
	}
	var texts []string
	if err := stdjson.Unmarshal(data, &texts); err != nil {
		t.Fatal(err)
	}
	fields, _ := formattest.Fields(t, "text STRING, m MAP<STRING, STRING>")
	built := formattest.Builders(fields, len(texts))
	for _, s := range texts {
		built[0].AppendString(s)
		built[1].Child(0).AppendString(s)
		built[1].Child(1).AppendString(s)
		built[1].AppendNested()
	}
	want := formattest.Columns(t, fields, built)
	got := decodeAll(t, "text STRING, m MAP<STRING, STRING>", encodeAll(t, want, EncodeOptions{}))
	if g, w := formattest.Rows(got), formattest.Rows(want); strings.Join(g, "\n") != strings.Join(w, "\n") {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(g, "\n"), strings.Join(w, "\n"))
	}
	for i, line := range encodeAll(t, want, EncodeOptions{}) {
		var doc struct{ Text string }
		if err := stdjson.Unmarshal(line, &doc); err != nil || doc.Text != texts[i] {
			t.Errorf("the standard library reads %q (%v), want %q", doc.Text, err, texts[i])
		}
	}
}

func TestStockTicks(t *testing.T) {
	values := lines(t, "testdata/real/stock-ticks.ndjson")
	rows := decodeAll(t, "key STRING NOT NULL, symbol STRING, ts TIMESTAMP NOT NULL, close DOUBLE, volume BIGINT", values)
	var first struct {
		Key    string
		TS     string
		Volume int64
	}
	if err := stdjson.Unmarshal(values[0], &first); err != nil {
		t.Fatal(err)
	}
	if got, want := formattest.Value(&rows.Cols[2], 0), first.TS+"Z"; got != want {
		t.Errorf("ts %s, want %s", got, want)
	}
	if got := batch.Values[int64](&rows.Cols[4])[0]; got != first.Volume {
		t.Errorf("volume %d, want %d", got, first.Volume)
	}
}
