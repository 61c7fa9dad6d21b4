package csv

import (
	"sluice/fault"
	"sluice/format"
	"sluice/option"
)

// ReadOptions are the options of a source whose format is csv.
func ReadOptions() option.Set {
	return option.Set{
		{Name: "header", Kind: option.Bool, Default: "false", Doc: "The first record of each file names the columns; without it they are found by their places in the schema."},
		{Name: "sep", Default: ",", Blank: true, Doc: `The character between fields; \t is a tab.`},
		{Name: "quote", Default: `"`, Blank: true, Doc: "The character around fields that hold separators or line breaks; '' when no field is quoted."},
		{Name: "escape", Default: "", Blank: true, Doc: "The character in front of a quote inside quotes; the quote itself if absent, as in RFC 4180."},
		{Name: "nullValue", Default: "", Blank: true, Doc: "The text of an unquoted field that means NULL."},
		format.TimestampUnitOption,
		format.CorruptRecordOption,
	}
}

// Validate finds options of ReadOptions that do not fit each other.
func Validate(v option.Values, at fault.Pos) (problems fault.List) {
	if _, err := dialectOf(v); err != nil {
		problems = append(problems, fault.From(err).At(at))
	}
	return problems
}

func dialectOf(v option.Values) (Dialect, error) {
	return ParseDialect(v.String("sep"), v.String("quote"), v.String("escape"))
}

// Open makes the format ready to read a source.
func Open(r format.Reading) (format.Reader, error) {
	dialect, err := dialectOf(r.Options)
	if err != nil {
		return format.Reader{}, err
	}
	o := Options{
		Dialect:       dialect,
		NullValue:     r.Options.String("nullValue"),
		Fields:        r.Columns,
		Quoted:        r.ColumnsQuoted(),
		Header:        r.Options.Bool("header"),
		Mode:          r.Mode,
		CorruptRecord: r.CorruptRecord(),
		Zone:          r.Zone,
		TimestampUnit: format.ParseTimestampUnit(r.Options.String("timestampUnit")),
	}
	o.Positions, o.Width = positions(&r)
	d, err := NewDecoder(o)
	if err != nil {
		return format.Reader{}, err
	}
	reader := format.Reader{Decoder: d, Splitter: NewSplitter(dialect)}
	if o.Header {
		reader.Header = d.Header
	}
	return reader, nil
}

// positions are the places of the columns in a record without a header: those in the schema, in which the column for bad
// records has none.
func positions(r *format.Reading) (places []int, width int) {
	corrupt := r.CorruptRecordPlace()
	width = len(r.Schema)
	if corrupt >= 0 {
		width--
	}
	for _, c := range r.Columns {
		at := r.Place(c)
		if corrupt >= 0 && at > corrupt {
			at--
		}
		places = append(places, at)
	}
	return places, width
}
