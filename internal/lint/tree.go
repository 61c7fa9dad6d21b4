package lint

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"sort"
	"strings"
	"unicode/utf8"
)

// module is the prefix of our own import paths.
const module = "sluice/"

// Tree is the repository as the checks see it.
type Tree struct {
	Set   *token.FileSet
	Go    []*File           // sorted by path
	Texts map[string]string // every text file by path, Go files included
}

// File is one Go file.
type File struct {
	Path    string // from the root, with slashes
	Package string // its folder: "eval/dialect", "cmd/processor"
	Test    bool
	AST     *ast.File
	Text    string
}

// imports are the import paths of f.
func (f *File) imports() []string {
	var out []string
	for _, i := range f.AST.Imports {
		out = append(out, strings.Trim(i.Path.Value, `"`))
	}
	return out
}

// Packages returns the folders that hold Go files which are not tests, sorted.
func (t *Tree) Packages() []string {
	seen := map[string]bool{}
	var out []string
	for _, f := range t.Go {
		if !f.Test && !seen[f.Package] {
			seen[f.Package] = true
			out = append(out, f.Package)
		}
	}
	sort.Strings(out)
	return out
}

// at is a place for a message.
func (t *Tree) at(pos token.Pos) string {
	p := t.Set.Position(pos)
	return fmt.Sprintf("%s:%d", p.Filename, p.Line)
}

// Load reads a tree. Folders of build output and of the version control are left out, and so are binary files.
func Load(root fs.FS) (*Tree, error) {
	t := &Tree{Set: token.NewFileSet(), Texts: map[string]string{}}
	err := fs.WalkDir(root, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if base := path.Base(name); name == "bin" || name == "dist" || base == "vendor" || base == ".git" {
				return fs.SkipDir
			}
			return nil
		}
		if !d.Type().IsRegular() {
			return nil
		}
		content, err := fs.ReadFile(root, name)
		if err != nil {
			return err
		}
		if !utf8.Valid(content) {
			return nil
		}
		t.Texts[name] = string(content)
		if strings.HasSuffix(name, ".go") && !strings.Contains("/"+name, "/testdata/") {
			return t.parse(name, content)
		}
		return nil
	})
	return t, err
}

func (t *Tree) parse(name string, content []byte) error {
	parsed, err := parser.ParseFile(t.Set, name, content, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	t.Go = append(t.Go, &File{Path: name, Package: path.Dir(name), Test: strings.HasSuffix(name, "_test.go"), AST: parsed, Text: string(content)})
	return nil
}

// table returns the rows of the first Markdown table of a file whose head starts with the given first column, cells
// trimmed of blanks and backticks.
func (t *Tree) table(file, firstColumn string) ([][]string, error) {
	text, ok := t.Texts[file]
	if !ok {
		return nil, fmt.Errorf("%s does not exist", file)
	}
	var rows [][]string
	in := false
	for line := range strings.SplitSeq(text, "\n") {
		if !strings.HasPrefix(line, "|") {
			if in {
				return rows, nil
			}
			continue
		}
		cells := strings.Split(strings.Trim(line, "| "), "|")
		for i := range cells {
			cells[i] = strings.Trim(cells[i], " `")
		}
		switch {
		case !in:
			in = cells[0] == firstColumn
		case !strings.HasPrefix(cells[0], "---"):
			rows = append(rows, cells)
		}
	}
	if !in {
		return nil, fmt.Errorf("%s has no table whose first column is %q", file, firstColumn)
	}
	return rows, nil
}

// list splits "a, b, c"; "" and "nothing" are empty.
func list(cell string) []string {
	var out []string
	for part := range strings.SplitSeq(cell, ",") {
		if part = strings.Trim(part, " `"); part != "" && part != "nothing" {
			out = append(out, part)
		}
	}
	return out
}

// matches reports whether pattern, a package or folder/*, covers a package. folder/* covers everything below the folder.
func matches(pattern, pkg string) bool {
	if folder, ok := strings.CutSuffix(pattern, "/*"); ok {
		return strings.HasPrefix(pkg, folder+"/")
	}
	return pattern == pkg
}

func anyMatches(patterns []string, pkg string) bool {
	for _, p := range patterns {
		if matches(p, pkg) {
			return true
		}
	}
	return false
}
