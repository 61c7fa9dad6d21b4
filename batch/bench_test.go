package batch

import (
	"fmt"
	"testing"
)

// BenchmarkEncodeKeys encodes the keys of a batch of the usual size.
func BenchmarkEncodeKeys(b *testing.B) {
	const n = 65536
	text, number := NewBuilder(Of(String), n), NewBuilder(Of(BigInt), n)
	for i := range n {
		text.AppendString(fmt.Sprintf("acct-%011d", i*7919%1_000_000))
		number.AppendInt(int64(i))
	}
	for _, c := range []struct {
		name string
		col  Column
	}{{"text", text.Column()}, {"bigint", number.Column()}} {
		b.Run(c.name, func(b *testing.B) {
			var k Keys
			b.ReportAllocs()
			for b.Loop() {
				EncodeKeys(&k, &c.col)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*n), "ns/key")
		})
	}
}
