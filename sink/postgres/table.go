package postgres

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"

	"sluice/batch"
	"sluice/fault"
	"sluice/sink"
)

// table is the table of the sink as it is, and how the rows fit into it.
type table struct {
	name    string // quoted, with its schema
	batches string // the table of identities, quoted
	columns []column
	change  string   // quoted name of _change_type, where a feed needs it
	copier  *copier  // of the fields
	fields  []string // quoted column of each field
	types   []string // and its type
	texts   []bool   // whether that type is ordered by a collation
}

// column is a column of a table.
type column struct {
	name   string
	oid    uint32
	typmod int32
	typ    string // as SQL writes it
}

// describe finds the table, or creates it, and checks that every field has a column that holds its values exactly.
func (s *Sink) describe(ctx context.Context, c *pgx.Conn) (*table, error) {
	if s.opts.create {
		if err := s.createTable(ctx, c); err != nil {
			return nil, err
		}
	}
	t := &table{}
	var oid uint32
	var schema, name string
	err := c.QueryRow(ctx, `SELECT c.oid, n.nspname, c.relname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE c.oid = to_regclass($1)`,
		s.opts.table.Sanitize()).Scan(&oid, &schema, &name)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, fault.New(fault.PostgresTable, "the table %s does not exist", s.opts.table.Sanitize()).
			WithHint("create it, or set create_table => 'true'")
	}
	if err != nil {
		return nil, s.fault(ctx, err, "looking up the table %s", s.opts.table.Sanitize())
	}
	t.name, t.batches = pgx.Identifier{schema, name}.Sanitize(), pgx.Identifier{schema, "_sluice_batches"}.Sanitize()
	if err := t.read(ctx, c, oid); err != nil {
		return nil, s.fault(ctx, err, "looking up the columns of %s", t.name)
	}
	return t, t.fit(s.config.Fields)
}

func (t *table) read(ctx context.Context, c *pgx.Conn, oid uint32) error {
	rows, err := c.Query(ctx, `SELECT attname, atttypid, atttypmod, format_type(atttypid, atttypmod) FROM pg_attribute
		WHERE attrelid = $1 AND attnum > 0 AND NOT attisdropped ORDER BY attnum`, oid)
	if err != nil {
		return err
	}
	t.columns, err = pgx.CollectRows(rows, func(r pgx.CollectableRow) (col column, err error) {
		return col, r.Scan(&col.name, &col.oid, &col.typmod, &col.typ)
	})
	return err
}

// fit finds a column for each field.
func (t *table) fit(fields []batch.Field) error {
	names := func(i int) string { return t.columns[i].name }
	var forms []form
	taken := map[int]string{}
	for _, f := range fields {
		i := sink.FindColumn(f.Name, len(t.columns), names)
		if i < 0 {
			return fault.New(fault.PostgresColumn, "the table %s has no column %s", t.name, f.Name).WithDetail("it has %s", t.ddl()).
				WithHint("add the column, or leave it out of the flow's query")
		}
		if other, twice := taken[i]; twice {
			return fault.New(fault.PostgresColumn, "the columns %s and %s of the flow both go into the column %s of %s", other, f.Name, t.columns[i].name, t.name)
		}
		taken[i] = f.Name
		col := t.columns[i]
		form, ok := formFor(f.Type, col.oid, col.typmod)
		if !ok {
			return fault.New(fault.PostgresColumn, "the column %s of %s has the type %s, which does not hold every %s exactly", col.name, t.name, col.typ, f.Type).
				WithHint("make it %s, or cast the column in the flow's query", sqlType(f.Type))
		}
		forms = append(forms, form)
		t.fields = append(t.fields, pgx.Identifier{col.name}.Sanitize())
		t.types = append(t.types, col.typ)
		t.texts = append(t.texts, form == asText)
	}
	if i := sink.FindColumn(sink.ChangeColumn, len(t.columns), names); i >= 0 && taken[i] == "" {
		t.change = pgx.Identifier{t.columns[i].name}.Sanitize()
	}
	t.copier = newCopier(t.name, fields, forms)
	return nil
}

func (t *table) ddl() string {
	var out []string
	for _, c := range t.columns {
		out = append(out, c.name+" "+c.typ)
	}
	return strings.Join(out, ", ")
}

// createTable makes the table with the fields' columns, an index on the keys, and _change_type where changes are appended.
func (s *Sink) createTable(ctx context.Context, c *pgx.Conn) error {
	name := s.opts.table.Sanitize()
	var columns []string
	for _, f := range s.config.Fields {
		line := pgx.Identifier{f.Name}.Sanitize() + " " + sqlType(f.Type)
		if f.NotNull {
			line += " NOT NULL"
		}
		columns = append(columns, line)
	}
	if s.config.Feed && s.opts.mode == appendRows && !hasField(s.config.Fields, sink.ChangeColumn) {
		columns = append(columns, pgx.Identifier{sink.ChangeColumn}.Sanitize()+" text NOT NULL")
	}
	statements := []string{fmt.Sprintf("CREATE TABLE IF NOT EXISTS %s (%s)", name, strings.Join(columns, ", "))}
	if len(s.keyed.keys) > 0 {
		var keys []string
		for _, k := range s.keyed.keys {
			keys = append(keys, pgx.Identifier{s.config.Fields[k].Name}.Sanitize())
		}
		index := pgx.Identifier{s.opts.table[len(s.opts.table)-1] + "_sluice_keys"}.Sanitize()
		statements = append(statements, fmt.Sprintf("CREATE INDEX IF NOT EXISTS %s ON %s (%s)", index, name, strings.Join(keys, ", ")))
	}
	var exists bool
	if err := c.QueryRow(ctx, "SELECT to_regclass($1) IS NOT NULL", name).Scan(&exists); err != nil || exists {
		return s.fault(ctx, err, "looking up the table %s", name)
	}
	for _, sql := range statements {
		if _, err := c.Exec(ctx, sql); err != nil {
			return s.fault(ctx, err, "creating the table %s", name)
		}
	}
	return nil
}

func hasField(fields []batch.Field, name string) bool {
	for _, f := range fields {
		if f.Name == name {
			return true
		}
	}
	return false
}

// createBatches makes the table of identities where it is not there.
func (s *Sink) createBatches(ctx context.Context, c *pgx.Conn, t *table) error {
	var exists bool
	err := c.QueryRow(ctx, "SELECT to_regclass($1) IS NOT NULL", t.batches).Scan(&exists)
	if err == nil && !exists {
		_, err = c.Exec(ctx, fmt.Sprintf(`CREATE TABLE IF NOT EXISTS %s (
			pipeline text NOT NULL, flow text NOT NULL, store text NOT NULL, epoch bigint NOT NULL, generation bigint NOT NULL,
			number bigint NOT NULL, written timestamp with time zone NOT NULL, PRIMARY KEY (pipeline, flow))`, t.batches))
	}
	return s.fault(ctx, err, "creating the table %s", t.batches)
}
