// Package dialect gives Spark SQL its meaning: it resolves names, types every expression by Spark's rules (ANSI on, D-47),
// and writes the query as DuckDB SQL of the same meaning. What it cannot give Spark's meaning it refuses with a position
// (D-19); there is never a silent third meaning.
//
// It is pure: no cgo, no connection, no clock. eval runs what it writes; plan asks it what a query reads and yields.
package dialect

import (
	"fmt"
	"slices"
	"strings"

	"sluice/batch"
	"sluice/fault"
	"sluice/syntax"
)

// Relation is a table, a source or a change feed as a query sees it.
type Relation struct {
	Name   string        // how messages call it
	Handle string        // the identifier to write in DuckDB's FROM; eval provides a view of that name
	Fields []batch.Field // columns, in order
	Hidden []batch.Field // reachable by name but not part of *: _metadata, a STRUCT whose members are columns of the handle named "_metadata.x"
	Stream bool
}

// Identifier is what a column, or a member of _metadata, is called in the view that eval provides: its name, unless another
// column in front of it has a name that differs in case only, which DuckDB would not tell apart (D-9).
func (r *Relation) Identifier(name string) string {
	same := 0
	for _, f := range r.Fields {
		if f.Name == name {
			break
		}
		if strings.EqualFold(f.Name, name) {
			same++
		}
	}
	if same == 0 {
		return name
	}
	return fmt.Sprintf("%s#%d", name, same+1)
}

// Columns are all of the relation: its fields, then the members of hidden ones, which are called "_metadata.x".
func (r *Relation) Columns() []batch.Field {
	out := slices.Clone(r.Fields)
	for _, h := range r.Hidden {
		for _, m := range h.Type.Fields {
			out = append(out, batch.Field{Name: h.Name + "." + m.Name, Type: m.Type})
		}
	}
	return out
}

// Scope finds what a table or a table function in FROM names.
type Scope interface {
	Relation(ref syntax.TableRef) (*Relation, *fault.Error)
}

// Options of an analysis.
type Options struct {
	Zone      string // session time zone, "UTC" when empty
	Streaming bool   // a micro-batch query: aggregates, DISTINCT, windows, ORDER BY, LIMIT and joins between streams are refused by name
}

// Read is what a query needs of one relation.
type Read struct {
	Relation *Relation
	Columns  []string // names of the columns needed, in the relation's order, or none; a member of _metadata is "_metadata.x"
}

// Analysis is a query that has been understood.
type Analysis struct {
	Output []batch.Field
	Reads  []Read
	Clock  bool // it calls current_date(), now() ...: the batch time is parameter 1 (D-48)
	// Unordered says that the result depends on the order or grouping of work and must run on one thread over ordered
	// input (D-22).
	Unordered bool

	query *bound // the typed tree
}

// Analyse resolves and types q. Every problem of the query is in the list.
func Analyse(q *syntax.Query, scope Scope, opt Options) (*Analysis, fault.List) {
	return analyse(q, scope, opt)
}

// Target is one column to be written: output column From of the query (its index, -1 for NULL), cast to Field's type.
type Target struct {
	Field batch.Field
	From  int
}

// Projection is what a flow writes of its query.
type Projection struct {
	Columns  []Target
	Sequence syntax.Expr   // over the query's input, an output column's name otherwise; nil without one. A tuple or struct gives one column.
	Checks   []syntax.Expr // expectations, over Columns by their target names and types (EX-O5)
	Where    *Where        // the predicate of a REPLACE WHERE flow: its verdict comes as one more check
	Row      bool          // also yield the number of the input row each row was made of
}

// Compiled is a query ready to run. The statement yields Columns, then the sequence (when there is one), then one BOOLEAN
// per check, then (when Row was asked for) the input row as INT.
type Compiled struct {
	SQL       string
	Guarded   string // the same with every check inside TRY, and for each a BOOLEAN at the end that is NULL where it raised an error (D-49)
	Tolerant  string // the guarded one, in which a column that a row makes fail is NULL, where it is computed at the end (D-15)
	Columns   []batch.Field
	Tried     []bool     // parallel to Columns: it is NULL in the tolerant statement when a row makes it fail
	Sequence  batch.Type // Void without a sequence
	Checks    int
	Window    *Window    // of the predicate, whose verdict is the last check; nil without one
	Functions []Function // called in SQL by their External names
	Documents []Document // of which some functions give parts
	Row       bool
	Reads     []Read
	Clock     bool // parameter 1 is the batch time, TIMESTAMP WITH TIME ZONE
	Unordered bool
}

// Compile writes the query with the given projection as DuckDB SQL.
func (a *Analysis) Compile(p Projection) (*Compiled, fault.List) { return compile(a, p) }
