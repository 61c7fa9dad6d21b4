// Package letters reads the dead letters of a flow: the records that it put into quarantine, on their way to a topic (D-15).
//
// It promises what every source does. A letter has the key, the value and the headers of the record, byte for byte, and behind those headers
// others that say where the record stood and why it was refused, under the names that Kafka Connect and Kafka Streams give them
// (headers.go); of equal names the last one counts. A letter stays in the store until the flow that reads it has sent it.
package letters

import (
	"context"

	"sluice/batch"
	"sluice/source"
	"sluice/state"
)

// Config says whose dead letters are read.
type Config struct {
	Flow    *state.Flow // the reader, which sends those of Of
	Of      string      // pipeline.flow
	Kafka   bool        // of a flow that reads topics
	Columns []source.Column
}

// Source implements source.Source.
type Source struct{ Config }

// most bounds the letters of a batch: each is a record with a dozen headers, which take room that the size of a letter does not tell.
const most = 1024

// New returns a source. It holds nothing that must be freed.
func New(c Config) *Source { return &Source{c} }

// Start implements source.Source.
func (s *Source) Start(context.Context) (batch.Position, error) { return s.Flow.LettersStart(), nil }

// End implements source.Source.
func (s *Source) End(context.Context) (batch.Position, error) { return s.Flow.LettersEnd(), nil }

// Close implements source.Source.
func (s *Source) Close() error { return nil }

// Read implements source.Source.
func (s *Source) Read(ctx context.Context, from batch.Position, limit batch.Limit) (batch.Columns, batch.Range, []batch.Bad, error) {
	if limit.Until == nil {
		if err := s.Flow.WaitForLetters(ctx, from); err != nil {
			return batch.Columns{}, batch.Range{}, nil, err
		}
	} else if from.Reached(limit.Until) {
		return batch.Columns{}, batch.Range{}, nil, nil
	}
	if limit.Rows == 0 || limit.Rows > most {
		limit.Rows = most
	}
	some, r, err := s.Flow.ReadLetters(from, limit)
	if err != nil || len(some) == 0 {
		return batch.Columns{}, r, nil, err
	}
	return s.columns(some, r.Splits[0].From.At), r, nil, nil
}

// columns lays out letters that begin with a number.
func (s *Source) columns(some []state.Quarantined, first int64) batch.Columns {
	out := batch.Columns{Len: len(some)}
	for i := range some {
		out.Pos.Split, out.Pos.Offset, out.Pos.Index = append(out.Pos.Split, 0), append(out.Pos.Offset, first+int64(i)), append(out.Pos.Index, 0)
	}
	for _, c := range s.Columns {
		b := batch.NewBuilder(c.Field.Type, len(some))
		for i := range some {
			switch q := &some[i]; c.Field.Name {
			case "key":
				appendBytes(b, q.Key)
			case "value":
				appendBytes(b, q.Value)
			case "headers":
				header := b.Child(0)
				for _, h := range s.headers(q) {
					header.Child(0).AppendString(h.Key)
					appendBytes(header.Child(1), h.Value)
					header.AppendNested()
				}
				b.AppendNested()
			}
		}
		out.Fields, out.Cols = append(out.Fields, c.Field), append(out.Cols, b.Column())
	}
	return out
}

func appendBytes(b *batch.Builder, v []byte) {
	if v == nil {
		b.AppendNull()
		return
	}
	b.AppendText(v)
}
