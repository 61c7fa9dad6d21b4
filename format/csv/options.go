package csv

import (
	"slices"

	"sluice/fault"
	"sluice/format"
	"sluice/option"
)

// ReadOptions are the options of a source whose format is csv: Spark's, where they say what a record is.
func ReadOptions() option.Set {
	return slices.Concat(option.Set{
		{Name: "header", Kind: option.Bool, Default: "false", Doc: "The first record of each file names the columns; without it they are found by their places in the schema."},
		{Name: "sep", Default: ",", Blank: true, Doc: `The text between fields, one character or several; \t is a tab, \\ a backslash.`},
		{Name: "quote", Default: `"`, Blank: true, Doc: "The character around fields that hold separators or line breaks; '' when no field is quoted."},
		{Name: "escape", Default: "", Blank: true, Doc: "The character in front of a quote inside quotes, and of itself; the quote itself if absent, as in RFC 4180."},
		{Name: "unescapedQuoteHandling", Kind: option.Enum, Values: handlings, Default: handlings[Refuse], Doc: "What becomes of a field with quotes where none may be: RAISE_ERROR takes the record for a bad one, STOP_AT_DELIMITER the field up to the next separator, STOP_AT_CLOSING_QUOTE up to a quote in front of a separator, SKIP_VALUE leaves the field out."},
		{Name: "comment", Doc: "The character at the start of lines that are no records; no line is one if absent."},
		{Name: "lineSep", Blank: true, Doc: "The character that ends records; a newline with or without a carriage return if absent."},
		{Name: "multiLine", Kind: option.Bool, Default: "true", Doc: "Records may have line breaks inside quotes; false ends a record at every line break."},
		{Name: "ignoreLeadingWhiteSpace", Kind: option.Bool, Default: "false", Doc: "Leave out blanks in front of fields."},
		{Name: "ignoreTrailingWhiteSpace", Kind: option.Bool, Default: "false", Doc: "Leave out blanks behind fields."},
		{Name: "nullValue", Default: "", Blank: true, Doc: "The text of a field without quotes that means NULL; an empty one always does."},
		{Name: "emptyValue", Default: "", Blank: true, Doc: "The text that an empty field in quotes stands for."},
		{Name: "nanValue", Default: "NaN", Doc: "The text of the FLOAT and DOUBLE that is no number; NaN is too."},
		{Name: "positiveInf", Default: "Inf", Doc: "The text of positive infinity; Infinity is too."},
		{Name: "negativeInf", Default: "-Inf", Doc: "The text of negative infinity; -Infinity is too."},
		{Name: "maxColumns", Kind: option.Int, Default: "20480", Doc: "A record with more fields is a bad one."},
		{Name: "maxCharsPerColumn", Kind: option.Int, Default: "-1", Doc: "A record with a field of more characters is a bad one; -1 is no limit."},
		format.TimestampUnitOption,
		format.CorruptRecordOption,
		format.RescuedDataOption,
	}, format.TimeOptions)
}

var handlings = []string{Refuse: "RAISE_ERROR", StopAtDelimiter: "STOP_AT_DELIMITER", StopAtClosingQuote: "STOP_AT_CLOSING_QUOTE", SkipValue: "SKIP_VALUE"}

// Validate finds options of ReadOptions that do not fit each other.
func Validate(v option.Values, at fault.Pos) (problems fault.List) {
	if _, err := dialectOf(v); err != nil {
		problems = append(problems, fault.From(err).At(at))
	}
	if _, err := format.ParseTimes(true, v.String); err != nil {
		problems = append(problems, fault.From(err).At(at))
	}
	if v.Int("maxColumns") < 1 || v.Int("maxCharsPerColumn") < -1 || v.Int("maxCharsPerColumn") == 0 {
		problems = append(problems, fault.New(fault.InvalidOption, "options \"maxColumns\" and \"maxCharsPerColumn\" are 1 or more, the latter also -1").At(at))
	}
	return problems
}

func dialectOf(v option.Values) (Dialect, error) {
	d, err := ParseDialect(v.String("sep"), v.String("quote"), v.String("escape"))
	if err != nil {
		return d, err
	}
	d.OneLine = !v.Bool("multiLine")
	d.TrimLeading, d.TrimTrailing = v.Bool("ignoreLeadingWhiteSpace"), v.Bool("ignoreTrailingWhiteSpace")
	d.Unescaped = Unescaped(slices.Index(handlings, v.String("unescapedQuoteHandling")))
	if err := character("comment", v.String("comment"), &d.Comment); err != nil {
		return d, err
	}
	return d, d.line(v.String("lineSep"))
}

// line reads the option lineSep.
func (d *Dialect) line(sep string) error {
	switch {
	case sep == "":
		return nil
	case len(sep) != 1 || sep[0] >= 0x80 || sep[0] == d.Sep || sep[0] == d.Quote || sep[0] == d.Escape:
		return fault.New(fault.InvalidOption, "option \"lineSep\": %q is not one ASCII character other than the separator, the quote and the escape", sep)
	}
	d.Line = sep[0]
	return nil
}
