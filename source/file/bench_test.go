package file

import (
	"fmt"
	"strings"
	"testing"

	"sluice/batch"
)

// BenchmarkRead reads a file of 100,000 records into columns, 65,536 at a time.
func BenchmarkRead(b *testing.B) {
	for _, format := range []string{"json", "csv"} {
		var text strings.Builder
		for i := range 100_000 {
			if format == "json" {
				fmt.Fprintf(&text, `{"id":"acct-%011d","seq":%d,"status":"DELIVERED","amount":%d.25,"qty":%d}`+"\n", i%1000, 1_700_000_000_000+i, i%9000, i%90)
			} else {
				fmt.Fprintf(&text, "acct-%011d,%d,DELIVERED,%d.25,%d\n", i%1000, 1_700_000_000_000+i, i%9000, i%90)
			}
		}
		b.Run(format, func(b *testing.B) {
			dir := tree(b, [2]string{"in", text.String()})
			s := mustRead(b, dir, false, "id STRING, seq BIGINT, status STRING, amount DECIMAL(10,2), qty INT", "path=in", "format="+format)
			end, err := s.End(b.Context())
			if err != nil {
				b.Fatal(err)
			}
			b.SetBytes(int64(text.Len()))
			b.ReportAllocs()
			for b.Loop() {
				var at batch.Position
				rows := 0
				for !at.Reached(end) {
					cols, covered, bad, err := s.Read(b.Context(), at, batch.Limit{Rows: 1 << 16, Until: end})
					if err != nil || len(bad) > 0 {
						b.Fatal(bad, err)
					}
					rows += cols.Len
					at = at.With(covered)
				}
				if rows != 100_000 {
					b.Fatal(rows)
				}
			}
			b.ReportMetric(float64(b.N)*0.1/b.Elapsed().Seconds(), "Mrecords/s")
		})
	}
}
