package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"time"

	"github.com/valyala/fastjson"

	"sluice/batch"
	"sluice/fault"
	"sluice/format"
	"sluice/format/csv"
	formatjson "sluice/format/json"
	"sluice/option"
)

// Decoders alone: the same records, in memory, a tenth of them with escapes, of which four fields of six are read. All decoders
// run in one process and take turns of a few milliseconds, so that all have the same weather.
const (
	mostDecoded = 1 << 18 // records that are kept in memory
	turn        = 4096    // records decoded at a time
)

// decoded is what one decoder did in the process of the decoders.
type decoded struct {
	Name string `json:"name"`
	timed
}

// decoder reads records and adds up what it has read. Values are those of the format it is for.
type decoder struct {
	decoded
	csv  bool
	read func(values [][]byte, sum *rows) error
}

// decoders are measured in this order; the first is what the others are compared with.
func decoders() ([]decoder, error) {
	ours, err := columnar(formatjson.ReadOptions(), formatjson.Open)
	if err != nil {
		return nil, err
	}
	lines, err := columnar(csv.ReadOptions(), csv.Open)
	if err != nil {
		return nil, err
	}
	return []decoder{
		{decoded: decoded{Name: "decode JSON"}, read: ours},
		{decoded: decoded{Name: "decode JSON, fastjson"}, read: readFastjson()},
		{decoded: decoded{Name: "decode JSON, " + standardName}, read: readStandard},
		{decoded: decoded{Name: "decode CSV"}, csv: true, read: lines},
	}, nil
}

// columnar reads with one of the product's formats, into columns.
func columnar(options option.Set, open func(format.Reading) (format.Reader, error)) (func([][]byte, *rows) error, error) {
	given, problems := options.Parse("bench", nil, fault.Pos{})
	if err := problems.Err(); err != nil {
		return nil, err
	}
	reader, err := open(format.Reading{Schema: fields, Columns: fields[:4], Mode: batch.FailFast, Zone: time.UTC, Options: given})
	if err != nil {
		return nil, err
	}
	into := make([]batch.Builder, 4)
	for i, f := range fields[:4] {
		into[i].Init(f.Type, turn)
	}
	return func(values [][]byte, sum *rows) error {
		for i := range into {
			into[i].Reset()
		}
		if bad := reader.Decoder.Decode(values, into); len(bad) > 0 {
			return bad[0].Err
		}
		seq := into[1].Column()
		for _, v := range batch.Values[int64](&seq) {
			sum.add(v)
		}
		return nil
	}, nil
}

func (r *rows) add(seq int64) {
	r.Rows++
	r.Sum += seq - epoch
}

func readFastjson() func([][]byte, *rows) error {
	var p fastjson.Parser
	return func(values [][]byte, sum *rows) error {
		for _, v := range values {
			doc, err := p.ParseBytes(v)
			if err != nil {
				return err
			}
			if len(doc.GetStringBytes("id")) == 0 || len(doc.GetStringBytes("status")) == 0 || doc.GetFloat64("amount") < 0 {
				return fmt.Errorf("%s was not read", v)
			}
			sum.add(doc.GetInt64("seq"))
		}
		return nil
	}
}

// account is what the standard library fills: the amount stays text, since a float would not be exact.
type account struct {
	ID     string      `json:"id"`
	Seq    int64       `json:"seq"`
	Status string      `json:"status"`
	Amount json.Number `json:"amount"`
}

func readStandard(values [][]byte, sum *rows) error {
	for _, v := range values {
		var a account
		if err := unmarshal(v, &a); err != nil {
			return err
		}
		sum.add(a.Seq)
	}
	return nil
}

// decodeAlone is the process of the decoders.
func decodeAlone(_ context.Context, _ string, keys int) error {
	all, err := decoders()
	if err != nil {
		return err
	}
	objects, lines := records(keys)
	for from := 0; from < len(objects); from += turn {
		to := min(from+turn, len(objects))
		for i := range all {
			d, values := &all[i], objects[from:to]
			if d.csv {
				values = lines[from:to]
			}
			began := time.Now()
			if err := d.read(values, &d.rows); err != nil {
				return fmt.Errorf("%s: %w", d.Name, err)
			}
			d.Seconds += time.Since(began).Seconds()
		}
	}
	out := make([]decoded, len(all))
	for i, d := range all {
		out[i] = d.decoded
	}
	return json.NewEncoder(os.Stdout).Encode(out)
}

// records are the first records of the topic, as JSON and as CSV. In every tenth the status has escapes, in CSV doubled quotes.
func records(keys int) (objects, lines [][]byte) {
	_ = eachRecord(keys, func(r record) error {
		if len(objects) == mostDecoded {
			return errEnough
		}
		object := r.appendValue(nil)
		if len(objects)%10 == 0 {
			object = bytes.Replace(object, []byte(`"status":"`), []byte(`"status":"\"\u00e9\" `), 1)
		}
		objects = append(objects, object)
		lines = append(lines, r.appendLine(nil, len(lines)%10 == 0))
		return nil
	})
	return objects, lines
}

var errEnough = fmt.Errorf("enough records")

// appendLine appends the record as CSV.
func (r record) appendLine(b []byte, escapes bool) []byte {
	h := mix(uint64(r.sequence()))
	status := statuses[h%5]
	if escapes {
		status = `"""é"" ` + status + `"`
	}
	b = fmt.Appendf(r.appendKey(b), `,%d,%s,%d.%02d,`, r.sequence(), status, h/5%10_000, h/50_000%100)
	b = time.UnixMilli(r.sequence()).UTC().AppendFormat(b, "2006-01-02T15:04:05.000Z")
	return fmt.Appendf(b, `,%d`, h/5_000_000%100)
}

// measureDecoders measures the decoders as often as pairs are wanted, each time after a plain consume.
func (b *bench) measureDecoders(ctx context.Context, consume func() (sample, error)) (plain []sample, results []*result, err error) {
	total := allRows(b.keys).Rows
	for range b.pairs {
		p, err := consume()
		if err != nil {
			return nil, nil, err
		}
		plain = append(plain, p)
		used, out, err := runProcess(ctx, self(), "decoders", strconv.Itoa(b.keys))
		if err != nil {
			return nil, nil, err
		}
		var all []decoded
		if err := json.Unmarshal(out, &all); err != nil {
			return nil, nil, fmt.Errorf("the decoders printed %q: %w", out, err)
		}
		for i, d := range all {
			if err := d.check(all[0].rows); err != nil {
				return nil, nil, fmt.Errorf("%s: %w", d.Name, err)
			}
			if len(results) <= i {
				results = append(results, &result{name: d.Name})
				if i > 0 {
					results[i].base = all[0].Name
				}
			}
			took := time.Duration(d.Seconds / float64(d.Rows) * float64(total) * float64(time.Second)) // for as many records as the topic has
			results[i].plain = append(results[i].plain, p)
			results[i].samples = append(results[i].samples, sample{took: took, cpu: took, memory: used.memory})
		}
	}
	return plain, results, nil
}
