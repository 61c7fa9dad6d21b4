package format

import (
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestDaysAgreeWithTheStandardLibrary(t *testing.T) {
	first := time.Date(1, 1, 1, 0, 0, 0, 0, time.UTC)
	for d := range int32(3_652_059) { // every day of the years 0001 to 9999
		days := d - 719162
		year, month, day := DateOf(days)
		if DaysOf(year, month, day) != days {
			t.Fatalf("day %d is %d-%d-%d, which is day %d", days, year, month, day, DaysOf(year, month, day))
		}
		if d%97 == 0 {
			at := first.AddDate(0, 0, int(d))
			if at.Year() != year || int(at.Month()) != month || at.Day() != day {
				t.Fatalf("day %d is %d-%d-%d, want %s", days, year, month, day, at.Format(time.DateOnly))
			}
		}
	}
	if year, _, _ := DateOf(DaysOf(9999, 12, 31) + 1); year != 10000 {
		t.Errorf("the day after 9999-12-31 is in the year %d", year)
	}
}

func TestTimestampsComeBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		micros := rapid.Int64Range(MinTimestamp, MaxTimestamp).Draw(t, "micros")
		text := AppendTimestamp(nil, micros)
		if got, ok := ParseTimestamp(text, nil); !ok || got != micros {
			t.Fatalf("%d is %s, which is %d (%v)", micros, text, got, ok)
		}
		if want := time.UnixMicro(micros).UTC().Format("2006-01-02T15:04:05"); string(text[:19]) != want {
			t.Fatalf("%d is %s, want %s", micros, text, want)
		}
	})
}

// TestInstantIsTheEarliestOfALocalTime compares with a search through all instants that show the local time.
func TestInstantIsTheEarliestOfALocalTime(t *testing.T) {
	for _, name := range []string{"Europe/Berlin", "America/New_York", "Asia/Kolkata", "Australia/Lord_Howe", "Pacific/Apia", "Africa/Casablanca"} {
		loc, err := time.LoadLocation(name)
		if err != nil {
			t.Fatal(err)
		}
		z := NewZone(loc)
		shows := func(unix, local int64) bool {
			_, offset := time.Unix(unix, 0).In(loc).Zone()
			return unix+int64(offset) == local
		}
		from := time.Date(2010, 12, 1, 0, 0, 0, 0, time.UTC).Unix()
		for local := from; local < from+800*secondsPerDay; local += 1800 {
			got := z.Instant(local)
			earliest, found := int64(0), false
			for unix := local - 15*3600; unix <= local+15*3600 && !found; unix += 900 {
				if shows(unix, local) {
					earliest, found = unix, true
				}
			}
			if found && got != earliest {
				t.Fatalf("%s: local %s is %d, the earliest instant is %d", name, time.Unix(local, 0).UTC(), got, earliest)
			}
			if !found && shows(got, local) {
				t.Fatalf("%s: %d is in a gap and still shows %d", name, local, got)
			}
		}
	}
}
