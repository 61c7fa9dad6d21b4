package dialect

import (
	"fmt"
	"regexp"
	"strings"

	"sluice/batch"
	"sluice/fault"
)

// raise writes an expression of type typ that fails with the given code. message is SQL for a VARCHAR; the expression is
// NULL where it is NULL.
//
// DuckDB's error() would be the plain way, but it counts as volatile, and TRY, which guards the checks of a flow (D-49),
// refuses volatile functions. A cast of the message to a number fails as well.
func raise(code *fault.Code, message string, typ batch.Type) string {
	message = fmt.Sprintf("'[%s] ' || %s", code.Name, message)
	switch {
	case typ.IsText() || typ.IsNested():
		return fmt.Sprintf("CASE WHEN CAST(%s AS INTEGER) IS NULL THEN NULL END", message)
	case typ.Kind == batch.Void:
		return fmt.Sprintf("CAST(%s AS INTEGER)", message)
	}
	return fmt.Sprintf("CAST(%s AS %s)", message, duckType(typ))
}

// RuntimeCode finds the code of an error that DuckDB raised while it ran a compiled query: the code that raise put into
// the message, or the one that DuckDB's own message stands for. It returns nil for all other messages.
func RuntimeCode(message string) *fault.Code {
	if code, _, _ := raised(message); code != nil {
		return code
	}
	if tooManyDigits.MatchString(message) {
		return fault.NumericOutOfRange
	}
	for _, m := range runtimeMessages {
		if strings.Contains(message, m.text) {
			return m.code
		}
	}
	return nil
}

// tooManyDigits is what DuckDB says about a text that is a number but does not fit a DECIMAL.
var tooManyDigits = regexp.MustCompile(`Could not convert string "[ \t-\r]*[+-]?([0-9]+[.]?[0-9]*|[.][0-9]+)([eE][+]?[0-9]+)?[ \t-\r]*" to DECIMAL`)

// RuntimeMessage is the part of DuckDB's message that is for people: what raise put into it, else the message in Spark's words.
func RuntimeMessage(message string) string {
	if code, start, end := raised(message); code != nil {
		return message[start:end]
	}
	return reworded(message)
}

// RaisedMessage is a message from which RuntimeCode and RuntimeMessage get code and text.
func RaisedMessage(code *fault.Code, text string) string {
	return fmt.Sprintf("'[%s] %s'", code.Name, text)
}

// raised finds a message of raise inside a message of DuckDB, and where the text behind the code stands.
func raised(message string) (code *fault.Code, start, end int) {
	for _, c := range raisedCodes {
		mark := "[" + c.Name + "] "
		i := strings.Index(message, mark)
		if i < 1 || message[i-1] != '\'' && message[i-1] != '"' {
			continue // a value that happens to hold such a text stands elsewhere
		}
		start = i + len(mark)
		end = strings.LastIndexByte(message, message[i-1])
		if end < start {
			end = len(message)
		}
		return c, start, end
	}
	return nil, 0, 0
}

// raisedCodes are the codes that raise puts into a message.
var raisedCodes = []*fault.Code{fault.DivideByZero, fault.RemainderByZero, fault.ArithmeticOverflow, fault.NumericOutOfRange,
	fault.CastInvalidInput, fault.CastOverflow, fault.CannotParseTime, fault.DatetimeOutOfBounds, fault.InvalidArrayIndex,
	fault.InvalidElementIndex, fault.IndexOfZero, fault.InvalidParameter, fault.ConversionInvalid, fault.IllegalDayOfWeek, fault.InvalidFraction, fault.DuplicateMapKey, fault.NullMapKey,
	fault.OutOfMemory} // the last by functions of eval

// runtimeMessages are texts by which DuckDB 1.5.6 says what is wrong with a value. The first that a message holds counts.
var runtimeMessages = []struct {
	text string
	code *fault.Code
}{
	{"Overflow in addition of DECIMAL", fault.NumericOutOfRange},
	{"Overflow in subtract of DECIMAL", fault.NumericOutOfRange},
	{"Overflow in multiplication of DECIMAL", fault.NumericOutOfRange},
	{"Overflow in ", fault.ArithmeticOverflow},
	{"Overflow on ", fault.ArithmeticOverflow},
	{"Cannot left-shift", fault.ArithmeticOverflow},
	{"Type INT128 with value", fault.ArithmeticOverflow}, // a sum, which DuckDB keeps in 128 bits
	{"Casting value ", fault.NumericOutOfRange},
	{"Could not cast value ", fault.NumericOutOfRange},
	{"Failed to cast decimal value", fault.CastOverflow},
	{"out of range for the destination type", fault.CastOverflow},
	{"can't be cast because the value is out of range", fault.CastOverflow},
	{"Could not convert string", fault.CastInvalidInput},
	{"invalid date field format", fault.CastInvalidInput},
	{"date field value out of range", fault.CastInvalidInput},
	{"invalid timestamp field format", fault.CastInvalidInput},
	{"timestamp field value out of range", fault.CastInvalidInput},
	{"Failure in decode", fault.CastInvalidInput},
	{"Date out of range", fault.DatetimeOutOfBounds},
	{"Date and time not in timestamp range", fault.DatetimeOutOfBounds},
	{"Timestamp microseconds out of range", fault.DatetimeOutOfBounds},
	{"Could not parse string", fault.CannotParseTime},
	{"Map keys must be unique", fault.DuplicateMapKey},
	{"Map keys can not be NULL", fault.NullMapKey},
	{"Cannot create a string of size", fault.ArithmeticOverflow},
	{" is out of range!", fault.ArithmeticOverflow}, // an aggregate of DOUBLE
	{"More than one row returned by a subquery", fault.SubqueryTooManyRows},
}
