package postgres

import (
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"sluice/batch"
	"sluice/fault"
)

// D-56: a check tells of every right that a batch would miss, and makes nothing.
func TestCheckRights(t *testing.T) {
	db := newDatabase(t)
	name := "guest_" + db.exec("SELECT current_database()")
	db.exec("CREATE ROLE " + name + " LOGIN")
	db.exec("CREATE TABLE out (key text, seq bigint, v text)")
	guest := &database{t, strings.Replace(db.url, "sluice@", name+"@", 1)}
	keyed := []string{"mode", "replace_using", "keys", "key", "sequence", "seq"}

	mustFail(t, guest.open(keyed...).Check(ctx), fault.PostgresPermission, "SELECT", "INSERT", "DELETE", "TRUNCATE", `create the table "public"."_sluice_batches"`)
	db.exec("REVOKE TEMPORARY ON DATABASE " + db.exec("SELECT current_database()") + " FROM PUBLIC")
	mustFail(t, guest.open(keyed...).Check(ctx), fault.PostgresPermission, "temporary")
	missing := guest.open("create_table", "true")
	missing.opts.table = pgx.Identifier{"more"}
	mustFail(t, missing.Check(ctx), fault.PostgresPermission, "create a table in the schema public")
	missing.opts.table = pgx.Identifier{"elsewhere", "out"}
	mustFail(t, missing.Check(ctx), fault.PostgresTable, "schema elsewhere does not exist")
	if got := db.exec("SELECT count(*) FROM pg_tables WHERE schemaname = 'public'"); got != "1" {
		t.Errorf("the checks made tables: there are %s", got)
	}

	if err := db.open().Open(ctx, batch.ID{}, false); err != nil { // makes the table of identities
		t.Fatal(err)
	}
	mustFail(t, guest.open().Check(ctx), fault.PostgresPermission, "INSERT \"public\".\"out\"", "UPDATE \"public\".\"_sluice_batches\"")
	db.exec("GRANT SELECT, INSERT, UPDATE ON _sluice_batches TO " + name)
	db.exec("GRANT INSERT (key, seq, v) ON out TO " + name)
	if err := guest.open().Check(ctx); err != nil {
		t.Error(err)
	}
	write(t, guest.open(), id(1, 0, 0), "a 1 x") // what the check allows is enough
}

// A change feed that is appended needs a column for what each row means, which a check misses before the first batch.
func TestCheckChangeColumn(t *testing.T) {
	db := newDatabase(t)
	db.exec("CREATE TABLE out (key text, seq bigint, v text)")
	c := db.config(fields)
	c.Feed = true
	s, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	mustFail(t, s.Check(ctx), fault.PostgresColumn, "_change_type")
	db.exec("ALTER TABLE out ADD _change_type text")
	if err := s.Check(ctx); err != nil {
		t.Error(err)
	}
}
