package json

import (
	stdjson "encoding/json"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/valyala/fastjson"

	"sluice/format/formattest"
)

// flatRecords are 8,192 records of 123 bytes or so with six members, as an account's status feed would have.
func flatRecords() (values [][]byte, size int64) {
	random := rand.New(rand.NewPCG(1, 2))
	states := []string{"IN_TRANSIT", "DELIVERED", "CREATED", "RETURNED"}
	for range 8192 {
		v := fmt.Appendf(nil, `{"id":"acct-%011d","seq":%d,"status":"%s","amount":%d.%02d,"ts":"%s","qty":%d}`,
			random.IntN(1_000_000), 1_700_000_000_000+random.IntN(1e6), states[random.IntN(4)], random.IntN(10000), random.IntN(100),
			time.UnixMilli(1_700_000_000_000+random.Int64N(1e9)).UTC().Format("2006-01-02T15:04:05.000Z"), random.IntN(100))
		values = append(values, v)
		size += int64(len(v))
	}
	return values, size
}

func perRecord(b *testing.B, n int) {
	b.ReportMetric(float64(b.N)*float64(n)/b.Elapsed().Seconds()/1e6, "Mrecords/s")
}

func benchmarkDecode(b *testing.B, ddl string) {
	values, size := flatRecords()
	fields, quoted := formattest.Fields(b, ddl)
	d, err := NewDecoder(Options{Fields: fields, Quoted: quoted, CorruptRecord: -1})
	if err != nil {
		b.Fatal(err)
	}
	built := formattest.Builders(fields, len(values))
	b.SetBytes(size)
	b.ReportAllocs()
	for b.Loop() {
		for i := range built {
			built[i].Reset()
		}
		if bad := d.Decode(values, built); len(bad) > 0 {
			b.Fatal(bad[0].Err)
		}
	}
	perRecord(b, len(values))
}

func BenchmarkDecodeFourOfSix(b *testing.B) {
	benchmarkDecode(b, "id STRING, seq BIGINT, status STRING, amount DECIMAL(10,2)")
}

func BenchmarkDecodeAllSix(b *testing.B) {
	benchmarkDecode(b, "id STRING, seq BIGINT, status STRING, amount DOUBLE, ts TIMESTAMP, qty INT")
}

func BenchmarkDecodeOneOfSix(b *testing.B) { benchmarkDecode(b, "seq BIGINT") }

// BenchmarkDecodeOtherCase has columns whose names match in another case only.
func BenchmarkDecodeOtherCase(b *testing.B) {
	benchmarkDecode(b, "ID STRING, SEQ BIGINT, STATUS STRING, AMOUNT DECIMAL(10,2)")
}

func BenchmarkFastjsonFourOfSix(b *testing.B) {
	values, size := flatRecords()
	var p fastjson.Parser
	b.SetBytes(size)
	b.ReportAllocs()
	for b.Loop() {
		for _, v := range values {
			doc, err := p.ParseBytes(v)
			if err != nil {
				b.Fatal(err)
			}
			if len(doc.GetStringBytes("id")) == 0 || doc.GetInt64("seq") == 0 || len(doc.GetStringBytes("status")) == 0 || doc.GetFloat64("amount") < 0 {
				b.Fatal("not read")
			}
		}
	}
	perRecord(b, len(values))
}

func BenchmarkEncodingJSONFourOfSix(b *testing.B) {
	values, size := flatRecords()
	b.SetBytes(size)
	b.ReportAllocs()
	for b.Loop() {
		for _, v := range values {
			var doc struct {
				ID     string         `json:"id"`
				Seq    int64          `json:"seq"`
				Status string         `json:"status"`
				Amount stdjson.Number `json:"amount"`
			}
			if err := stdjson.Unmarshal(v, &doc); err != nil {
				b.Fatal(err)
			}
		}
	}
	perRecord(b, len(values))
}

func BenchmarkEncode(b *testing.B) {
	values, size := flatRecords()
	fields, _ := formattest.Fields(b, "id STRING, seq BIGINT, status STRING, amount DECIMAL(10,2), ts TIMESTAMP, qty INT")
	d, _ := NewDecoder(Options{Fields: fields, CorruptRecord: -1})
	built := formattest.Builders(fields, len(values))
	d.Decode(values, built)
	rows := formattest.Columns(b, fields, built)
	e := NewEncoder(fields, EncodeOptions{Lines: true})
	var dst []byte
	var ends []int
	b.SetBytes(size)
	b.ReportAllocs()
	for b.Loop() {
		var err error
		if dst, ends, err = e.Encode(dst[:0], ends[:0], &rows, 0, rows.Len); err != nil {
			b.Fatal(err)
		}
	}
	perRecord(b, len(values))
}
