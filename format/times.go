package format

import (
	"time"

	"sluice/batch"
	"sluice/fault"
	"sluice/option"
)

// Times are the patterns of dates and times; those that are nil are written as they are without one.
type Times struct{ Date, Timestamp, TimestampNTZ TimePattern }

// TimeOptions name the patterns, as Spark does.
var TimeOptions = option.Set{
	{Name: "dateFormat", Doc: "The pattern of dates, of the letters that docs/sql.md names; yyyy-MM-dd if absent."},
	{Name: "timestampFormat", Doc: "The pattern of the texts of a TIMESTAMP; without an offset in it they are in the pipeline's zone. ISO 8601 if absent."},
	{Name: "timestampNTZFormat", Doc: "The pattern of the texts of a TIMESTAMP_NTZ; ISO 8601 if absent."},
}

// ParseTimes reads patterns, for reading or writing; value returns that of an option of TimeOptions, "" for none.
func ParseTimes(reading bool, value func(name string) string) (t Times, err error) {
	for i, to := range []*TimePattern{&t.Date, &t.Timestamp, &t.TimestampNTZ} {
		name := TimeOptions[i].Name
		text := value(name)
		if text == "" {
			continue
		}
		p, err := ParseTimePattern(text)
		switch {
		case err != nil:
		case reading:
			err = p.Readable()
		case i == 0 && p.hasTime():
			err = fault.New(fault.InvalidOption, "a time, which a DATE has not")
		}
		if err == nil && p.HasOffset() && i != 1 {
			err = fault.New(fault.InvalidOption, "an offset from UTC, which only a TIMESTAMP has")
		}
		if err != nil {
			return t, fault.New(fault.InvalidOption, "option %q: the pattern %q is not supported: it has %v", name, text, message(err)).
				WithHint("patterns are made of yyyy MM dd HH mm ss SSS XXX and text in quotes; docs/sql.md has all letters")
		}
		*to = p
	}
	return t, nil
}

// ZoneOption names the zone of a function's texts in place of the session's; it is an option of from_csv, to_csv and their like.
const ZoneOption = "timeZone"

// ParseZone reads a value of ZoneOption; "" is absent.
func ParseZone(name string, absent *time.Location) (*time.Location, error) {
	if name == "" {
		return absent, nil
	}
	zone, err := time.LoadLocation(name)
	if err != nil || name == "Local" {
		return absent, fault.New(fault.InvalidOptions, "%s is %q", ZoneOption, name).WithHint("it is a name such as Europe/Berlin, or UTC")
	}
	return zone, nil
}

func message(err error) string {
	if f, ok := err.(*fault.Error); ok {
		return f.Message
	}
	return err.Error()
}

// hasTime reports whether the pattern has a part of a day.
func (p TimePattern) hasTime() bool {
	for _, part := range p {
		switch part.letter {
		case 'H', 'h', 'K', 'k', 'm', 's', 'S', 'a':
			return true
		}
	}
	return false
}

// instant reads an instant, a local time of zone if the pattern has no offset, or where zone is nil a local time.
func (p TimePattern) instant(text []byte, zone *Zone, zones *TimeParser) (micros int64, ok bool) {
	micros, ok = p.Read(text, zones)
	if ok && zone != nil && !p.HasOffset() {
		seconds := floorDiv(micros, microsPerSecond)
		micros = zone.Instant(seconds)*microsPerSecond + micros - seconds*microsPerSecond
	}
	return micros, ok && micros >= MinTimestamp && micros <= MaxTimestamp
}

const notAsPattern = "it is not written as the pattern says"

func (s *Scalars) patternDate(b *batch.Builder, text []byte) (why string, ok bool) {
	micros, ok := s.Times.Date.Read(text, nil)
	if !ok {
		return notAsPattern, false
	}
	batch.Append(b, int32(floorDiv(micros, microsPerDay)))
	return "", true
}

func (s *Scalars) patternTimestamp(b *batch.Builder, text []byte, p TimePattern, zone *Zone) (why string, ok bool) {
	if s.zones == nil && zone != nil {
		s.zones = &TimeParser{session: zone, regions: map[string]*Zone{}}
	}
	micros, ok := p.instant(text, zone, s.zones)
	if !ok {
		return notAsPattern, false
	}
	batch.Append(b, micros)
	return "", true
}
