package scenario

import (
	"bytes"
	"encoding/json"
	"strings"
)

// cells writes the values of a JSON array or object (or a single value) with blanks between them: a text bare where that
// is clear.
func cells(line string) string {
	dec := json.NewDecoder(strings.NewReader(line))
	open, err := dec.Token()
	delim, nested := open.(json.Delim)
	if err != nil || !nested {
		return cell(json.RawMessage(strings.TrimSpace(line)))
	}
	var out []string
	for dec.More() {
		if delim == '{' {
			if _, err := dec.Token(); err != nil {
				return line
			}
		}
		var value json.RawMessage
		if err := dec.Decode(&value); err != nil {
			return line
		}
		out = append(out, cell(value))
	}
	return strings.Join(out, " ")
}

// cell is one value: NULL, or the JSON of it, without quotes when it is one word.
func cell(value json.RawMessage) string {
	if bytes.Equal(value, []byte("null")) {
		return "NULL"
	}
	var text string
	if json.Unmarshal(value, &text) != nil || text == "" || text == "NULL" || strings.ContainsAny(text, " \t\n\"") {
		return string(value)
	}
	return text
}
