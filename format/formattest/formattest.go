// Package formattest lets tests of formats write schemas and rows as text: Fields reads a column list as a user would
// write it, Rows prints columns so that every value is told apart from every other. It shares no code with the formats, so
// that a mistake of theirs does not hide in it.
package formattest

import (
	"fmt"
	"math/big"
	"strconv"
	"strings"
	"testing"
	"time"

	"sluice/batch"
	"sluice/format"
)

// Fields reads "a BIGINT NOT NULL, b STRUCT<c: DECIMAL(10,2)>, `D` STRING" and says which names are in backticks.
func Fields(t testing.TB, ddl string) (fields []batch.Field, quoted []bool) {
	t.Helper()
	p := parser{t: t, rest: strings.TrimSpace(ddl)}
	for p.rest != "" {
		f, q := p.field()
		fields, quoted = append(fields, f), append(quoted, q)
		if p.rest != "" {
			p.want(",")
		}
	}
	return fields, quoted
}

type parser struct {
	t    testing.TB
	rest string
}

func (p *parser) take(s string) bool {
	if len(p.rest) < len(s) || !strings.EqualFold(p.rest[:len(s)], s) {
		return false
	}
	p.rest = strings.TrimSpace(p.rest[len(s):])
	return true
}

func (p *parser) want(s string) {
	p.t.Helper()
	if !p.take(s) {
		p.t.Fatalf("schema: want %q before %q", s, p.rest)
	}
}

func (p *parser) word() string {
	n := 0
	for n < len(p.rest) && (p.rest[n] == '_' || p.rest[n]|32 >= 'a' && p.rest[n]|32 <= 'z' || p.rest[n] >= '0' && p.rest[n] <= '9') {
		n++
	}
	w := p.rest[:n]
	p.rest = strings.TrimSpace(p.rest[n:])
	return w
}

func (p *parser) field() (f batch.Field, quoted bool) {
	if strings.HasPrefix(p.rest, "`") {
		name, rest, _ := strings.Cut(p.rest[1:], "`")
		f.Name, p.rest, quoted = name, strings.TrimSpace(rest), true
	} else {
		f.Name = p.word()
	}
	p.take(":")
	f.Type = p.typ()
	if p.take("NOT") {
		p.want("NULL")
		f.NotNull = true
	}
	return f, quoted
}

func (p *parser) typ() batch.Type {
	switch w := strings.ToUpper(p.word()); w {
	case "DECIMAL":
		p.want("(")
		precision, _ := strconv.Atoi(p.word())
		p.want(",")
		scale, _ := strconv.Atoi(p.word())
		p.want(")")
		return batch.DecimalOf(precision, scale)
	case "ARRAY":
		p.want("<")
		element := p.typ()
		p.want(">")
		return batch.ArrayOf(element)
	case "MAP":
		p.want("<")
		key := p.typ()
		p.want(",")
		value := p.typ()
		p.want(">")
		return batch.MapOf(key, value)
	case "STRUCT":
		p.want("<")
		var members []batch.Field
		for !p.take(">") {
			f, _ := p.field()
			members = append(members, f)
			p.take(",")
		}
		return batch.StructOf(members...)
	default:
		for k := batch.Void; k <= batch.Variant; k++ {
			if k.String() == w {
				return batch.Of(k)
			}
		}
		p.t.Fatalf("schema: no type %q before %q", w, p.rest)
	}
	panic("unreachable")
}

// Builders returns a builder per field.
func Builders(fields []batch.Field, rows int) []batch.Builder {
	out := make([]batch.Builder, len(fields))
	for i, f := range fields {
		out[i].Init(f.Type, rows)
	}
	return out
}

// Columns returns what the builders of fields hold.
func Columns(t testing.TB, fields []batch.Field, built []batch.Builder) batch.Columns {
	t.Helper()
	out := batch.Columns{Fields: fields}
	for i := range built {
		out.Cols = append(out.Cols, built[i].Column())
		out.Len = out.Cols[0].Len
		check(t, fields[i].Name, &out.Cols[i], out.Len)
	}
	return out
}

// check checks that a column and its children have the rows they must have.
func check(t testing.TB, path string, c *batch.Column, rows int) {
	t.Helper()
	if c.Len != rows {
		t.Fatalf("column %s has %d rows, want %d", path, c.Len, rows)
	}
	if c.Offsets != nil && len(c.Offsets) != rows+1 {
		t.Fatalf("column %s has %d offsets, want %d", path, len(c.Offsets), rows+1)
	}
	inner := rows
	if c.Type.Kind == batch.Array || c.Type.Kind == batch.Map {
		inner = int(c.Offsets[rows])
	}
	for i := range c.Children {
		check(t, path+"."+c.Type.Fields[i].Name, &c.Children[i], inner)
	}
}

// Rows prints each row, columns separated by " | ".
func Rows(c batch.Columns) []string {
	out := make([]string, c.Len)
	for i := range out {
		parts := make([]string, len(c.Cols))
		for f := range c.Cols {
			parts[f] = Value(&c.Cols[f], i)
		}
		out[i] = strings.Join(parts, " | ")
	}
	return out
}

// Decoded prints what each of n records became: a row, what is wrong with it, or both.
func Decoded(t testing.TB, fields []batch.Field, built []batch.Builder, bad []format.BadValue, n int) string {
	t.Helper()
	rows := Rows(Columns(t, fields, built))
	var out strings.Builder
	for i := range n {
		if len(bad) > 0 && bad[0].Index == i {
			fmt.Fprintf(&out, "bad: %v\n", bad[0].Err)
			kept := bad[0].Kept
			if bad = bad[1:]; !kept {
				continue
			}
			out.WriteString("  kept: ")
		}
		if len(rows) == 0 {
			t.Fatalf("there is no row for record %d", i)
		}
		out.WriteString(rows[0] + "\n")
		rows = rows[1:]
	}
	if len(rows) > 0 || len(bad) > 0 {
		t.Fatalf("%d rows and %d bad records too many", len(rows), len(bad))
	}
	return out.String()
}

// Value prints row i of a column.
func Value(c *batch.Column, i int) string {
	if c.IsNull(i) {
		return "NULL"
	}
	switch c.Type.Kind {
	case batch.Boolean:
		return fmt.Sprint(batch.Values[uint8](c)[i] == 1)
	case batch.TinyInt:
		return fmt.Sprint(batch.Values[int8](c)[i])
	case batch.SmallInt:
		return fmt.Sprint(batch.Values[int16](c)[i])
	case batch.Int:
		return fmt.Sprint(batch.Values[int32](c)[i])
	case batch.BigInt:
		return fmt.Sprint(batch.Values[int64](c)[i])
	case batch.Float:
		return fmt.Sprint(batch.Values[float32](c)[i])
	case batch.Double:
		return fmt.Sprint(batch.Values[float64](c)[i])
	case batch.Decimal:
		return decimal(c, i)
	case batch.Date:
		return time.Unix(int64(batch.Values[int32](c)[i])*86400, 0).UTC().Format("2006-01-02")
	case batch.Timestamp:
		return time.UnixMicro(batch.Values[int64](c)[i]).UTC().Format("2006-01-02 15:04:05.999999Z")
	case batch.TimestampNTZ:
		return time.UnixMicro(batch.Values[int64](c)[i]).UTC().Format("2006-01-02 15:04:05.999999")
	case batch.Binary:
		return fmt.Sprintf("X'%X'", c.Text(i))
	case batch.String:
		return strconv.Quote(string(c.Text(i)))
	case batch.Variant:
		return string(c.Text(i))
	}
	return nested(c, i)
}

func decimal(c *batch.Column, i int) string {
	v := new(big.Int)
	if c.Type.Width() == 8 {
		v.SetInt64(batch.Values[int64](c)[i])
	} else {
		wide := batch.Values[batch.Int128](c)[i]
		v.Lsh(big.NewInt(wide.Hi), 64)
		v.Add(v, new(big.Int).SetUint64(wide.Lo))
	}
	scale := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(c.Type.Scale)), nil)
	return new(big.Rat).SetFrac(v, scale).FloatString(int(c.Type.Scale))
}

func nested(c *batch.Column, i int) string {
	var parts []string
	switch c.Type.Kind {
	case batch.Struct:
		for f := range c.Children {
			parts = append(parts, c.Type.Fields[f].Name+"="+Value(&c.Children[f], i))
		}
		return "{" + strings.Join(parts, ", ") + "}"
	case batch.Array:
		for j := c.Offsets[i]; j < c.Offsets[i+1]; j++ {
			parts = append(parts, Value(&c.Children[0], int(j)))
		}
		return "[" + strings.Join(parts, ", ") + "]"
	}
	for j := c.Offsets[i]; j < c.Offsets[i+1]; j++ {
		parts = append(parts, Value(&c.Children[0], int(j))+": "+Value(&c.Children[1], int(j)))
	}
	return "map(" + strings.Join(parts, ", ") + ")"
}
