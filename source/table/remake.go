package table

import (
	"slices"
	"strings"

	"sluice/batch"
	"sluice/fault"
	"sluice/format"
	"sluice/format/json"
	"sluice/source"
)

// A row of a table is kept as JSON. One that came through a change feed has beside it where it lies in the table, as a header.

// placeName is what that is called there.
const placeName = "place"

// Original implements source.Keeper.
func (s *Source) Original(rows *batch.Columns, row int, _ string) (out batch.Bad) {
	shown := batch.Columns{Len: rows.Len}
	for i, field := range rows.Fields {
		if !strings.HasPrefix(field.Name, "\x00") { // those of the change feed alone
			shown.Fields, shown.Cols = append(shown.Fields, field), append(shown.Cols, rows.Cols[i])
		}
	}
	if text, _, err := json.NewEncoder(shown.Fields, json.EncodeOptions{}).Encode(nil, nil, &shown, row, row+1); err == nil {
		out.Value = text
	}
	if place := rows.Col(PlaceColumn); place != nil {
		out.Headers = []batch.Header{{Key: placeName, Value: slices.Clone(place.Text(row))}}
	}
	return out
}

// Remake implements source.Keeper. What a change meant for a sink is not remade: rows of a change feed go into tables only.
func (s *Source) Remake(records []source.Kept) (batch.Columns, batch.Range, []batch.Bad, error) {
	covered, splits := source.Splits(records)
	out := batch.Columns{}
	var builders []batch.Builder
	for _, c := range s.Columns {
		out.Fields = append(out.Fields, c.Field)
		builders = append(builders, *batch.NewBuilder(c.Field.Type, 0))
	}
	decoder, err := json.NewDecoder(json.Options{Fields: out.Fields, CorruptRecord: -1})
	if err != nil {
		return batch.Columns{}, batch.Range{}, nil, err
	}
	places := batch.NewBuilder(batch.Of(batch.Binary), 0)
	var bad []batch.Bad
	for i := range records {
		k := &records[i]
		if err := s.remakeOne(decoder, k, builders, places); err != nil {
			bad = append(bad, batch.Bad{Split: k.Split, At: k.At, Value: k.Value, Headers: k.Headers, Err: err})
			continue
		}
		out.Len++
		out.Pos.Split, out.Pos.Offset, out.Pos.Index = append(out.Pos.Split, splits[i]), append(out.Pos.Offset, k.At.At), append(out.Pos.Index, k.At.Index)
	}
	for i := range builders {
		out.Cols = append(out.Cols, builders[i].Column())
	}
	if s.keyedFeed() {
		out.Fields = append(out.Fields, batch.Field{Name: PlaceColumn, Type: batch.Of(batch.Binary)})
		out.Cols = append(out.Cols, places.Column())
	}
	return out, covered, bad, nil
}

// keyedFeed reports whether rows have places.
func (s *Source) keyedFeed() bool { return s.Feed && s.Table.Info().Keyed }

func (s *Source) remakeOne(decoder format.Decoder, k *source.Kept, into []batch.Builder, places *batch.Builder) *fault.Error {
	at := slices.IndexFunc(k.Headers, func(h batch.Header) bool { return h.Key == placeName })
	if s.keyedFeed() && at < 0 {
		return fault.New(fault.CannotReplay, "the place of the row in its table was not kept")
	}
	if bad := decoder.Decode([][]byte{k.Value}, into); len(bad) > 0 {
		return bad[0].Err
	}
	if s.keyedFeed() {
		places.AppendText(k.Headers[at].Value)
	}
	return nil
}
