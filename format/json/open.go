package json

import (
	"slices"

	"sluice/fault"
	"sluice/format"
	"sluice/option"
)

// ReadOptions are the options of a source whose format is json.
func ReadOptions() option.Set {
	return slices.Concat(option.Set{
		{Name: "numbers_as_strings", Kind: option.Bool, Default: "false", Doc: `Take numbers in quotes, such as "1", for numeric columns (D-8).`},
		{Name: "multiLine", Kind: option.Bool, Default: "false", Doc: "A record is a line of a file; records of several lines are refused."},
		{Name: "lineSep", Default: "\n", Blank: true, Doc: "What ends the lines of a file: a newline, with or without a carriage return."},
		format.TimestampUnitOption,
		format.CorruptRecordOption,
		format.RescuedDataOption,
	}, format.TimeOptions)
}

// Validate finds options of ReadOptions that are wrong.
func Validate(v option.Values, at fault.Pos) (problems fault.List) {
	if _, err := format.ParseTimes(true, v.String); err != nil {
		problems = append(problems, fault.From(err).At(at))
	}
	for _, o := range []struct {
		name  string
		wrong bool
		hint  string
	}{
		{"multiLine", v.Bool("multiLine"), "write each object in a line of its own: jq -c '.[]' does so with a file that is one array, jq -c . with others"},
		{"lineSep", v.String("lineSep") != "\n" && v.String("lineSep") != "\r\n", "end records with newlines"},
	} {
		if g, _ := v.Given(o.name); o.wrong {
			if g.Pos.IsValid() {
				at = g.Pos
			}
			problems = append(problems, fault.New(fault.InvalidOption, "option %q: a record of JSON is a line that ends with a newline", o.name).At(at).WithHint("%s", o.hint))
		}
	}
	return problems
}

// Open makes the format ready to read a source. In files a record is a line, and blank lines are none.
func Open(r format.Reading) (format.Reader, error) {
	narrow := func(d format.Decoder) format.Decoder { return d }
	rescued := r.RescuedData()
	if rescued >= 0 {
		r, narrow = r.Whole()
	}
	times, err := format.ParseTimes(true, r.Options.String)
	if err != nil {
		return format.Reader{}, err
	}
	d, err := newDecoder(Options{
		Fields:           r.Columns,
		Quoted:           r.ColumnsQuoted(),
		Mode:             r.Mode,
		CorruptRecord:    r.CorruptRecord(),
		Rescue:           rescued >= 0,
		RescuedData:      rescued,
		Zone:             r.Zone,
		NumbersAsStrings: r.Options.Bool("numbers_as_strings"),
		Times:            times,
		TimestampUnit:    format.ParseTimestampUnit(r.Options.String("timestampUnit")),
		Tolerate:         r.Tolerances(),
	})
	if err != nil {
		return format.Reader{}, err
	}
	reader := format.Reader{Decoder: narrow(d), Splitter: format.Lines{}, Unseen: d.unseen}
	if d.tolerate != nil {
		reader.Tolerated = &d.tolerated
	}
	if rescued >= 0 {
		reader.File = d.file
	}
	return reader, nil
}
