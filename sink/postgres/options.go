package postgres

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"

	"sluice/batch"
	"sluice/fault"
	"sluice/option"
	"sluice/sink"
)

// Modes of the sink.
const (
	appendRows   = "append"
	upsert       = "upsert"
	replaceUsing = "replace_using"
	mirror       = "mirror"
)

// Options are those of CREATE SINK ... FORMAT postgres.
func Options() option.Set {
	return option.Set{
		{Name: "url", Edit: option.Idle, Required: true, Secret: true, Doc: "Where the database is: postgres://user:password@host:5432/database?sslmode=verify-full."},
		{Name: "user", Edit: option.Idle, Doc: "User, instead of in url."},
		{Name: "password", Edit: option.Idle, Secret: true, Doc: "Password, instead of in url."},
		{Name: "table", Edit: option.AsPlace, Required: true, Doc: "Table to write, with its schema where it is not in the search path. Names without double quotes are in lower case, as in SQL."},
		{Name: "mode", Edit: option.AsForm, Kind: option.Enum, Values: []string{appendRows, upsert, replaceUsing, mirror}, Default: appendRows, Doc: "append: insert every row. upsert: one row per key. replace_using: per key the rows with the highest sequence. mirror: the rows that the source has, each as often, without keys."},
		{Name: "keys", Edit: option.AsForm, Kind: option.List, Doc: "Key columns, for upsert and replace_using."},
		{Name: "sequence", Edit: option.AsForm, Doc: "Sequence column, for replace_using."},
		{Name: "create_table", Edit: option.Idle, Kind: option.Bool, Default: "false", Doc: "Create the table if it does not exist."},
		{Name: "on_reset", Edit: option.Idle, Kind: option.Enum, Values: []string{"truncate", "keep"}, Doc: "What happens to the table's rows when the flow starts again from the beginning. Default: truncate for replace_using and mirror, else keep."},
	}
}

type options struct {
	url, user, password string
	table               pgx.Identifier
	mode                string
	keys                []string
	sequence            string
	create, truncate    bool
}

// Validate finds what is wrong with options that each are of their kind; nothing is opened.
func Validate(v option.Values, at fault.Pos) fault.List {
	_, problems := parse(v, at)
	return problems
}

func parse(v option.Values, at fault.Pos) (options, fault.List) {
	o := options{
		url: v.String("url"), user: v.String("user"), password: v.String("password"),
		mode: v.String("mode"), keys: v.List("keys"), sequence: v.String("sequence"), create: v.Bool("create_table"),
	}
	o.truncate = v.String("on_reset") == "truncate" || !v.Has("on_reset") && (o.mode == replaceUsing || o.mode == mirror)
	var problems fault.List
	report := func(name string, code *fault.Code, format string, args ...any) {
		e := fault.New(code, "sink format postgres: "+format, args...).At(at)
		if g, ok := v.Given(name); ok {
			e.At(g.Pos)
		}
		problems = append(problems, e)
	}
	var err error
	if o.table, err = parseName(v.String("table")); err != nil {
		report("table", fault.InvalidOption, "%v", err)
	}
	if _, err := o.config(); err != nil {
		report("url", fault.InvalidOption, "url is not the address of a database") // the error may hold the password
	}
	keyed := o.mode == upsert || o.mode == replaceUsing
	if keyed && len(o.keys) == 0 {
		report("mode", fault.MissingOption, "mode => '%s' needs keys", o.mode)
	}
	if o.mode == replaceUsing && o.sequence == "" {
		report("mode", fault.MissingOption, "mode => 'replace_using' needs a sequence")
	}
	for name, used := range map[string]bool{"keys": keyed, "sequence": o.mode == replaceUsing} {
		if v.Has(name) && !used {
			report(name, fault.InvalidOption, "%s has no effect with mode => '%s'", name, o.mode)
		}
	}
	return o, problems
}

func (o *options) config() (*pgx.ConnConfig, error) {
	c, err := pgx.ParseConfig(o.url)
	if err != nil {
		return nil, err
	}
	if o.user != "" {
		c.User = o.user
	}
	if o.password != "" {
		c.Password = o.password
	}
	return c, nil
}

var namePart = regexp.MustCompile(`^(?:"((?:[^"]|"")+)"|([A-Za-z_][A-Za-z0-9_$]*))(?:\.|$)`)

// parseName reads a table's name as SQL does: parts in double quotes are exact, others in lower case.
func parseName(text string) (pgx.Identifier, error) {
	var name pgx.Identifier
	for rest := text; rest != "" || strings.HasSuffix(text, "."); {
		m := namePart.FindStringSubmatch(rest)
		if m == nil {
			return nil, fmt.Errorf("%q is not the name of a table", text)
		}
		part := strings.ToLower(m[2])
		if m[1] != "" {
			part = strings.ReplaceAll(m[1], `""`, `"`)
		}
		name = append(name, part)
		rest = rest[len(m[0]):]
		if rest == "" && !strings.HasSuffix(m[0], ".") {
			break
		}
	}
	if len(name) == 0 || len(name) > 2 {
		return nil, fmt.Errorf("%q is not the name of a table", text)
	}
	return name, nil
}

// keyed are the columns that the options name, among the flow's.
type keyed struct {
	keys     []int
	sequence int // -1 when there is none
}

func (o *options) columns(fields []batch.Field) (k keyed, err error) {
	k.sequence = -1
	if k.keys, err = sink.Columns("keys", o.keys, fields); err != nil {
		return k, err
	}
	if o.mode == replaceUsing {
		found, err := sink.Columns("sequence", []string{o.sequence}, fields)
		if err != nil {
			return k, err
		}
		k.sequence = found[0]
	}
	compared := slices.Clone(k.keys)
	if k.sequence >= 0 {
		compared = append(compared, k.sequence)
	}
	for _, i := range compared {
		if fields[i].Type.IsNested() {
			return k, fault.New(fault.InvalidOption, "the column %s has the type %s, which the database cannot compare as Sluice does", fields[i].Name, fields[i].Type).
				WithHint("select its members as columns of their own")
		}
	}
	return k, nil
}
