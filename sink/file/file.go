package file

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"sluice/batch"
	"sluice/fault"
	"sluice/format/json"
	"sluice/format/parquet"
	"sluice/option"
	"sluice/sink"
)

// Options are those of CREATE SINK ... FORMAT file.
func Options() option.Set {
	return option.Set{
		{Name: "path", Edit: option.AsPlace, Required: true, Doc: "Folder for the files, relative to the pipeline's folder; made if it does not exist."},
		{Name: "format", Kind: option.Enum, Values: []string{"json", "parquet"}, Default: "json", Doc: "json writes one object per line."},
		{Name: "compression", Kind: option.Enum, Values: parquet.Compressions, Default: "zstd", Doc: "Of Parquet files."},
		{Name: "bigint_as_text", Kind: option.Bool, Default: "false", Doc: "Write BIGINT as text in JSON, for readers that take every number for a double."},
	}
}

// Validate finds what is wrong with options that each are of their kind; no file is touched.
func Validate(v option.Values, _ fault.Pos) (problems fault.List) {
	for format, names := range map[string][]string{"json": {"compression"}, "parquet": {"bigint_as_text"}} {
		for _, name := range names {
			if g, ok := v.Given(name); ok && v.String("format") == format {
				problems = append(problems, fault.New(fault.InvalidOption, "sink format file: %s is not an option of format %s", name, format).At(g.Pos))
			}
		}
	}
	return problems
}

// Config says where a Sink writes and how.
type Config struct {
	Options  option.Values // parsed with Options()
	At       fault.Pos     // of the sink, for messages
	Dir      string        // the pipeline's folder
	Pipeline string
	Flow     string
	Fields   []batch.Field // columns of the rows it will get
}

// Sink implements sink.Sink.
type Sink struct {
	folder      string
	prefix      string // of the names of the flow's files
	parquet     bool
	compression string
	json        json.EncodeOptions
	text        []byte
	ends        []int
}

// New makes a Sink. No file is touched.
func New(c Config) (*Sink, error) {
	if err := Validate(c.Options, c.At).Err(); err != nil {
		return nil, err
	}
	s := &Sink{
		folder:      c.Options.String("path"),
		prefix:      c.Pipeline + "." + c.Flow + ".",
		parquet:     c.Options.String("format") == "parquet",
		compression: c.Options.String("compression"),
		json:        json.EncodeOptions{Lines: true, BigIntAsText: c.Options.Bool("bigint_as_text")},
	}
	if !filepath.IsAbs(s.folder) {
		s.folder = filepath.Join(c.Dir, s.folder)
	}
	if s.parquet {
		if err := parquet.Check(c.Fields); err != nil {
			return nil, fault.From(err).At(c.At)
		}
	}
	return s, nil
}

// Open implements sink.Sink: it makes the folder and removes what an interrupted write left.
func (s *Sink) Open(ctx context.Context, _ batch.ID, _ bool) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := makeFolder(s.folder); err != nil {
		return s.failed(err)
	}
	entries, err := os.ReadDir(s.folder)
	if err != nil {
		return s.failed(err)
	}
	for _, e := range entries {
		if name := e.Name(); strings.HasPrefix(name, "."+s.prefix) && strings.HasSuffix(name, unfinished) {
			if err := os.Remove(filepath.Join(s.folder, name)); err != nil {
				return s.failed(err)
			}
		}
	}
	return nil
}

// unfinished ends the name of a file that is being written.
const unfinished = ".tmp"

// makeFolder makes a folder that survives a crash of the machine.
func makeFolder(name string) error {
	if _, err := os.Stat(name); err == nil {
		return nil
	}
	if err := makeFolder(filepath.Dir(name)); err != nil {
		return err
	}
	if err := os.Mkdir(name, 0o777); err != nil && !errors.Is(err, os.ErrExist) {
		return err
	}
	return syncFolder(filepath.Dir(name))
}

func syncFolder(name string) error {
	folder, err := os.Open(name)
	if err != nil {
		return err
	}
	return errors.Join(folder.Sync(), folder.Close())
}

// Write implements sink.Sink.
func (s *Sink) Write(ctx context.Context, id batch.ID, rows sink.Rows) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	columns := rows.WithChange()
	name := s.name(id)
	temporary := filepath.Join(s.folder, "."+name+unfinished)
	if err := s.writeFile(ctx, temporary, &columns); err != nil {
		os.Remove(temporary)
		var coded *fault.Error
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case errors.As(err, &coded):
			return err
		}
		return s.failed(err)
	}
	if err := os.Rename(temporary, filepath.Join(s.folder, name)); err != nil {
		return s.failed(err)
	}
	if err := syncFolder(s.folder); err != nil {
		return s.failed(err)
	}
	return nil
}

// name is what the file of a batch is called.
func (s *Sink) name(id batch.ID) string {
	extension := "json"
	if s.parquet {
		extension = "parquet"
	}
	return fmt.Sprintf("%s%010d.%010d.%s", s.prefix, id.Generation, id.Number, extension)
}

func (s *Sink) writeFile(ctx context.Context, name string, rows *batch.Columns) (err error) {
	file, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o666)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	w := bufio.NewWriterSize(file, 1<<20)
	if s.parquet {
		err = parquet.Write(stoppable{ctx, w}, rows, s.compression)
	} else {
		err = s.writeLines(stoppable{ctx, w}, rows)
	}
	if err != nil {
		return err
	}
	if err := w.Flush(); err != nil {
		return err
	}
	return file.Sync()
}

// writeLines writes rows as JSON, some at a time.
func (s *Sink) writeLines(w stoppable, rows *batch.Columns) (err error) {
	const atOnce = 4096
	encoder := json.NewEncoder(rows.Fields, s.json)
	for from := 0; from < rows.Len; from += atOnce {
		if s.text, s.ends, err = encoder.Encode(s.text[:0], s.ends[:0], rows, from, min(from+atOnce, rows.Len)); err != nil {
			return err
		}
		if _, err := w.Write(s.text); err != nil {
			return err
		}
	}
	return nil
}

// stoppable is a writer that stops when ctx ends.
type stoppable struct {
	ctx context.Context
	w   *bufio.Writer
}

func (s stoppable) Write(p []byte) (int, error) {
	if err := s.ctx.Err(); err != nil {
		return 0, err
	}
	return s.w.Write(p)
}

// failed codes an error of the operating system. Most may go away, as a disk that is full does or a folder that is not mounted yet.
func (s *Sink) failed(err error) error {
	if errors.Is(err, syscall.ENOTDIR) || errors.Is(err, syscall.ENAMETOOLONG) || errors.Is(err, syscall.ELOOP) {
		return fault.New(fault.FilePathInvalid, "batches cannot be written to %s", s.folder).Because(err).WithHint("path => must name a folder, or one that can be made")
	}
	return fault.New(fault.FileNotWritten, "a batch cannot be written to %s", s.folder).Because(err)
}

// Forget gives up buffers, which a large batch has made large.
func (s *Sink) Forget() { s.text, s.ends = nil, nil }

// Close implements sink.Sink.
func (s *Sink) Close() error { return nil }
