package state

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"sluice/batch"
	"sluice/fault"
)

// Stored is what a store knows of the definitions that its content was made under, to hold others against. As JSON it is the same
// from a running daemon as from a stopped store.
type Stored struct {
	Tables      map[string]StoredTable     `json:"tables"`
	Flows       map[string]StoredFlow      `json:"flows"`
	Definitions map[string]json.RawMessage `json:"definitions"` // as PutDefinitions took them
}

// StoredTable is a table without its rows.
type StoredTable struct {
	Record tableRecord `json:"record"`
}

// StoredFlow is how far a flow has come.
type StoredFlow struct {
	Begun       bool   `json:"begun"`   // where it starts is fixed
	Drained     bool   `json:"drained"` // a once flow that is complete
	Batches     uint64 `json:"batches"`
	Fingerprint string `json:"fingerprint"`
}

// Stored reads it. Tables that were reset and not declared since are there too: they take any definition.
func (s *Store) Stored() (out Stored, err error) {
	out = Stored{Tables: map[string]StoredTable{}, Flows: map[string]StoredFlow{}, Definitions: map[string]json.RawMessage{}}
	err = s.eachOf(s.db, key(kindTable), func(name, _ []byte) error {
		var t StoredTable
		_, err := readJSON(s, s.db, nameKey(kindTable, string(name)), &t.Record)
		out.Tables[string(name)] = t
		return err
	})
	if err != nil {
		return out, err
	}
	if err := s.eachOf(s.db, key(kindDefinition), func(name, value []byte) error {
		out.Definitions[string(name)] = slices.Clone(value)
		return nil
	}); err != nil {
		return out, err
	}
	flows, err := s.Flows()
	for _, f := range flows {
		out.Flows[f.Name] = StoredFlow{Begun: f.Start != nil, Drained: !f.Completed.IsZero(), Batches: f.NextBatch, Fingerprint: f.Fingerprint}
	}
	return out, err
}

// Fresh reports whether the table takes any definition: it is new, or was fully refreshed and not opened since.
func (t *StoredTable) Fresh() bool { return !t.Record.Declared }

// TakenBy reports whether a definition of the table is taken as it is: nothing is stored under another one, or what is goes with the full
// refresh that is ordered.
func (t *StoredTable) TakenBy(spec TableSpec) bool { return t.Fresh() || t.Record.renewedBy(spec) }

// Compare says what a definition would change in the columns of the table, in words, or what forbids it, as Store.Table does when it
// opens the table.
func (t *StoredTable) Compare(spec TableSpec) (edits []string, problems fault.List) {
	if t.TakenBy(spec) {
		return nil, nil
	}
	after, problems := t.Record.merge(spec.Name, spec)
	if len(problems) > 0 {
		return nil, problems
	}
	return after.Schema.editsSince(&t.Record.Schema), nil
}

// editsSince says what a definition changed, merged into the schema before, column by column.
func (s *schema) editsSince(before *schema) (edits []string) {
	for i := range s.Columns {
		c := &s.Columns[i]
		name := batch.QuoteName(c.Name)
		if i >= len(before.Columns) {
			edits = append(edits, added(before, c))
			continue
		}
		if was := &before.Columns[i]; was.Declared && !c.Declared && !c.Hidden {
			edits = append(edits, fmt.Sprintf("column %s left: it stays, NULL in new rows, until a full refresh", name))
		} else if was.Declared && c.Declared {
			edits = append(edits, was.editsTo(c, name)...)
		}
	}
	if from, to := before.order(s), s.order(before); !slices.Equal(from, to) {
		edits = append(edits, "the order of the columns: old rows are shown in it, too")
	}
	return edits
}

func added(before *schema, c *schemaColumn) string {
	name := batch.QuoteName(c.Name)
	if before.find(c.Name) >= 0 {
		return fmt.Sprintf("column %s comes back as a new column: NULL in old rows, and what it held before is hidden until a full refresh removes it", name)
	}
	return fmt.Sprintf("column %s is new: NULL in old rows", name)
}

// editsTo says what became of a column that stayed.
func (c *schemaColumn) editsTo(now *schemaColumn, name string) (edits []string) {
	if from, to := c.Type.typ(), now.Type.typ(); !from.Equal(to) {
		edits = append(edits, fmt.Sprintf("column %s is wider, %s instead of %s: old values are read as the new type", name, to, from))
	} else if from.String() != to.String() {
		edits = append(edits, fmt.Sprintf("column %s is %s instead of %s: NOT NULL is asked of new rows", name, to, from))
	}
	switch {
	case now.NotNull && !c.NotNull:
		edits = append(edits, fmt.Sprintf("column %s became NOT NULL: new rows are held to it, old ones stay as they are", name))
	case c.NotNull && !now.NotNull:
		edits = append(edits, fmt.Sprintf("column %s is no longer NOT NULL", name))
	}
	if c.Comment != now.Comment {
		edits = append(edits, fmt.Sprintf("column %s has another comment", name))
	}
	if c.Name != now.Name {
		edits = append(edits, fmt.Sprintf("column %s is spelt %s", batch.QuoteName(c.Name), name))
	}
	return edits
}

// order are the names of the declared columns that another schema declares, too.
func (s *schema) order(other *schema) (names []string) {
	for _, id := range s.visible() {
		if s.Columns[id].Declared && id < len(other.Columns) && other.Columns[id].Declared {
			names = append(names, strings.ToLower(s.Columns[id].Name))
		}
	}
	return names
}
