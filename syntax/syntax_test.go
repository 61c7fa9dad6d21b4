package syntax

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"sluice/fault"
)

// TestFiles runs testdata/*.txt: what is read is printed, problems are listed, and what was printed must read back as the
// same tree. Rewrite the files with go test ./syntax -rewrite.
func TestFiles(t *testing.T) {
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		if !strings.HasSuffix(path, ".txt") {
			return
		}
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			read, known := readers[d.Cmd]
			if !known {
				d.Fatalf(t, "unknown command %s", d.Cmd)
			}
			printed, problems := read(t, d.Input)
			return strings.TrimSpace(printed+"\n"+problems.Error()) + "\n"
		})
	})
}

// readers parse one kind of text and print it, having checked that the print reads back as the same tree.
var readers = map[string]func(*testing.T, string) (string, fault.List){
	"file": func(t *testing.T, text string) (string, fault.List) {
		statements, problems := ParseFile("f.sql", text)
		printed := printFile(statements)
		again, more := ParseFile("", printed)
		sameTree(t, statements, again, printed, more)
		return printed, problems
	},
	"script": func(t *testing.T, text string) (string, fault.List) {
		statements, problems := ParseScript("s.sql", text)
		printed := printFile(statements)
		again, more := ParseScript("", printed)
		sameTree(t, statements, again, printed, more)
		return printed, problems
	},
	"query": func(t *testing.T, text string) (string, fault.List) {
		return roundTrip(t, text, func(s string) (*Query, fault.List) { return ParseQuery("q", s) }, PrintQuery)
	},
	"expr": func(t *testing.T, text string) (string, fault.List) {
		return roundTrip(t, text, func(s string) (Expr, fault.List) { return ParseExpr(s, Pos{File: "e"}) }, PrintExpr)
	},
	"type": func(t *testing.T, text string) (string, fault.List) {
		printed, problems := roundTrip(t, text, func(s string) (*TypeExpr, fault.List) { return ParseType(s, Pos{File: "t"}) }, PrintType)
		if problems != nil {
			return printed, problems
		}
		read, _ := ParseType(text, Pos{File: "t"})
		resolved, err := ResolveType(read)
		if err != nil {
			return "", fault.List{err}
		}
		return printed + "\n= " + resolved.String(), nil
	},
	"schema": func(t *testing.T, text string) (string, fault.List) {
		columns, problems := ParseSchema(text, Pos{File: "s", Line: 3, Column: 10})
		if problems != nil {
			return "", problems
		}
		fields, problems := Fields(columns)
		lines := make([]string, len(fields))
		for i, f := range fields {
			lines[i] = f.Name + " " + f.Type.String()
			if f.NotNull {
				lines[i] += " NOT NULL"
			}
			if f.Comment != "" {
				lines[i] += " -- " + f.Comment
			}
		}
		return strings.Join(lines, "\n"), problems
	},
}

func roundTrip[T any](t *testing.T, text string, parse func(string) (T, fault.List), print func(T) string) (string, fault.List) {
	t.Helper()
	tree, problems := parse(text)
	if problems != nil {
		return "", problems
	}
	printed := print(tree)
	again, more := parse(printed)
	sameTree(t, tree, again, printed, more)
	return printed, nil
}

func printFile(statements []Statement) string {
	var b strings.Builder
	for _, s := range statements {
		b.WriteString(Print(s) + ";\n")
	}
	return b.String()
}

// sameTree fails unless two trees are equal up to positions.
func sameTree(t *testing.T, want, got any, printed string, problems fault.List) {
	t.Helper()
	if problems != nil {
		t.Fatalf("the print does not read back:\n%s\n%v", printed, problems)
	}
	forgetPositions(reflect.ValueOf(&want))
	forgetPositions(reflect.ValueOf(&got))
	if !reflect.DeepEqual(want, got) {
		t.Fatalf("the print reads back as another tree:\n%s\n%s", printed, difference("", reflect.ValueOf(want), reflect.ValueOf(got)))
	}
}

// forgetPositions sets every Pos below v to zero.
func forgetPositions(v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if !v.IsNil() {
			forgetPositions(v.Elem())
		}
	case reflect.Slice:
		for i := range v.Len() {
			forgetPositions(v.Index(i))
		}
	case reflect.Map: // the places of clauses
		clear(v.Interface().(map[string]Pos))
	case reflect.Struct:
		if v.Type() == reflect.TypeOf(Pos{}) {
			v.SetZero()
			return
		}
		for i := range v.NumField() {
			forgetPositions(v.Field(i))
		}
	}
}

// difference is the path to the first difference of two trees.
func difference(path string, a, b reflect.Value) string {
	if a.IsValid() != b.IsValid() || a.IsValid() && a.Type() != b.Type() {
		return fmt.Sprintf("%s: %v and %v", path, a, b)
	}
	switch a.Kind() {
	case reflect.Pointer, reflect.Interface:
		if !a.IsNil() && !b.IsNil() {
			return difference(path, a.Elem(), b.Elem())
		}
	case reflect.Slice:
		for i := 0; i < a.Len() && a.Len() == b.Len(); i++ {
			if d := difference(fmt.Sprintf("%s[%d]", path, i), a.Index(i), b.Index(i)); d != "" {
				return d
			}
		}
	case reflect.Struct:
		for i := range a.NumField() {
			if d := difference(path+"."+a.Type().Field(i).Name, a.Field(i), b.Field(i)); d != "" {
				return d
			}
		}
		return ""
	}
	if a.IsValid() && !reflect.DeepEqual(a.Interface(), b.Interface()) {
		return fmt.Sprintf("%s: %#v and %#v", path, a, b)
	}
	return ""
}
