package format_test

import (
	"reflect"
	"strings"
	"testing"

	"sluice/format"
)

func splitLines(l format.Lines, data []byte, chunk, most int) []string {
	var out []string
	for at, have := 0, 0; ; {
		have = min(have+chunk, len(data))
		for {
			spans, used, _ := l.Split(data[at:have], have == len(data), most, nil)
			for _, s := range spans {
				out = append(out, string(data[at+s.Start:at+s.End]))
			}
			at += used
			if len(spans) < most {
				break
			}
		}
		if have == len(data) {
			return out
		}
	}
}

func TestLines(t *testing.T) {
	data := "a\r\n\n \t\r\nb\nc\r\r\nd"
	for blanks, want := range map[bool][]string{false: {"a", "b", "c\r", "d"}, true: {"a", "", " \t", "b", "c\r", "d"}} {
		if got := splitLines(format.Lines{Blanks: blanks}, []byte(data), 100, 100); !reflect.DeepEqual(got, want) {
			t.Errorf("blanks %v: got %q, want %q", blanks, got, want)
		}
	}
}

// FuzzSplit cuts the data anywhere: the lines stay the same.
func FuzzSplit(f *testing.F) {
	f.Add([]byte("a\r\n\n \t\r\nb\nc\r\r\nd"), uint8(1))
	f.Fuzz(func(t *testing.T, data []byte, chunk uint8) {
		for _, l := range []format.Lines{{}, {Blanks: true}} {
			whole := splitLines(l, data, len(data)+1, 1<<20)
			if parts := splitLines(l, data, int(chunk)+1, int(chunk)%3+1); !reflect.DeepEqual(whole, parts) {
				t.Fatalf("%q: all at once %q, %d bytes at a time %q", data, whole, int(chunk)+1, parts)
			}
			if l.Blanks && strings.Count(string(data), "\n") > len(whole) {
				t.Fatalf("%q: %d lines", data, len(whole))
			}
		}
	})
}
