package cron

import (
	"slices"
	"strconv"
	"strings"
)

// field is one of the fields of an expression that are a set of numbers.
type field struct {
	name        string
	least, most int
	step        int      // at most
	names       []string // of the numbers from least on; none when nil
	round       bool     // a range may go over the end
}

var (
	seconds  = field{name: "second", most: 59, step: 59, round: true}
	minutes  = field{name: "minute", most: 59, step: 59, round: true}
	hours    = field{name: "hour", most: 23, step: 23, round: true}
	days     = field{name: "day of month", least: 1, most: 31, step: 31, round: true}
	months   = field{name: "month", least: 1, most: 12, step: 12, round: true, names: []string{"JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC"}}
	weekdays = field{name: "day of week", least: 1, most: 7, step: 7, round: true, names: []string{"SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"}}
	years    = field{name: "year", least: 1970, most: 2099, step: 129}
)

// set is a set of numbers, by their distance from the least one of their field.
type set struct {
	least int
	in    []bool
}

func (s set) has(n int) bool { return n >= s.least && n-s.least < len(s.in) && s.in[n-s.least] }

// next is the first number at or after n, or -1.
func (s set) next(n int) int {
	for ; n-s.least < len(s.in); n++ {
		if s.has(n) {
			return n
		}
	}
	return -1
}

func (s set) count() (n int) {
	for _, in := range s.in {
		if in {
			n++
		}
	}
	return n
}

// parse reads a list of numbers, names, ranges and steps.
func (f *field) parse(text string) (set, error) {
	out := set{least: f.least, in: make([]bool, f.most-f.least+1)}
	for _, item := range strings.Split(text, ",") {
		first, last, step, err := f.item(item)
		if err != nil {
			return set{}, err
		}
		if last < first {
			last += len(out.in)
		}
		for n := first; n <= last; n += step {
			out.in[(n-f.least)%len(out.in)] = true
		}
	}
	return out, nil
}

// item reads one part of a list: *, a number, or a range, each with a step or without one. A number with a step goes on to the end.
func (f *field) item(text string) (first, last, step int, err error) {
	span, every, stepped := strings.Cut(text, "/")
	step = 1
	if stepped {
		if step, err = number(every); err != nil || step < 1 || step > f.step {
			return 0, 0, 0, wrong("", "the %s %q has the step %q, which is none from 1 to %d", f.name, text, every, f.step)
		}
	}
	if span == "*" || span == "" && stepped {
		return f.least, f.most, step, nil
	}
	from, to, ranged := strings.Cut(span, "-")
	if stepped && slices.Contains(f.names, from) {
		return 0, 0, 0, wrong("write numbers in place of the names", "the %s %q is a name with a step, and Quartz takes no notice of that", f.name, text)
	}
	if first, err = f.value(from); err != nil {
		return 0, 0, 0, err
	}
	switch {
	case ranged:
		last, err = f.value(to)
	case stepped:
		last = f.most
	default:
		last = first
	}
	if err == nil && last < first && !f.round {
		err = wrong("", "the %s %q ends before it begins", f.name, text)
	}
	return first, last, step, err
}

// value reads a number of the field or a name of one.
func (f *field) value(text string) (int, error) {
	if i := slices.Index(f.names, text); i >= 0 {
		return f.least + i, nil
	}
	n, err := number(text)
	if err != nil || n < f.least || n > f.most {
		hint := ""
		switch {
		case text == "?":
			hint = "? stands for the day of the month or the day of the week only; write *"
		case f.names != nil:
			hint = "its names are " + strings.Join(f.names, ", ")
		}
		return 0, wrong(hint, "%q is no %s: it is a number from %d to %d", text, f.name, f.least, f.most)
	}
	return n, nil
}

// number reads digits and nothing else, as strconv.Atoi does not.
func number(text string) (int, error) {
	n, err := strconv.ParseUint(text, 10, 16)
	return int(n), err
}
