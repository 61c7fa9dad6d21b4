package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"sluice/admin"
	"sluice/batch"
	"sluice/catalog"
	"sluice/fault"
	"sluice/option"
	"sluice/state"
)

func (a *app) dlqCmd() *cobra.Command {
	c := &cobra.Command{
		Use:   "dlq",
		Short: "Look at the records in quarantine (mode => 'QUARANTINE'), mend and replay them",
		Args:  noArgs,
		RunE:  func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(a.dlqListCmd(), a.dlqShowCmd(), a.dlqExportCmd(), a.dlqEditCmd(), a.dlqReplayCmd(), a.dlqForgetCmd())
	return c
}

// chosen says which records are meant; empty texts are all.
type chosen struct {
	table, flow, split, code string
	at                       *batch.Offset
	id                       string
	replayed                 bool // also those of which rows were made
}

func (w *chosen) flags(c *cobra.Command) {
	c.Flags().StringVar(&w.flow, "flow", "", "records of this flow alone")
	c.Flags().StringVar(&w.split, "split", "", "records of this split alone: topic/partition, a path, a table")
	c.Flags().StringVar(&w.code, "code", "", "records with this error alone")
}

// exact are the flags that tell records of one name apart.
func (w *chosen) exact(c *cobra.Command) {
	c.Flags().StringVar(&w.flow, "flow", "", "the flow that could not use it")
	c.Flags().StringVar(&w.table, "table", "", "the table or sink that it was for")
	c.Flags().StringVar(&w.id, "split-id", "", "the topic id, where a topic of that name was made anew")
}

// where is the condition of a query.
func (w *chosen) where() string {
	var parts []string
	for _, p := range [][2]string{{"flow", w.flow}, {"split", w.split}, {"error_code", w.code}, {"split_id", w.id}} {
		if p[1] != "" {
			parts = append(parts, p[0]+" = "+literal(p[1]))
		}
	}
	if w.at != nil {
		parts = append(parts, fmt.Sprintf("offset = %d AND index = %d", w.at.At, w.at.Index))
	}
	if !w.replayed {
		parts = append(parts, "replayed IS NULL")
	}
	if parts == nil {
		return ""
	}
	return " WHERE " + strings.Join(parts, " AND ")
}

// literal is a text in SQL.
func literal(text string) string {
	return "'" + strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(text) + "'"
}

// quarantined asks every table of records in quarantine that is meant, in the running daemon or in the stopped store. The first
// column of the answer is the table's name.
func (a *app) quarantined(ctx context.Context, w *chosen, columns string, limit int) (out table, err error) {
	p, err := a.load()
	if err != nil {
		return out, err
	}
	collect := func(names []string, query func(sql string) (table, error)) (table, error) {
		names, err := tablesMeant(names, w.table)
		for _, name := range names {
			sql := "SELECT " + literal(name) + " AS `table`, " + columns + " FROM " + quoted(name) + w.where() + " ORDER BY flow, split, offset, index"
			if limit > 0 {
				sql += fmt.Sprintf(" LIMIT %d", limit-len(out.rows))
			}
			t, err := query(sql)
			if err != nil {
				return out, err
			}
			out.columns, out.rows = t.columns, append(out.rows, t.rows...)
			if limit > 0 && len(out.rows) == limit {
				break
			}
		}
		return out, err
	}
	return ask(p,
		func(client *admin.Client) (table, error) {
			names, err := liveQuarantines(ctx, client)
			if err != nil {
				return table{}, err
			}
			return collect(names, func(sql string) (table, error) { return queryDaemon(ctx, client, sql) })
		},
		func(store *state.Store) (table, error) {
			names, err := storedQuarantines(store)
			if err != nil {
				return table{}, err
			}
			return collect(names, func(sql string) (table, error) { return queryStore(ctx, store, p, sql) })
		})
}

func liveQuarantines(ctx context.Context, client *admin.Client) (names []string, err error) {
	s, err := client.Status(ctx)
	if err != nil {
		return nil, err
	}
	seen := map[string]bool{}
	for _, q := range s.Store.Quarantines {
		if !seen[q.Table] {
			names, seen[q.Table] = append(names, q.Table), true
		}
	}
	slices.Sort(names)
	return names, nil
}

func storedQuarantines(store *state.Store) (names []string, err error) {
	tables, err := store.Quarantines()
	for _, t := range tables {
		names = append(names, t.Name)
	}
	return names, err
}

// tablesMeant are those of the names that a table, a sink or its quarantine may be meant by; all when wanted is empty.
func tablesMeant(names []string, wanted string) ([]string, error) {
	if wanted == "" {
		return names, nil
	}
	var out, targets []string
	suffix := strings.TrimSuffix(strings.ToLower(wanted), catalog.QuarantineSuffix) + catalog.QuarantineSuffix
	for _, name := range names {
		targets = append(targets, strings.TrimSuffix(name[strings.LastIndexByte(name, '.')+1:], catalog.QuarantineSuffix))
		if name == suffix || strings.HasSuffix(name, "."+suffix) {
			out = append(out, name)
		}
	}
	if out != nil {
		return out, nil
	}
	e := fault.New(fault.TableNotFound, "no flow into %s keeps records in quarantine", wanted)
	switch near := option.Nearest(strings.ToLower(wanted), targets); {
	case near != "":
		e.WithHint("did you mean %q?", near)
	case targets != nil:
		e.WithHint("those that have a quarantine are %s", strings.Join(targets, ", "))
	default:
		e.WithHint("mode => 'QUARANTINE' at a source keeps what cannot be used")
	}
	return nil, e
}

// quoted is the name of a table in SQL.
func quoted(name string) string {
	parts := strings.Split(name, ".")
	for i, p := range parts {
		parts[i] = "`" + p + "`"
	}
	return strings.Join(parts, ".")
}

// recordAt reads what list shows as record: a split, @, and the place in it.
func recordAt(text string, w *chosen) error {
	bad := fault.New(fault.BadRequest, "%q is no record", text).WithHint("name it as `processor dlq list` does: ticks/0@764")
	cut := strings.LastIndexByte(text, '@')
	if cut <= 0 {
		return bad
	}
	w.split = text[:cut]
	at, index, both := strings.Cut(text[cut+1:], ".")
	var o batch.Offset
	var err error
	if o.At, err = strconv.ParseInt(at, 10, 64); err != nil {
		return bad
	}
	if both {
		n, err := strconv.ParseInt(index, 10, 32)
		if err != nil {
			return bad
		}
		o.Index = int32(n)
	}
	w.at = &o
	return nil
}

// recordName is how list names a record.
const recordName = "CASE WHEN index = 0 THEN concat(split, '@', CAST(offset AS STRING)) ELSE concat(split, '@', CAST(offset AS STRING), '.', CAST(index AS STRING)) END AS record"

func (a *app) dlqListCmd() *cobra.Command {
	var w chosen
	limit, all := 0, false
	c := &cobra.Command{
		Use:   "list [TABLE]",
		Short: "List the records in quarantine, of all tables and sinks or of one",
		Args:  cobra.MaximumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			w.table = strings.Join(args, "")
			w.replayed = all
			t, err := a.quarantined(c.Context(), &w, "flow, "+recordName+", timestamp, octet_length(value) AS bytes, status, edited_key IS NOT NULL OR edited_value IS NOT NULL AS edited, error_code, error_column, error_message", limit)
			if err != nil {
				return err
			}
			if t.columns == nil {
				t.columns = []string{"table", "flow", "record", "timestamp", "bytes", "status", "edited", "error_code", "error_column", "error_message"}
			}
			return a.print(t)
		},
	}
	w.flags(c)
	c.Flags().IntVarP(&limit, "limit", "n", 0, "list at most so many")
	c.Flags().BoolVar(&all, "all", false, "list also those whose edits were replayed, and are kept for the next full refresh")
	return c
}

func (a *app) dlqShowCmd() *cobra.Command {
	var w chosen
	key, whole, edited := false, false, false
	c := &cobra.Command{
		Use:   "show RECORD",
		Short: "Print the bytes of a record in quarantine as they came, or with --whole all that is known of it",
		Args:  exactArgs(1, "a record, as dlq list names it"),
		RunE: func(c *cobra.Command, args []string) error {
			t, err := a.quarantinedOne(c.Context(), &w, args[0])
			if err != nil {
				return err
			}
			if whole {
				return a.print(t)
			}
			name := map[bool]string{true: "key", false: "value"}[key]
			if edited {
				return writeBytes(a.out, a.err, name, latest(t.row(0), name))
			}
			return writeBytes(a.out, a.err, name, t.row(0)[name])
		},
	}
	w.exact(c)
	c.Flags().BoolVar(&edited, "edited", false, "print them as they were edited, if they were")
	c.Flags().BoolVar(&key, "key", false, "print the key, not the value")
	c.Flags().BoolVar(&whole, "whole", false, "print all columns, as -o says; bytes are in base64")
	c.MarkFlagsMutuallyExclusive("key", "whole")
	return c
}

func (a *app) dlqExportCmd() *cobra.Command {
	var w chosen
	values := false
	c := &cobra.Command{
		Use:   "export [TABLE]",
		Short: "Print the records in quarantine as JSON lines, or with --values their values alone",
		Args:  cobra.MaximumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			w.table = strings.Join(args, "")
			t, err := a.quarantined(c.Context(), &w, "*", 0)
			if err != nil {
				return err
			}
			if !values {
				return printNDJSON(a.out, t)
			}
			for i := range t.rows {
				if err := writeBytes(a.out, a.err, "value", t.row(i)["value"]); err != nil {
					return err
				}
				if _, err := a.out.Write([]byte{'\n'}); err != nil {
					return err
				}
			}
			return nil
		},
	}
	w.flags(c)
	c.Flags().BoolVar(&values, "values", false, "print the bytes of the values, each with a line end behind it")
	return c
}

// quarantinedOne is the one record that is called by a name.
func (a *app) quarantinedOne(ctx context.Context, w *chosen, name string) (table, error) {
	if err := recordAt(name, w); err != nil {
		return table{}, err
	}
	w.replayed = true
	t, err := a.quarantined(ctx, w, "*", 0)
	if err != nil {
		return t, err
	}
	switch len(t.rows) {
	case 1:
		return t, nil
	case 0:
		return t, fault.New(fault.NotInQuarantine, "no record %s is in quarantine", name).WithHint("`processor dlq list` names those that are")
	}
	return t, fault.New(fault.RecordNameAmbiguous, "%d records %s are in quarantine", len(t.rows), name).
		WithHint("choose one with --flow, --table or --split-id; --flow and split_id are in `processor dlq export`")
}

// row is a row by the names of its columns.
func (t *table) row(i int) map[string]jsonCell {
	out := map[string]jsonCell{}
	for c, name := range t.columns {
		out[name] = t.rows[i][c]
	}
	return out
}

// writeBytes writes a BINARY cell as it is; of one that is null it says so.
func writeBytes(out, errs io.Writer, name string, c jsonCell) error {
	if c == nil {
		_, err := fmt.Fprintf(errs, "the record has no %s\n", name)
		return err
	}
	var b []byte
	if err := json.Unmarshal(c, &b); err != nil {
		return err
	}
	_, err := out.Write(b)
	return err
}
