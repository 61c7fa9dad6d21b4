package json

import (
	"bytes"
	stdjson "encoding/json"
	"testing"
	"time"

	"github.com/valyala/fastjson"

	"sluice/format/formattest"
)

// BenchmarkBeside decodes the same records, a tenth of them with escapes, in turn with this package, with fastjson and with
// encoding/json, a millisecond or so each, and reports how many times faster this package is. On a machine with other work the
// turns meet the same weather, so the ratios hold where times do not. With GOEXPERIMENT=jsonv2 the last one is encoding/json/v2.
func BenchmarkBeside(b *testing.B) {
	values := escapedRecords()
	fields, quoted := formattest.Fields(b, "id STRING, seq BIGINT, status STRING, amount DECIMAL(10,2)")
	d, err := NewDecoder(Options{Fields: fields, Quoted: quoted, CorruptRecord: -1})
	if err != nil {
		b.Fatal(err)
	}
	built := formattest.Builders(fields, len(values))
	var p fastjson.Parser
	readers := []struct {
		name string
		read func([]byte)
		all  time.Duration
	}{
		{name: "sluice"},
		{name: "fastjson", read: func(v []byte) {
			doc, err := p.ParseBytes(v)
			if err != nil || len(doc.GetStringBytes("id")) == 0 || doc.GetInt64("seq") == 0 || len(doc.GetStringBytes("status")) == 0 || doc.GetFloat64("amount") < 0 {
				b.Fatal("not read", err)
			}
		}},
		{name: "encoding/json", read: func(v []byte) {
			var doc account
			if err := stdUnmarshal(v, &doc); err != nil {
				b.Fatal(err)
			}
		}},
	}
	const turn = 1024
	for b.Loop() {
		for i := range built {
			built[i].Reset()
		}
		for from := 0; from < len(values); from += turn {
			part := values[from : from+turn]
			for i := range readers {
				r := &readers[i]
				began := time.Now()
				if r.read == nil {
					if bad := d.Decode(part, built); len(bad) > 0 {
						b.Fatal(bad[0].Err)
					}
				} else {
					for _, v := range part {
						r.read(v)
					}
				}
				r.all += time.Since(began)
			}
		}
	}
	for _, r := range readers[1:] {
		b.ReportMetric(float64(r.all)/float64(readers[0].all), "x-"+r.name)
	}
	b.ReportMetric(float64(b.N*len(values))/readers[0].all.Seconds()/1e6, "Mrecords/s")
}

// account is what encoding/json fills.
type account struct {
	ID     string         `json:"id"`
	Seq    int64          `json:"seq"`
	Status string         `json:"status"`
	Amount stdjson.Number `json:"amount"`
}

// escapedRecords are flatRecords, a tenth of them with escapes in a field that is read.
func escapedRecords() [][]byte {
	values, _ := flatRecords()
	for i := 0; i < len(values); i += 10 {
		values[i] = bytes.Replace(values[i], []byte(`"status":"`), []byte(`"status":"\"\u00e9\" `), 1)
	}
	return values
}
