package postgres

import (
	"context"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"sluice/batch"
	"sluice/fault"
	"sluice/option"
	"sluice/sink"
)

// D-44: append, with what each change is.
func TestAppend(t *testing.T) {
	db := newDatabase(t)
	db.exec("CREATE TABLE out (key text, seq bigint, v text, more text DEFAULT 'd')")
	s := db.open()
	if err := s.Open(ctx, batch.ID{}, false); err != nil {
		t.Fatal(err)
	}
	write(t, s, id(1, 0, 0), "a 1 x", "NULL 2 y", "a 1 x")
	db.holds("NULL 2 y", "a 1 x", "a 1 x")
	mustFail(t, s.Write(ctx, id(1, 0, 1), rowsOf("+a 2 z")), fault.PostgresColumn, "_change_type", "out")
	db.exec("ALTER TABLE out ADD _change_type varchar(20)")
	s = db.open()
	write(t, s, id(2, 0, 1), "+a 2 z", "-a 1 x")
	if got := db.exec("SELECT key, seq, v, more, _change_type FROM out WHERE _change_type IS NOT NULL ORDER BY seq"); got != "a 1 x d delete\na 2 z d insert" {
		t.Error(got)
	}
}

// D-43, D-44: upsert. Null keys match null; columns that the flow does not give are kept.
func TestUpsert(t *testing.T) {
	db := newDatabase(t)
	db.exec("CREATE TABLE out (key text, seq bigint, v text, note text)")
	s := db.open("mode", "upsert", "keys", "key")
	write(t, s, id(1, 0, 0), "a 1 x", "NULL 1 n", "b 1 y")
	db.exec("UPDATE out SET note = 'mine' WHERE key = 'a'")
	write(t, s, id(1, 0, 1), "+a 2 x", "-a 2 x", "+a 3 z", "-NULL 1 n", "+NULL 2 m", "-b 1 y", "-c 1 never")
	db.holds("NULL 2 m", "a 3 z")
	if got := db.exec("SELECT note FROM out WHERE key = 'a'"); got != "mine" {
		t.Errorf("the column of another hand became %s", got)
	}
	mustFail(t, s.Write(ctx, id(1, 0, 2), rowsOf("a 4 x", "b 1 y", "a 5 z")), fault.SinkKeyNotUnique, "out", "rows 0 and 2")
	write(t, s, id(1, 0, 2), "-NULL 2 m")
	db.holds("a 3 z")
}

// D-44: replace_using. Per key the rows with the highest sequence, whatever the order of the batches; ties stay together.
func TestReplaceUsing(t *testing.T) {
	db := newDatabase(t)
	db.exec("CREATE TABLE out (key text, seq bigint, v text)")
	s := db.open("mode", "replace_using", "keys", "key", "sequence", "seq")
	write(t, s, id(1, 0, 0), "a 4 x", "a 4 y", "b 1 m", "NULL 1 n", "a 2 late")
	db.holds("NULL 1 n", "a 4 x", "a 4 y", "b 1 m")
	write(t, s, id(1, 0, 1), "a 4 z", "b 2 o", "NULL 2 p")
	db.holds("NULL 2 p", "a 4 x", "a 4 y", "a 4 z", "b 2 o")
	write(t, s, id(1, 0, 2), "a 5 w", "b 1 late")
	db.holds("NULL 2 p", "a 5 w", "b 2 o")
	// A feed of which the query left the new row out: the old one goes all the same.
	write(t, s, id(1, 0, 3), "-a 5 w", "-NULL 2 p", "+NULL 3 q")
	db.holds("NULL 3 q", "b 2 o")
	write(t, s, id(1, 0, 4), "-b 2 o", "+b 3 r", "+b 3 s", "-b 3 r", "-b 3 s", "+b 4 t")
	db.holds("NULL 3 q", "b 4 t")
	mustFail(t, s.Write(ctx, id(1, 0, 5), rowsOf("a NULL x")), fault.NullSequence, "seq", "row 0")
}

// D-28: mirror. Without keys exactly as many equal rows go as the feed says; a row that is not there stops the flow, and the batch leaves nothing.
func TestMirror(t *testing.T) {
	db := newDatabase(t)
	db.exec("CREATE TABLE out (key text, seq bigint, v text, note text DEFAULT 'd')")
	s := db.open("mode", "mirror")
	write(t, s, id(1, 0, 0), "+a 1 x", "+a 1 x", "+a 1 x", "+NULL 2 y", "+NULL 2 y", "+b 1 z")
	write(t, s, id(1, 0, 1), "-a 1 x", "-NULL 2 y", "-b 1 z", "+b 2 z")
	db.holds("NULL 2 y", "a 1 x", "a 1 x", "b 2 z")
	write(t, s, id(1, 0, 2), "-a 1 x", "+a 1 x", "-b 2 z", "+b 2 z", "+c 1 w", "-c 1 w")
	db.holds("NULL 2 y", "a 1 x", "a 1 x", "b 2 z")
	mustFail(t, s.Write(ctx, id(1, 0, 3), rowsOf("-a 1 x", "-a 1 x", "-a 1 x", "+d 1 v")), fault.SinkRowsMissing, "out", "2 of 3")
	db.holds("NULL 2 y", "a 1 x", "a 1 x", "b 2 z")
	write(t, s, id(2, 1, 0), "+e 1 u") // of a new generation
	db.holds("e 1 u")
}

// Values that databases take for one another stay apart: the sign of a zero, JSON by its text, NULL and ”.
func TestMirrorTellsValuesApart(t *testing.T) {
	db := newDatabase(t)
	f := []batch.Field{{Name: "x", Type: batch.Of(batch.Double)}, {Name: "y", Type: batch.Of(batch.Float)}, {Name: "a", Type: batch.ArrayOf(batch.Of(batch.Int))}, {Name: "t", Type: batch.Of(batch.String)}}
	s, err := New(db.config(f, "mode", "mirror", "create_table", "true"))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	negative := math.Copysign(0, -1)
	row := func(b []*batch.Builder, x, y float64, elements int, text string) {
		batch.Append(b[0], x)
		batch.Append(b[1], float32(y))
		for i := range elements {
			b[2].Child(0).AppendInt(int64(i))
		}
		b[2].AppendNested()
		if text == "" {
			b[3].AppendNull()
		} else {
			b[3].AppendString(strings.Trim(text, "'"))
		}
	}
	give := func(n uint64, change sink.Change, fill func(b []*batch.Builder)) {
		var b []*batch.Builder
		for _, field := range f {
			b = append(b, batch.NewBuilder(field.Type, 0))
		}
		fill(b)
		rows := sink.Rows{Columns: batch.Columns{Fields: f}}
		for i := range b {
			rows.Columns.Cols = append(rows.Columns.Cols, b[i].Column())
		}
		rows.Columns.Len = rows.Columns.Cols[0].Len
		rows.Change = slices.Repeat([]sink.Change{change}, rows.Columns.Len)
		if err := s.Write(ctx, id(1, 0, n), rows); err != nil {
			t.Fatal(err)
		}
	}
	give(0, sink.InsertRow, func(b []*batch.Builder) {
		row(b, 0, 1, 1, "k")
		row(b, negative, 1, 1, "k")
		row(b, math.NaN(), negative, 2, "")
		row(b, math.NaN(), 0, 2, "''")
		row(b, 2, 0, 0, "k")
	})
	give(1, sink.DeleteRow, func(b []*batch.Builder) {
		row(b, negative, 1, 1, "k")
		row(b, math.Float64frombits(math.Float64bits(math.NaN())|1), negative, 2, "")
		row(b, 2, 0, 0, "k")
	})
	if got := db.exec("SELECT x, y, a::text, t FROM out ORDER BY x"); got != "0 1 [0] k\nNaN 0 [0,1] " {
		t.Errorf("%q", got)
	}
}

// A sequence of text compares by its bytes, not by the collation of the database.
func TestReplaceUsingOrdersTextByBytes(t *testing.T) {
	db := newDatabase(t)
	db.exec(`CREATE COLLATION swedish (provider = icu, locale = 'sv')`)
	db.exec(`CREATE TABLE out (key text, seq text COLLATE swedish)`)
	f := []batch.Field{{Name: "key", Type: batch.Of(batch.String)}, {Name: "seq", Type: batch.Of(batch.String)}}
	s, err := New(db.config(f, "mode", "replace_using", "keys", "key", "sequence", "seq"))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for i, seq := range []string{"Z", "a", "B"} { // by bytes a is the highest, by the collation Z
		key, c := batch.NewBuilder(f[0].Type, 1), batch.NewBuilder(f[1].Type, 1)
		key.AppendString("k")
		c.AppendString(seq)
		rows := sink.Rows{Columns: batch.Columns{Fields: f, Cols: []batch.Column{key.Column(), c.Column()}, Len: 1}}
		if err := s.Write(ctx, id(1, 0, uint64(i)), rows); err != nil {
			t.Fatal(err)
		}
	}
	if got := db.exec("SELECT seq FROM out"); got != "a" {
		t.Errorf("got %s", got)
	}
}

// What a reset does to the rows.
func TestReset(t *testing.T) {
	for _, c := range []struct {
		pairs []string
		gone  bool
	}{
		{[]string{"mode", "replace_using", "keys", "key", "sequence", "seq"}, true},
		{[]string{"mode", "replace_using", "keys", "key", "sequence", "seq", "on_reset", "keep"}, false},
		{[]string{"mode", "upsert", "keys", "key"}, false},
		{[]string{"mode", "append", "on_reset", "truncate"}, true},
	} {
		db := newDatabase(t)
		s := db.open(append(c.pairs, "create_table", "true")...)
		write(t, s, id(1, 0, 0), "a 1 x")
		write(t, s, id(1, 1, 0)) // batch 0 is delivered even if it is empty (FB-04)
		want := []string{"a 1 x"}
		if c.gone {
			want = nil
		}
		db.holds(want...)
		write(t, s, again(id(1, 1, 0)), "never 1 x")
		write(t, s, id(1, 1, 1), "b 1 y")
		db.holds(append(want, "b 1 y")...)
	}
}

// D-18: whose table it is.
func TestIdentity(t *testing.T) {
	db := newDatabase(t)
	s := db.open("create_table", "true")
	write(t, s, id(1, 0, 0), "a 1 x")
	write(t, s, id(1, 0, 1), "b 2 y")
	write(t, s, again(id(1, 0, 1)), "b 2 y")
	if got := db.exec("SELECT pipeline, flow, store, epoch, generation, number FROM _sluice_batches"); got != "shop publish s1 1 0 1" {
		t.Error(got)
	}
	other := id(1, 0, 0)
	other.Store = "s2"
	thief := db.open()
	mustFail(t, thief.Open(ctx, other, true), fault.SinkOtherStore, "s1", "s2")
	mustFail(t, thief.Write(ctx, other, rowsOf("x 1 x")), fault.SinkOtherStore)
	backup := db.open()
	mustFail(t, backup.Write(ctx, id(2, 0, 0), rowsOf("x 1 x")), fault.SinkAhead)
	// A newer run; the older one stops.
	newer := db.open()
	if err := newer.Open(ctx, id(1, 0, 0), true); err != nil {
		t.Fatal(err)
	}
	write(t, newer, again(id(2, 0, 1)), "b 2 y")
	mustFail(t, s.Write(ctx, id(1, 0, 2), rowsOf("x 1 x")), fault.Fenced)
	mustFail(t, s.Write(ctx, id(1, 0, 2), rowsOf()), fault.Fenced)
	write(t, newer, id(2, 0, 2), "c 3 z")
	db.holds("a 1 x", "b 2 y", "c 3 z")
	// Adopted, and forgotten.
	if err := thief.Adopt(ctx, other, true); err != nil {
		t.Fatal(err)
	}
	mustFail(t, newer.Write(ctx, id(2, 0, 3), rowsOf("x 1 x")), fault.SinkOtherStore)
	next := other
	next.Number = 1
	if err := thief.Write(ctx, next, rowsOf("d 4 w")); err != nil {
		t.Fatal(err)
	}
	if err := thief.Adopt(ctx, other, false); err != nil {
		t.Fatal(err)
	}
	mustFail(t, thief.Write(ctx, next, rowsOf("x 1 x")), fault.SinkIdentityLost)
	if err := thief.Write(ctx, other, rowsOf()); err != nil {
		t.Fatal(err)
	}
	db.holds("a 1 x", "b 2 y", "c 3 z", "d 4 w")
}

// D-18: two copies of one stopped store, which number rows of their own. Who comes second with a number is refused, also where its
// own batch may have been sent, by this start or by one before, and whichever was started later.
func TestCopies(t *testing.T) {
	db := newDatabase(t)
	write(t, db.open("create_table", "true"), id(1, 0, 0), "a 1 x")
	tried := func(number uint64, epochs ...uint64) batch.ID {
		i := again(id(epochs[len(epochs)-1], 0, number))
		i.Tried = epochs
		return i
	}
	one, other, early := db.open(), db.open(), uint64(1)<<53-3
	write(t, one, tried(0, 1, early), "a 1 x")
	write(t, other, id(early+1, 0, 1), "b 2 y")
	for range 2 {
		mustFail(t, one.Write(ctx, tried(1, early), rowsOf("x 1 x")), fault.Fenced)
	}
	mustFail(t, db.open().Write(ctx, tried(1, early, early+2), rowsOf("x 1 x")), fault.SinkAhead, "batch 1", "a copy")
	write(t, other, id(early+1, 0, 2), "c 3 z")
	write(t, db.open(), tried(2, early+1, early+3), "x 1 x")
	mustFail(t, other.Write(ctx, id(early+1, 0, 3), rowsOf("x 1 x")), fault.Fenced)
	db.holds("a 1 x", "b 2 y", "c 3 z")
}

// Two runs that both write their first batch: one is refused for now, and then finds the other.
func TestTwoFirstBatches(t *testing.T) {
	db := newDatabase(t)
	s := db.open("create_table", "true")
	if err := s.Open(ctx, batch.ID{}, false); err != nil {
		t.Fatal(err)
	}
	c, err := pgx.Connect(ctx, db.url)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close(ctx)
	tx, err := c.Begin(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Exec(ctx, "INSERT INTO _sluice_batches VALUES ('shop', 'publish', 's2', 1, 0, 0, now())"); err != nil {
		t.Fatal(err)
	}
	done := make(chan error)
	go func() { done <- s.Write(ctx, id(1, 0, 0), rowsOf("a 1 x")) }()
	for db.exec("SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()") != "1" {
	}
	if err := tx.Commit(ctx); err != nil {
		t.Fatal(err)
	}
	err = <-done
	mustFail(t, err, fault.PostgresUnavailable, "another run")
	mustFail(t, s.Write(ctx, id(1, 0, 0), rowsOf("a 1 x")), fault.SinkOtherStore)
	db.holds()
}

// A-26, A-101's neighbours: what the database cannot hold, with table, column and position; nothing of the batch is left.
func TestRefusedValues(t *testing.T) {
	db := newDatabase(t)
	db.exec("CREATE TABLE out (key varchar(3), seq bigint CHECK (seq < 100), v text)")
	s := db.open()
	bad := rowsOf("a 1 x", "b 2 y")
	bad.Columns.Cols[2].Bytes[1] = 0
	bad.Columns.Pos = batch.Positions{Split: make([]int32, 2), Offset: []int64{7, 8}, Index: []int32{0, 3}}
	mustFail(t, s.Write(ctx, id(1, 0, 0), bad), fault.SinkRefusedValue, `"out"`, "column v", "NUL", "row 1", "from 8.3")
	bad.Columns.Cols[2].Bytes[1] = 0xff
	mustFail(t, s.Write(ctx, id(1, 0, 0), bad), fault.SinkRefusedValue, "UTF-8")
	mustFail(t, s.Write(ctx, id(1, 0, 0), rowsOf("abc 1 x", "abcd 1 x")), fault.PostgresRefused, "22001", "line 2")
	mustFail(t, s.Write(ctx, id(1, 0, 0), rowsOf("a 1 x", "a 100 x")), fault.PostgresRefused, "23514", "seq")
	db.holds()
	write(t, s, id(1, 0, 0), "a 1 x")
	db.holds("a 1 x")
	if escaped := map[string]bool{`{"a":"\u0000"}`: true, `{"a":"\\u0000"}`: false, `{"a":"\\\u0000"}`: true, `{"u0000":1}`: false}; true {
		for text, want := range escaped {
			if escapesNUL([]byte(text)) != want {
				t.Errorf("%s: %v", text, !want)
			}
		}
	}
}

// Columns that do not fit are refused when the sink opens.
func TestColumnsThatDoNotFit(t *testing.T) {
	for ddl, say := range map[string]string{
		"":                                           "does not exist",
		"key text, seq bigint":                       "no column v",
		"key text, seq integer, v text":              "seq",
		"key text, seq numeric(18,0), v text":        "numeric(18,0)",
		"key char(5), seq bigint, v text":            "character(5)",
		"key text, seq text, v text":                 "BIGINT",
		`"KEY" text, "Key" text, seq bigint, v text`: "no column key",
	} {
		db := newDatabase(t)
		if ddl != "" {
			db.exec("CREATE TABLE out (" + ddl + ")")
		}
		s := db.open()
		code := fault.PostgresColumn
		if ddl == "" {
			code = fault.PostgresTable
		}
		mustFail(t, s.Open(ctx, batch.ID{}, false), code, say)
		mustFail(t, s.Check(ctx), code, say)
	}
	db := newDatabase(t)
	db.exec(`CREATE TABLE out ("Key" varchar, seq numeric(19,0), v text)`)
	s := db.open()
	if err := s.Check(ctx); err != nil {
		t.Error(err)
	}
	if got := db.exec("SELECT count(*) FROM pg_tables WHERE schemaname = 'public'"); got != "1" {
		t.Errorf("Check made a table: there are %s", got)
	}
	write(t, s, id(1, 0, 0), "a 9223372036854775807 x")
	if got := db.exec(`SELECT "Key", seq::text FROM out`); got != "a 9223372036854775807" {
		t.Error(got)
	}
	if err := newDatabase(t).open("create_table", "true").Check(ctx); err != nil {
		t.Errorf("a table that will be made: %v", err)
	}
}

func TestUnreachable(t *testing.T) {
	db := &database{t, "postgres://sluice:top-secret@127.0.0.1:1/nowhere"}
	s := db.open()
	err := s.Open(ctx, batch.ID{}, false)
	mustFail(t, err, fault.PostgresUnavailable, "127.0.0.1:1/nowhere")
	if strings.Contains(err.Error(), "top-secret") {
		t.Errorf("the password is told: %v", err)
	}
	real := newDatabase(t)
	real.url = strings.Replace(real.url, "/test", "/nothere", 1)
	mustFail(t, real.open().Open(ctx, batch.ID{}, false), fault.PostgresTable, "nothere")
	real.url = strings.Replace(real.url, "sluice@", "nobody@", 1)
	mustFail(t, real.open().Open(ctx, batch.ID{}, false), fault.PostgresAuthentication, "nobody")
	if fault.PostgresAuthentication.Retry == fault.Backoff {
		t.Error("an unknown user is final")
	}
	ended, cancel := context.WithCancel(ctx)
	cancel()
	if err := s.Check(ended); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// What the database forbids, and what it does not expect of a sink.
func TestForbidden(t *testing.T) {
	db := newDatabase(t)
	name := "guest_" + db.exec("SELECT current_database()")
	db.exec("CREATE ROLE " + name + " LOGIN")
	db.exec("CREATE TABLE out (key text, seq bigint, v text)")
	guest := &database{t, strings.Replace(db.url, "sluice@", name+"@", 1)}
	mustFail(t, guest.open().Open(ctx, batch.ID{}, false), fault.PostgresPermission, "_sluice_batches", "42501")
	if err := db.open().Open(ctx, batch.ID{}, false); err != nil { // makes the table of identities
		t.Fatal(err)
	}
	db.exec("GRANT SELECT, INSERT, UPDATE, DELETE ON _sluice_batches TO " + name)
	mustFail(t, guest.open().Write(ctx, id(1, 0, 0), rowsOf("a 1 x")), fault.PostgresPermission, "out")
	db.exec("GRANT INSERT ON out TO " + name)
	write(t, guest.open(), id(1, 0, 0), "a 1 x")
	db.holds("a 1 x")
	db = newDatabase(t)
	db.exec("CREATE VIEW out AS SELECT 'a' AS key, 1::bigint AS seq, 'x' AS v")
	mustFail(t, db.open().Write(ctx, id(1, 0, 0), rowsOf("a 1 x")), fault.PostgresError, "view")
}

func TestOptionProblems(t *testing.T) {
	base := []string{"url", "postgres://u:p@h/d", "table", "t"}
	for _, c := range []struct {
		pairs []string
		code  *fault.Code
	}{
		{nil, nil},
		{[]string{"mode", "upsert"}, fault.MissingOption},
		{[]string{"mode", "upsert", "keys", "a"}, nil},
		{[]string{"mode", "replace_using", "keys", "a"}, fault.MissingOption},
		{[]string{"mode", "replace_using", "keys", "a", "sequence", "b"}, nil},
		{[]string{"keys", "a"}, fault.InvalidOption},
		{[]string{"mode", "upsert", "keys", "a", "sequence", "b"}, fault.InvalidOption},
		{[]string{"mode", "merge"}, fault.InvalidOption},
		{[]string{"modes", "append"}, fault.UnknownOption},
	} {
		var given []option.Given
		for pairs := append(base[:4:4], c.pairs...); len(pairs) > 0; pairs = pairs[2:] {
			given = append(given, option.Given{Name: pairs[0], Value: pairs[1]})
		}
		v, problems := Options().Parse("sink format postgres", given, fault.Pos{})
		err := append(problems, Validate(v, fault.Pos{})...).Err()
		if c.code == nil && err != nil || c.code != nil && !fault.Of(err, c.code) {
			t.Errorf("%v: got %v, want %v", c.pairs, err, c.code)
		}
	}
	for text, want := range map[string]string{
		"t": `"t"`, "Public.Ticks": `"public"."ticks"`, `"Ticks"`: `"Ticks"`, `s."a.b""c"`: `"s"."a.b""c"`,
		"": "", "a.b.c": "", "1a": "", "a.": "", ".a": "", `"a`: "", "a b": "", `a;drop`: "",
	} {
		got, err := parseName(text)
		if want == "" && err == nil || want != "" && (err != nil || got.Sanitize() != want) {
			t.Errorf("%q: %v %v", text, got, err)
		}
	}
	v, _ := Options().Parse("sink format postgres", []option.Given{{Name: "url", Value: "postgres://u:top-secret@h:x/d"}, {Name: "table", Value: "t"}}, fault.Pos{})
	if err := Validate(v, fault.Pos{}).Err(); !fault.Of(err, fault.InvalidOption) || strings.Contains(err.Error(), "top-secret") {
		t.Error(err)
	}
}

// D-18: what the database remembers is read beside a writer in the middle of a batch, and nothing is made for it.
func TestRemembered(t *testing.T) {
	db := newDatabase(t)
	s := db.open("create_table", "true")
	if m, err := s.Remembered(ctx, id(1, 0, 0)); err != nil || m.Found {
		t.Errorf("without a table: %+v %v", m, err)
	}
	mustFail(t, errorOf(db.open().Remembered(ctx, id(1, 0, 0))), fault.PostgresTable)
	if got := db.exec("SELECT count(*) FROM pg_class WHERE relname IN ('out', '_sluice_batches')"); got != "0" {
		t.Errorf("%s tables were made", got)
	}
	db.exec("CREATE TABLE out (key text, seq bigint, v text)")
	if m, err := db.open().Remembered(ctx, id(1, 0, 0)); err != nil || m.Found || m.Where != `table "public"."_sluice_batches"` {
		t.Errorf("without a table of identities: %+v %v", m, err)
	}
	write(t, s, id(1, 0, 0), "a 1 x")
	write(t, s, id(1, 0, 1), "b 2 y")
	c, err := pgx.Connect(ctx, db.url)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close(ctx)
	if _, err := c.Exec(ctx, "BEGIN; UPDATE _sluice_batches SET number = 2"); err != nil {
		t.Fatal(err)
	}
	if m, err := db.open().Remembered(ctx, id(2, 0, 2)); err != nil || !m.Found || m.Identity != (sink.Identity{Store: "s1", Epoch: 1, Number: 1}) {
		t.Errorf("beside a writer: %+v %v", m, err)
	}
}

func errorOf(_ sink.Memory, err error) error { return err }
