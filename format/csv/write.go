package csv

import (
	"slices"
	"time"

	"sluice/batch"
	"sluice/fault"
	"sluice/format"
	"sluice/option"
)

// HeaderOption asks for the names of the columns in front of the records of a file.
var HeaderOption = option.Spec{Name: "header", Kind: option.Bool, Default: "false", Doc: "Begin each file with the names of the columns."}

// LineSep is the option of what ends a record.
const LineSep = "lineSep"

// WriteOptions are the options of a sink whose format is csv: Spark's, with values for those that are not given of which nothing is lost.
func WriteOptions() option.Set {
	return slices.Concat(option.Set{
		{Name: "sep", Default: ",", Blank: true, Doc: `The text between fields, one character or several; \t is a tab, \\ a backslash.`},
		{Name: "quote", Default: `"`, Blank: true, Doc: "The character around fields that hold separators, line breaks or quotes; '' when no field is quoted."},
		{Name: "escape", Default: "", Blank: true, Doc: "The character in front of a quote inside quotes, and of itself; the quote itself if absent, as in RFC 4180."},
		{Name: "quoteAll", Kind: option.Bool, Default: "false", Doc: "Put every value into quotes; NULL is not."},
		{Name: "escapeQuotes", Kind: option.Bool, Default: "true", Doc: "Put values with quotes into quotes; false does so only with those that begin with one."},
		{Name: "nullValue", Default: "", Blank: true, Doc: "The text of NULL; the same text as a value is quoted."},
		{Name: "emptyValue", Default: bareQuotes, Blank: true, Doc: "The text of a value that is empty."},
		{Name: LineSep, Default: "\n", Blank: true, Doc: "What ends records: a newline, a carriage return and a newline, or one other character."},
	}, format.TimeOptions)
}

// bareQuotes stands for the quotes of the dialect with nothing in them.
const bareQuotes = `""`

// ValidateWrite finds options of WriteOptions that do not fit each other.
func ValidateWrite(v option.Values, at fault.Pos) (problems fault.List) {
	if _, err := ParseWrite(v, time.UTC); err != nil {
		problems = append(problems, fault.From(err).At(at))
	}
	return problems
}

// ParseWrite reads WriteOptions, with or without LineSep. zone is that of times whose pattern has no offset.
func ParseWrite(v option.Values, zone *time.Location) (o EncodeOptions, err error) {
	if o.Dialect, err = ParseDialect(v.String("sep"), v.String("quote"), v.String("escape")); err != nil {
		return o, err
	}
	o.Dialect.Comment = '#' // Spark's writer has it, too: no reader takes the record for a comment
	sep := "\n"
	if _, known := v.Spec(LineSep); known {
		sep = v.String(LineSep)
	}
	switch sep {
	case "\n":
	case "\r\n":
		o.LineEnd = sep
	default:
		if err := o.Dialect.line(sep); err != nil {
			return o, err
		}
	}
	o.NullValue, o.QuoteAll, o.StrayQuotes, o.Zone = v.String("nullValue"), v.Bool("quoteAll"), !v.Bool("escapeQuotes"), zone
	if empty := v.String("emptyValue"); empty != bareQuotes {
		o.Empty = &empty
	}
	for _, name := range []string{"nullValue", "emptyValue"} {
		text := v.String(name)
		e := Encoder{o: EncodeOptions{Dialect: o.Dialect}, sep: o.Dialect.separator()}
		if text != "" && text != bareQuotes && e.structures([]byte(text), true) {
			return o, fault.New(fault.InvalidOption, "option %q: %q has a separator, a quote or a line break", name, text)
		}
	}
	o.Times, err = format.ParseTimes(false, v.String)
	return o, err
}

// appendTime appends a date or time by its pattern, and nothing where there is none. Instants without an offset are of zone.
func appendTime(dst []byte, c *batch.Column, i int, t *format.Times, zone *time.Location) (out []byte, ok bool) {
	switch {
	case c.Type.Kind == batch.Date && t.Date != nil:
		return t.Date.Write(dst, int64(batch.Values[int32](c)[i])*microsPerDay, 0, nil), true
	case c.Type.Kind == batch.Timestamp && t.Timestamp != nil:
		at := batch.Values[int64](c)[i]
		_, seconds := time.UnixMicro(at).In(zone).Zone()
		offset := int64(seconds) * microsPerSecond
		return t.Timestamp.Write(dst, at+offset, offset, zone), true
	case c.Type.Kind == batch.TimestampNTZ && t.TimestampNTZ != nil:
		return t.TimestampNTZ.Write(dst, batch.Values[int64](c)[i], 0, nil), true
	}
	return dst, false
}
