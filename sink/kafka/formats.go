package kafka

import (
	"slices"

	"sluice/batch"
	"sluice/fault"
	"sluice/format"
	"sluice/format/csv"
	"sluice/format/json"
	"sluice/format/raw"
)

// valueEncoder makes values of columns, of which keys are those of the record key.
func (o *options) valueEncoder(fields []batch.Field, keys []int) (format.Encoder, error) {
	switch o.format {
	case "csv":
		return csv.NewEncoder(fields, o.csv)
	case "raw":
		var left []int
		for i := range fields {
			if !slices.Contains(keys, i) {
				left = append(left, i)
			}
		}
		return rawEncoder("a raw value is", fields, left)
	}
	return json.NewEncoder(fields, json.EncodeOptions{BigIntAsText: o.bigIntAsText}), nil
}

// keyEncoder makes record keys of the columns for them alone.
func (o *options) keyEncoder(fields []batch.Field, keys []int) (format.Encoder, error) {
	own, all := make([]batch.Field, len(keys)), make([]int, len(keys))
	for i, k := range keys {
		own[i], all[i] = fields[k], i
	}
	if o.format == "raw" && len(keys) > 0 {
		return rawEncoder("a raw key is", own, all)
	}
	return json.NewEncoder(own, json.EncodeOptions{BigIntAsText: o.bigIntAsText}), nil
}

// rawEncoder writes the only one of the given columns as it is.
func rawEncoder(what string, fields []batch.Field, of []int) (format.Encoder, error) {
	some := make([]batch.Field, len(of))
	for i, at := range of {
		some[i] = fields[at]
	}
	e, err := raw.NewEncoder(some, false)
	if err != nil {
		return nil, fault.New(fault.UnsupportedTypes, "%s one column, BINARY or STRING, not (%s)", what, batch.DDL(some)).
			WithHint("select that column and those of keys, and cast them")
	}
	return only{e, of[0]}, nil
}

// only encodes one of the columns.
type only struct {
	format.Encoder
	column int
}

func (e only) Encode(dst []byte, ends []int, rows *batch.Columns, from, to int) ([]byte, []int, error) {
	one := batch.Columns{Fields: rows.Fields[e.column : e.column+1], Cols: rows.Cols[e.column : e.column+1], Len: rows.Len}
	return e.Encoder.Encode(dst, ends, &one, from, to)
}
