package file

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"sluice/batch"
	"sluice/fault"
)

// errNotFolder is what the system says of a path that goes through a file.
const errNotFolder = syscall.ENOTDIR

// listed is a file as it was when it was listed.
type listed struct {
	path string // the split: as the pipeline names it
	size int64
	time int64 // of modification, in nanoseconds since the epoch
}

// id is the ID of marks in the file: another size or time is another file.
func (f listed) id() string { return fmt.Sprintf("%d:%d", f.size, f.time) }

// fromMark is the inverse of id.
func fromMark(m batch.Mark) (listed, error) {
	size, time, ok := strings.Cut(m.ID, ":")
	f := listed{path: m.Split}
	var err1, err2 error
	f.size, err1 = strconv.ParseInt(size, 10, 64)
	f.time, err2 = strconv.ParseInt(time, 10, 64)
	if !ok || err1 != nil || err2 != nil {
		return f, fault.New(fault.InternalError, "the position of %s has the identity %q, which is no size and time", m.Split, m.ID)
	}
	return f, nil
}

// compare orders files by time, then path (D-53).
func (f listed) compare(g listed) int {
	return cmp.Or(cmp.Compare(f.time, g.time), cmp.Compare(f.path, g.path))
}

// list finds the files that the pattern means now, in order.
func (s *Source) list() ([]listed, error) {
	l := lister{dir: s.dir, seen: map[string]bool{}}
	for _, segments := range s.opts.pattern.paths {
		at, rest := ".", segments
		if segments[0] == "" {
			at, rest = "/", segments[1:]
		}
		if err := l.find(at, rest); err != nil {
			return nil, err
		}
	}
	if len(l.found) == 0 && !l.exists && (s.opts.pattern.literal() || !s.stream) {
		return nil, fault.New(fault.PathNotFound, "read_files: %s does not exist", s.opts.pattern.text).At(s.at).
			WithDetail("looked in %s", s.dir)
	}
	slices.SortFunc(l.found, listed.compare)
	return l.found, nil
}

// lister collects files. Paths are kept as the pipeline writes them and opened below dir.
type lister struct {
	dir    string
	seen   map[string]bool
	found  []listed
	exists bool // something matches the whole pattern, be it an empty folder
}

// resolve returns where a path is.
func resolve(dir, name string) string {
	if path.IsAbs(name) {
		return name
	}
	return filepath.Join(dir, name)
}

// find goes down from the folder at, matching segments one by one.
func (l *lister) find(at string, segments []string) error {
	if len(segments) == 0 {
		return l.take(at)
	}
	first, rest := segments[0], segments[1:]
	if !wild(first) {
		return l.find(path.Join(at, first), rest)
	}
	if first == "**" {
		if len(rest) == 0 {
			return l.take(at)
		}
		if err := l.find(at, rest); err != nil {
			return err
		}
		rest = segments
	}
	entries, err := l.entries(at)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if ok, _ := path.Match(first, e.Name()); !ok && first != "**" || hidden(e.Name()) || len(rest) > 0 && !e.IsDir() {
			continue
		}
		if err := l.find(path.Join(at, e.Name()), rest); err != nil {
			return err
		}
	}
	return nil
}

func (l *lister) entries(at string) ([]fs.DirEntry, error) {
	entries, err := os.ReadDir(resolve(l.dir, at))
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, errNotFolder) {
		return nil, nil
	}
	if err != nil {
		return nil, unreadable(at, err)
	}
	return entries, nil
}

// take adds a file, or every file in and below a folder.
func (l *lister) take(at string) error {
	info, err := os.Stat(resolve(l.dir, at))
	switch {
	case errors.Is(err, fs.ErrNotExist) || errors.Is(err, errNotFolder):
		return nil
	case err != nil:
		return unreadable(at, err)
	case info.Mode().IsRegular():
		l.exists = true
		return l.add(at, info)
	case !info.IsDir():
		return nil
	}
	l.exists = true
	entries, err := l.entries(at)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if hidden(e.Name()) {
			continue
		}
		name := path.Join(at, e.Name())
		if e.Type()&fs.ModeSymlink != 0 && isFolder(resolve(l.dir, name)) {
			continue // it could lead back up
		}
		if err := l.take(name); err != nil {
			return err
		}
	}
	return nil
}

func isFolder(name string) bool {
	info, err := os.Stat(name)
	return err == nil && info.IsDir()
}

// compressed are the endings of files that are no text.
var compressed = []string{".gz", ".gzip", ".bz2", ".zst", ".zstd", ".xz", ".lz4", ".snappy", ".br", ".zip", ".7z", ".tar", ".tgz"}

func (l *lister) add(at string, info fs.FileInfo) error {
	if l.seen[at] {
		return nil
	}
	l.seen[at] = true
	if slices.Contains(compressed, strings.ToLower(path.Ext(at))) {
		return fault.New(fault.FileCompressed, "read_files: %s is compressed", at).WithHint("unpack it, or leave it out of the path")
	}
	l.found = append(l.found, listed{at, info.Size(), info.ModTime().UnixNano()})
	return nil
}

func unreadable(at string, err error) *fault.Error {
	return fault.New(fault.FileUnreadable, "read_files: %s cannot be read", at).Because(err)
}
