package syntax

import "sluice/fault"

// Pos is a place in a definition file.
type Pos = fault.Pos

// Ident is one part of a name. Quoted names (backticks) match exactly, others without case (D-9).
type Ident struct {
	Text   string
	Quoted bool
	Pos    Pos
}

// Name is a name of one to three parts: catalog.schema.table.
type Name struct {
	Parts []Ident
	Pos   Pos
}

// Option is `key => value`, `key = value` or `'key' value`. Value is the text of a literal: a string without its quotes,
// a number or word as written. Secret marks a value that came from ${env:...} (D-54).
type Option struct {
	Key    string
	Value  string
	Secret bool
	Pos    Pos // of the key
	Expr   Expr
}

// Statement is one statement of a .sql file.
type Statement interface {
	Position() Pos
	statement()
}

// CreateTable is CREATE [OR REFRESH] [PRIVATE] STREAMING TABLE, and CREATE TABLE (Managed) of SQ-07.
type CreateTable struct {
	Pos          Pos
	OrRefresh    bool
	Private      bool
	IfNotExists  bool
	Managed      bool // CREATE TABLE ... FLOW
	Name         Name
	Columns      []ColumnDef
	HasColumns   bool // a column list was written, be it of constraints only
	Expectations []Expectation
	Constraints  []TableConstraint
	Clauses      TableClauses
	Flow         *FlowBody // nil: filled by CREATE FLOW. `AS query` is short for FLOW INSERT BY NAME query (SQ-01).
}

// ColumnDef is a column of a table.
type ColumnDef struct {
	Name      Ident
	Type      *TypeExpr // nil in a view's column list
	NotNull   bool
	Generated Expr // GENERATED ALWAYS AS (expr)
	Identity  bool // GENERATED ... AS IDENTITY
	Default   Expr
	Comment   string
	Mask      *Name
	Pos       Pos
}

// TypeExpr is a type as written, STRUCT<a: INT, b: ARRAY<STRING>> included. Name is in upper case.
type TypeExpr struct {
	Name   string
	Params []int // precision and scale
	Fields []TypeField
	Pos    Pos
}

// TypeField is a member of a nested type; elements of arrays and maps have no name.
type TypeField struct {
	Name    Ident
	Type    *TypeExpr
	NotNull bool
	Comment string
}

// Expectation is CONSTRAINT name EXPECT (expr) [ON VIOLATION {FAIL UPDATE | DROP ROW}].
type Expectation struct {
	Name   Ident
	Expr   Expr
	Action string // "warn", "drop" or "fail"
	Pos    Pos
}

// TableConstraint is a PRIMARY KEY or FOREIGN KEY constraint, kept as text; the planner refuses it by name.
type TableConstraint struct {
	Text string
	Pos  Pos
}

// TableClauses are the clauses between the column list and the flow.
type TableClauses struct {
	Using         string
	PartitionedBy []Ident
	ClusterBy     []Ident
	ClusterAuto   bool
	Location      string
	Comment       string
	Collation     string
	Properties    []Option
	Schedule      *Schedule
	RowFilter     *Name
	RefreshPolicy string         // views only
	Positions     map[string]Pos // where each clause stands, by its first words in upper case ("SCHEDULE", "ROW FILTER")
}

// Schedule is SCHEDULE EVERY, SCHEDULE CRON or TRIGGER ON UPDATE.
type Schedule struct {
	Every    int
	Unit     string // HOUR, DAY, WEEK
	Cron     string
	Zone     string
	OnUpdate bool
	AtMost   string // text of the interval
	Pos      Pos
}

// FlowKind is what a flow does with the rows of its query.
type FlowKind uint8

const (
	Insert FlowKind = iota
	ReplaceUsing
	ReplaceWhere
	AutoCDC
)

func (k FlowKind) String() string {
	return [...]string{"INSERT", "REPLACE USING", "REPLACE WHERE", "AUTO CDC"}[k]
}

// FlowBody is what stands behind FLOW in a table, and behind AS in CREATE FLOW.
type FlowBody struct {
	Pos       Pos
	Kind      FlowKind
	Once      bool
	OncePos   Pos
	ByName    bool
	Keys      []Ident // REPLACE USING
	Sequence  []Expr  // REPLACE USING: one in a valid flow; several are kept so that the planner can refuse them (RU-10)
	SeqPos    Pos
	Predicate Expr   // REPLACE WHERE
	Query     *Query // nil for AUTO CDC
	CDC       *CDC
}

// CDC is the specification of an AUTO CDC flow (17.3).
type CDC struct {
	Source            TableRef
	Keys              []Ident
	IgnoreNullUpdates bool
	IgnoreNullOn      *ColumnList
	DeleteWhen        Expr
	TruncateWhen      Expr
	Sequence          Expr
	SystemSequence    Expr
	Columns           *ColumnList
	StoredAs          string // "SCD TYPE 1" (default), "SCD TYPE 2", "BITEMPORAL"
	TrackHistory      *ColumnList
	ColumnsToUpdate   *Ident
	Pos               Pos
}

// ColumnList is (a, b) or * EXCEPT (a, b).
type ColumnList struct {
	Except bool
	Names  []Ident
}

// CreateFlow is CREATE FLOW name [DEPENDS ON (f, ...)] [COMMENT s] AS ... INTO target ... (17.2, D-60).
type CreateFlow struct {
	Pos        Pos
	Name       Name
	DependsOn  []Name
	Comment    string
	Target     Name
	IntoSink   bool // INSERT INTO SINK name
	Body       FlowBody
	DependsPos Pos
}

// CreateSink is CREATE SINK name FORMAT format OPTIONS (...) (D-60).
type CreateSink struct {
	Pos     Pos
	Name    Name
	Format  Ident
	Options []Option
	Comment string
}

// CreateView is CREATE MATERIALIZED VIEW, CREATE TEMPORARY VIEW and CREATE VIEW (17.4).
type CreateView struct {
	Pos          Pos
	Materialized bool
	Temporary    bool
	OrRefresh    bool
	OrReplace    bool
	Private      bool
	IfNotExists  bool
	Name         Name
	Columns      []ColumnDef
	Expectations []Expectation
	Constraints  []TableConstraint
	Clauses      TableClauses
	Query        *Query
}

// Refresh is REFRESH {MATERIALIZED VIEW | [STREAMING] TABLE} name [FULL] [WHERE p] [SYNC | ASYNC] (17.5).
type Refresh struct {
	Pos          Pos
	Materialized bool
	Name         Name
	Full         bool
	Where        Expr
	Async        bool
}

// Alter is ALTER {STREAMING TABLE | MATERIALIZED VIEW} name {ADD | ALTER | DROP} schedule (17.5).
type Alter struct {
	Pos          Pos
	Materialized bool
	Name         Name
	Action       string // ADD, ALTER or DROP
	Schedule     *Schedule
}

// Select is a query that stands alone, as the query verb takes it.
type SelectStatement struct {
	Query *Query
}

func (s *CreateTable) Position() Pos     { return s.Pos }
func (s *CreateFlow) Position() Pos      { return s.Pos }
func (s *CreateSink) Position() Pos      { return s.Pos }
func (s *CreateView) Position() Pos      { return s.Pos }
func (s *Refresh) Position() Pos         { return s.Pos }
func (s *Alter) Position() Pos           { return s.Pos }
func (s *SelectStatement) Position() Pos { return s.Query.Pos }

func (*CreateTable) statement()     {}
func (*CreateFlow) statement()      {}
func (*CreateSink) statement()      {}
func (*CreateView) statement()      {}
func (*Refresh) statement()         {}
func (*Alter) statement()           {}
func (*SelectStatement) statement() {}

// Query is [WITH ...] body [ORDER BY ...] [LIMIT n] [OFFSET n].
type Query struct {
	Pos     Pos
	End     Pos
	With    []CTE
	Body    SetExpr
	OrderBy []OrderItem
	Limit   Expr
	Offset  Expr
}

// CTE is name [(columns)] AS (query).
type CTE struct {
	Name    Ident
	Columns []Ident
	Query   *Query
}

// SetExpr is a Select, a SetOp, a nested *Query in parentheses, or Values.
type SetExpr interface{ setExpr() }

// SetOp is left {UNION | INTERSECT | EXCEPT} [ALL] right.
type SetOp struct {
	Op    string
	All   bool
	Left  SetExpr
	Right SetExpr
	Pos   Pos
}

// Values is VALUES (a, b), (c, d).
type Values struct {
	Rows [][]Expr
	Pos  Pos
}

// Select is SELECT ... FROM ... WHERE ... GROUP BY ... HAVING ... QUALIFY ...
type Select struct {
	Pos        Pos
	Distinct   bool
	Items      []SelectItem
	From       []TableRef
	Where      Expr
	GroupBy    []Expr
	GroupByAll bool
	GroupPos   Pos
	Having     Expr
	Qualify    Expr
}

func (*Select) setExpr() {}
func (*SetOp) setExpr()  {}
func (*Values) setExpr() {}
func (*Query) setExpr()  {}

// SelectItem is expr [AS alias], or a star.
type SelectItem struct {
	Expr  Expr
	Alias *Ident
}

// TableRef is a table, a table function, a subquery or a join.
type TableRef interface {
	Position() Pos
	tableRef()
}

// TableName is a table read by name. Stream is set by STREAM(t) and STREAM t; With holds the options behind it.
type TableName struct {
	Name      Name
	Stream    bool
	With      []Option
	Version   Expr // VERSION AS OF
	Timestamp Expr // TIMESTAMP AS OF
	Alias     *Alias
	Pos       Pos
}

// TableFunc is a table function: read_kafka(...), read_files(...), explode(...).
type TableFunc struct {
	Name   Name
	Args   []Arg
	Stream bool
	With   []Option
	Alias  *Alias
	Pos    Pos
}

// Arg is an argument of a table function; Key is empty for a positional one.
type Arg struct {
	Key   string
	Value Expr
	Pos   Pos
}

// SubqueryRef is (query) alias in FROM.
type SubqueryRef struct {
	Query *Query
	Alias *Alias
	Pos   Pos
}

// Join is left kind JOIN right [ON ... | USING (...)].
type Join struct {
	Left, Right TableRef
	Kind        string // INNER, LEFT, RIGHT, FULL, CROSS, LEFT SEMI, LEFT ANTI
	Natural     bool
	Lateral     bool
	On          Expr
	Using       []Ident
	Pos         Pos
}

// Alias is [AS] name [(columns)].
type Alias struct {
	Name    Ident
	Columns []Ident
}

func (t *TableName) Position() Pos   { return t.Pos }
func (t *TableFunc) Position() Pos   { return t.Pos }
func (t *SubqueryRef) Position() Pos { return t.Pos }
func (t *Join) Position() Pos        { return t.Pos }

func (*TableName) tableRef()   {}
func (*TableFunc) tableRef()   {}
func (*SubqueryRef) tableRef() {}
func (*Join) tableRef()        {}

// OrderItem is expr [ASC | DESC] [NULLS {FIRST | LAST}]. Nulls is "", "FIRST" or "LAST".
type OrderItem struct {
	Expr  Expr
	Desc  bool
	Nulls string
}

// Expr is an expression.
type Expr interface {
	Position() Pos
	expr()
}

// LiteralKind is the kind of a literal.
type LiteralKind uint8

const (
	NullLiteral LiteralKind = iota
	BoolLiteral             // Text is TRUE or FALSE
	IntegerLiteral
	DecimalLiteral  // 1.5, without an exponent
	DoubleLiteral   // 1e3
	StringLiteral   // Text is the value
	BinaryLiteral   // X'..': Text is the bytes
	DateLiteral     // DATE '...'
	TimeLiteral     // TIMESTAMP '...', TIMESTAMP_NTZ '...' and TIMESTAMP_LTZ '...'; Type has the word
	IntervalLiteral // INTERVAL 1 DAY, INTERVAL '1' DAY, INTERVAL '1 day 2 hours'; Parts
)

// Literal is a constant. Text has no quotes and no suffix; Suffix is the type suffix of a number (L, S, Y, D, F, BD).
type Literal struct {
	Kind   LiteralKind
	Text   string
	Suffix string
	Type   string
	Parts  []IntervalPart
	Secret bool // came from ${env:...}
	Pos    Pos
	// TextPos is where the text of a string begins: the place of problems inside it (schemas, predicates).
	TextPos Pos
}

// IntervalPart is one amount of an interval. Value is a Literal or any expression.
type IntervalPart struct {
	Value Expr
	Unit  string // upper case, singular
}

// Column is a column or a path into one: a, t.a, a.b.c.
type Column struct {
	Name Name
	Pos  Pos
}

// Star is *, t.*, with EXCEPT (a, b).
type Star struct {
	Qualifier *Name
	Except    []Ident
	Pos       Pos
}

// Unary is -x, +x, ~x, NOT x.
type Unary struct {
	Op  string
	X   Expr
	Pos Pos
}

// Binary is x op y. Op is the operator in upper case: OR AND = == <> != < <= > >= <=> + - * / % DIV || & | ^.
type Binary struct {
	Op   string
	X, Y Expr
	Pos  Pos // of the operator
}

// Between is x [NOT] BETWEEN low AND high.
type Between struct {
	X, Low, High Expr
	Not          bool
	Pos          Pos
}

// In is x [NOT] IN (list) or x [NOT] IN (query).
type In struct {
	X     Expr
	List  []Expr
	Query *Query
	Not   bool
	Pos   Pos
}

// Like is x [NOT] {LIKE | ILIKE | RLIKE | REGEXP} pattern [ESCAPE e].
type Like struct {
	Op      string // LIKE, ILIKE, RLIKE
	X       Expr
	Pattern Expr
	Escape  Expr
	Not     bool
	Pos     Pos
}

// Is is x IS [NOT] {NULL | TRUE | FALSE | DISTINCT FROM y}. What is NULL, TRUE, FALSE or DISTINCT.
type Is struct {
	X    Expr
	Y    Expr
	What string
	Not  bool
	Pos  Pos
}

// Case is CASE [x] WHEN ... THEN ... [ELSE ...] END.
type Case struct {
	X     Expr
	Whens []When
	Else  Expr
	Pos   Pos
}

// When is one branch of a Case.
type When struct{ If, Then Expr }

// Cast is CAST(x AS type), TRY_CAST(x AS type), x::type.
type Cast struct {
	X    Expr
	Type *TypeExpr
	Try  bool
	Pos  Pos
}

// Func is a call. CURRENT_DATE and CURRENT_TIMESTAMP without parentheses are calls too. EXTRACT(unit FROM x),
// TRIM([side] [chars FROM] x), SUBSTRING(x FROM a FOR b), POSITION(a IN b) and OVERLAY come as calls with plain arguments,
// units and sides as string literals.
type Func struct {
	Name     Name
	Args     []Expr
	ArgNames []string // parallel to Args, "" for positional ones; nil when none is named
	Star     bool     // count(*)
	Distinct bool
	Filter   Expr
	OrderBy  []OrderItem // inside the parentheses, or WITHIN GROUP
	Over     *Window
	Nulls    string // IGNORE or RESPECT
	Pos      Pos
}

// Window is OVER (PARTITION BY ... ORDER BY ... frame). Frame is kept as text.
type Window struct {
	Partition []Expr
	OrderBy   []OrderItem
	Frame     string
}

// Subquery is (query) as a value; Exists is EXISTS (query).
type Subquery struct {
	Query  *Query
	Exists bool
	Pos    Pos
}

// Index is x[i]; Field is x.name where x is not a plain name.
type Index struct {
	X, I Expr
	Pos  Pos
}

// Field is member access on an expression.
type Field struct {
	X    Expr
	Name Ident
	Pos  Pos
}

// Tuple is (a, b).
type Tuple struct {
	Items []Expr
	Pos   Pos
}

// Lambda is x -> e or (x, y) -> e.
type Lambda struct {
	Params []Ident
	Body   Expr
	Pos    Pos
}

func (e *Literal) Position() Pos  { return e.Pos }
func (e *Column) Position() Pos   { return e.Pos }
func (e *Star) Position() Pos     { return e.Pos }
func (e *Unary) Position() Pos    { return e.Pos }
func (e *Binary) Position() Pos   { return e.Pos }
func (e *Between) Position() Pos  { return e.Pos }
func (e *In) Position() Pos       { return e.Pos }
func (e *Like) Position() Pos     { return e.Pos }
func (e *Is) Position() Pos       { return e.Pos }
func (e *Case) Position() Pos     { return e.Pos }
func (e *Cast) Position() Pos     { return e.Pos }
func (e *Func) Position() Pos     { return e.Pos }
func (e *Subquery) Position() Pos { return e.Pos }
func (e *Index) Position() Pos    { return e.Pos }
func (e *Field) Position() Pos    { return e.Pos }
func (e *Tuple) Position() Pos    { return e.Pos }
func (e *Lambda) Position() Pos   { return e.Pos }

func (*Literal) expr()  {}
func (*Column) expr()   {}
func (*Star) expr()     {}
func (*Unary) expr()    {}
func (*Binary) expr()   {}
func (*Between) expr()  {}
func (*In) expr()       {}
func (*Like) expr()     {}
func (*Is) expr()       {}
func (*Case) expr()     {}
func (*Cast) expr()     {}
func (*Func) expr()     {}
func (*Subquery) expr() {}
func (*Index) expr()    {}
func (*Field) expr()    {}
func (*Tuple) expr()    {}
func (*Lambda) expr()   {}
