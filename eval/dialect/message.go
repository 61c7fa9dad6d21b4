package dialect

import (
	"regexp"
	"strings"
)

// rewordings say in Spark's words what DuckDB says about a value that does not fit.
var rewordings = []struct {
	pattern *regexp.Regexp
	text    string
}{
	{regexp.MustCompile(`^Type \w+ with value (.+) can't be cast because the value is out of range for the destination type (\w+)`), "the value $1 is outside the range of $2"},
	{regexp.MustCompile(`^Failed to cast decimal value (.+) to type (\w+)`), "the value $1 is outside the range of $2"},
	{regexp.MustCompile(`^Could not cast value (.+) to (DECIMAL\(\d+,\d+\))`), "the value $1 has too many digits for $2"},
	{regexp.MustCompile(`^Could not convert string ["']([-+.eE0-9]+)["'] to (DECIMAL\(\d+,\d+\))`), "the value $1 has too many digits for $2"},
	{regexp.MustCompile(`^Could not convert string ["'](.*)["'] to (DECIMAL\(\d+,\d+\))`), "the value $1 has too many digits for $2, or is no number"},
	{regexp.MustCompile(`^Casting value "(.+)" to type (DECIMAL\(\d+,\d+\)) failed: value is out of range`), "the value $1 has too many digits for $2"},
	{regexp.MustCompile(`(?s)^Could not convert string ["'](.*)["'] to (\w+)`), "the value '$1' of the type STRING cannot be cast to $2"},
	{regexp.MustCompile(`^Overflow in \w+ of DECIMAL\((\d+)\) \((.+)\)[!;.]`), "$2, without their points, has more than $1 digits"},
	{regexp.MustCompile(`^Overflow in \w+ of (\w+) \((.+)\)[!;.]`), "$2 is outside the range of $1"},
	{regexp.MustCompile(`^Overflow in division of (.+)`), "$1 is outside the range of its type"},
	{regexp.MustCompile(`^Overflow in negation of .*`), "the negative of the smallest number is outside the range of its type"},
	{regexp.MustCompile(`^Overflow on (abs\(.+\)).*`), "$1 is outside the range of its type"},
	{regexp.MustCompile(`^(?:date|timestamp) field value out of range: "(.*)"`), "the value '$1' is no day or time that exists"},
	{regexp.MustCompile(`^Date out of range: (.*)`), "there is no day $1"},
	{regexp.MustCompile(`^Date out of range$`), "the day is outside the range of DATE"},
	{regexp.MustCompile(`^Timestamp microseconds out of range: (.*)`), "$1 microseconds are outside the range of TIMESTAMP"},
	{regexp.MustCompile(`^Date and time not in timestamp range.*`), "the time is outside the range of TIMESTAMP"},
	{regexp.MustCompile(`^Cannot create a string of size: '(\d+)'.*`), "a text of $1 bytes is longer than one value may be"},
	{regexp.MustCompile(`^(\w+) is out of range!`), "the result of $1 is outside the range of DOUBLE"},
	{regexp.MustCompile(`^More than one row returned by a subquery.*`), "the subquery in the place of a value has more than one row"},
	{regexp.MustCompile(`^Cannot left-shift.*`), "the result of the shift is outside the range of its type"},
	{regexp.MustCompile(`^Failure in decode: .*`), "the bytes are no UTF-8"},
	{regexp.MustCompile(`^Map keys must be unique.*`), "the map has a key twice"},
	{regexp.MustCompile(`^Map keys can not be NULL.*`), "a key of the map is NULL"},
}

// sparkTypes are Spark's names of DuckDB's types.
var sparkTypes = strings.NewReplacer("INT8", "TINYINT", "INT16", "SMALLINT", "INT32", "INT", "INT64", "BIGINT")

// reworded is the message of DuckDB's in Spark's words.
func reworded(message string) string {
	for _, r := range rewordings {
		if at := r.pattern.FindStringSubmatchIndex(message); at != nil {
			words := strings.Split(r.text, "$") // names of types are not looked for inside values
			out := words[0]
			for _, word := range words[1:] {
				n := int(word[0] - '0')
				group := message[at[2*n]:at[2*n+1]]
				if sparkTypes.Replace(group) != group && len(group) <= len("INT32") {
					group = sparkTypes.Replace(group)
				}
				out += group + word[1:]
			}
			return out
		}
	}
	return message
}
