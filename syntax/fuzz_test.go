package syntax

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"sluice/fault"
)

// FuzzParse: no text makes the parser panic, hang or return a tree that is too deep, and what it reads it prints so that
// it reads back as the same tree.
func FuzzParse(f *testing.F) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil {
		f.Fatal(err)
	}
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		for _, block := range strings.Split(string(content), "\n\n") {
			_, input, _ := strings.Cut(block, "\n")
			input, _, _ = strings.Cut(input, "\n----")
			f.Add(input)
		}
	}
	f.Fuzz(func(t *testing.T, text string) {
		if statements, _ := ParseFile("f", text); len(statements) > 0 {
			printed := printFile(statements)
			again, problems := ParseFile("f", printed)
			sameTree(t, statements, again, printed, problems)
		}
		if statements, _ := ParseScript("f", text); len(statements) > 0 {
			printed := printFile(statements)
			again, problems := ParseScript("f", printed)
			sameTree(t, statements, again, printed, problems)
		}
		reread(t, text, func(s string) (*Query, fault.List) { return ParseQuery("f", s) }, PrintQuery, func(q *Query) { checkWalk(t, q) })
		reread(t, text, func(s string) (Expr, fault.List) { return ParseExpr(s, Pos{}) }, PrintExpr, func(e Expr) { checkHeight(t, reflect.ValueOf(e)) })
		if columns, problems := ParseSchema(text, Pos{}); problems == nil {
			Fields(columns)
		}
	})
}

func reread[T any](t *testing.T, text string, parse func(string) (T, fault.List), print func(T) string, check func(T)) {
	t.Helper()
	tree, problems := parse(text)
	if problems != nil {
		return
	}
	check(tree)
	printed := print(tree)
	again, problems := parse(printed)
	sameTree(t, tree, again, printed, problems)
}

func checkWalk(t *testing.T, q *Query) {
	checkHeight(t, reflect.ValueOf(q))
	seen := map[TableRef]bool{}
	Inspect(q, func(node any) bool {
		if ref, ok := node.(TableRef); ok {
			seen[ref] = true
		}
		return true
	})
	for _, ref := range Tables(q) {
		if !seen[ref] {
			t.Fatalf("Tables gives a table at %v that Inspect does not visit", ref.Position())
		}
	}
}

// checkHeight fails when more nodes hang from each other than maxDepth allows. Lists and interfaces are no nodes.
func checkHeight(t *testing.T, v reflect.Value) {
	t.Helper()
	if h := height(v); h > 3*maxDepth {
		t.Fatalf("the tree is %d nodes high", h)
	}
}

func height(v reflect.Value) int {
	tallest := 0
	switch v.Kind() {
	case reflect.Interface:
		if !v.IsNil() {
			return height(v.Elem())
		}
	case reflect.Pointer:
		if !v.IsNil() {
			return 1 + height(v.Elem())
		}
	case reflect.Slice:
		for i := range v.Len() {
			tallest = max(tallest, height(v.Index(i)))
		}
	case reflect.Struct:
		for i := range v.NumField() {
			tallest = max(tallest, height(v.Field(i)))
		}
	}
	return tallest
}
