package format

import (
	"bytes"
	"time"

	"sluice/fault"
)

// ParseDay reads yyyy, yyyy-[m]m or yyyy-[m]m-[d]d, the last with anything behind a blank or a T. Years have four to seven digits
// and may have a sign. The day exists.
func ParseDay(text []byte) (year, month, day int, ok bool) {
	text = Trim(text)
	sign := 1
	if len(text) > 0 && (text[0] == '-' || text[0] == '+') {
		if text[0] == '-' {
			sign = -1
		}
		text = text[1:]
	}
	parts := [3]int{1, 1, 1}
	for i := range parts {
		end := skipDigits(text, 0)
		if i == 0 && (end < 4 || end > 7) || i > 0 && (end < 1 || end > 2) {
			return 0, 0, 0, false
		}
		parts[i], _, _ = number(text, 0, end)
		text = text[end:]
		switch {
		case len(text) == 0, i == 2 && (text[0] == ' ' || text[0] == 'T'):
			return checkedDay(sign*parts[0], parts[1], parts[2])
		case i == 2 || text[0] != '-':
			return 0, 0, 0, false
		}
		text = text[1:]
	}
	return 0, 0, 0, false
}

func checkedDay(year, month, day int) (y, m, d int, ok bool) {
	return year, month, day, month >= 1 && month <= 12 && day >= 1 && day <= daysOfMonth(year, month)
}

// TimeParser reads texts of times as Spark casts them: a day, and behind a blank or a T hours, minutes, seconds and a fraction, each
// of which may be missing with all behind it; then a zone, if there are seconds. A time of day without a day, which Spark takes as
// one of today, and years outside 1 to 9999 are not read. A TimeParser is used by one goroutine at a time.
type TimeParser struct {
	session *Zone
	regions map[string]*Zone // met so far: there are only so many
}

// NewTimeParser returns a parser whose times are in zone where they do not name another.
func NewTimeParser(zone *time.Location) *TimeParser {
	return &TimeParser{session: NewZone(zone), regions: map[string]*Zone{}}
}

// Parse returns the instant of a text, or the local time that it has whatever its zone.
func (p *TimeParser) Parse(text []byte, local bool) (micros int64, ok bool) {
	text = Trim(text)
	end := bytes.IndexAny(text, " T")
	if end < 0 {
		end = len(text)
	}
	year, month, day, ok := ParseDay(text[:end])
	if !ok || year < 1 || year > 9999 || end < len(text) && bytes.Count(text[:end], []byte{'-'}) < 2 {
		return 0, false
	}
	seconds, fraction, zone := int64(DaysOf(year, month, day))*86400, int64(0), []byte(nil)
	if end < len(text) {
		var clock int64
		if clock, fraction, zone, ok = parseClock(text[end+1:]); !ok {
			return 0, false
		}
		seconds += clock
	}
	at := seconds
	if zone != nil || !local {
		if at, ok = p.instant(seconds, zone); !ok {
			return 0, false
		}
	}
	if local {
		at = seconds
	}
	return at*microsPerSecond + fraction, true
}

// parseClock reads HH[:mm[:ss[.fraction][zone]]]; digits behind microseconds are cut off.
func parseClock(text []byte) (seconds, micros int64, zone []byte, ok bool) {
	limits, units := [3]int{23, 59, 59}, [3]int64{3600, 60, 1}
	for i := range limits {
		end := skipDigits(text, 0)
		n, _, _ := number(text, 0, min(end, 2))
		if end < 1 || end > 2 || n > limits[i] {
			return 0, 0, nil, false
		}
		seconds += int64(n) * units[i]
		text = text[end:]
		if i == 2 {
			break
		}
		if len(text) == 0 {
			return seconds, 0, nil, true
		}
		if text[0] != ':' {
			return 0, 0, nil, false
		}
		text = text[1:]
	}
	if len(text) > 0 && text[0] == '.' {
		end := skipDigits(text, 1)
		n, _, _ := number(text[1:], 0, min(end-1, 6))
		micros = int64(n)
		for range 6 - min(end-1, 6) {
			micros *= 10
		}
		text = text[end:]
	}
	if len(text) == 0 {
		return seconds, micros, nil, true
	}
	return seconds, micros, text, true
}

// instant is that of local seconds in a zone, the session's if it is nil.
func (p *TimeParser) instant(local int64, zone []byte) (int64, bool) {
	if zone == nil {
		return p.session.Instant(local), true
	}
	zone = TrimJava(zone)
	if offset, ok := zoneOffset(zone); ok {
		return local - offset, true
	}
	region := p.regions[string(zone)]
	if region == nil {
		loc, err := LoadZone(string(zone))
		if err != nil {
			return 0, false
		}
		region = NewZone(loc)
		p.regions[string(zone)] = region
	}
	return region.Instant(local), true
}

// zoneOffset reads Z, UTC, GMT, UT, an offset, or one behind such a name, as Java does: hours of one or two digits, with minutes
// and seconds that have a colon or not, at most 18 hours.
func zoneOffset(zone []byte) (seconds int64, ok bool) {
	if len(zone) == 1 && zone[0] == 'Z' {
		return 0, true
	}
	for _, name := range []string{"UTC", "GMT", "UT"} {
		if len(zone) >= len(name) && string(zone[:len(name)]) == name {
			if zone = zone[len(name):]; len(zone) == 0 {
				return 0, true
			}
			break
		}
	}
	if len(zone) < 2 || zone[0] != '-' && zone[0] != '+' {
		return 0, false
	}
	negative := zone[0] == '-'
	zone = zone[1:]
	end := skipDigits(zone, 0)
	var n [3]int
	if colon := end < len(zone); !colon {
		if end > 2 && end%2 == 1 || end > 6 {
			return 0, false
		}
		for i := 0; len(zone) > 0; i++ {
			n[i], zone, _ = number(zone, 1, 2)
		}
	} else {
		for i := 0; ; i++ {
			digits := skipDigits(zone, 0)
			// Spark takes hours of one digit, and minutes where nothing follows.
			if digits == 0 || digits > 2 || digits == 1 && (i == 2 || i == 1 && len(zone) > 1) || i > 2 {
				return 0, false
			}
			n[i], zone, _ = number(zone, 1, 2)
			if len(zone) == 0 {
				break
			}
			if zone[0] != ':' || i == 2 {
				return 0, false
			}
			zone = zone[1:]
		}
	}
	seconds = int64(n[0]*3600 + n[1]*60 + n[2])
	if n[1] > 59 || n[2] > 59 || seconds > 18*3600 {
		return 0, false
	}
	if negative {
		seconds = -seconds
	}
	return seconds, true
}

// shortZones are names that Java has kept from its first years.
var shortZones = map[string]string{"ACT": "Australia/Darwin", "AET": "Australia/Sydney", "AGT": "America/Argentina/Buenos_Aires", "ART": "Africa/Cairo",
	"AST": "America/Anchorage", "BET": "America/Sao_Paulo", "BST": "Asia/Dhaka", "CAT": "Africa/Harare", "CNT": "America/St_Johns", "CST": "America/Chicago",
	"CTT": "Asia/Shanghai", "EAT": "Africa/Addis_Ababa", "ECT": "Europe/Paris", "IET": "America/Indiana/Indianapolis", "IST": "Asia/Kolkata",
	"JST": "Asia/Tokyo", "MIT": "Pacific/Apia", "NET": "Asia/Yerevan", "NST": "Pacific/Auckland", "PLT": "Asia/Karachi", "PNT": "America/Phoenix",
	"PRT": "America/Puerto_Rico", "PST": "America/Los_Angeles", "SST": "Pacific/Guadalcanal", "VST": "Asia/Ho_Chi_Minh"}

// LoadZone knows the names of the zones' database, the short ones of Java's, and offsets such as +05:30 and UTC-3.
func LoadZone(name string) (*time.Location, error) {
	if offset, ok := zoneOffset([]byte(name)); ok {
		return time.FixedZone(name, int(offset)), nil
	}
	if long := shortZones[name]; long != "" {
		name = long
	}
	if isRegion(name) {
		if loc, err := time.LoadLocation(name); err == nil {
			return loc, nil
		}
	}
	return nil, fault.New(fault.InvalidTimeZone, "there is no time zone %q", name)
}

// isRegion reports whether a text may be a name of the database: what else is there of files is none.
func isRegion(name string) bool {
	for i := range len(name) {
		c := name[i]
		letter := c|0x20 >= 'a' && c|0x20 <= 'z'
		if !letter && (i == 0 || c-'0' > 9 && c != '/' && c != '_' && c != '+' && c != '-') {
			return false
		}
	}
	return len(name) > 1 && name != "Local" && name != "Factory"
}

// ParseLocal returns the local time of a text without a zone.
func (p *TimeParser) ParseLocal(text []byte) (micros int64, ok bool) {
	micros, ok = p.Parse(text, true)
	if ok && !bytes.ContainsAny(text, "+Z") { // what else is in front of a zone is a letter or a sign behind the day
		text = Trim(text)
		at := bytes.IndexAny(text, " T")
		return micros, at < 0 || bytes.IndexByte(text[at:], '-') < 0 && bytes.IndexFunc(text[at+1:], isLetter) < 0
	}
	return 0, false
}

func isLetter(r rune) bool { return r|0x20 >= 'a' && r|0x20 <= 'z' }

// IsClock reports whether a text is a time of the day alone, or one behind a T, which Spark takes for a time of today.
func IsClock(text []byte) bool {
	text = Trim(text)
	if len(text) > 0 && text[0] == 'T' {
		text = text[1:]
	} else if bytes.IndexByte(text, ':') < 0 {
		return false
	}
	_, _, zone, ok := parseClock(text)
	return ok && zone == nil
}

func daysOfMonth(year, month int) int {
	if month == 2 && (year%4 != 0 || year%100 == 0 && year%400 != 0) {
		return 28
	}
	return int(monthDays[month])
}
