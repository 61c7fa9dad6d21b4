package format

import (
	"sluice/batch"
	"sluice/fault"
)

// Tolerance is what a column has where its value cannot be read (D-15): the record is then no bad one.
type Tolerance struct {
	Column string       // its name
	Value  batch.Column // one value of its type
}

// NewTolerance makes one of a NULL, or of a text that reads as a value of the field's type.
func NewTolerance(field batch.Field, text *string, zone *Zone) (Tolerance, *fault.Error) {
	t := Tolerance{Column: field.Name}
	b := batch.NewBuilder(field.Type, 1)
	if text == nil {
		if field.NotNull {
			return t, fault.New(fault.InvalidOption, "the column %s is NOT NULL", batch.QuoteName(field.Name)).WithHint("give it a DEFAULT")
		}
		b.AppendNull()
	} else {
		s := Scalars{Zone: zone}
		if !s.Supports(field.Type) {
			return t, fault.New(fault.InvalidOption, "the column %s is %s, which has no DEFAULT", batch.QuoteName(field.Name), field.Type).WithHint("use NULL")
		}
		if why, ok := s.Append(b, []byte(*text)); !ok {
			e := fault.New(fault.InvalidOption, "the default %q cannot be read as %s, the type of column %s", *text, field.Type, batch.QuoteName(field.Name))
			if why != "" {
				e.WithDetail("%s", why)
			}
			return t, e
		}
	}
	t.Value = b.Column()
	return t, nil
}

// Tolerated are the values that a decoder's last call of Decode put another one in the place of.
type Tolerated struct {
	Record []int32 // index of the value that Decode was given, rising
	Column []int32 // of the decoder's columns
}

// Reset begins a call.
func (t *Tolerated) Reset() { t.Record, t.Column = t.Record[:0], t.Column[:0] }

// Add notes one.
func (t *Tolerated) Add(record, column int) {
	t.Record, t.Column = append(t.Record, int32(record)), append(t.Column, int32(column))
}

// Truncate forgets all but the first n: the record became no row.
func (t *Tolerated) Truncate(n int) { t.Record, t.Column = t.Record[:n], t.Column[:n] }

// Tolerances are the values for r's columns, nil where there is none; nil for none at all.
func (r *Reading) Tolerances() []*batch.Column {
	if len(r.Tolerate) == 0 {
		return nil
	}
	out := make([]*batch.Column, len(r.Columns))
	for i, c := range r.Columns {
		for t := range r.Tolerate {
			if r.Tolerate[t].Column == c.Name {
				out[i] = &r.Tolerate[t].Value
			}
		}
	}
	return out
}
