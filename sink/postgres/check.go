package postgres

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"sluice/fault"
	"sluice/sink"
)

// Check connects and looks whether batches could be written, as dry-run --connect does: the table, its columns, and what
// the user may do there. It creates nothing. The error is a fault.List where there are several problems.
func (s *Sink) Check(ctx context.Context) error {
	c, err := s.dial(ctx)
	if err != nil {
		return err
	}
	defer c.Close(ctx)
	if s.opts.create {
		var exists bool
		if err := c.QueryRow(ctx, "SELECT to_regclass($1) IS NOT NULL", s.opts.table.Sanitize()).Scan(&exists); err != nil {
			return s.fault(ctx, err, "looking up the table %s", s.opts.table.Sanitize())
		}
		if !exists {
			return s.checkCreate(ctx, c)
		}
	}
	probe := *s
	probe.opts.create = false
	t, err := probe.describe(ctx, c)
	if err != nil {
		return err
	}
	return s.checkTable(ctx, c, t)
}

// checkCreate looks whether the user may make the table.
func (s *Sink) checkCreate(ctx context.Context, c *pgx.Conn) error {
	schema := ""
	if len(s.opts.table) == 2 {
		schema = s.opts.table[0]
	}
	var name *string
	var may bool
	err := c.QueryRow(ctx, `SELECT nspname, has_schema_privilege(oid, 'CREATE') FROM pg_namespace WHERE nspname = coalesce(nullif($1, ''), current_schema())`, schema).Scan(&name, &may)
	switch {
	case err == pgx.ErrNoRows && schema == "":
		return fault.New(fault.PostgresTable, "the database has no schema to make the table %s in: the search path of the user names none that exists", s.opts.table.Sanitize())
	case err == pgx.ErrNoRows:
		return fault.New(fault.PostgresTable, "the schema %s does not exist", schema).WithHint("create it; create_table makes a table only")
	case err != nil:
		return s.fault(ctx, err, "looking up the schema of %s", s.opts.table.Sanitize())
	case !may:
		return forbidden("create a table in the schema %s", *name)
	}
	return s.checkTemporary(ctx, c)
}

// checkTable looks whether the user may do what a batch does.
func (s *Sink) checkTable(ctx context.Context, c *pgx.Conn, t *table) error {
	var problems fault.List
	if s.config.Feed && s.opts.mode == appendRows && t.change == "" && !hasField(s.config.Fields, sink.ChangeColumn) {
		problems = append(problems, t.noChangeColumn())
	}
	rights := map[string][]string{appendRows: {"INSERT"}, upsert: {"SELECT", "INSERT", "UPDATE", "DELETE"}, replaceUsing: {"SELECT", "INSERT", "DELETE"}}[s.opts.mode]
	if s.opts.truncate {
		rights = append(rights, "TRUNCATE")
	}
	found, err := s.lacking(ctx, c, t.name, rights)
	if err != nil {
		return err
	}
	problems = append(problems, found...)
	if found, err = s.checkBatches(ctx, c, t); err != nil {
		return err
	}
	problems = append(problems, found...)
	if err := s.checkTemporary(ctx, c); err != nil {
		problems = append(problems, fault.From(err))
	}
	if len(problems) == 1 {
		return problems[0]
	}
	return problems.Err()
}

// checkBatches looks at the table of identities, which a first batch makes.
func (s *Sink) checkBatches(ctx context.Context, c *pgx.Conn, t *table) (fault.List, error) {
	var exists, mayCreate bool
	err := c.QueryRow(ctx, `SELECT to_regclass($1) IS NOT NULL, has_schema_privilege(relnamespace, 'CREATE') FROM pg_class WHERE oid = to_regclass($2)`,
		t.batches, t.name).Scan(&exists, &mayCreate)
	switch {
	case err != nil:
		return nil, s.fault(ctx, err, "looking up the table %s", t.batches)
	case exists:
		return s.lacking(ctx, c, t.batches, []string{"SELECT", "INSERT", "UPDATE"})
	case !mayCreate:
		return fault.List{forbidden("create the table %s, which holds the number of the last batch", t.batches)}, nil
	}
	return nil, nil
}

// lacking returns a problem for each right that the user does not have. A right to some columns counts as the right, since
// only the database knows which it would need.
func (s *Sink) lacking(ctx context.Context, c *pgx.Conn, table string, rights []string) (problems fault.List, err error) {
	for _, right := range rights {
		sql := "SELECT has_table_privilege($1, $2)"
		if right != "DELETE" && right != "TRUNCATE" {
			sql = "SELECT has_any_column_privilege($1, $2)"
		}
		var has bool
		if err := c.QueryRow(ctx, sql, table, right).Scan(&has); err != nil {
			return nil, s.fault(ctx, err, "looking up what the user may do with %s", table)
		}
		if !has {
			problems = append(problems, forbidden("%s %s", right, table))
		}
	}
	return problems, nil
}

// checkTemporary looks whether the user may make the temporary table that keyed modes use.
func (s *Sink) checkTemporary(ctx context.Context, c *pgx.Conn) error {
	if s.opts.mode == appendRows {
		return nil
	}
	var may bool
	if err := c.QueryRow(ctx, "SELECT has_database_privilege(current_database(), 'TEMPORARY')").Scan(&may); err != nil {
		return s.fault(ctx, err, "looking up what the user may do in the database")
	}
	if !may {
		return forbidden("make temporary tables in the database")
	}
	return nil
}

func forbidden(format string, args ...any) *fault.Error {
	return fault.New(fault.PostgresPermission, "the user may not %s", fmt.Sprintf(format, args...)).WithHint("ask for it with GRANT")
}
