package format

import (
	"strconv"
	"time"
)

// MinTimestamp and MaxTimestamp bound the instants Sluice takes from text and numbers, in microseconds since the epoch:
// years 0001 to 9999. Nothing outside is wrapped or clamped.
const (
	MinTimestamp = -62_135_596_800 * microsPerSecond
	MaxTimestamp = 253_402_300_800*microsPerSecond - 1
)

const (
	microsPerSecond = 1_000_000
	secondsPerDay   = 86_400
	microsPerDay    = secondsPerDay * microsPerSecond
)

// DaysOf returns the days from 1970-01-01 to a date of the proleptic Gregorian calendar; month and day must be valid.
func DaysOf(year, month, day int) int32 {
	// The year starts in March, so that the leap day is its last one, and 400 years are one era of 146,097 days.
	if month <= 2 {
		year--
		month += 12
	}
	era := floorDiv(year, 400)
	ofEra := year - era*400
	ofYear := (153*(month-3)+2)/5 + day - 1
	return int32(era*146097 + ofEra*365 + ofEra/4 - ofEra/100 + ofYear - 719468)
}

// DateOf is the inverse of DaysOf.
func DateOf(days int32) (year, month, day int) {
	n := int(days) + 719468
	era := floorDiv(n, 146097)
	n -= era * 146097
	ofEra := (n - n/1460 + n/36524 - n/146096) / 365
	ofYear := n - (365*ofEra + ofEra/4 - ofEra/100)
	month = (5*ofYear + 2) / 153
	day = ofYear - (153*month+2)/5 + 1
	month += 3
	year = era*400 + ofEra
	if month > 12 {
		month -= 12
		year++
	}
	return year, month, day
}

func floorDiv[T int | int64](a, b T) T {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}

var monthDays = [13]uint8{0, 31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31}

func validDate(year, month, day int) bool {
	if year < 1 || month < 1 || month > 12 || day < 1 || day > int(monthDays[month]) {
		return false
	}
	return month != 2 || day < 29 || year%4 == 0 && (year%100 != 0 || year%400 == 0)
}

// digits2 and digits4 read fixed runs of digits; a negative result means that one of them is not a digit.
func digits2(s []byte) int {
	a, b := s[0]-'0', s[1]-'0'
	if a > 9 || b > 9 {
		return -1
	}
	return int(a)*10 + int(b)
}

func digits4(s []byte) int {
	a, b := digits2(s), digits2(s[2:])
	if a|b < 0 {
		return -1
	}
	return a*100 + b
}

// ParseDate reads yyyy-MM-dd.
func ParseDate(s []byte) (days int32, ok bool) {
	if len(s) != 10 {
		return 0, false
	}
	return parseDate(s)
}

func parseDate(s []byte) (int32, bool) {
	year, month, day := digits4(s), digits2(s[5:]), digits2(s[8:])
	if s[4] != '-' || s[7] != '-' || !validDate(year, month, day) {
		return 0, false
	}
	return DaysOf(year, month, day), true
}

// ParseTimestamp reads yyyy-MM-ddTHH:mm[:ss[.f]][zone]: T may be a blank, f has one to six digits, the zone is Z, +HH,
// +HH:mm or +HHmm (D-58). Without a zone the time is local to z; a nil z means TIMESTAMP_NTZ, which takes no zone. The
// result is in microseconds since the epoch.
func ParseTimestamp(s []byte, z *Zone) (micros int64, ok bool) {
	if len(s) < 16 {
		return 0, false
	}
	days, ok := parseDate(s)
	hour, minute := digits2(s[11:]), digits2(s[14:])
	if !ok || s[10] != 'T' && s[10] != ' ' || s[13] != ':' || uint(hour) > 23 || uint(minute) > 59 {
		return 0, false
	}
	seconds := int64(days)*secondsPerDay + int64(hour)*3600 + int64(minute)*60
	s = s[16:]
	fraction := int64(0)
	if len(s) >= 3 && s[0] == ':' {
		second := digits2(s[1:])
		if uint(second) > 59 {
			return 0, false
		}
		seconds += int64(second)
		if s = s[3:]; len(s) > 0 && s[0] == '.' {
			if fraction, s, ok = parseFraction(s[1:]); !ok {
				return 0, false
			}
		}
	}
	switch {
	case len(s) == 0:
		if z != nil {
			seconds = z.Instant(seconds)
		}
	case z == nil:
		return 0, false
	case len(s) == 1 && s[0] == 'Z':
	default:
		offset, ok := parseOffset(s)
		if !ok {
			return 0, false
		}
		seconds -= offset
	}
	micros = seconds*microsPerSecond + fraction
	return micros, micros >= MinTimestamp && micros <= MaxTimestamp
}

// parseFraction reads one to six digits as microseconds and returns what follows them.
func parseFraction(s []byte) (micros int64, rest []byte, ok bool) {
	n := 0
	for n < len(s) && s[n]-'0' <= 9 {
		if n == 6 {
			return 0, nil, false
		}
		micros = micros*10 + int64(s[n]-'0')
		n++
	}
	if n == 0 {
		return 0, nil, false
	}
	for i := n; i < 6; i++ {
		micros *= 10
	}
	return micros, s[n:], true
}

// parseOffset reads +HH, +HHmm or +HH:mm as seconds east of Greenwich; at most 18 hours, as in ISO 8601 libraries.
func parseOffset(s []byte) (seconds int64, ok bool) {
	if len(s) < 3 || s[0] != '+' && s[0] != '-' {
		return 0, false
	}
	hour, minute := digits2(s[1:]), 0
	switch {
	case len(s) == 3:
	case len(s) == 5:
		minute = digits2(s[3:])
	case len(s) == 6 && s[3] == ':':
		minute = digits2(s[4:])
	default:
		return 0, false
	}
	if uint(hour) > 18 || uint(minute) > 59 || hour == 18 && minute > 0 {
		return 0, false
	}
	seconds = int64(hour)*3600 + int64(minute)*60
	if s[0] == '-' {
		seconds = -seconds
	}
	return seconds, true
}

// AppendDate appends yyyy-MM-dd. A year outside 0000 to 9999 gets a sign.
func AppendDate(dst []byte, days int32) []byte {
	year, month, day := DateOf(days)
	if year < 0 {
		dst, year = append(dst, '-'), -year
	} else if year > 9999 {
		dst = append(dst, '+')
	}
	if high := year / 10000; high > 0 {
		dst = strconv.AppendInt(dst, int64(high), 10)
	}
	dst = appendTwo(dst, year/100%100)
	dst = appendTwo(dst, year%100)
	dst = appendTwo(append(dst, '-'), month)
	return appendTwo(append(dst, '-'), day)
}

// AppendTimestamp appends microseconds since the epoch as yyyy-MM-ddTHH:mm:ss, with six fraction digits when they are not
// all zero, and without a zone.
func AppendTimestamp(dst []byte, micros int64) []byte {
	days := floorDiv(micros, microsPerDay)
	rest := micros - days*microsPerDay
	dst = AppendDate(dst, int32(days))
	second := int(rest / microsPerSecond)
	dst = appendTwo(append(dst, 'T'), second/3600)
	dst = appendTwo(append(dst, ':'), second/60%60)
	dst = appendTwo(append(dst, ':'), second%60)
	if f := int(rest % microsPerSecond); f != 0 {
		dst = appendTwo(append(dst, '.'), f/10000)
		dst = appendTwo(dst, f/100%100)
		dst = appendTwo(dst, f%100)
	}
	return dst
}

func appendTwo(dst []byte, n int) []byte { return append(dst, byte('0'+n/10), byte('0'+n%10)) }

// Zone turns local times into instants. It remembers the stretch of constant offset it met last, so that runs of near
// times cost one comparison. It is not safe for concurrent use.
type Zone struct {
	loc      *time.Location
	from, to int64 // local seconds from <= t < to have this offset
	offset   int64
}

// NewZone returns the zone of loc; nil means UTC.
func NewZone(loc *time.Location) *Zone {
	if loc == nil {
		loc = time.UTC
	}
	return &Zone{loc: loc}
}

// Instant returns the seconds since the epoch of a local time given as seconds as if it were UTC. As in Java and Spark,
// a time that occurs twice is the earlier one, and a time in a gap is moved on by the gap's length.
func (z *Zone) Instant(local int64) int64 {
	if local >= z.from && local < z.to {
		return local - z.offset
	}
	return z.lookUp(local)
}

func (z *Zone) lookUp(local int64) int64 {
	const reach = 16 * 3600 // no zone is further from Greenwich
	before := z.at(local - reach)
	after := z.at(local + reach)
	if before == after {
		from, to := time.Unix(local-before, 0).In(z.loc).ZoneBounds()
		z.offset, z.from, z.to = before, MinTimestamp/microsPerSecond-reach, MaxTimestamp/microsPerSecond+reach
		if !from.IsZero() {
			z.from = from.Unix() + reach
		}
		if !to.IsZero() {
			z.to = to.Unix() - reach
		}
		return local - before
	}
	if early := local - before; z.at(early) == before {
		return early
	}
	if late := local - after; z.at(late) == after {
		return late
	}
	return local - before
}

func (z *Zone) at(unix int64) int64 {
	_, offset := time.Unix(unix, 0).In(z.loc).Zone()
	return int64(offset)
}
