package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// jsonCell is one value as JSON text, or nil for a null.
type jsonCell = json.RawMessage

// table is rows to print.
type table struct {
	columns []string
	rows    [][]jsonCell
}

// printers prints a table in each of the formats of -o.
var printers = map[string]func(io.Writer, table) error{
	"table":  printTable,
	"json":   printJSON,
	"ndjson": printNDJSON,
	"csv":    printCSV,
}

// cell returns v as JSON text.
func cell(v any) jsonCell {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		panic(err) // cells are strings, numbers and their lists
	}
	return jsonCell(bytes.TrimRight(b.Bytes(), "\n"))
}

// text is a cell as a person reads it: strings without quotes, the rest as JSON.
func text(c jsonCell) string {
	if c == nil {
		return ""
	}
	var s string
	if len(c) > 0 && c[0] == '"' && json.Unmarshal(c, &s) == nil {
		return s
	}
	return string(c)
}

func printTable(w io.Writer, t table) error {
	cells := make([][]string, 0, len(t.rows)+1)
	cells = append(cells, t.columns)
	for _, row := range t.rows {
		line := make([]string, len(row))
		for i, c := range row {
			if line[i] = printable(text(c)); c == nil {
				line[i] = "NULL"
			}
		}
		cells = append(cells, line)
	}
	widths := make([]int, len(t.columns))
	for _, line := range cells {
		for i, s := range line {
			widths[i] = max(widths[i], utf8.RuneCountInString(s))
		}
	}
	var b strings.Builder
	for n, line := range cells {
		for i, s := range line {
			if i > 0 {
				b.WriteString("  ")
			}
			b.WriteString(s)
			if i < len(line)-1 {
				b.WriteString(strings.Repeat(" ", widths[i]-utf8.RuneCountInString(s)))
			}
		}
		b.WriteByte('\n')
		if n == 0 {
			for i, width := range widths {
				if i > 0 {
					b.WriteString("  ")
				}
				b.WriteString(strings.Repeat("-", width))
			}
			b.WriteByte('\n')
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// printable replaces what would disturb a terminal.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || r >= 0x80 && r < 0xa0 || r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069 {
			return '\ufffd'
		}
		return r
	}, s)
}

// object writes one row as a JSON object with the columns in order.
func object(b *bytes.Buffer, t table, row []jsonCell) {
	b.WriteByte('{')
	for i, c := range row {
		if i > 0 {
			b.WriteByte(',')
		}
		b.Write(cell(t.columns[i]))
		b.WriteByte(':')
		if c == nil {
			b.WriteString("null")
		} else {
			b.Write(c)
		}
	}
	b.WriteByte('}')
}

func printJSON(w io.Writer, t table) error {
	b := bytes.NewBufferString("[")
	for i, row := range t.rows {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString("\n  ")
		object(b, t, row)
	}
	if len(t.rows) > 0 {
		b.WriteByte('\n')
	}
	b.WriteString("]\n")
	_, err := w.Write(b.Bytes())
	return err
}

func printNDJSON(w io.Writer, t table) error {
	var b bytes.Buffer
	for _, row := range t.rows {
		object(&b, t, row)
		b.WriteByte('\n')
	}
	_, err := w.Write(b.Bytes())
	return err
}

// printCSV writes as PostgreSQL's COPY does: NULL is nothing, a text without characters is "".
func printCSV(w io.Writer, t table) error {
	var b strings.Builder
	line := make([]jsonCell, len(t.columns))
	for i, name := range t.columns {
		line[i] = cell(name)
	}
	writeCSV(&b, line)
	for _, row := range t.rows {
		writeCSV(&b, row)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func writeCSV(b *strings.Builder, line []jsonCell) {
	for i, c := range line {
		if i > 0 {
			b.WriteByte(',')
		}
		s := text(c)
		if c != nil && s == "" || strings.ContainsAny(s, ",\"\r\n") || strings.TrimSpace(s) != s || s == `\.` {
			s = `"` + strings.ReplaceAll(s, `"`, `""`) + `"`
		}
		b.WriteString(s)
	}
	b.WriteByte('\n')
}

// print prints t in the format the user asked for.
func (a *app) print(t table) error {
	if err := printers[a.output](a.out, t); err != nil {
		return fmt.Errorf("printing: %w", err)
	}
	return nil
}
