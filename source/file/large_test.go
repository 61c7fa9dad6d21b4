package file

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"sluice/batch"
	"sluice/fault"
)

// A record that is too large is a bad one: what is before and behind it is read, and its beginning is kept.
func TestARecordThatIsTooLarge(t *testing.T) {
	x := strings.Repeat("x", 6000)
	for _, c := range []struct {
		what, name, text, options string
		rows, bad                 []string
	}{
		{"a line", "a.json", "{\"a\":1}\n{\"a\":3,\"x\":\"" + x + "\"}\n{\"a\":4}\n", "maxRecordSize=5000",
			[]string{"a.json:0 1", "a.json:6023 4"}, []string{"8 RECORD_TOO_LARGE 4096 of 6015"}},
		{"the last line", "a.json", "{\"a\":1}\n" + x, "maxRecordSize=5000", []string{"a.json:0 1"}, []string{"8 RECORD_TOO_LARGE 4096 of 6000"}},
		{"all there is", "a.json", x, "maxRecordSize=100", nil, []string{"0 RECORD_TOO_LARGE 100 of 6000"}},
		{"as large as may be", "a.json", "{\"a\":1}\n{\"a\":2}\n", "maxRecordSize=7", []string{"a.json:0 1", "a.json:8 2"}, nil},
		{"one byte more", "a.json", "{\"a\":1}\n{\"a\":22}\n{\"a\":3}", "maxRecordSize=7", []string{"a.json:0 1", "a.json:17 3"}, []string{"8 RECORD_TOO_LARGE 7 of 9"}},
		{"a quote that nothing closes", "a.csv", "1\n\"2\n3\n" + strings.Repeat("4\n", 100), "format=csv;maxRecordSize=50",
			append([]string{"a.csv:0 1", "a.csv:5 3"}, repeated(7, 2, 4, 100)...), []string{"2 MALFORMED_CSV_RECORD 2 of 0"}},
		{"a quote that is closed too late", "a.csv", "1\n\"" + strings.Repeat("4\n", 100) + "\"\n5\n", "format=csv;maxRecordSize=50",
			append(append([]string{"a.csv:0 1"}, repeated(5, 2, 4, 99)...), "a.csv:205 5"), []string{"2 MALFORMED_CSV_RECORD 2 of 0", "203 MALFORMED_CSV_RECORD 1 of 0"}},
		{"a header", "a.csv", "a\n1\n" + x + "\n2\n", "format=csv;header=true;maxRecordSize=100", []string{"a.csv:2 1", "a.csv:6005 2"}, []string{"4 RECORD_TOO_LARGE 100 of 6001"}},
		{"where stray quotes are text", "a.csv", "1\n\"" + strings.Repeat("4\n", 100), "format=csv;unescapedQuoteHandling=STOP_AT_DELIMITER;maxRecordSize=150",
			append([]string{"a.csv:0 1"}, repeated(153, 2, 4, 25)...), []string{"2 RECORD_TOO_LARGE 150 of 151"}},
	} {
		t.Run(c.what, func(t *testing.T) {
			dir := tree(t, [2]string{c.name, c.text})
			for _, block := range []int{block, 700, 64, 5} {
				s := mustRead(t, dir, false, "a INT", append(strings.Split(c.options, ";"), "path="+c.name)...)
				s.block = block
				d, err := drain(t, s, batch.Limit{})
				if err != nil {
					t.Fatal(err)
				}
				same(t, d.rows, c.rows...)
				var bad []string
				for _, b := range d.bad {
					_, size, _ := strings.Cut(b.Err.Message, "bytes; ")
					size, _, _ = strings.Cut(size+"0 ", " ")
					bad = append(bad, fmt.Sprintf("%d %s %d of %s", b.At.At, b.Err.Code.Name, len(b.Value), size))
					if !strings.HasPrefix(c.text[b.At.At:], string(b.Value)) || b.Kept {
						t.Errorf("not the beginning of the record: %q", b.Value)
					}
					if strings.Contains(c.options, "header") != (len(b.Headers) == 1) {
						t.Errorf("headers %v", b.Headers)
					}
				}
				same(t, bad, c.bad...)
			}
		})
	}
}

func repeated(from, step, value, times int) (out []string) {
	for i := range times {
		out = append(out, fmt.Sprintf("a.csv:%d %d", from+i*step, value))
	}
	return out
}

// A header cannot be passed over.
func TestAHeaderThatIsTooLarge(t *testing.T) {
	dir := tree(t, [2]string{"a.csv", strings.Repeat("a", 1000) + "\n1\n"})
	s := mustRead(t, dir, false, "a INT", "path=a.csv", "format=csv", "header=true", "maxRecordSize=100")
	s.block = 50
	if _, err := drain(t, s, batch.Limit{}); !fault.Of(err, fault.RecordTooLarge) {
		t.Errorf("got %v", err)
	}
}

// A record of any size takes no more memory than one that is as large as may be.
func TestMemoryOfARecordThatIsTooLarge(t *testing.T) {
	dir := tree(t, [2]string{"a.json", strings.Repeat("x", 1<<20) + "\n{\"a\":1}"})
	s := mustRead(t, dir, false, "a INT", "path=a.json", "maxRecordSize=10000")
	s.block = 1000
	t.Cleanup(func() { s.Close() })
	end, _ := s.End(t.Context())
	d := drained{}
	if err := d.read(t, s, batch.Limit{Until: end, Rows: 1}); err != nil || len(d.bad) != 1 || s.open == nil {
		t.Fatal(d.bad, err)
	}
	if n := cap(s.open.rest); n > 3*10000 {
		t.Errorf("%d bytes", n)
	}
}

// What is read of a file depends on its bytes only: not on how it is cut into reads and batches, nor on where a batch ended when it is
// read again (D-42).
func TestCutsOfReading(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		var text bytes.Buffer
		for range rapid.IntRange(0, 12).Draw(r, "pieces") {
			text.WriteString(rapid.SampledFrom([]string{"1,x\n", "2,\"y\nz\"\n", "\n", "\"", "#c\n", "\r\n", "\"\"", strings.Repeat("long", 8) + "\n", strings.Repeat("3,z\n", 9), "4,\\\"\n", " "}).Draw(r, "piece"))
		}
		dir := tree(t, [2]string{"a.csv", text.String()})
		options := append([]string{"path=a.csv", "format=csv", "maxRecordSize=" + rapid.SampledFrom([]string{"5", "8", "30", "1000"}).Draw(r, "most")},
			rapid.SampledFrom([][]string{nil, {"multiLine=false"}, {"unescapedQuoteHandling=STOP_AT_DELIMITER"}, {"unescapedQuoteHandling=STOP_AT_CLOSING_QUOTE", "escape=\\"}, {"comment=#"}}).Draw(r, "options")...)
		open := func(block int) *Source {
			s := mustRead(t, dir, false, "a STRING, b STRING", options...)
			s.block = block
			return s
		}
		whole, err := drain(t, open(block), batch.Limit{})
		if err != nil {
			r.Fatal(err)
		}
		small := rapid.IntRange(1, 40).Draw(r, "block")
		limit := batch.Limit{Rows: rapid.IntRange(0, 3).Draw(r, "rows"), Bytes: int64(rapid.IntRange(0, 20).Draw(r, "bytes"))}
		parts, err := drain(t, open(small), limit)
		if err != nil {
			r.Fatal(err)
		}
		equal(r, whole, parts)

		// The first batches again, up to where they ended.
		again := drained{}
		s := open(small)
		end, _ := s.End(t.Context())
		limit.Until = end
		for !again.at.Reached(end) {
			from, n, bad := again.at, len(again.rows), len(again.bad)
			if err := again.read(t, s, limit); err != nil {
				r.Fatal(err)
			}
			twice := drained{at: from}
			for !twice.at.Reached(again.at) {
				if err := twice.read(t, open(block), batch.Limit{Until: again.at}); err != nil {
					r.Fatal(err)
				}
			}
			equal(r, drained{rows: again.rows[n:], bad: again.bad[bad:]}, twice)
		}
		equal(r, whole, again)
	})
}

func equal(r *rapid.T, a, b drained) {
	if !slices.Equal(a.rows, b.rows) {
		r.Fatalf("rows\n%q\nand\n%q", a.rows, b.rows)
	}
	said := func(d drained) (out []string) {
		for _, b := range d.bad {
			out = append(out, fmt.Sprintf("%d %q %v", b.At.At, b.Value, b.Err))
		}
		return out
	}
	if !slices.Equal(said(a), said(b)) {
		r.Fatalf("bad\n%q\nand\n%q", said(a), said(b))
	}
}
