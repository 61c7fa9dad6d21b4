package catalog

import (
	"io/fs"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"unicode/utf8"

	"sluice/fault"
	"sluice/syntax"
)

// File is a definition file.
type File struct {
	Name string // as messages call it: relative to where the spec file was named from
	Text string
}

// Files reads the definition files the libraries of the spec name, each once, sorted by name.
func (s *Spec) Files() ([]File, fault.List) {
	var problems fault.List
	found := map[string]bool{}
	for _, lib := range s.libraries {
		paths, problem := s.expand(lib)
		problems = append(problems, problem...)
		for _, p := range paths {
			found[p] = true
		}
	}
	var files []File
	for path := range found {
		text, err := os.ReadFile(path)
		name := s.shown(path)
		if err != nil {
			problems = append(problems, fault.New(fault.DefinitionsNotFound, "cannot read %s", name).Because(err))
			continue
		}
		files = append(files, File{name, string(text)})
	}
	sort.Slice(files, func(i, j int) bool { return files[i].Name < files[j].Name })
	return files, problems
}

// expand returns the absolute paths of the files a library means: one, or all below a folder, names that start with a
// dot and the spec file itself left out.
func (s *Spec) expand(lib scalar) (paths []string, problems fault.List) {
	folder, whole := strings.CutSuffix(lib.text, "/**")
	root := s.Resolve(folder)
	info, err := os.Stat(root)
	switch {
	case err != nil:
		return nil, fault.List{fault.New(fault.DefinitionsNotFound, "no %s", lib.text).At(lib.pos).Because(err)}
	case whole && !info.IsDir():
		return nil, fault.List{fault.New(fault.DefinitionsNotFound, "%s is not a folder", folder).At(lib.pos)}
	case !whole && info.IsDir():
		return nil, fault.List{fault.New(fault.SpecInvalidGlob, "%s is a folder", lib.text).At(lib.pos).WithHint("write %s/** for everything below it", strings.TrimSuffix(lib.text, "/"))}
	case !whole:
		paths = []string{root}
	default:
		err = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			if hidden := strings.HasPrefix(d.Name(), ".") && path != root; hidden && d.IsDir() {
				return filepath.SkipDir
			} else if !hidden && !d.IsDir() && path != filepath.Join(s.Dir, filepath.Base(s.Path)) {
				paths = append(paths, path)
			}
			return nil
		})
		if err != nil {
			problems = append(problems, fault.New(fault.DefinitionsNotFound, "cannot list %s", lib.text).At(lib.pos).Because(err))
		}
	}
	var out []string
	for _, path := range paths {
		if filepath.Ext(path) != ".sql" {
			problems = append(problems, fault.New(fault.DefinitionsExtension, "%s is not a .sql file", s.shown(path)).At(lib.pos).
				WithHint("a pipeline of Sluice is defined in SQL; keep other files elsewhere"))
			continue
		}
		out = append(out, path)
	}
	return out, problems
}

// shown is a path as messages give it.
func (s *Spec) shown(path string) string {
	rel, err := filepath.Rel(s.Dir, path)
	if err != nil || strings.HasPrefix(rel, "..") {
		return path
	}
	return filepath.Join(filepath.Dir(s.Path), rel)
}

// Parse reads the statements of the definition files, with ${...} in their string literals replaced.
func (s *Spec) Parse(files []File) ([]syntax.Statement, fault.List) {
	opt := syntax.Options{Substitute: s.vars.substitute}
	s.texts = map[string]string{}
	var out []syntax.Statement
	var problems fault.List
	for _, f := range files {
		s.texts[f.Name] = f.Text
		statements, errs := opt.ParseFile(f.Name, f.Text)
		out = append(out, statements...)
		problems = append(problems, errs...)
	}
	return out, problems
}

// Excerpt is the text between two places of a definition file, as it was written: variables are not replaced, so it holds
// no secret.
func (s *Spec) Excerpt(from, to fault.Pos) string {
	text := strings.TrimPrefix(s.texts[from.File], "\ufeff")
	start, end := offset(text, from), offset(text, to)
	if start > end {
		return ""
	}
	return strings.TrimSpace(text[start:end])
}

// offset is the place of p in text, in bytes.
func offset(text string, p fault.Pos) int {
	at := 0
	for line := 1; line < p.Line; line++ {
		next := strings.IndexByte(text[at:], '\n')
		if next < 0 {
			return len(text)
		}
		at += next + 1
	}
	for column := 1; column < p.Column && at < len(text); column++ {
		_, size := utf8.DecodeRuneInString(text[at:])
		at += size
	}
	return at
}
