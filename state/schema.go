package state

import (
	"fmt"
	"slices"
	"strings"

	"sluice/batch"
	"sluice/fault"
)

// schema is what a table's stored rows look like: its columns, and which of them were written, with which types, under
// each schema version. Columns are known by number; a number is never used again.
type schema struct {
	Columns  []schemaColumn  `json:"columns"` // in the order of their first appearance
	Versions []schemaVersion `json:"versions"`
}

type schemaColumn struct {
	ID       int        `json:"id"`
	Name     string     `json:"name"`
	Type     typeRecord `json:"type"`
	NotNull  bool       `json:"not_null,omitempty"`
	Comment  string     `json:"comment,omitempty"`
	Declared bool       `json:"declared"`         // stands in the definition; else NULL in new rows (FR-17)
	Hidden   bool       `json:"hidden,omitempty"` // another column took its name (D-35)
}

// schemaVersion lists the columns of a row in the order they are written.
type schemaVersion []storedField

type storedField struct {
	ID   int        `json:"id"`
	Type typeRecord `json:"type"`
}

func (f storedField) typ() batch.Type { return f.Type.typ() }

// typeRecord is a batch.Type by the names of its kinds.
type typeRecord struct {
	Kind      string        `json:"kind"`
	Precision uint8         `json:"precision,omitempty"`
	Scale     uint8         `json:"scale,omitempty"`
	Fields    []fieldRecord `json:"fields,omitempty"`
}

type fieldRecord struct {
	Name    string     `json:"name"`
	Type    typeRecord `json:"type"`
	NotNull bool       `json:"not_null,omitempty"`
	Comment string     `json:"comment,omitempty"`
}

func recordType(t batch.Type) typeRecord {
	return typeRecord{t.Kind.String(), t.Precision, t.Scale, recordFields(t.Fields)}
}

func recordFields(fields []batch.Field) []fieldRecord {
	var out []fieldRecord
	for _, f := range fields {
		out = append(out, fieldRecord{f.Name, recordType(f.Type), f.NotNull, f.Comment})
	}
	return out
}

var kindByName = func() map[string]batch.Kind {
	m := map[string]batch.Kind{}
	for k := batch.Void; k <= batch.Variant; k++ {
		m[k.String()] = k
	}
	return m
}()

func (t typeRecord) typ() batch.Type {
	return batch.Type{Kind: kindByName[t.Kind], Precision: t.Precision, Scale: t.Scale, Fields: fieldsOf(t.Fields)}
}

func fieldsOf(records []fieldRecord) []batch.Field {
	var out []batch.Field
	for _, f := range records {
		out = append(out, batch.Field{Name: f.Name, Type: f.Type.typ(), NotNull: f.NotNull, Comment: f.Comment})
	}
	return out
}

func (c schemaColumn) field() batch.Field {
	return batch.Field{Name: c.Name, Type: c.Type.typ(), NotNull: c.NotNull && c.Declared, Comment: c.Comment}
}

// field is the column of a number as it is now.
func (s *schema) field(id int) batch.Field { return s.Columns[id].field() }

// visible are the numbers of the columns readers see: the declared ones in declared order, then those that left.
func (s *schema) visible() []int {
	var ids []int
	for _, f := range s.latest() {
		ids = append(ids, f.ID)
	}
	return ids
}

// latest is the version rows are written under: it has every visible column.
func (s *schema) latest() schemaVersion { return s.Versions[len(s.Versions)-1] }

// fields are the visible columns.
func (s *schema) fields() []batch.Field {
	var out []batch.Field
	for _, id := range s.visible() {
		out = append(out, s.field(id))
	}
	return out
}

// find is the number of the visible column of a name, or -1. No table has two columns whose names differ in case only (D-9).
func (s *schema) find(name string) int {
	for _, c := range s.Columns {
		if !c.Hidden && strings.EqualFold(c.Name, name) {
			return c.ID
		}
	}
	return -1
}

// resolve turns wanted names, nil for all, into column numbers.
func (s *schema) resolve(table string, names []string) ([]int, error) {
	if names == nil {
		return s.visible(), nil
	}
	ids := make([]int, len(names))
	for i, name := range names {
		if ids[i] = s.find(name); ids[i] < 0 {
			return nil, fault.New(fault.InternalError, "table %s has no column %q", table, name)
		}
	}
	return ids, nil
}

// merge returns the schema after a definition with the given columns (FR-17, D-35): columns are added, widened, or left
// behind, never dropped. keys names the columns that may not even widen.
func (s *schema) merge(table string, fields []batch.Field, keys []string) (*schema, fault.List) {
	out := &schema{Columns: slices.Clone(s.Columns), Versions: slices.Clone(s.Versions)}
	var problems fault.List
	for i := range out.Columns {
		out.Columns[i].Declared = false
	}
	var version schemaVersion
	for _, f := range fields {
		key, code := slices.Contains(keys, f.Name), fault.ColumnTypeDrift
		if key {
			code = fault.KeySchemaDrift
		}
		c, err := out.declare(s, f, key)
		if err != nil {
			problems = append(problems, driftOf(code, table, "%v", err))
			continue
		}
		version = append(version, storedField{c.ID, c.Type})
	}
	if len(problems) > 0 {
		return nil, problems
	}
	for _, c := range out.Columns {
		if !c.Declared && !c.Hidden {
			version = append(version, storedField{c.ID, c.Type})
		}
	}
	if len(out.Versions) == 0 || !sameVersion(out.latest(), version) {
		out.Versions = append(out.Versions, version)
	}
	return out, nil
}

// declare finds or makes the column of a declared field. before is the schema of the definition before: a column that was
// not in it and comes back is a new one.
func (s *schema) declare(before *schema, f batch.Field, key bool) (schemaColumn, error) {
	if id := s.find(f.Name); id >= 0 && before.Columns[id].Declared {
		c := &s.Columns[id]
		if was := c.Type.typ(); !widens(was, f.Type) || key && !was.Equal(f.Type) {
			return *c, fmt.Errorf("column %s was %v and is %v now", batch.QuoteName(f.Name), was, f.Type)
		}
		c.Name, c.Type, c.NotNull, c.Comment, c.Declared = f.Name, recordType(f.Type), f.NotNull, f.Comment, true
		return *c, nil
	} else if id >= 0 {
		s.Columns[id].Hidden = true
	}
	c := schemaColumn{ID: len(s.Columns), Name: f.Name, Type: recordType(f.Type), NotNull: f.NotNull, Comment: f.Comment, Declared: true}
	s.Columns = append(s.Columns, c)
	return c, nil
}

func sameVersion(a, b schemaVersion) bool {
	return slices.EqualFunc(a, b, func(x, y storedField) bool { return x.ID == y.ID && x.typ().Equal(y.typ()) })
}

// driftOf is the refusal of a definition that does not fit what is stored, with the remedy (D-62).
func driftOf(code *fault.Code, table, format string, args ...any) *fault.Error {
	return fault.New(code, "table %s: "+format, append([]any{table}, args...)...).
		WithHint("undo the change, or run once with --full-refresh %s, which clears the table and reads its sources again", table)
}
