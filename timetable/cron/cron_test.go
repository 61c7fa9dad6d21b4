package cron

import (
	"bufio"
	"os"
	"strings"
	"testing"
	"time"
	_ "time/tzdata" // zones must mean the same on every machine

	"pgregory.net/rapid"
)

// SC-02, D-32: the times are those of Quartz. testdata/Quartz.java wrote the table.
func TestQuartz(t *testing.T) {
	file, err := os.Open("testdata/quartz.txt")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	lines := 0
	for s := bufio.NewScanner(file); s.Scan(); lines++ {
		cells := strings.Split(s.Text(), "|")
		text, want := strings.TrimSuffix(cells[0], " "), strings.TrimSpace(cells[3])
		if got := times(t, text, strings.TrimSpace(cells[1]), strings.TrimSpace(cells[2]), len(strings.Fields(want))); got != want {
			t.Errorf("%s\n got %s\nwant %s", s.Text(), got, want)
		}
	}
	if lines < 1000 {
		t.Errorf("the table has %d lines", lines)
	}
}

// times are the next times of an expression as the table writes them.
func times(t *testing.T, text, zone, after string, count int) string {
	t.Helper()
	e, err := Parse(text)
	if err != nil {
		return "refused"
	}
	location, err := time.LoadLocation(zone)
	if err != nil {
		t.Fatal(err)
	}
	at, err := time.Parse(time.RFC3339, after)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for range count {
		next, ok := e.Next(at, location)
		if !ok {
			return strings.Join(append(out, "never"), " ")
		}
		out = append(out, next.UTC().Format(time.RFC3339))
		at = next
	}
	return strings.Join(out, " ")
}

// D-32: what comes several times within an hour keeps its elapsed steps where the clock is set back; where it is set forward
// it does so by itself.
func TestStepsWithinAnHourOverClockChanges(t *testing.T) {
	for _, c := range []struct{ text, zone, after, want string }{
		{"0 0/30 * * * ?", "America/New_York", "2026-11-01T04:45:00Z", "2026-11-01T05:00:00Z 2026-11-01T05:30:00Z 2026-11-01T06:00:00Z 2026-11-01T06:30:00Z 2026-11-01T07:00:00Z"},
		{"0 0/30 * * * ?", "America/New_York", "2026-03-08T06:15:00Z", "2026-03-08T06:30:00Z 2026-03-08T07:00:00Z 2026-03-08T07:30:00Z"},
		{"0 0/15 * * * ?", "Australia/Lord_Howe", "2026-04-04T14:40:00Z", "2026-04-04T14:45:00Z 2026-04-04T15:00:00Z 2026-04-04T15:15:00Z 2026-04-04T15:30:00Z"},
		{"30,45 59 1 * * ?", "Europe/Berlin", "2026-10-24T23:59:40Z", "2026-10-24T23:59:45Z 2026-10-26T00:59:30Z"},
		{"0 0 * * * ?", "America/New_York", "2026-11-01T04:30:00Z", "2026-11-01T06:00:00Z 2026-11-01T07:00:00Z"}, // Quartz's way
	} {
		if got := times(t, c.text, c.zone, c.after, len(strings.Fields(c.want))); got != c.want {
			t.Errorf("%s in %s\n got %s\nwant %s", c.text, c.zone, got, c.want)
		}
	}
}

// Where Quartz takes what is no expression by its documentation, and does something with it.
func TestStricterThanQuartz(t *testing.T) {
	for _, text := range []string{"0 0/0 * * * ?", "0 0 0 1,15W * ?", "0 0 0 1 1 ? 2100", "0 0 0 1 1 ? 1969", "+1 * * * * ?", "0 0 0 ? * 6#3L", "0 0 0 L-0 * ?", "0 0 0 LWL * ?", "0 0 0 ? * MON-FRIL", "0 0 0 ? * MON/3", "0 0 0 1 FEB-DEC/4 ?"} {
		if e, err := Parse(text); err == nil {
			t.Errorf("%q is taken: %+v", text, e)
		}
	}
}

// Next is the first match after a time: nothing between them is one, and it is one.
func TestNextIsTheFirst(t *testing.T) {
	zones := []string{"UTC", "America/New_York", "Europe/Berlin", "Australia/Lord_Howe", "America/Santiago"}
	rapid.Check(t, func(t *rapid.T) {
		text := strings.Join([]string{
			rapid.SampledFrom([]string{"0", "*", "0/20", "59", "10-40/15"}).Draw(t, "second"),
			rapid.SampledFrom([]string{"0", "*", "0/30", "30", "50-10", "7,8"}).Draw(t, "minute"),
			rapid.SampledFrom([]string{"0", "*", "1", "2", "1-3", "22-2", "0/6"}).Draw(t, "hour"),
			"*", rapid.SampledFrom([]string{"*", "3,10", "11", "4"}).Draw(t, "month"), "?"}, " ")
		e, err := Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		zone, err := time.LoadLocation(rapid.SampledFrom(zones).Draw(t, "zone"))
		if err != nil {
			t.Fatal(err)
		}
		after := time.Unix(rapid.Int64Range(1767225600, 1798761600).Draw(t, "after"), 0)
		next, ok := e.Next(after, zone)
		if !ok || !next.After(after) || !e.matches(next) {
			t.Fatalf("%s after %v: %v", text, after.In(zone), next)
		}
		for s := after.Add(time.Second); s.Before(next) && s.Before(after.Add(4*time.Hour)); s = s.Add(time.Second) {
			if e.matches(s.In(zone)) && (e.severalWithinAnHour || !again(s.In(zone))) {
				t.Fatalf("%s after %v: %v, and %v was before it", text, after.In(zone), next, s.In(zone))
			}
		}
	})
}

// matches holds every field of what the clock shows against the expression.
func (e *Expression) matches(t time.Time) bool {
	date := time.Date(t.Year(), t.Month(), t.Day(), 0, 0, 0, 0, time.UTC)
	return e.on(date) && e.hour.has(t.Hour()) && e.minute.has(t.Minute()) && e.second.has(t.Second())
}

// again looks up to three hours ahead for the same time by the clock.
func again(t time.Time) bool {
	for m := range 6 {
		if later := t.Add(time.Duration(m+1) * 30 * time.Minute); later.Format(time.DateTime) == t.Format(time.DateTime) {
			return true
		}
	}
	return false
}

// What a person mistakes is told with what to write instead.
func TestHints(t *testing.T) {
	for text, want := range map[string]string{
		"0 3 * * *":     "put the seconds before the minutes: 0 0 3 * * *",
		"0 0 3 * * *":   "write ? for the one that does not matter",
		"0 0 3 ? * ?":   "write * for one of them",
		"? 0 3 * * ?":   "? stands for the day of the month or the day of the week only; write *",
		"0 0 3 ? * MO":  "its names are SUN, MON, TUE, WED, THU, FRI, SAT",
		"0 0 3 LX * ?":  "L is the last day, L-3 the third before it, LW the last workday",
		"0 0 3 ? * 2#9": "FRI#3 is the third Friday",
	} {
		_, err := Parse(text)
		if e, ok := err.(*Error); !ok || e.Hint != want || e.Text == "" {
			t.Errorf("%q: %v, hint %q", text, err, e.Hint)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, text := range []string{"0 0 3 * * ?", "0 0/5 14,18 ? JAN-MAR MON-FRI 2027/2", "0 0 0 LW * ?", "0 0 0 L-3W * ?", "0 0 0 ? * 6#3", "0 0 0 ? * FRIL", "0 0 22-2 29 2 ?", "*/7 /3 * 15W * ? *"} {
		f.Add(text, int64(1772323200))
	}
	zone, err := time.LoadLocation("America/New_York")
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, text string, unix int64) {
		e, err := Parse(text)
		if err != nil {
			return
		}
		after := time.Unix(unix%(1<<32), 0)
		if next, ok := e.Next(after, zone); ok && (!next.After(after) || !e.matches(next)) {
			t.Fatalf("%q after %v: %v", text, after, next)
		}
		if same, err := Parse(e.String()); err != nil || same.day.last != e.day.last || same.hour.count() != e.hour.count() {
			t.Fatalf("%q is printed as %q: %v", text, e, err)
		}
	})
}
