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
	"time"

	"sluice/batch"
	"sluice/fault"
	"sluice/format"
	"sluice/format/csv"
	"sluice/format/json"
	"sluice/format/parquet"
	"sluice/format/raw"
	"sluice/option"
	"sluice/sink"
)

// Options are those of CREATE SINK ... FORMAT file.
func Options() option.Set {
	return append(option.Set{
		{Name: "path", Edit: option.AsPlace, Required: true, Doc: "Folder for the files, relative to the pipeline's folder; made if it does not exist."},
		{Name: "format", Kind: option.Enum, Values: []string{"csv", "json", "parquet", "text"}, Default: "json", Doc: "json writes one object per line, text the only column."},
		{Name: "compression", Kind: option.Enum, Values: parquet.Compressions, Default: "zstd", Doc: "Of Parquet files."},
		{Name: "bigint_as_text", Kind: option.Bool, Default: "false", Doc: "Write BIGINT as text in JSON, for readers that take every number for a double."},
		csv.HeaderOption,
	}, csv.WriteOptions()...)
}

// Validate finds what is wrong with options that each are of their kind; no file is touched.
func Validate(v option.Values, at fault.Pos) (problems fault.List) {
	of := map[string]string{"compression": "parquet", "bigint_as_text": "json", csv.HeaderOption.Name: "csv"}
	for _, o := range csv.WriteOptions() {
		of[o.Name] = "csv"
	}
	format := v.String("format")
	problems = sink.Misplaced(v, "sink format file", format, of)
	if format == "csv" {
		problems = append(problems, csv.ValidateWrite(v, at)...)
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
	Fields   []batch.Field  // columns of the rows it will get
	Feed     bool           // they come with what each row means
	Zone     *time.Location // of times that are written by a pattern without an offset; nil is UTC
}

// Sink implements sink.Sink.
type Sink struct {
	folder      string
	prefix      string // of the names of the flow's files
	format      string
	compression string
	json        json.EncodeOptions
	csv         csv.EncodeOptions
	header      bool
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
		format:      c.Options.String("format"),
		compression: c.Options.String("compression"),
		json:        json.EncodeOptions{Lines: true, BigIntAsText: c.Options.Bool("bigint_as_text")},
		header:      c.Options.Bool(csv.HeaderOption.Name),
	}
	if !filepath.IsAbs(s.folder) {
		s.folder = filepath.Join(c.Dir, s.folder)
	}
	zone := c.Zone
	if zone == nil {
		zone = time.UTC
	}
	var err error
	if s.csv, err = csv.ParseWrite(c.Options, zone); err != nil {
		return nil, fault.From(err).At(c.At)
	}
	fields := c.Fields
	if c.Feed {
		fields = sink.FieldsWithChange(fields)
	}
	if s.format == "parquet" {
		err = parquet.Check(fields)
	} else {
		_, _, err = s.encoder(fields)
	}
	if err != nil {
		return nil, fault.From(err).At(c.At)
	}
	return s, nil
}

// encoder makes the encoder of some columns, and the header that their files begin with.
func (s *Sink) encoder(fields []batch.Field) (e format.Encoder, header []byte, err error) {
	switch s.format {
	case "text":
		e, err = raw.NewEncoder(fields, true)
		return e, nil, err
	case "csv":
		e, err := csv.NewEncoder(fields, s.csv)
		if err == nil && s.header {
			header, err = e.Header(nil)
		}
		return e, header, err
	}
	return json.NewEncoder(fields, s.json), nil, nil
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
	extension := s.format
	if extension == "text" {
		extension = "txt"
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
	if s.format == "parquet" {
		err = parquet.Write(stoppable{ctx, w}, rows, s.compression)
	} else {
		err = s.writeRecords(stoppable{ctx, w}, rows)
	}
	if err != nil {
		return err
	}
	if err := w.Flush(); err != nil {
		return err
	}
	return file.Sync()
}

// writeRecords writes rows, some at a time.
func (s *Sink) writeRecords(w stoppable, rows *batch.Columns) (err error) {
	const atOnce = 4096
	encoder, header, err := s.encoder(rows.Fields)
	if err != nil {
		return err
	}
	if _, err := w.Write(header); err != nil {
		return err
	}
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
