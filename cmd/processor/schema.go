package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"sluice/batch"
	"sluice/catalog"
	"sluice/fault"
	"sluice/format"
	"sluice/format/csv"
	"sluice/format/json"
	"sluice/option"
	"sluice/trial"
)

func (a *app) schemaCmd() *cobra.Command {
	c := &cobra.Command{
		Use:   "schema",
		Short: "Find the schema of records, to be written into a pipeline",
		Args:  noArgs,
		RunE:  func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(a.schemaInferCmd())
	return c
}

// sampled says which records schema infer looks at, and how.
type sampled struct {
	format  string
	header  bool
	sep     string
	limit   int
	options []string // of read_kafka, name=value
}

func (a *app) schemaInferCmd() *cobra.Command {
	var s sampled
	c := &cobra.Command{
		Use:   "infer TOPIC|FILE",
		Short: "Print a schema that holds the last records of a topic, or the first of a file, to paste behind schema =>",
		Long: "Print a schema that holds the last records of a topic, or the first of a file, to paste behind schema =>.\n\n" +
			"A name with a slash, or of a file that exists, is that of a file. Nothing is written, and no consumer group is joined. " +
			"What is printed is a proposal: a column that was a number in every record may be a text in the next.",
		Args: exactArgs(1, "a topic or a file"),
		RunE: func(c *cobra.Command, args []string) error {
			infer, split, err := s.reader()
			if err != nil {
				return usage{err}
			}
			var records [][]byte
			if isFile(args[0]) {
				records, err = s.ofFile(args[0], split)
			} else {
				records, err = a.ofTopic(c.Context(), args[0], s)
			}
			if err != nil {
				return err
			}
			return a.printSchema(args[0], infer, records)
		},
	}
	c.Flags().StringVar(&s.format, "format", "json", "format of the records: json or csv")
	c.Flags().BoolVar(&s.header, "header", false, "csv: the first record names the columns")
	c.Flags().StringVar(&s.sep, "sep", ",", "csv: the character between fields")
	c.Flags().IntVarP(&s.limit, "limit", "n", 1000, "look at so many records")
	c.Flags().StringArrayVar(&s.options, "option", nil, "option of read_kafka as NAME=VALUE, such as kafka.security.protocol=SASL_SSL; may be repeated")
	return c
}

// inference finds a schema that holds records.
type inference interface {
	Add(record []byte) error
	// Fields are the columns found, and left says what no column holds.
	Fields() (fields []batch.Field, left []string)
}

func (s *sampled) reader() (inference, format.Splitter, error) {
	if s.limit < 1 {
		return nil, nil, fmt.Errorf("-n takes a number above zero, not %d", s.limit)
	}
	switch s.format {
	case "json":
		return &json.Inference{}, format.Lines{}, nil
	case "csv":
		dialect, err := csv.ParseDialect(s.sep, `"`, "")
		return &csv.Inference{Dialect: dialect, Header: s.header}, csv.NewSplitter(dialect), err
	}
	return nil, nil, fmt.Errorf("--format takes json or csv, not %q", s.format)
}

// isFile reports whether a name is that of a file: a topic may have a dot, but its name says so only where there is no such file.
func isFile(name string) bool {
	info, err := os.Stat(name)
	return err == nil && !info.IsDir() || strings.ContainsRune(name, os.PathSeparator)
}

// ofFile returns the first records of a file.
func (s *sampled) ofFile(name string, split format.Splitter) (records [][]byte, err error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, fault.New(fault.FileUnreadable, "%s cannot be read", name).Because(err)
	}
	defer f.Close()
	in := bufio.NewReaderSize(f, 1<<20)
	var data []byte
	want := s.limit
	if s.header {
		want++
	}
	for eof := false; len(records) < want && !eof; {
		more := make([]byte, 1<<20)
		n, err := io.ReadFull(in, more)
		if eof = errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF); err != nil && !eof {
			return nil, fault.New(fault.FileUnreadable, "%s cannot be read", name).Because(err)
		}
		data = append(data, more[:n]...)
		spans, used, err := split.Split(data, eof, want-len(records), nil)
		if err != nil {
			return nil, err
		}
		for _, at := range spans {
			records = append(records, slices.Clone(data[at.Start:at.End]))
		}
		data = data[used:]
	}
	return records, nil
}

// ofTopic returns the values of the last records of a topic.
func (a *app) ofTopic(ctx context.Context, topic string, s sampled) ([][]byte, error) {
	given := []option.Given{{Name: "subscribe", Value: topic}}
	for _, o := range s.options {
		name, value, ok := strings.Cut(o, "=")
		if !ok {
			return nil, usage{fmt.Errorf("--option takes NAME=VALUE, not %q", o)}
		}
		given = append(given, option.Given{Name: name, Value: value})
	}
	brokers, err := a.brokers()
	if err != nil {
		return nil, err
	}
	return trial.LatestValues(ctx, given, strings.Join(brokers, ","), s.limit)
}

// printSchema prints what was found, and beside it what was left out.
func (a *app) printSchema(name string, infer inference, records [][]byte) error {
	bad, sample := 0, error(nil)
	for _, r := range records {
		if err := infer.Add(r); err != nil {
			bad, sample = bad+1, err
		}
	}
	fields, left := infer.Fields()
	fields, left = declarable(fields, left)
	if len(fields) == 0 {
		e := fault.New(fault.UnableToInfer, "%s has no record to find a schema in", name)
		if bad > 0 {
			e.WithDetail("%d could not be read, the last of them: %v", bad, sample).WithHint("in a file each line is a record; --format says what records are")
		}
		return e
	}
	if bad > 0 {
		fmt.Fprintf(a.err, "%d of %d records could not be read and are left out, the last of them: %v\n", bad, len(records), sample)
	}
	for _, what := range left {
		fmt.Fprintf(a.err, "left out: %s\n", what)
	}
	if a.output != "table" {
		t := table{columns: []string{"name", "type"}}
		for _, f := range fields {
			t.rows = append(t.rows, []jsonCell{cell(f.Name), cell(f.Type.String())})
		}
		return a.print(t)
	}
	parts := make([]string, len(fields))
	for i, f := range fields {
		parts[i] = batch.QuoteName(f.Name) + " " + f.Type.String()
	}
	_, err := fmt.Fprintln(a.out, strings.ReplaceAll(strings.Join(parts, ", "), "'", "''"))
	return err
}

// declarable leaves out the columns that a schema cannot declare.
func declarable(all []batch.Field, left []string) (fields []batch.Field, _ []string) {
	for _, f := range all {
		same := func(other batch.Field) bool { return strings.EqualFold(other.Name, f.Name) }
		switch {
		case f.Name == "":
			left = append(left, "a column without a name")
		case catalog.IsReserved(f.Name), strings.EqualFold(f.Name, "_metadata"):
			left = append(left, f.Name+", a name that is reserved")
		case slices.ContainsFunc(fields, same):
			left = append(left, f.Name+", a name that stands there already")
		default:
			fields = append(fields, f)
		}
	}
	return fields, left
}
