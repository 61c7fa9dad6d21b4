package file

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"sluice/batch"
	"sluice/fault"
	"sluice/format"
	"sluice/format/formattest"
	"sluice/option"
	"sluice/sink"
	"sluice/sink/sinktest"
)

// What the options of CSV make of the same rows, and lines of text.
func TestFormats(t *testing.T) {
	fields, _ := formattest.Fields(t, "s STRING, n DECIMAL(5,2), d DATE, ts TIMESTAMP")
	built := formattest.Builders(fields, 0)
	var scalars format.Scalars
	for _, s := range []string{"a, b", `say "x"`, ""} {
		built[0].AppendString(s)
		if _, ok := scalars.Append(&built[1], []byte("1.50")); !ok {
			t.Fatal("no number")
		}
		batch.Append(&built[2], int32(19782))
		batch.Append(&built[3], int64(1709164800_000001))
	}
	for i := range built {
		built[i].AppendNull()
	}
	rows := formattest.Columns(t, fields, built)
	for _, c := range []struct {
		options []string
		want    string
	}{
		{nil, "\"a, b\",1.50,2024-02-29,2024-02-29T00:00:00.000001Z\n\"say \"\"x\"\"\",1.50,2024-02-29,2024-02-29T00:00:00.000001Z\n\"\",1.50,2024-02-29,2024-02-29T00:00:00.000001Z\n,,,\n"},
		{[]string{"header=true", `sep=\t`, "lineSep=\r\n", "nullValue=NULL", "emptyValue=", "dateFormat=dd.MM.yyyy", "timestampFormat=yyyy-MM-dd HH:mm:ssXXX"},
			"s\tn\td\tts\r\na, b\t1.50\t29.02.2024\t2024-02-29 01:00:00+01:00\r\n\"say \"\"x\"\"\"\t1.50\t29.02.2024\t2024-02-29 01:00:00+01:00\r\n\t1.50\t29.02.2024\t2024-02-29 01:00:00+01:00\r\nNULL\tNULL\tNULL\tNULL\r\n"},
		{[]string{"quoteAll=true", `escape=\`, "lineSep=|", "emptyValue=-"},
			`"a, b","1.50","2024-02-29","2024-02-29T00:00:00.000001Z"|"say \"x\"","1.50","2024-02-29","2024-02-29T00:00:00.000001Z"|-,"1.50","2024-02-29","2024-02-29T00:00:00.000001Z"|,,,|`},
		{[]string{"escapeQuotes=false"}, "\"a, b\",1.50,2024-02-29,2024-02-29T00:00:00.000001Z\nsay \"x\",1.50,2024-02-29,2024-02-29T00:00:00.000001Z\n\"\",1.50,2024-02-29,2024-02-29T00:00:00.000001Z\n,,,\n"},
	} {
		if got := written(t, rows, "csv", c.options...); got != c.want {
			t.Errorf("%q: got\n%s\nwant\n%s", c.options, got, c.want)
		}
	}
	if got := written(t, formattest.Columns(t, fields, formattest.Builders(fields, 0)), "csv", "header=true"); got != "s,n,d,ts\n" {
		t.Errorf("no rows: %q", got)
	}
}

func TestLinesOfText(t *testing.T) {
	fields, _ := formattest.Fields(t, "line STRING")
	lines := func(texts ...string) batch.Columns {
		built := formattest.Builders(fields, 0)
		for _, s := range texts {
			built[0].AppendString(s)
		}
		return formattest.Columns(t, fields, built)
	}
	if got := written(t, lines("a", "", "\"é,\r b\""), "text"); got != "a\n\n\"é,\r b\"\n" {
		t.Errorf("%q", got)
	}
	for _, bad := range []string{"a\nb", "a\r"} {
		s, err := open(t, t.TempDir(), fields, "path=out", "format=text")
		if err == nil {
			err = s.Open(t.Context(), batch.ID{}, false)
		}
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Write(t.Context(), sinktest.ID(0, 0), sink.Rows{Columns: lines("a", bad)}); !fault.Of(err, fault.CannotEncode) {
			t.Errorf("%q: %v", bad, err)
		}
	}
	v, _ := Options().Parse("", []option.Given{{Name: "path", Value: "x"}, {Name: "format", Value: "text"}}, fault.Pos{})
	if _, err := New(Config{Options: v, Fields: fields, Feed: true}); !fault.Of(err, fault.UnsupportedTypes) {
		t.Errorf("changes: %v", err)
	}
}

// written is the file of a batch; the session's zone is Europe/Berlin.
func written(t *testing.T, rows batch.Columns, format string, options ...string) string {
	t.Helper()
	dir := t.TempDir()
	given := []option.Given{{Name: "path", Value: "out"}, {Name: "format", Value: format}}
	for _, o := range options {
		for i := range o {
			if o[i] == '=' {
				given = append(given, option.Given{Name: o[:i], Value: o[i+1:]})
				break
			}
		}
	}
	v, problems := Options().Parse("sink format file", given, fault.Pos{})
	if err := problems.Err(); err != nil {
		t.Fatal(err)
	}
	zone, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	s, err := New(Config{Options: v, Dir: dir, Pipeline: "p", Flow: "f", Fields: rows.Fields, Zone: zone})
	if err == nil {
		err = s.Open(t.Context(), batch.ID{}, false)
	}
	if err == nil {
		err = s.Write(t.Context(), sinktest.ID(0, 0), sink.Rows{Columns: rows})
	}
	if err != nil {
		t.Fatal(err)
	}
	files, _ := filepath.Glob(filepath.Join(dir, "out", "p.f.*"))
	if len(files) != 1 {
		t.Fatal(files)
	}
	text, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
