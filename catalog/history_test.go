package catalog

import (
	"testing"
	"time"

	"pgregory.net/rapid"
)

// D-27: a time, and perhaps a multiple of what the table has, or a size.
func TestHistoryIsRead(t *testing.T) {
	for text, want := range map[string]History{
		"24 hours":        {Age: 24 * time.Hour},
		"  1 DAY ,10x":    {Age: 24 * time.Hour, Times: 10},
		"90m, 3 X":        {Age: 90 * time.Minute, Times: 3},
		"2 weeks, 10 GiB": {Age: 14 * 24 * time.Hour, Bytes: 10 << 30},
		"1s,1":            {Age: time.Second, Bytes: 1},
	} {
		if h, err := parseHistory(text); err != nil || h != want {
			t.Errorf("%q: %+v, %v", text, h, err)
		}
	}
	for _, text := range []string{"", "forever", "0 days", "-1 day", "7", "7 days,", "7 days, x", "7 days, 0x", "7 days, -2x", "7 days, 0 GiB", "7 days, 1.5x", "7 days, 2x, 3x", "2x, 7 days", "7 days, 99999999999x"} {
		if h, err := parseHistory(text); err == nil || h != (History{}) {
			t.Errorf("%q: %+v, %v", text, h, err)
		}
	}
}

// What a property says is said back so that it is read as the same.
func TestHistoryIsSaidBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		h := History{Age: time.Duration(rapid.Int64Range(1, 1<<60).Draw(t, "age"))}
		switch rapid.IntRange(0, 2).Draw(t, "limit") {
		case 1:
			h.Times = rapid.Int64Range(1, 1<<31-1).Draw(t, "times")
		case 2:
			h.Bytes = rapid.Int64Range(1, 1<<60).Draw(t, "bytes")
		}
		if again, err := parseHistory(h.String()); err != nil || again != h {
			t.Fatalf("%q: %+v, %v", h, again, err)
		}
	})
}

func FuzzHistory(f *testing.F) {
	for _, seed := range []string{"24 hours", "7 days, 5x", "1s, 10 GiB", ",", "1 week,,x", "9999999999h"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		h, err := parseHistory(text)
		if err == nil && (h.Age <= 0 || h.Times < 0 || h.Bytes < 0 || h.Times > 0 && h.Bytes > 0) {
			t.Errorf("%q is %+v", text, h)
		}
	})
}
