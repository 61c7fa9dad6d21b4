package eval

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"sluice/batch"
	"sluice/eval/dialect"
)

// WriteFile writes rows to a new Parquet file, which must lie in Options.Files. next brings them piece by piece, none at the end; a piece
// stays as it is until the next call. rowGroup is how many rows DuckDB gathers in memory. The file is not synced.
//
// What ReadFile gives is bit for bit what was written, which a query in between would not promise of NaN and -0.0.
func (e *Engine) WriteFile(ctx context.Context, path string, fields []batch.Field, rowGroup int, next func() (batch.Columns, error)) error {
	relation := &dialect.Relation{Name: "rows of a file", Handle: "rows", Fields: fields, Stream: true}
	read := dialect.Read{Relation: relation}
	for _, f := range fields {
		read.Columns = append(read.Columns, f.Name)
	}
	sql := fmt.Sprintf("COPY (SELECT %s FROM rows) TO %s (FORMAT parquet, COMPRESSION zstd, PARQUET_VERSION v2, ROW_GROUP_SIZE %d%s)", written(relation), quoteText(path), rowGroup, dictionaries(fields))
	c := &dialect.Compiled{SQL: sql, Reads: []dialect.Read{read}, Columns: []batch.Field{{Name: "Count", Type: batch.Of(batch.BigInt)}}}
	rows, err := e.Query(ctx, c, []Input{{Open: func() (Scan, error) { return pulled(next), nil }}}, time.Time{})
	if err != nil {
		return err
	}
	_, err = rows.Next()
	if closing := rows.Close(); err == nil {
		err = closing
	}
	return err
}

// pulled is a scan that its owner closes.
type pulled func() (batch.Columns, error)

func (p pulled) Next(int) (batch.Columns, error) { return p() }
func (p pulled) Close() error                    { return nil }

// ReadFile reads columns of a file that WriteFile made of fields, by their numbers, in the order in which the rows were written. Where from
// is not zero, the last two columns are a BIGINT and an INT that only grow, and rows before from, and from to on, are left out. The rows
// that next gives, none at the end, are valid until it is called again; end must be called.
func (e *Engine) ReadFile(ctx context.Context, path string, fields []batch.Field, columns []int, from, to batch.Offset) (next func() (batch.Columns, error), end func() error, err error) {
	c := &dialect.Compiled{}
	var list []string
	for _, i := range columns {
		list, c.Columns = append(list, column(i)), append(c.Columns, fields[i])
	}
	if len(columns) == 0 { // a query without columns does not exist
		list, c.Columns = []string{"true"}, []batch.Field{{Name: "row", Type: batch.Of(batch.Boolean)}}
	}
	c.SQL = fmt.Sprintf("SELECT %s FROM read_parquet([%s], hive_partitioning = false) AS t(%s)%s", strings.Join(list, ", "), quoteText(path), names(len(fields)), between(len(fields), from, to))
	rows, err := e.Query(ctx, c, nil, time.Time{})
	if err != nil {
		return nil, nil, err
	}
	return func() (batch.Columns, error) {
		out, err := rows.Next()
		if len(columns) == 0 {
			out.Fields, out.Cols = nil, nil
		}
		return out, err
	}, rows.Close, nil
}

// written lists the columns of a file with the types that they have there.
func written(r *dialect.Relation) string {
	list := make([]string, len(r.Fields))
	for i, f := range r.Fields {
		list[i] = quoteName(r.Identifier(f.Name))
	}
	return strings.Join(list, ", ")
}

// dictionaries forbids dictionaries to a file with floating-point numbers, for which DuckDB takes 0.0 and -0.0 to be one entry.
func dictionaries(fields []batch.Field) string {
	if slices.ContainsFunc(fields, func(f batch.Field) bool { return hasFloats(f.Type) }) {
		return ", DICTIONARY_SIZE_LIMIT 0"
	}
	return ""
}

func hasFloats(t batch.Type) bool {
	return t.Kind == batch.Float || t.Kind == batch.Double ||
		slices.ContainsFunc(t.Fields, func(f batch.Field) bool { return hasFloats(f.Type) })
}

// column is what a query over a file calls its columns: by their numbers, since names of another table may be anything.
func column(i int) string { return fmt.Sprintf("c%d", i) }

func names(n int) string {
	out := make([]string, n)
	for i := range out {
		out[i] = column(i)
	}
	return strings.Join(out, ", ")
}

// between is the condition of rows from a place up to another one, in a form by which DuckDB passes over row groups.
func between(fields int, from, to batch.Offset) string {
	if from == (batch.Offset{}) {
		return ""
	}
	at, index := column(fields-2), column(fields-1)
	return fmt.Sprintf(" WHERE %[1]s >= %[3]d AND (%[1]s > %[3]d OR %[2]s >= %[4]d) AND %[1]s <= %[5]d AND (%[1]s < %[5]d OR %[2]s < %[6]d)",
		at, index, from.At, from.Index, to.At, to.Index)
}

// confine lets SQL reach files below a folder, and nothing else.
func confine(folder string) []string {
	if folder == "" {
		return nil // Open has it reach none
	}
	return []string{"SET GLOBAL allowed_directories = [" + quoteText(folder) + "]", "SET GLOBAL enable_external_access = false"}
}
