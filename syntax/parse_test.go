package syntax

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"sluice/fault"
)

// TestSubstitution: ${...} is replaced inside string literals only, with its place when it fails, and what came from the
// environment is a secret that the printer does not show (D-54).
func TestSubstitution(t *testing.T) {
	o := Options{Substitute: func(text string, at Pos) (string, bool, *fault.Error) {
		switch {
		case strings.Contains(text, "${unset}"):
			return "", false, fault.New(fault.UnsetVariable, "unset has no value")
		case strings.Contains(text, "${env:PASSWORD}"):
			return strings.ReplaceAll(text, "${env:PASSWORD}", "tiger"), true, nil
		}
		return strings.ReplaceAll(text, "${host}", "broker"), false, nil
	}}
	statements, problems := o.ParseFile("f.sql", `
CREATE SINK s FORMAT kafka OPTIONS ('kafka.${host}' => "${host}:9092", password => r'${env:PASSWORD}');
CREATE SINK u FORMAT kafka OPTIONS (a => '${unset}', b c d);
CREATE FLOW f AS INSERT INTO t SELECT * FROM g(key => '${env:PASSWORD}') WHERE a = '${host}' '1' AND b = 'x' '${env:PASSWORD}' AND c = DATE '${env:PASSWORD}'`)
	want := fault.List{
		fault.New(fault.UnsetVariable, "unset has no value").At(Pos{File: "f.sql", Line: 3, Column: 42}),
		fault.New(fault.ParseSyntaxError, "found d, expected ',' or ')'").At(Pos{File: "f.sql", Line: 3, Column: 58}),
	}
	if problems.Error() != want.Error() {
		t.Errorf("got\n%v\nwant\n%v", problems, want)
	}
	if len(statements) != 2 {
		t.Fatalf("got %d statements, want 2", len(statements))
	}
	options := statements[0].(*CreateSink).Options
	if options[0].Key != "kafka.broker" || options[0].Value != "broker:9092" || options[0].Secret {
		t.Errorf("got %+v", options[0])
	}
	if options[1].Value != "tiger" || !options[1].Secret {
		t.Errorf("got %+v", options[1])
	}
	printed := Print(statements[0]) + Print(statements[1])
	if strings.Contains(printed, "tiger") || strings.Count(printed, "'***'") != 4 || !strings.Contains(printed, "a = 'broker1'") {
		t.Errorf("the print is\n%s", printed)
	}
}

// TestSecretsAreNotInMessages: a message quotes the file, never the value that was put in.
func TestSecretsAreNotInMessages(t *testing.T) {
	o := Options{Substitute: func(string, Pos) (string, bool, *fault.Error) { return "tiger", true, nil }}
	for _, text := range []string{"CREATE SINK s '${env:X}'", "SELECT INTERVAL '${env:X}'", "SELECT X'${env:X}'", "SELECT a FROM t '${env:X}'"} {
		_, problems := o.ParseFile("f.sql", text)
		if problems == nil || strings.Contains(problems.Error(), "tiger") {
			t.Errorf("%s: %v", text, problems)
		}
	}
}

// TestSecretsStandWhereTheyAreHidden: a name, a comment or a key cannot be a secret.
func TestSecretsStandWhereTheyAreHidden(t *testing.T) {
	o := Options{Substitute: func(text string, _ Pos) (string, bool, *fault.Error) { return text, text == "s", nil }}
	for _, text := range []string{
		"CREATE SINK a FORMAT b OPTIONS ('s' => 1)", "CREATE SINK a FORMAT b COMMENT 's'", "CREATE STREAMING TABLE a LOCATION 's'",
		"CREATE STREAMING TABLE a (b INT COMMENT 'x' 's')", "SELECT * FROM f('s' => 1)",
		"SELECT sum(a) OVER (ORDER BY b ROWS f('s') PRECEDING)",
	} {
		statements, problems := o.ParseFile("f.sql", text)
		if statements != nil || !fault.Of(problems, fault.InvalidVariable) {
			t.Errorf("%s: got %v", text, problems)
		}
	}
}

// TestPositions: lines and columns count from 1, columns count characters.
func TestPositions(t *testing.T) {
	statements, problems := ParseFile("f.sql", "\ufeffCREATE FLOW f AS\r\n  INSERT INTO t BY NAME REPLACE USING (k)\n\tSEQUENCE BY 'äöü' || ts\n  SELECT * FROM u WHERE x = 'a\nb' AND y;")
	if problems != nil {
		t.Fatal(problems)
	}
	f := statements[0].(*CreateFlow)
	q := f.Body.Query
	where := q.Body.(*Select).Where.(*Binary)
	text := where.X.(*Binary).Y.(*Literal)
	got := fmt.Sprintln(f.Pos, f.Name.Pos, f.Body.Pos, f.Body.SeqPos, f.Body.Sequence[0].Position(), f.Body.Sequence[0].(*Binary).Y.Position(), q.Pos,
		text.Pos, text.TextPos, where.Pos, where.Y.Position(), q.End)
	want := fmt.Sprintln("f.sql:1:1 f.sql:1:13 f.sql:2:3 f.sql:3:2 f.sql:3:20 f.sql:3:23 f.sql:4:3 f.sql:4:29 f.sql:4:30 f.sql:5:4 f.sql:5:8 f.sql:5:9")
	if got != want {
		t.Errorf("got  %swant %s", got, want)
	}
}

// TestDepth: a text that nests or chains too deeply is refused, whatever it nests, and one within the limit is read.
func TestDepth(t *testing.T) {
	shapes := map[string]func(n int) string{
		"parentheses": func(n int) string { return strings.Repeat("(", n) + "1" + strings.Repeat(")", n) },
		"calls":       func(n int) string { return strings.Repeat("f(", n) + "1" + strings.Repeat(")", n) },
		"signs":       func(n int) string { return strings.Repeat("- ", n) + "a" },
		"not":         func(n int) string { return strings.Repeat("NOT ", n) + "a" },
		"or":          func(n int) string { return "a" + strings.Repeat(" OR a", n) },
		"plus":        func(n int) string { return "a" + strings.Repeat(" + a", n) },
		"casts":       func(n int) string { return "a" + strings.Repeat("::INT", n) },
		"indexes":     func(n int) string { return "a" + strings.Repeat("[0]", n) },
		"fields":      func(n int) string { return "f()" + strings.Repeat(".a", n) },
		"lambdas":     func(n int) string { return "f(" + strings.Repeat("x -> ", n) + "1)" },
		"case":        func(n int) string { return strings.Repeat("CASE WHEN ", n) + "1" + strings.Repeat(" THEN 1 END", n) },
		"types": func(n int) string {
			return "CAST(a AS " + strings.Repeat("ARRAY<", n) + "INT" + strings.Repeat(">", n) + ")"
		},
		"subqueries": func(n int) string { return strings.Repeat("(SELECT ", n) + "1" + strings.Repeat(")", n) },
		"unions":     func(n int) string { return "(SELECT 1" + strings.Repeat(" UNION SELECT 1", n) + ")" },
		"joins":      func(n int) string { return "(SELECT * FROM a" + strings.Repeat(" JOIN b", n) + ")" },
		"tables": func(n int) string {
			return "(SELECT * FROM " + strings.Repeat("(", n) + "a" + strings.Repeat(")", n) + ")"
		},
		"mixed": func(n int) string { return strings.Repeat("(a OR b AND NOT -f(a[", n) + "1" + strings.Repeat("]))", n) },
	}
	for name, shape := range shapes {
		if _, problems := ParseExpr(shape(100), Pos{}); problems != nil {
			t.Errorf("%s: 100 deep: %v", name, problems)
		}
		for _, n := range []int{maxDepth + 1, 50_000} {
			e, problems := ParseExpr(shape(n), Pos{})
			if e != nil || len(problems) != 1 || !strings.Contains(problems[0].Message, "nested") {
				t.Errorf("%s: %d deep: got %d problems", name, n, len(problems))
			}
		}
	}
}

// TestLongListsAreNotDeep: the limit is on depth, not on size.
func TestLongListsAreNotDeep(t *testing.T) {
	e, problems := ParseExpr("a IN ("+strings.Repeat("1, ", 50_000)+"1) AND b", Pos{})
	if problems != nil {
		t.Fatal(problems)
	}
	if n := len(e.(*Binary).X.(*In).List); n != 50_001 {
		t.Errorf("got %d items", n)
	}
}

func TestNotUTF8(t *testing.T) {
	statements, problems := ParseFile("f.sql", "CREATE STREAMING TABLE a;\nCREATE 'ä\xff")
	if statements != nil || problems.Error() != "f.sql:2:10: PARSE_SYNTAX_ERROR: the text is not UTF-8" {
		t.Errorf("got %v, %v", statements, problems)
	}
}

// TestTables: in the order of the text; a common table expression hides the table of its name where it is in scope, and
// nowhere else.
func TestTables(t *testing.T) {
	for text, want := range map[string]string{
		"SELECT * FROM b, a JOIN c ON EXISTS (SELECT 1 FROM d) WHERE x IN (SELECT 1 FROM e) ORDER BY (SELECT 1 FROM f)":                                                                  "b a c d e f",
		"SELECT (SELECT 1 FROM a) FROM (SELECT * FROM b) x, LATERAL g((SELECT 1 FROM c)), STREAM d, STREAM h(1)":                                                                         "a b c d h",
		"WITH a AS (SELECT * FROM a), b AS (SELECT * FROM A, c) SELECT * FROM a, b, s.a, STREAM(a)":                                                                                      "a c s.a a",
		"SELECT * FROM (WITH a AS (SELECT 1) SELECT * FROM a) x, a":                                                                                                                      "a",
		"WITH a AS (SELECT 1) SELECT 1 FROM (SELECT * FROM a UNION SELECT * FROM b) UNION (SELECT 1 FROM a)":                                                                             "b",
		"SELECT sum(CASE WHEN EXISTS (SELECT 1 FROM a) THEN f(x -> (SELECT 1 FROM b)) END) OVER (ORDER BY (SELECT 1 FROM c)) FROM d GROUP BY (SELECT 1 FROM e) HAVING (SELECT 1 FROM f)": "a b c d e f",
	} {
		q, problems := ParseQuery("q", text)
		if problems != nil {
			t.Fatalf("%s: %v", text, problems)
		}
		var got []string
		for _, ref := range Tables(q) {
			switch ref := ref.(type) {
			case *TableName:
				got = append(got, joined(ref.Name))
			case *TableFunc:
				got = append(got, joined(ref.Name))
			}
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s\ngot  %v\nwant %s", text, got, want)
		}
	}
}

// TestInspectVisitsEveryNode compares the walk with one by reflection.
func TestInspectVisitsEveryNode(t *testing.T) {
	q, problems := ParseQuery("q", `WITH c AS (SELECT 1)
SELECT a, -b, c + 1, d BETWEEN 1 AND 2, e IN (1), f IN (SELECT 2), g LIKE 'x' ESCAPE '!', h IS DISTINCT FROM 3, CASE i WHEN 1 THEN 2 ELSE 3 END,
  CAST(j AS INT), fn(k, x -> x, y => 1) FILTER (WHERE l) OVER (PARTITION BY m ORDER BY n), EXISTS (SELECT 3), o[0], p().q, (r, s), t.*
FROM t VERSION AS OF 1 JOIN u TIMESTAMP AS OF '2' ON v, LATERAL w(x => 1), (SELECT 4) z
WHERE aa GROUP BY bb HAVING cc QUALIFY dd UNION VALUES (1, 2) ORDER BY ee LIMIT 1 OFFSET 2`)
	if problems != nil {
		t.Fatal(problems)
	}
	walked := map[any]bool{}
	Inspect(q, func(node any) bool { walked[node] = true; return true })
	reflected(reflect.ValueOf(q), func(node any) {
		if !walked[node] {
			t.Errorf("%T is not visited", node)
		}
	})
	seen := 0
	Inspect(q, func(any) bool { seen++; return false })
	if seen != 1 {
		t.Errorf("false does not keep Inspect out: %d nodes", seen)
	}
}

// reflected calls f with every node below v.
func reflected(v reflect.Value, f func(any)) {
	switch v.Kind() {
	case reflect.Interface:
		if !v.IsNil() {
			reflected(v.Elem(), f)
		}
	case reflect.Pointer:
		if v.IsNil() {
			return
		}
		switch node := v.Interface().(type) {
		case *Query, SetExpr, TableRef, Expr:
			f(node)
		}
		reflected(v.Elem(), f)
	case reflect.Slice:
		for i := range v.Len() {
			reflected(v.Index(i), f)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			reflected(v.Field(i), f)
		}
	}
}
