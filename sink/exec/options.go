package exec

import (
	"strings"

	"sluice/fault"
	"sluice/option"
)

// Options are those of CREATE SINK ... FORMAT exec.
func Options() option.Set {
	return option.Set{
		{Name: "command", Edit: option.AsPlace, Required: true, Doc: "Program and arguments; a relative path with a slash is below the pipeline's folder. No shell is involved."},
		{Name: "format", Kind: option.Enum, Values: []string{"json", "arrow"}, Default: "json", Doc: "json gives one object per line, arrow an Arrow IPC stream."},
		{Name: "persistent", Edit: option.Idle, Kind: option.Bool, Default: "false", Doc: "Keep one process for all batches; it answers each with a line."},
		{Name: "bigint_as_text", Kind: option.Bool, Default: "false", Doc: "Write BIGINT as text in JSON, for readers that take every number for a double."},
	}
}

// options is what the options say, parsed.
type options struct {
	command      []string
	arrow        bool
	persistent   bool
	bigIntAsText bool
}

// Validate finds what is wrong with options that each are of their kind; nothing is started.
func Validate(v option.Values, at fault.Pos) fault.List {
	_, problems := parse(v, at)
	return problems
}

func parse(v option.Values, at fault.Pos) (o options, problems fault.List) {
	o = options{arrow: v.String("format") == "arrow", persistent: v.Bool("persistent"), bigIntAsText: v.Bool("bigint_as_text")}
	place := at
	if g, ok := v.Given("command"); ok && g.Pos.IsValid() {
		place = g.Pos
	}
	var ok bool
	if o.command, ok = words(v.String("command")); !ok || len(o.command) == 0 {
		problems = append(problems, fault.New(fault.InvalidOption, "sink format exec: the command is empty, or a quote in it is not closed").At(place))
	}
	if g, given := v.Given("bigint_as_text"); given && o.arrow {
		problems = append(problems, fault.New(fault.InvalidOption, "sink format exec: bigint_as_text is not an option of format arrow").At(g.Pos))
	}
	return o, problems
}

// words splits a command at blanks. Single quotes keep everything, double quotes all but backslashes, and a backslash
// keeps the next character.
func words(command string) (out []string, ok bool) {
	var word strings.Builder
	started := false
	quote := byte(0)
	for i := 0; i < len(command); i++ {
		c := command[i]
		switch {
		case c == '\\' && quote != '\'':
			if i++; i == len(command) {
				return nil, false
			}
			word.WriteByte(command[i])
			started = true
		case quote != 0 && c == quote:
			quote = 0
		case quote == 0 && (c == '\'' || c == '"'):
			quote, started = c, true
		case quote == 0 && (c == ' ' || c == '\t' || c == '\n' || c == '\r'):
			if started {
				out = append(out, word.String())
				word.Reset()
				started = false
			}
		default:
			word.WriteByte(c)
			started = true
		}
	}
	if started {
		out = append(out, word.String())
	}
	return out, quote == 0
}
