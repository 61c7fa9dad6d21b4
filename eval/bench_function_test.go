package eval

import (
	"fmt"
	"testing"

	"sluice/batch"
	"sluice/eval/dialect"
)

// Functions that are computed in Go beside what DuckDB has that comes nearest, over the same texts: their ratio is what Spark's
// meaning costs.
func BenchmarkFunction(b *testing.B) {
	const n = 8 << 10
	of := func(text func(i int) string) *batch.Columns {
		column := texts()
		for i := range n {
			column.AppendString(text(i))
		}
		return columns([]batch.Field{field("a", str)}, column)
	}
	words := of(func(i int) string { return fmt.Sprintf("Order %d of %d items, Shipped %d", i%1000, i%28, i%60) })
	times := of(func(i int) string {
		return fmt.Sprintf("2024-%02d-%02d %02d:%02d:%02d", i%12+1, i%28+1, i%24, i%60, i%60)
	})
	whole := of(func(i int) string { return fmt.Sprint(i * 7919) })
	fractions := of(func(i int) string { return fmt.Sprintf("%d.%02d", i%1000, i%100) })
	for _, f := range []struct {
		name, spark, duck string
		in                *batch.Columns
	}{
		{"upper", "upper(a)", "upper(a)", words},
		{"initcap", "initcap(a)", "upper(a)", words},
		{"regexp_replace", "regexp_replace(a, '[0-9]+', '#')", "regexp_replace(a, '[0-9]+', '#', 'g')", words},
		{"regexp_extract", "regexp_extract(a, 'of ([0-9]+)', 1)", "regexp_extract(a, 'of ([0-9]+)', 1)", words},
		{"split", "split(a, ' ')", "string_split(a, ' ')", words},
		{"split_part", "split_part(a, ' ', 2)", "split_part(a, ' ', 2)", words},
		{"lpad", "lpad(a, 40, '*')", "lpad(a, 40, '*')", words},
		{"xxhash64", "xxhash64(a)", "CAST(hash(a) >> 1 AS BIGINT)", words},
		{"cast to BIGINT", "CAST(a AS BIGINT)", "CAST(a AS BIGINT)", whole},
		{"cast to DOUBLE", "CAST(a AS DOUBLE)", "CAST(a AS DOUBLE)", fractions},
		{"cast to DECIMAL", "CAST(a AS DECIMAL(10,2))", "CAST(a AS DECIMAL(10,2))", fractions},
		{"cast to TIMESTAMP", "CAST(a AS TIMESTAMP)", "CAST(a AS TIMESTAMPTZ)", times},
		{"to_timestamp", "to_timestamp(a, 'yyyy-MM-dd HH:mm:ss')", "CAST(strptime(a, '%Y-%m-%d %H:%M:%S') AS TIMESTAMPTZ)", times},
		{"date_format", "date_format(CAST(a AS TIMESTAMP_NTZ), 'dd.MM.yyyy HH:mm')", "strftime(CAST(a AS TIMESTAMP), '%d.%m.%Y %H:%M')", times},
		{"DOUBLE to STRING", "CAST(CAST(a AS DOUBLE) AS STRING)", "CAST(CAST(a AS DOUBLE) AS VARCHAR)", fractions},
	} {
		c := compiled(b, "SELECT "+f.spark+" AS x FROM STREAM(t)", "")
		b.Run(f.name+"/sluice", func(b *testing.B) { benchmark(b, c, f.in) })
		plain := &dialect.Compiled{Reads: c.Reads, Columns: c.Columns, Row: true, SQL: "SELECT " + f.duck + " AS x, _row FROM t"}
		b.Run(f.name+"/DuckDB", func(b *testing.B) { benchmark(b, plain, f.in) })
	}
}
