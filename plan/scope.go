package plan

import (
	"fmt"

	"sluice/batch"
	"sluice/catalog"
	"sluice/eval/dialect"
	"sluice/fault"
	"sluice/source"
	"sluice/syntax"
)

// changeFields are the columns of a change feed beside those of its table (D-43).
var changeFields = []batch.Field{
	{Name: "_change_type", Type: batch.Of(batch.String), NotNull: true},
	{Name: "_commit_version", Type: batch.Of(batch.BigInt), NotNull: true},
	{Name: "_commit_timestamp", Type: batch.Of(batch.Timestamp), NotNull: true},
}

// scope is what a flow's query can name. It gives the input, every source and every looked-up table a handle of its own.
type scope struct {
	relations map[syntax.TableRef]*dialect.Relation
	input     *dialect.Relation // nil of a REPLACE WHERE flow
	lookups   map[*dialect.Relation]*Table
	sources   map[*dialect.Relation]*catalog.Read     // of a REPLACE WHERE flow
	meta      map[*dialect.Relation]map[string]string // of the input and of sources: columns that the source itself knows, to what it calls them
}

// Relation finds what ref names. Names that do not exist were reported by catalog, and their flow is never analysed.
func (s *scope) Relation(ref syntax.TableRef) (*dialect.Relation, *fault.Error) {
	if r, ok := s.relations[ref]; ok {
		return r, nil
	}
	return nil, fault.New(fault.TableNotFound, "no such table").At(ref.Position())
}

// newScope makes the scope of a flow. It fails, silently, when a table it reads has columns that could not be found out:
// the flows that write that table have been told why.
func (p *planner) newScope(f *catalog.Flow) (*scope, bool) {
	s := &scope{relations: map[syntax.TableRef]*dialect.Relation{}, lookups: map[*dialect.Relation]*Table{},
		sources: map[*dialect.Relation]*catalog.Read{}, meta: map[*dialect.Relation]map[string]string{}}
	byTable := map[*catalog.Table]*dialect.Relation{}
	for _, read := range f.Reads {
		if read.Table != nil {
			if p.resolve(p.tables[read.Table]); len(p.tables[read.Table].Fields) == 0 {
				return nil, false
			}
		}
		switch {
		case read == f.Input:
			s.input = p.source(s, read, "input")
			s.input.Stream = true
			s.relations[read.Ref] = s.input
		case read.Table == nil:
			r := p.source(s, read, fmt.Sprintf("source_%d", len(s.sources)+1))
			s.relations[read.Ref], s.sources[r] = r, read
		case byTable[read.Table] != nil:
			s.relations[read.Ref] = byTable[read.Table]
		default:
			t := p.tables[read.Table]
			r := &dialect.Relation{Name: t.Display, Handle: fmt.Sprintf("lookup_%d", len(s.lookups)+1), Fields: batch.Nullable(t.Fields)}
			s.relations[read.Ref], byTable[read.Table], s.lookups[r] = r, r, t.Table
		}
	}
	return s, true
}

// source is the relation of a source, or of a table whose rows a flow takes.
func (p *planner) source(s *scope, read *catalog.Read, handle string) *dialect.Relation {
	r := &dialect.Relation{Name: read.Title(), Handle: handle}
	meta := map[string]string{}
	s.meta[r] = meta
	switch {
	case read.Table != nil:
		t := p.tables[read.Table]
		r.Fields = batch.Nullable(t.Fields)
		if read.Feed {
			t.Feed = true
			r.Fields = append(append([]batch.Field(nil), r.Fields...), changeFields...)
			for _, c := range changeFields {
				meta[c.Name] = c.Name
			}
		}
	case read.Format == "":
		r.Fields = read.Function.Raw
		for _, c := range r.Fields {
			meta[c.Name] = c.Name
		}
	default:
		r.Fields = read.Schema
		if members := read.Function.Metadata; len(members) > 0 {
			r.Hidden = []batch.Field{{Name: metadata, Type: batch.StructOf(members...)}}
			for _, m := range members {
				meta[metadata+"."+m.Name] = m.Name
			}
		}
	}
	return r
}

const metadata = "_metadata"

// isInput reports whether r reads the flow's input.
func (s *scope) isInput(r dialect.Read) bool { return r.Relation == s.input }

// columns turns what the query needs of its input, or of a source, into columns of the source (D-14). Names are the
// relation's own, so that eval finds them.
func (s *scope) columns(read dialect.Read) []source.Column {
	out := make([]source.Column, len(read.Columns))
	for i, name := range read.Columns {
		out[i] = source.Column{Field: field(read.Relation, name), Meta: s.meta[read.Relation][name]}
	}
	return out
}

// field is a column of a source as it was declared, NOT NULL included: formats enforce it (D-58).
func field(r *dialect.Relation, name string) batch.Field {
	for _, f := range r.Fields {
		if f.Name == name {
			return f
		}
	}
	for _, h := range r.Hidden {
		for _, m := range h.Type.Fields {
			if h.Name+"."+m.Name == name {
				m.Name = name
				return m
			}
		}
	}
	panic("plan: a query reads the column " + name + " that its source does not have")
}
