// Package table reads tables of the pipeline as inputs: the appends of an append table, or the changes of a table.
//
// It promises what every source does; positions are (commit, ordinal) under the table's generation, so a reader of a table
// that was reset stops with SOURCE_RESET (D-28). Changes carry columns of their own beside those asked for
// (ChangeColumn, KeyColumn, SequenceColumn), from which a sink learns what each row means (D-43), and PlaceColumn, by which a table
// that replaces keys knows a row again.
package table

import (
	"context"

	"sluice/batch"
	"sluice/source"
	"sluice/state"
)

// Names of the columns that changes have beside those asked for. A zero byte keeps them apart from anything a user can write.
const (
	ChangeColumn   = "\x00change"   // TINYINT: batch.Change
	KeyColumn      = "\x00key"      // BINARY: the encoded key; missing for append tables
	SequenceColumn = "\x00sequence" // BINARY: the encoded sequence; missing for append tables
	PlaceColumn    = "\x00place"    // BINARY: where the row lies in the table, for state's Flow.Places; missing for append tables
)

// Columns that readChangeFeed adds to a table's own (D-9).
const (
	changeType      = "_change_type"
	commitVersion   = "_commit_version"
	commitTimestamp = "_commit_timestamp"
)

// Config is what is read of which table, for which flow. The flow must be subscribed to the table.
type Config struct {
	Table *state.Table
	Flow  *state.Flow
	Feed  bool
	// InsertsOnly leaves out the rows a change feed says are deleted: a flow that replaces keys takes the new ones (D-21).
	InsertsOnly bool
	Columns     []source.Column
}

// Source implements source.Source.
type Source struct {
	Config
	stored []string // columns the table itself has
}

// New returns a source. It holds nothing that must be freed.
func New(c Config) *Source {
	s := &Source{Config: c, stored: []string{}}
	for _, column := range c.Columns {
		if !c.Feed || !isFeedColumn(column.Field.Name) {
			s.stored = append(s.stored, column.Field.Name)
		}
	}
	return s
}

func isFeedColumn(name string) bool {
	return name == changeType || name == commitVersion || name == commitTimestamp
}

// Start implements source.Source.
func (s *Source) Start(context.Context) (batch.Position, error) { return s.Table.Start(s.Flow) }

// End implements source.Source.
func (s *Source) End(context.Context) (batch.Position, error) { return s.Table.End(), nil }

// Close implements source.Source.
func (s *Source) Close() error { return nil }

// Read implements source.Source.
func (s *Source) Read(ctx context.Context, from batch.Position, limit batch.Limit) (batch.Columns, batch.Range, []batch.Bad, error) {
	if limit.Until == nil {
		if err := s.Table.Wait(ctx, from); err != nil {
			return batch.Columns{}, batch.Range{}, nil, err
		}
	} else if from.Reached(limit.Until) {
		return batch.Columns{}, batch.Range{}, nil, nil
	}
	if !s.Feed {
		rows, r, err := s.Table.ReadAppends(s.Flow, from, limit, s.stored)
		return rows, r, nil, err
	}
	changes, r, err := s.Table.ReadChanges(s.Flow, from, limit, s.stored)
	if err != nil {
		return batch.Columns{}, batch.Range{}, nil, err
	}
	rows := s.columns(changes)
	if s.InsertsOnly {
		rows = rows.Take(inserts(changes.Change))
	}
	return rows, r, nil, nil
}

// inserts are the rows that were not deleted.
func inserts(changes []batch.Change) []int32 {
	index := make([]int32, 0, len(changes))
	for i, c := range changes {
		if c != batch.DeleteRow {
			index = append(index, int32(i))
		}
	}
	return index
}

// columns lays out changes as the query wants them.
func (s *Source) columns(c state.Changes) batch.Columns {
	out := batch.Columns{Len: c.Rows.Len, Pos: c.Rows.Pos}
	add := func(f batch.Field, column batch.Column) {
		out.Fields = append(out.Fields, f)
		out.Cols = append(out.Cols, column)
	}
	for _, column := range s.Columns {
		switch f := column.Field; f.Name {
		case changeType:
			add(f, changeNames(c.Change))
		case commitVersion:
			add(f, integers(f.Type, c.Rows.Pos.Offset))
		case commitTimestamp:
			add(f, integers(f.Type, c.Time))
		default:
			add(f, *c.Rows.Col(f.Name))
		}
	}
	add(batch.Field{Name: ChangeColumn, Type: batch.Of(batch.TinyInt)}, changeCodes(c.Change))
	if c.Keys.Len() > 0 {
		add(batch.Field{Name: KeyColumn, Type: batch.Of(batch.Binary)}, binary(c.Keys))
		add(batch.Field{Name: SequenceColumn, Type: batch.Of(batch.Binary)}, binary(c.Sequence))
	}
	if c.Places.Len() > 0 {
		add(batch.Field{Name: PlaceColumn, Type: batch.Of(batch.Binary)}, binary(c.Places))
	}
	return out
}

func changeNames(changes []batch.Change) batch.Column {
	b := batch.NewBuilder(batch.Of(batch.String), len(changes))
	for _, c := range changes {
		b.AppendString(c.String())
	}
	return b.Column()
}

func changeCodes(changes []batch.Change) batch.Column {
	b := batch.NewBuilder(batch.Of(batch.TinyInt), len(changes))
	for _, c := range changes {
		batch.Append(b, int8(c))
	}
	return b.Column()
}

func integers(t batch.Type, values []int64) batch.Column {
	b := batch.NewBuilder(t, len(values))
	for _, v := range values {
		batch.Append(b, v)
	}
	return b.Column()
}

func binary(k batch.Keys) batch.Column {
	return batch.Column{Type: batch.Of(batch.Binary), Len: k.Len(), Offsets: k.Offsets, Bytes: k.Bytes}
}
