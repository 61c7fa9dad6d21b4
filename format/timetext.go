package format

import (
	"bytes"
	"strconv"
	"time"
)

// moment is a time in its parts, as it is read or written.
type moment struct {
	year, month, day, dayOfYear int
	hour, minute, second        int
	micros                      int
	half                        int    // 0 is AM, 1 PM, -1 neither
	offset                      int64  // from UTC
	zone                        []byte // its name, if it has one
	zoned                       bool   // it has an offset or a zone
}

var weekdayNames = [7]string{"Thursday", "Friday", "Saturday", "Sunday", "Monday", "Tuesday", "Wednesday"} // 1970 began on a Thursday

// Write appends a local time, in microseconds since 1970 on a clock without a zone, and, where the pattern has it, its offset
// from UTC in microseconds and the name of its zone.
func (p TimePattern) Write(dst []byte, local, offset int64, zone *time.Location) []byte {
	day, rest := int32(floorDiv(local, microsPerDay)), local-floorDiv(local, microsPerDay)*microsPerDay
	year, month, dayOfMonth := DateOf(day)
	second := int(rest / microsPerSecond)
	hour := second / 3600
	for _, part := range p {
		switch part.letter {
		case 0:
			dst = append(dst, part.text...)
		case 'y':
			if part.count == 2 {
				dst = AppendPadded(dst, year%100, 2)
			} else {
				dst = AppendPadded(dst, year, part.count)
			}
		case 'M', 'L':
			dst = appendName(dst, month, part.count, time.Month(month).String())
		case 'Q', 'q':
			dst = appendQuarter(dst, (month+2)/3, part.count)
		case 'G':
			dst = append(dst, [2]string{"AD", "Anno Domini"}[part.count/4]...)
		case 'F':
			dst = AppendPadded(dst, (dayOfMonth+6)/7, 1)
		case 'V':
			dst = append(dst, zone.String()...) // that of nil is UTC
		case 'O':
			dst = appendGMT(dst, int(offset/microsPerSecond), part.count == 4)
		case 'd':
			dst = AppendPadded(dst, dayOfMonth, part.count)
		case 'D':
			dst = AppendPadded(dst, int(day-DaysOf(year, 1, 1))+1, part.count)
		case 'E':
			dst = appendName(dst, 0, max(part.count, 3), weekdayNames[((day%7)+7)%7])
		case 'a':
			dst = append(dst, [2]string{"AM", "PM"}[hour/12]...)
		case 'H':
			dst = AppendPadded(dst, hour, part.count)
		case 'k':
			dst = AppendPadded(dst, (hour+23)%24+1, part.count)
		case 'K':
			dst = AppendPadded(dst, hour%12, part.count)
		case 'h':
			dst = AppendPadded(dst, (hour+11)%12+1, part.count)
		case 'm':
			dst = AppendPadded(dst, second/60%60, part.count)
		case 's':
			dst = AppendPadded(dst, second%60, part.count)
		case 'S':
			var digits [9]byte
			fraction := AppendPadded(digits[:0], int(rest%microsPerSecond)*1000, 9)
			dst = append(dst, fraction[:part.count]...)
		case 'X', 'x', 'Z':
			dst = appendOffset(dst, int(offset/microsPerSecond), part)
		}
	}
	return dst
}

// AppendPadded appends a number that is not negative with zeros in front of it up to a width.
func AppendPadded(dst []byte, n, width int) []byte {
	for limit := 10; width > 1; width-- {
		if n < limit {
			for range width - 1 {
				dst = append(dst, '0')
			}
			break
		}
		limit *= 10
	}
	return strconv.AppendInt(dst, int64(n), 10)
}

// appendName writes a number of one or two digits, the first three letters of a name, or all of it.
func appendName(dst []byte, n, count int, name string) []byte {
	switch count {
	case 1, 2:
		return AppendPadded(dst, n, count)
	case 3:
		return append(dst, name[:3]...)
	}
	return append(dst, name...)
}

var ordinals = [5]string{1: "1st", "2nd", "3rd", "4th"}

func appendQuarter(dst []byte, quarter, count int) []byte {
	switch count {
	case 3:
		return append(dst, 'Q', byte('0'+quarter))
	case 4:
		return append(append(dst, ordinals[quarter]...), " quarter"...)
	}
	return AppendPadded(dst, quarter, count)
}

// appendGMT writes GMT+1 or GMT+1:30, or with all digits GMT+01:00.
func appendGMT(dst []byte, seconds int, whole bool) []byte {
	dst = append(dst, "GMT"...)
	if seconds == 0 {
		return dst
	}
	if whole {
		return appendOffset(dst, seconds, timePart{letter: 'x', count: 5})
	}
	sign := byte('+')
	if seconds < 0 {
		sign, seconds = '-', -seconds
	}
	dst = AppendPadded(append(dst, sign), seconds/3600, 1)
	if seconds%3600 == 0 {
		return dst
	}
	dst = AppendPadded(append(dst, ':'), seconds/60%60, 2)
	if seconds%60 == 0 {
		return dst
	}
	return AppendPadded(append(dst, ':'), seconds%60, 2)
}

// AppendOffset appends seconds east of Greenwich as Java's XXXXX does: Z, +hh:mm, or +hh:mm:ss where there are seconds.
func AppendOffset(dst []byte, seconds int) []byte {
	return appendOffset(dst, seconds, timePart{letter: 'X', count: 5})
}

func appendOffset(dst []byte, seconds int, part timePart) []byte {
	switch {
	case part.letter == 'Z' && part.count == 4:
		return appendGMT(dst, seconds, true)
	case part.letter == 'Z' && part.count == 5:
		part.letter = 'X'
	case part.letter == 'Z':
		part = timePart{letter: 'x', count: 2}
	}
	if seconds == 0 && part.letter == 'X' {
		return append(dst, 'Z')
	}
	sign := byte('+')
	if seconds < 0 {
		sign, seconds = '-', -seconds
	}
	dst = AppendPadded(append(dst, sign), seconds/3600, 2)
	minutes := seconds / 60 % 60
	if part.count == 1 && minutes == 0 {
		return dst
	}
	colon := part.count%2 == 1 && part.count > 1
	if colon {
		dst = append(dst, ':')
	}
	dst = AppendPadded(dst, minutes, 2)
	if part.count < 4 || seconds%60 == 0 {
		return dst
	}
	if colon {
		dst = append(dst, ':')
	}
	return AppendPadded(dst, seconds%60, 2)
}

// Read returns the time that a text says: an instant if the pattern has an offset or a zone, which may be missing in the text where
// it stands in [], else a local time. zones knows the zones, and has the one of texts without.
func (p TimePattern) Read(text []byte, zones *TimeParser) (at int64, ok bool) {
	m := moment{month: 1, day: 1, half: -1}
	if text, m, ok = p.readParts(text, m); !ok || len(text) > 0 {
		return 0, false
	}
	if at, ok = m.time(); ok && (m.zone != nil || !m.zoned && p.HasOffset()) {
		local := floorDiv(at, microsPerSecond)
		rest := at - local*microsPerSecond
		local, ok = zones.instant(local, m.zone)
		at = local*microsPerSecond + rest
	}
	return at, ok
}

// readParts reads the parts up to the end, and returns what is left of the text. It takes a moment and gives one, since a pointer to
// one would be memory for each text.
func (p TimePattern) readParts(text []byte, m moment) ([]byte, moment, bool) {
	for i := 0; i < len(p); i++ {
		part := p[i]
		switch part.letter {
		case '[':
			end := i + 1
			for p[end].letter != ']' {
				end++
			}
			if rest, inside, ok := p[i+1:end].readParts(text, m); ok {
				text, m = rest, inside
			}
			i = end
		case ']':
		case 0:
			if len(text) < len(part.text) || !bytes.EqualFold(text[:len(part.text)], []byte(part.text)) {
				return nil, m, false
			}
			text = text[len(part.text):]
		default:
			var ok bool
			if text, ok = part.read(text, &m); !ok {
				return nil, m, false
			}
		}
	}
	return text, m, true
}

func (part timePart) read(text []byte, m *moment) (rest []byte, ok bool) {
	switch part.letter {
	case 'y':
		digits := part.count
		if digits == 1 {
			digits = 9
		}
		m.year, rest, ok = number(text, part.count, digits)
		if part.count == 2 {
			m.year += 2000
		}
	case 'M':
		if part.count > 2 {
			return m.readMonth(text, part.count)
		}
		m.month, rest, ok = number(text, part.count, 2)
	case 'd':
		m.day, rest, ok = number(text, part.count, 2)
	case 'D':
		m.dayOfYear, rest, ok = number(text, part.count, 3)
		ok = ok && m.dayOfYear > 0
	case 'H':
		m.hour, rest, ok = number(text, part.count, 2)
	case 'k':
		m.hour, rest, ok = number(text, part.count, 2)
		ok = ok && m.hour >= 1 && m.hour <= 24
		m.hour %= 24
	case 'K':
		m.hour, rest, ok = number(text, part.count, 2)
		ok = ok && m.hour < 12
	case 'h':
		m.hour, rest, ok = number(text, part.count, 2)
		ok = ok && m.hour >= 1 && m.hour <= 12
		m.hour %= 12
	case 'a':
		for half, name := range []string{"AM", "PM"} {
			if len(text) >= 2 && bytes.EqualFold(text[:2], []byte(name)) {
				m.half = half
				return text[2:], true
			}
		}
	case 'm':
		m.minute, rest, ok = number(text, part.count, 2)
	case 's':
		m.second, rest, ok = number(text, part.count, 2)
	case 'S': // any number of digits up to so many
		var n int
		if n, rest, ok = number(text, 1, part.count); ok {
			for width := len(text) - len(rest); width < 9; width++ {
				n *= 10
			}
			m.micros = n / 1000
		}
	case 'X', 'x', 'Z':
		if part.letter == 'Z' {
			part.count = 2
		}
		if part.letter != 'X' && len(text) > 0 && text[0]|0x20 == 'z' {
			return nil, false
		}
		m.zoned = true
		m.offset, rest, ok = readOffset(text, part.count == 3)
		ok = ok && (part.count != 2 || len(text)-len(rest) != len("+00")) // minutes must be there
	case 'V':
		end := 0
		for end < len(text) && text[end] > ' ' && text[end] < 0x7f {
			end++
		}
		m.zone, m.zoned = text[:end], true
		rest, ok = text[end:], end > 0
	}
	return rest, ok
}

// number reads a number of at least and at most so many digits.
func number(text []byte, least, most int) (n int, rest []byte, ok bool) {
	i := 0
	for ; i < len(text) && i < most && text[i]-'0' <= 9; i++ {
		n = n*10 + int(text[i]-'0')
	}
	return n, text[i:], i >= least
}

func (m *moment) readMonth(text []byte, count int) ([]byte, bool) {
	for month := time.January; month <= time.December; month++ {
		name := month.String()
		if count == 3 {
			name = name[:3]
		}
		if len(text) >= len(name) && bytes.EqualFold(text[:len(name)], []byte(name)) {
			m.month = int(month)
			return text[len(name):], true
		}
	}
	return nil, false
}

// readOffset reads Z, or a sign, hours and minutes, which may be missing where there is no colon.
func readOffset(text []byte, colon bool) (offset int64, rest []byte, ok bool) {
	if len(text) > 0 && text[0]|0x20 == 'z' {
		return 0, text[1:], true
	}
	if len(text) == 0 || text[0] != '+' && text[0] != '-' {
		return 0, nil, false
	}
	hours, rest, ok := number(text[1:], 2, 2)
	if !ok || hours > 18 {
		return 0, nil, false
	}
	minutes := 0
	if colon {
		if len(rest) == 0 || rest[0] != ':' {
			return 0, nil, false
		}
		minutes, rest, ok = number(rest[1:], 2, 2)
	} else if n, after, has := number(rest, 2, 2); has {
		minutes, rest = n, after
	}
	if !ok || minutes > 59 || hours == 18 && minutes > 0 {
		return 0, nil, false
	}
	offset = int64(hours*3600+minutes*60) * microsPerSecond
	if text[0] == '-' {
		offset = -offset
	}
	return offset, rest, true
}

// time puts the parts together; the day must exist.
func (m *moment) time() (int64, bool) {
	if m.half >= 0 {
		m.hour += 12 * m.half
	}
	if m.year > 9999 || !validDate(m.year, m.month, m.day) || m.hour > 23 || m.minute > 59 || m.second > 59 {
		return 0, false
	}
	day := DaysOf(m.year, m.month, m.day)
	if m.dayOfYear > 0 {
		day += int32(m.dayOfYear) - 1
		if year, _, _ := DateOf(day); year != m.year {
			return 0, false
		}
	}
	return int64(day)*microsPerDay + int64(m.hour*3600+m.minute*60+m.second)*microsPerSecond + int64(m.micros) - m.offset, true
}
