package file

import (
	"bytes"
	stdcsv "encoding/csv"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"

	"sluice/batch"
	"sluice/fault"
)

// TestHeaders finds columns by each file's own header, also when reading resumes in the middle of a file.
func TestHeaders(t *testing.T) {
	dir := tree(t, [2]string{"a.csv", "id,name\r\n1,x\r\n2,y\r\n"}, [2]string{"b.csv", "\ufeffname,other,ID\nz,-,3\n"},
		[2]string{"c.csv", "name,id\n"}, [2]string{"d.csv", ""}, [2]string{"e.csv", "\n\n"})
	want := []string{`a.csv:9 1 | "x"`, `a.csv:14 2 | "y"`, `b.csv:17 3 | "z"`}
	for rows := range 3 {
		d, err := drain(t, mustRead(t, dir, false, "id INT, name STRING", "path=.", "format=csv", "header=true"), batch.Limit{Rows: rows})
		if err != nil {
			t.Fatal(err)
		}
		same(t, d.rows, want...)
	}
	end, _ := mustRead(t, dir, false, "", "path=.").End(t.Context())
	d := drained{}
	for !d.at.Reached(end) { // a new source for every read
		s := mustRead(t, dir, false, "id INT, name STRING", "path=.", "format=csv", "header=true")
		if err := d.read(t, s, batch.Limit{Rows: 1, Until: end}); err != nil {
			t.Fatal(err)
		}
		s.Close()
	}
	same(t, d.rows, want...)
}

func TestAHeaderThatDoesNotFitNamesItsFile(t *testing.T) {
	dir := tree(t, [2]string{"a.csv", "id,name\n1,x\n"}, [2]string{"b.csv", "id,nam\n2,y\n"})
	d, err := drain(t, mustRead(t, dir, false, "id INT, name STRING", "path=.", "format=csv", "header=true"), batch.Limit{})
	same(t, d.rows, `a.csv:8 1 | "x"`)
	if logged := fault.From(err).WithoutPayload().Error(); !strings.Contains(logged, "b.csv") { // a path is no part of a record
		t.Errorf("the log does not say which file: %s", logged)
	}
	if !fault.Of(err, fault.HeaderMismatch) || !strings.Contains(err.Error(), "b.csv") || !strings.Contains(err.Error(), `did you mean "nam"?`) {
		t.Errorf("got %v", err)
	}
}

// TestQuotedRecordsAcrossBlocks has records whose line breaks and quotes lie on the borders of blocks.
func TestQuotedRecordsAcrossBlocks(t *testing.T) {
	var text bytes.Buffer
	w := stdcsv.NewWriter(&text)
	var want []string
	for i := 0; text.Len() < 3*block; i++ {
		long := strings.Repeat(fmt.Sprintf("line %d \"quoted\", and\n", i), 1+i%97)
		want = append(want, fmt.Sprintf("%d | %s", i, strconv.Quote(long)))
		if err := w.Write([]string{strconv.Itoa(i), long}); err != nil {
			t.Fatal(err)
		}
		w.Flush()
	}
	dir := tree(t, [2]string{"a.csv", text.String()})
	for _, limit := range []batch.Limit{{}, {Rows: 7}, {Bytes: 1000}} {
		d, err := drain(t, mustRead(t, dir, false, "i INT, s STRING", "path=a.csv", "format=csv"), limit)
		if err != nil || len(d.bad) > 0 || len(d.rows) != len(want) {
			t.Fatalf("%+v: %d rows of %d, %d bad, %v", limit, len(d.rows), len(want), len(d.bad), err)
		}
		for i, row := range d.rows {
			if _, values, _ := strings.Cut(row, " "); values != want[i] {
				t.Fatalf("%+v: row %d is %s, want %s", limit, i, values, want[i])
			}
		}
	}
}

// TestBadRecordsOfFiles have the byte offset of their record and its bytes (D-1, D-15).
func TestBadRecordsOfFiles(t *testing.T) {
	dir := tree(t, [2]string{"a.csv", "1,x\r\n\r\n2\r\n3,\"a\r\nb\"\r\nx,y"}, [2]string{"b.json", "\ufeff{\"a\":1}\n{\"a\":1}{}\n{\"a\":2}"}, [2]string{"c.txt", "x\n\n\xff\n"})
	for options, want := range map[string][]string{
		"path=a.csv;format=csv": {`a.csv:0 1 | "x"`, `a.csv:10 3 | "a\r\nb"`, `bad a.csv:7 "2"`, `bad a.csv:20 "x,y"`},
		"path=b.json":           {"b.json:3 1 | NULL", "b.json:21 2 | NULL", `bad b.json:11 "{\"a\":1}{}"`},
	} {
		d, err := drain(t, mustRead(t, dir, false, "a INT, b STRING", strings.Split(options, ";")...), batch.Limit{})
		if err != nil {
			t.Fatal(err)
		}
		for _, b := range d.bad {
			d.rows = append(d.rows, fmt.Sprintf("bad %s:%s %q", b.Split, b.At, b.Value))
		}
		same(t, d.rows, want...)
	}
	d, err := drain(t, mustRead(t, dir, false, "value STRING", "path=c.txt", "format=raw"), batch.Limit{})
	if err != nil || len(d.bad) != 1 || d.bad[0].At.At != 3 {
		t.Errorf("%v %v", d.bad, err)
	}
	same(t, d.rows, `c.txt:0 "x"`, `c.txt:2 ""`)
}

// TestRealTrips reads a real CSV file with CRLF line ends and compares with the standard library's reader.
func TestRealTrips(t *testing.T) {
	data, err := os.ReadFile("../../format/csv/testdata/real/trips-2019-01.csv")
	if err != nil {
		t.Fatal(err)
	}
	want, err := stdcsv.NewReader(bytes.NewReader(data)).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	dir := tree(t, [2]string{"trips.csv", string(data)})
	d, err := drain(t, mustRead(t, dir, false, "passenger_count INT, store_and_fwd_flag STRING", "path=trips.csv", "format=csv", "header=true"), batch.Limit{Rows: 17})
	if err != nil || len(d.rows) != len(want)-1 || len(d.bad) > 0 {
		t.Fatalf("%d rows of %d, %v, %v", len(d.rows), len(want)-1, d.bad, err)
	}
	for i, row := range d.rows {
		if _, values, _ := strings.Cut(row, " "); values != fmt.Sprintf("%s | %q", want[i+1][3], want[i+1][6]) {
			t.Fatalf("row %d is %s, want %s", i, values, want[i+1])
		}
	}
}
