package csv

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"sluice/fault"
	"sluice/format"
)

// ReadNames and WriteNames are the options of from_csv and schema_of_csv, and of to_csv, beside those that say what becomes of bad
// texts. Others of Spark's have no effect there, or are refused for a reason that docs/sql.md has.
var (
	ReadNames = []string{"sep", "delimiter", "quote", "escape", "unescapedQuoteHandling", "comment", "ignoreLeadingWhiteSpace", "ignoreTrailingWhiteSpace", "nullValue", "emptyValue",
		"nanValue", "positiveInf", "negativeInf", "maxColumns", "maxCharsPerColumn", "dateFormat", "timestampFormat", "timestampNTZFormat", "timeZone"}
	WriteNames = []string{"sep", "delimiter", "quote", "escape", "charToEscapeQuoteEscaping", "comment", "ignoreLeadingWhiteSpace", "ignoreTrailingWhiteSpace", "nullValue", "emptyValue",
		"quoteAll", "escapeQuotes", "dateFormat", "timestampFormat", "timestampNTZFormat", "timeZone"}
)

// given are options of a function, by their names in lower case, and the first thing that is wrong with them.
type given struct {
	values map[string]string
	err    error
}

func (g *given) text(name, absent string) string {
	if v, ok := g.values[strings.ToLower(name)]; ok {
		return v
	}
	return absent
}

func (g *given) fail(err error) {
	if g.err == nil && err != nil {
		g.err = err
	}
}

func (g *given) bool(name string, absent bool) bool {
	v := strings.ToLower(g.text(name, strconv.FormatBool(absent)))
	if v != "true" && v != "false" {
		g.fail(fault.New(fault.InvalidOptions, "%s is %q", name, v).WithHint("it is true or false"))
	}
	return v == "true"
}

// limit is a number from 1 on, or 0 for -1, which is no limit.
func (g *given) limit(name string, absent int) int {
	n, err := strconv.Atoi(g.text(name, strconv.Itoa(absent)))
	if err != nil || n == 0 || n < -1 {
		g.fail(fault.New(fault.InvalidOptions, "%s is %q", name, g.text(name, "")).WithHint("it is a number from 1 on, or -1 for no limit"))
	}
	return max(n, 0)
}

// dialect is that of Spark, which has a backslash in front of quotes.
func (g *given) dialect(trims bool) (d Dialect) {
	d.noLines = true
	g.fail(character("quote", g.text("quote", `"`), &d.Quote))
	g.fail(character("escape", g.text("escape", `\`), &d.Escape))
	g.fail(character("comment", g.text("comment", ""), &d.Comment))
	g.fail(d.separate(g.text("sep", g.text("delimiter", ","))))
	d.TrimLeading, d.TrimTrailing = g.bool("ignoreLeadingWhiteSpace", trims), g.bool("ignoreTrailingWhiteSpace", trims)
	return d
}

func (g *given) zone(absent *time.Location) *time.Location {
	zone, err := format.ParseZone(g.text(format.ZoneOption, ""), absent)
	g.fail(err)
	return zone
}

func (g *given) times(reading bool) format.Times {
	t, err := format.ParseTimes(reading, func(name string) string { return g.text(name, "") })
	g.fail(err)
	return t
}

// ParseFields reads options that are called as ReadNames, in lower case; zone is that of the session.
func ParseFields(options map[string]string, zone *time.Location) (Fields, error) {
	g := &given{values: options}
	f := Fields{Dialect: g.dialect(false), NullValue: g.text("nullValue", ""), EmptyValue: g.text("emptyValue", ""), NaN: g.text("nanValue", "NaN"), PositiveInf: g.text("positiveInf", "Inf"),
		NegativeInf: g.text("negativeInf", "-Inf"), MaxFields: g.limit("maxColumns", 20480), MaxChars: g.limit("maxCharsPerColumn", -1), Zone: g.zone(zone), Times: g.times(true)}
	handling := strings.ToUpper(g.text("unescapedQuoteHandling", handlings[StopAtDelimiter]))
	at := slices.Index(handlings, handling)
	if at < 0 {
		g.fail(fault.New(fault.InvalidOptions, "unescapedQuoteHandling is %q", handling).WithHint("it is one of %s", strings.Join(handlings, ", ")))
	}
	f.Dialect.Unescaped = Unescaped(at)
	f.Dialect.quotesInside = true
	return f, g.err
}

// ParseTo reads options that are called as WriteNames, in lower case; zone is that of the session.
func ParseTo(options map[string]string, zone *time.Location) (ToOptions, error) {
	g := &given{values: options}
	o := ToOptions{Dialect: g.dialect(true), NullValue: g.text("nullValue", ""), EmptyValue: g.text("emptyValue", `""`), QuoteAll: g.bool("quoteAll", false),
		EscapeQuotes: g.bool("escapeQuotes", true), Zone: g.zone(zone), Times: g.times(false)}
	if g.text("comment", "") == "" {
		o.Dialect.Comment = '#' // so Spark's writer has it
	}
	if o.Dialect.Escape != o.Dialect.Quote {
		o.EscapeEscape = o.Dialect.Escape
	}
	g.fail(character("charToEscapeQuoteEscaping", g.text("charToEscapeQuoteEscaping", ""), &o.EscapeEscape))
	return o, g.err
}
