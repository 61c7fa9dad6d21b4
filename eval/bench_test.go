package eval

import (
	"fmt"
	"testing"

	"sluice/batch"
	"sluice/eval/dialect"
	"sluice/format/json"
)

// bookings is a batch like those of a real flow: two short texts, a number as text, a sequence.
func bookings(n int) *batch.Columns {
	fields := []batch.Field{field("id", bigint), field("status", str), field("amount", str), field("seq", bigint)}
	id, status, amount, seq := ints(), texts(), texts(), ints()
	for i := range n {
		id.AppendInt(int64(i) * 7919)
		status.AppendString([]string{"CONFIRMED", "CANCELLED_BY_GUEST", "DRAFT", "PAID", "CONFIRMED", "PAID"}[i%6])
		amount.AppendString(fmt.Sprintf("%d.%02d", i%1000, i%100))
		seq.AppendInt(int64(i))
	}
	return columns(fields, id, status, amount, seq)
}

func benchmark(b *testing.B, c *dialect.Compiled, in *batch.Columns) {
	s := prepare(b, open(b, 1), c)
	inputs := []Input{{Batch: in}}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := s.Run(b.Context(), inputs, batchTime); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(in.Len)*float64(b.N)/b.Elapsed().Seconds()/1e6, "Mrows/s")
}

var benchSizes = []int{1, 100, 8 << 10, 64 << 10}

// Target: 20 M rows/s at 8 k rows, 60 us for one row.
func BenchmarkFilterTwoColumns(b *testing.B) {
	for _, n := range benchSizes {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			in := bookings(n)
			r := read("t", in.Fields...)
			r.Columns = []string{"id", "seq"}
			benchmark(b, &dialect.Compiled{Reads: []dialect.Read{r}, Columns: []batch.Field{in.Fields[0], in.Fields[3]},
				SQL: `SELECT id, seq FROM t WHERE seq % 6 <> 2`}, in)
		})
	}
}

func BenchmarkFilterTexts(b *testing.B) {
	for _, n := range benchSizes {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			in := bookings(n)
			benchmark(b, &dialect.Compiled{Reads: []dialect.Read{read("t", in.Fields...)}, Columns: in.Fields[:2], Row: true,
				SQL: `SELECT id, status, _row FROM t WHERE status <> 'DRAFT'`}, in)
		})
	}
}

// A whole flow's statement: a cast, a sequence, two expectations, the input row and the clock.
func BenchmarkFlow(b *testing.B) {
	for _, n := range benchSizes {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			in := bookings(n)
			benchmark(b, &dialect.Compiled{Reads: []dialect.Read{read("t", in.Fields...)}, Row: true, Clock: true, Checks: 2, Sequence: bigint,
				Columns: []batch.Field{in.Fields[0], in.Fields[1], field("amount", batch.DecimalOf(10, 2)), field("at", batch.Of(batch.Timestamp))},
				SQL: `SELECT id, status, a, $1::TIMESTAMPTZ, seq, a > 0, id IS NOT NULL, _row
					FROM (SELECT *, CAST(amount AS DECIMAL(10,2)) AS a FROM t WHERE status <> 'DRAFT')`}, in)
		})
	}
}

// The portable spelling over a record's bytes, fused and not, beside what format => 'json' costs: the decoder and a statement over
// what it made. Their ratios are the price of the portable spelling (D-14).
func BenchmarkFromJSON(b *testing.B) {
	const n = 8 << 10
	schema := []batch.Field{field("id", bigint), field("status", str), field("amount", batch.DecimalOf(10, 2)), field("seq", bigint)}
	values := make([][]byte, n)
	bytes := batch.NewBuilder(batch.Of(batch.Binary), n)
	for i := range values {
		values[i] = fmt.Appendf(nil, `{"id":%d,"status":"%s","amount":%d.%02d,"seq":%d,"other":"not asked for"}`, i*7919, "CANCELLED_BY_GUEST"[:5+i%13], i%1000, i%100, i)
		bytes.AppendText(values[i])
	}
	raw := columns([]batch.Field{field("b", batch.Of(batch.Binary))}, bytes)
	b.Run("format", func(b *testing.B) {
		d, err := json.NewDecoder(json.Options{Fields: schema, CorruptRecord: -1})
		if err != nil {
			b.Fatal(err)
		}
		built := make([]batch.Builder, len(schema))
		for i, f := range schema {
			built[i].Init(f.Type, n)
		}
		s := prepare(b, open(b, 1), &dialect.Compiled{Reads: []dialect.Read{read("t", schema...)}, Columns: schema, Row: true,
			SQL: "SELECT id, status, amount, seq, _row FROM t"})
		for b.Loop() {
			for i := range built {
				built[i].Reset()
			}
			d.Decode(values, built)
			in := columns(schema, &built[0], &built[1], &built[2], &built[3])
			if _, err := s.Run(b.Context(), []Input{{Batch: in}}, batchTime); err != nil {
				b.Fatal(err)
			}
		}
		b.ReportMetric(n*float64(b.N)/b.Elapsed().Seconds()/1e6, "Mrows/s")
	})
	const call = "from_json(CAST(b AS STRING), 'id BIGINT, status STRING, amount DECIMAL(10,2), seq BIGINT')"
	for _, c := range []struct{ name, sql string }{
		{"fused", "SELECT j.id, j.status, j.amount, j.seq FROM (SELECT " + call + " AS j FROM STREAM(t))"},
		{"fused, a call for each field", "SELECT " + call + ".id, " + call + ".status, " + call + ".amount, " + call + ".seq FROM STREAM(t)"},
		{"fused, late", "SELECT j.id, j.status, j.amount, j.seq FROM (SELECT " + call + " AS j FROM STREAM(t) WHERE b IS NOT NULL)"},
		{"not fused", "SELECT j.id, j.status, j.amount, j.seq FROM (SELECT " + call + " AS j FROM (SELECT coalesce(b, b) AS b FROM STREAM(t)))"},
	} {
		b.Run(c.name, func(b *testing.B) { benchmark(b, compiled(b, c.sql, ""), raw) })
	}
}
