package eval

import (
	"encoding/json"
	"fmt"
	"math"
	"math/big"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"sort"
	"strconv"
	"strings"
	"testing"
	"time"

	"sluice/batch"
	"sluice/eval/dialect"
	"sluice/fault"
	"sluice/syntax"
)

// D-19: every query of dialect's golden files gives the values that Spark gives, or fails as it does. The files say how they
// were made (eval/dialect/testdata/spark/golden.py); dialect's own tests compare the types.
func TestSparkValues(t *testing.T) {
	files, _ := filepath.Glob("dialect/testdata/spark/*.txt")
	if len(files) == 0 {
		t.Fatal("no goldens")
	}
	for _, path := range files {
		t.Run(filepath.Base(path), func(t *testing.T) {
			content, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			blocks := strings.Split(strings.Trim(string(content), "\n"), "\n\n")
			zone := "UTC"
			if z, ok := strings.CutPrefix(blocks[0], "# zone: "); ok {
				zone, blocks = z, blocks[1:]
			}
			e, err := Open(Options{Threads: 1, MemoryLimit: 1 << 28, Zone: zone})
			if err != nil {
				t.Fatal(err)
			}
			defer e.Close()
			for _, block := range blocks {
				compareWithSpark(t, e, zone, block)
			}
		})
	}
}

func compareWithSpark(t *testing.T, e *Engine, zone, block string) {
	t.Helper()
	lines := strings.Split(block, "\n")
	want, failure, ordered := []string{}, "", false
	for _, line := range lines[1:] {
		mark, rest, _ := strings.Cut(line, " ")
		switch mark {
		case "=", ">":
			want, ordered = append(want, rest), mark == ">"
		case "!":
			failure = rest
		case "!!", "refused", "differs":
			return
		}
	}
	got, near, err := sparkRows(t, e, zone, lines[0])
	switch {
	case failure != "" && err == nil:
		t.Errorf("%s\n gives %q; Spark fails with %s", lines[0], got, failure)
	case failure != "":
		if have := fault.From(err).Code.Name; !sameFailure(have, failure) {
			t.Errorf("%s\n fails with %v; Spark says %s", lines[0], err, failure)
		}
	case err != nil:
		t.Errorf("%s\n fails with %v; Spark gives %q", lines[0], err, want)
	default:
		if !ordered {
			sort.Strings(got)
		}
		if !sameRows(got, want, near) {
			t.Errorf("%s\n gives %q\n Spark: %q", lines[0], got, want)
		}
	}
}

// sameFailure compares codes without what stands behind the first dot. Spark has many codes for a number that is too large.
func sameFailure(have, want string) bool {
	family := func(s string) string {
		s, _, _ = strings.Cut(s, ".")
		switch s {
		case "ARITHMETIC_OVERFLOW", "BINARY_ARITHMETIC_OVERFLOW", "CAST_OVERFLOW", "NUMERIC_VALUE_OUT_OF_RANGE", "NUMERIC_OUT_OF_SUPPORTED_RANGE", "DATETIME_OVERFLOW":
			return "overflow"
		}
		return s
	}
	return family(have) == family(want)
}

// sparkRows runs a query without tables and prints its rows as the golden files have them. It says which columns may be near to
// what Spark gives.
func sparkRows(t *testing.T, e *Engine, zone, query string) (out []string, near []bool, err error) {
	t.Helper()
	q, problems := syntax.ParseQuery("q.sql", query)
	if len(problems) > 0 {
		return nil, nil, problems
	}
	a, problems := dialect.Analyse(q, nowhere{}, dialect.Options{Zone: zone})
	if len(problems) > 0 {
		return nil, nil, problems
	}
	near = nearColumns(t, q, a.Output)
	var p dialect.Projection
	for i, f := range a.Output {
		p.Columns = append(p.Columns, dialect.Target{Field: batch.Field{Name: fmt.Sprintf("c%d", i), Type: known(f.Type)}, From: i})
	}
	c, problems := a.Compile(p)
	if len(problems) > 0 {
		return nil, nil, problems
	}
	rows, err := e.Query(t.Context(), c, nil, time.UnixMicro(1_700_000_000_123_456))
	if err != nil {
		return nil, nil, err
	}
	defer rows.Close()
	out = []string{}
	for {
		chunk, err := rows.Next()
		if err != nil {
			return nil, nil, err
		}
		if chunk.Len == 0 {
			return out, near, nil
		}
		for i := range chunk.Len {
			cells := make([]string, len(chunk.Cols))
			for c := range chunk.Cols {
				cells[c] = cell(&chunk.Cols[c], i)
			}
			out = append(out, strings.Join(cells, " | "))
		}
	}
}

// known gives a column of nothing but NULL a type that a column can have.
func known(t batch.Type) batch.Type {
	if t.Kind == batch.Void {
		return batch.Of(batch.Int)
	}
	t.Fields = slices.Clone(t.Fields)
	for i, f := range t.Fields {
		t.Fields[i].Type = known(f.Type)
	}
	return t
}

type nowhere struct{}

func (nowhere) Relation(ref syntax.TableRef) (*dialect.Relation, *fault.Error) {
	return nil, fault.New(fault.TableNotFound, "there are no tables").At(ref.Position())
}

// cell prints a value: times in UTC, texts as JSON, bytes as X'..'.
func cell(c *batch.Column, i int) string {
	if c.IsNull(i) {
		return "NULL"
	}
	switch t := c.Type; t.Kind {
	case batch.Boolean:
		return strconv.FormatBool(batch.Values[uint8](c)[i] != 0)
	case batch.TinyInt:
		return strconv.Itoa(int(batch.Values[int8](c)[i]))
	case batch.SmallInt:
		return strconv.Itoa(int(batch.Values[int16](c)[i]))
	case batch.Int:
		return strconv.Itoa(int(batch.Values[int32](c)[i]))
	case batch.BigInt:
		return strconv.FormatInt(batch.Values[int64](c)[i], 10)
	case batch.Float:
		return fraction(float64(batch.Values[float32](c)[i]))
	case batch.Double:
		return fraction(batch.Values[float64](c)[i])
	case batch.Decimal:
		return point(unscaledOf(c, i), int(t.Scale))
	case batch.String, batch.Variant:
		return quoted(string(c.Text(i)))
	case batch.Binary:
		return fmt.Sprintf("X'%X'", c.Text(i))
	case batch.Date:
		return time.Unix(int64(batch.Values[int32](c)[i])*86400, 0).UTC().Format(time.DateOnly)
	case batch.Timestamp, batch.TimestampNTZ:
		return time.UnixMicro(batch.Values[int64](c)[i]).UTC().Format("2006-01-02 15:04:05.000000")
	case batch.Struct:
		var parts []string
		for f := range c.Children {
			parts = append(parts, t.Fields[f].Name+": "+cell(&c.Children[f], i))
		}
		return "{" + strings.Join(parts, ", ") + "}"
	}
	var parts []string
	for j := c.Offsets[i]; j < c.Offsets[i+1]; j++ {
		part := cell(&c.Children[0], int(j))
		if c.Type.Kind == batch.Map {
			part += ": " + cell(&c.Children[1], int(j))
		}
		parts = append(parts, part)
	}
	if c.Type.Kind == batch.Map {
		return "{" + strings.Join(parts, ", ") + "}"
	}
	return "[" + strings.Join(parts, ", ") + "]"
}

func unscaledOf(c *batch.Column, i int) *big.Int {
	if c.Type.Precision <= 18 {
		return big.NewInt(batch.Values[int64](c)[i])
	}
	v := batch.Values[batch.Int128](c)[i]
	n := new(big.Int).Lsh(big.NewInt(v.Hi), 64)
	return n.Add(n, new(big.Int).SetUint64(v.Lo))
}

func point(n *big.Int, scale int) string {
	s := new(big.Int).Abs(n).String()
	if scale > 0 {
		s = strings.Repeat("0", max(0, scale+1-len(s))) + s
		s = s[:len(s)-scale] + "." + s[len(s)-scale:]
	}
	if n.Sign() < 0 {
		return "-" + s
	}
	return s
}

// fraction prints as Python's repr does.
func fraction(x float64) string {
	switch {
	case math.IsNaN(x):
		return "NaN"
	case math.IsInf(x, 1):
		return "Infinity"
	case math.IsInf(x, -1):
		return "-Infinity"
	}
	if a := math.Abs(x); a != 0 && (a < 1e-4 || a >= 1e16) {
		return strconv.FormatFloat(x, 'e', -1, 64)
	}
	s := strconv.FormatFloat(x, 'f', -1, 64)
	if !strings.Contains(s, ".") {
		s += ".0"
	}
	return s
}

var beyondASCII = regexp.MustCompile(`[^\x00-\x7e]`)

// quoted prints a text as Python's json.dumps does.
func quoted(s string) string {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.Encode(s)
	return beyondASCII.ReplaceAllStringFunc(strings.TrimSuffix(b.String(), "\n"), func(r string) string {
		var out string
		for _, u := range r {
			if u > 0xffff {
				u -= 0x10000
				out += fmt.Sprintf(`\u%04x\u%04x`, 0xd800+u>>10, 0xdc00+u&0x3ff)
			} else {
				out += fmt.Sprintf(`\u%04x`, u)
			}
		}
		return out
	})
}
