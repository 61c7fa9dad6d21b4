package json

import (
	"bytes"
	stdjson "encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"sluice/batch"
	"sluice/fault"
)

// Infer returns the type that Spark's schema_of_json gives a document: integers are BIGINT, or DECIMAL where they have more
// digits; other numbers DOUBLE; texts, nulls and elements without a common type STRING; the fields of objects stand in the
// order of their names. Fields without a name, and those in which there is nothing but objects without fields, are left out.
func Infer(document []byte) (batch.Type, error) {
	v, err := parsed(document)
	if err != nil {
		return batch.Type{}, err
	}
	typ := settled(typeOf(v))
	full, ok := withoutEmpty(typ)
	switch {
	case ok:
		return full, nil
	case typ.Kind == batch.Struct:
		return batch.StructOf(), nil
	case typ.Fields[0].Type.Kind == batch.Struct:
		return batch.ArrayOf(batch.StructOf()), nil
	}
	return batch.Of(batch.String), nil
}

// withoutEmpty leaves fields of t out as Infer does. It is not ok when nothing is left.
func withoutEmpty(t batch.Type) (left batch.Type, ok bool) {
	switch t.Kind {
	case batch.Array:
		element, ok := withoutEmpty(t.Fields[0].Type)
		return batch.ArrayOf(element), ok
	case batch.Struct:
		var fields []batch.Field
		for _, f := range t.Fields {
			if f.Type, ok = withoutEmpty(f.Type); ok && f.Name != "" {
				fields = append(fields, f)
			}
		}
		return batch.StructOf(fields...), len(fields) > 0
	}
	return t, true
}

// Inference finds a schema that holds all of some records.
type Inference struct{ typ batch.Type }

// Add takes a record into account. One that is no object is bad, and left out.
func (i *Inference) Add(record []byte) error {
	v, err := parsed(bytes.TrimPrefix(record, []byte("\xef\xbb\xbf")))
	if err != nil {
		return err
	}
	if _, ok := v.(map[string]any); !ok {
		return fault.New(fault.MalformedRecord, "a record must be a JSON object")
	}
	i.typ = merged(i.typ, typeOf(v))
	return nil
}

// Fields are the columns found, in the order of their names, as a schema can declare them: names that differ only in case are one column, which
// holds the values of all (D-9). left says what no column holds.
func (i *Inference) Fields() (fields []batch.Field, left []string) {
	d := declaring{}
	t, _ := d.declarable(settled(i.typ), "")
	return t.Fields, d.left
}

// declaring notes what a schema cannot declare.
type declaring struct{ left []string }

// declarable is t without what a schema cannot declare. It is not ok when nothing is left of it. path is the name of the field in front of its
// members.
func (d *declaring) declarable(t batch.Type, path string) (left batch.Type, ok bool) {
	switch t.Kind {
	case batch.Array:
		element, ok := d.declarable(t.Fields[0].Type, path)
		return batch.ArrayOf(element), ok
	case batch.Struct:
		var fields []batch.Field
		for _, f := range d.folded(t.Fields, path) {
			var ok bool
			if f.Type, ok = d.declarable(f.Type, path+f.Name+"."); ok {
				fields = append(fields, f)
			} else {
				d.note("%s%s has nothing but objects without fields", path, f.Name)
			}
		}
		return batch.StructOf(fields...), len(fields) > 0
	}
	return t, true
}

// folded has one field for all whose names differ only in case, under the last of the names.
func (d *declaring) folded(all []batch.Field, path string) (fields []batch.Field) {
	at := map[string]int{}
	for _, f := range all {
		if f.Name == "" {
			d.note("%sa field without a name", path)
			continue
		}
		lower := strings.ToLower(f.Name)
		i, ok := at[lower]
		if !ok {
			at[lower], fields = len(fields), append(fields, f)
			continue
		}
		d.note("%s%s and %s differ only in case and are one column", path, fields[i].Name, f.Name)
		fields[i] = batch.Field{Name: f.Name, Type: merged(fields[i].Type, f.Type)}
	}
	return fields
}

func (d *declaring) note(format string, args ...any) {
	d.left = append(d.left, fmt.Sprintf(format, args...))
}

// parsed validates a document as strictly as records are, and returns it in Go's types, numbers as text.
func parsed(document []byte) (any, error) {
	s := scanner{maxDepth: DefaultMaxDepth}
	i := blank(document, 0)
	if i == len(document) {
		s.refuse(i, "the text is empty")
		return nil, s.syntax
	}
	if i = s.skip(document, i); i < 0 {
		return nil, s.syntax
	}
	if i = blank(document, i); i < len(document) {
		s.fail(document, i, "nothing behind the document")
		return nil, s.syntax
	}
	d := stdjson.NewDecoder(bytes.NewReader(document))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return nil, fault.New(fault.MalformedRecord, "invalid JSON").Because(err)
	}
	return v, nil
}

// typeOf is the type of a value; null is VOID until all is known.
func typeOf(v any) batch.Type {
	switch v := v.(type) {
	case bool:
		return batch.Of(batch.Boolean)
	case string:
		return batch.Of(batch.String)
	case stdjson.Number:
		return numberType(v.String())
	case []any:
		element := batch.Of(batch.Void)
		for _, e := range v {
			element = merged(element, typeOf(e))
		}
		return batch.ArrayOf(element)
	case map[string]any:
		var fields []batch.Field
		for _, name := range slices.Sorted(maps.Keys(v)) {
			fields = append(fields, batch.Field{Name: name, Type: typeOf(v[name])})
		}
		return batch.StructOf(fields...)
	}
	return batch.Of(batch.Void)
}

// numberType is Spark's: an integer with more digits than BIGINT has is a DECIMAL of as many, or a DOUBLE.
func numberType(text string) batch.Type {
	digits := strings.TrimPrefix(text, "-")
	switch {
	case strings.ContainsAny(digits, ".eE") || len(digits) > 38:
		return batch.Of(batch.Double)
	case len(digits) > 19 || len(digits) == 19 && digits > "9223372036854775807" && text != "-9223372036854775808":
		return batch.DecimalOf(len(digits), 0)
	}
	return batch.Of(batch.BigInt)
}

// merged is the type that holds the values of both.
func merged(a, b batch.Type) batch.Type {
	switch {
	case a.Kind == batch.Void || a.Equal(b):
		return b
	case b.Kind == batch.Void:
		return a
	case a.Kind == batch.Array && b.Kind == batch.Array:
		return batch.ArrayOf(merged(a.Fields[0].Type, b.Fields[0].Type))
	case a.Kind == batch.Struct && b.Kind == batch.Struct:
		return mergedStruct(a, b)
	case a.IsNumeric() && b.IsNumeric():
		return mergedNumber(a, b)
	}
	return batch.Of(batch.String)
}

func mergedNumber(a, b batch.Type) batch.Type {
	if a.Kind == batch.Double || b.Kind == batch.Double {
		return batch.Of(batch.Double)
	}
	digits := func(t batch.Type) int {
		if t.Kind == batch.BigInt {
			return 20 // as Spark counts a LONG
		}
		return int(t.Precision)
	}
	return batch.DecimalOf(max(digits(a), digits(b)), 0)
}

func mergedStruct(a, b batch.Type) batch.Type {
	types := map[string]batch.Type{}
	for _, f := range append(slices.Clone(a.Fields), b.Fields...) {
		if have, ok := types[f.Name]; ok {
			f.Type = merged(have, f.Type)
		}
		types[f.Name] = f.Type
	}
	var fields []batch.Field
	for _, name := range slices.Sorted(maps.Keys(types)) {
		fields = append(fields, batch.Field{Name: name, Type: types[name]})
	}
	return batch.StructOf(fields...)
}

// settled makes STRING of what was only ever null.
func settled(t batch.Type) batch.Type {
	if t.Kind == batch.Void {
		return batch.Of(batch.String)
	}
	fields := slices.Clone(t.Fields)
	for i := range fields {
		fields[i].Type = settled(fields[i].Type)
	}
	t.Fields = fields
	return t
}
