package model

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Value is a value of a column: nil for NULL, else an int64, float64, string or bool.
type Value = any

// Row is the values of a row, one for each column.
type Row []Value

// compare orders two values of one type: strings by their bytes, NaN above everything, -0.0 equal to 0.0 (D-36).
func compare(a, b Value) int {
	switch a := a.(type) {
	case int64:
		return cmp.Compare(a, b.(int64))
	case string:
		return strings.Compare(a, b.(string))
	case bool:
		return cmp.Compare(number(a), number(b.(bool)))
	}
	x, y := a.(float64), b.(float64)
	switch {
	case math.IsNaN(x) && math.IsNaN(y):
		return 0
	case math.IsNaN(x):
		return 1
	case math.IsNaN(y):
		return -1
	}
	return cmp.Compare(x, y)
}

func number(b bool) int {
	if b {
		return 1
	}
	return 0
}

// sameKey reports whether two keys are one: null matches null, column by column (RU-08, RU-09).
func sameKey(a, b []Value) bool {
	return slices.EqualFunc(a, b, func(x, y Value) bool {
		if x == nil || y == nil {
			return x == nil && y == nil
		}
		return compare(x, y) == 0
	})
}

// Text is the row as a line: values with blanks between them, a string in quotes where it would not be clear without.
func (r Row) Text() string {
	var parts []string
	for _, v := range r {
		parts = append(parts, text(v))
	}
	return strings.Join(parts, " ")
}

func text(v Value) string {
	switch v := v.(type) {
	case int64:
		return strconv.FormatInt(v, 10)
	case bool:
		return strconv.FormatBool(v)
	case float64:
		return number64(v)
	case string:
		if v == "" || v == "NULL" || strings.ContainsAny(v, " \t\n\"") {
			return strconv.Quote(v)
		}
		return v
	}
	return "NULL"
}

// number64 is the shortest text that reads back as the same number, with a point or an exponent.
func number64(v float64) string {
	form := byte('f')
	if abs := math.Abs(v); abs != 0 && (abs < 1e-6 || abs >= 1e21) {
		form = 'e'
	}
	s := strconv.FormatFloat(v, form, -1, 64)
	if form == 'f' && !strings.Contains(s, ".") && !math.IsInf(v, 0) && !math.IsNaN(v) {
		s += ".0"
	}
	return s
}
