package csv

import (
	"sluice/format"
)

// Open makes the format ready to read a source.
func Open(r format.Reading) (format.Reader, error) {
	narrow := func(d format.Decoder) format.Decoder { return d }
	rescued := r.RescuedData()
	if rescued >= 0 {
		r, narrow = r.Whole()
	}
	o, err := readingOf(&r)
	if err != nil {
		return format.Reader{}, err
	}
	o.Rescue, o.RescuedData = rescued >= 0, rescued
	d, err := NewDecoder(o)
	if err != nil {
		return format.Reader{}, err
	}
	reader := format.Reader{Decoder: narrow(d), Splitter: NewSplitter(o.Dialect)}
	if o.Header {
		reader.Header = d.Header
	}
	if o.Tolerate != nil {
		reader.Tolerated = &d.tolerated
	}
	if o.Rescue {
		reader.File = d.file
	}
	return reader, nil
}

func readingOf(r *format.Reading) (o Options, err error) {
	o = Options{
		NullValue:     r.Options.String("nullValue"),
		EmptyValue:    r.Options.String("emptyValue"),
		NaN:           r.Options.String("nanValue"),
		PositiveInf:   r.Options.String("positiveInf"),
		NegativeInf:   r.Options.String("negativeInf"),
		MaxFields:     int(r.Options.Int("maxColumns")),
		MaxChars:      max(0, int(r.Options.Int("maxCharsPerColumn"))),
		Fields:        r.Columns,
		Quoted:        r.ColumnsQuoted(),
		Header:        r.Options.Bool("header"),
		Mode:          r.Mode,
		CorruptRecord: r.CorruptRecord(),
		Zone:          r.Zone,
		TimestampUnit: format.ParseTimestampUnit(r.Options.String("timestampUnit")),
		Tolerate:      r.Tolerances(),
	}
	if o.Dialect, err = dialectOf(r.Options); err != nil {
		return o, err
	}
	o.Times, err = format.ParseTimes(true, r.Options.String)
	o.Positions, o.Width = positions(r)
	return o, err
}

// positions are the places of the columns in a record without a header: those in the schema, in which the columns for bad
// records and rescued data have none.
func positions(r *format.Reading) (places []int, width int) {
	left := []int{r.CorruptRecordPlace(), r.RescuedData()}
	behind := func(at int) (n int) {
		for _, l := range left {
			if l >= 0 && l < at {
				n++
			}
		}
		return n
	}
	for _, c := range r.Columns {
		at := r.Place(c)
		places = append(places, at-behind(at))
	}
	return places, len(r.Schema) - behind(len(r.Schema))
}
