package eval

import (
	"bytes"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"sluice/batch"
	"sluice/eval/dialect"
	"sluice/fault"
	"sluice/syntax"
)

// pairsOf is a relation t of the columns i, a and b, the latter of one type.
type pairsOf batch.Type

func (p pairsOf) fields() []batch.Field {
	return []batch.Field{field("i", bigint), field("a", batch.Type(p)), field("b", batch.Type(p))}
}

func (p pairsOf) Relation(syntax.TableRef) (*dialect.Relation, *fault.Error) {
	return &dialect.Relation{Name: "t", Handle: "t", Fields: p.fields()}, nil
}

// query runs SQL over the rows of t.
func (p pairsOf) query(t *testing.T, e *Engine, rows *batch.Columns, sql string) batch.Columns {
	t.Helper()
	c, problems := p.compile(sql)
	if len(problems) > 0 {
		t.Fatalf("%s: %v", batch.Type(p), problems)
	}
	out, err := prepare(t, e, c).Run(t.Context(), []Input{{Batch: rows}}, batchTime)
	if err != nil {
		t.Fatalf("%s: %s: %v", batch.Type(p), sql, err)
	}
	return out.Rows
}

func (p pairsOf) compile(sql string) (*dialect.Compiled, fault.List) {
	q, problems := syntax.ParseQuery("q.sql", sql)
	if len(problems) > 0 {
		return nil, problems
	}
	a, problems := dialect.Analyse(q, p, dialect.Options{})
	if len(problems) > 0 {
		return nil, problems
	}
	var out dialect.Projection
	for i, f := range a.Output {
		out.Columns = append(out.Columns, dialect.Target{Field: f, From: i})
	}
	return a.Compile(out)
}

// appendEdge appends a value at an edge of a type: those whose order or equality goes wrong, and few enough to meet each other.
func appendEdge(b *batch.Builder, r *rand.Rand) {
	if r.IntN(6) == 0 {
		b.AppendNull()
		return
	}
	floats := []float64{math.NaN(), math.Float64frombits(0xfff8000000000001), math.Inf(1), math.Inf(-1), 0, math.Copysign(0, -1), 1, -1}
	switch t := b.Type; t.Kind {
	case batch.Boolean:
		b.AppendBool(r.IntN(2) == 0)
	case batch.Float:
		batch.Append(b, float32(floats[r.IntN(len(floats))]))
	case batch.Double:
		batch.Append(b, floats[r.IntN(len(floats))])
	case batch.String:
		b.AppendString([]string{"", "a", "a\x00", "a\x00b", "ab", "A", "é", "e\u0301", "\U0001F600", "\uffff", "aaaaaaaaaaaaa", "aaaaaaaaaaaab"}[r.IntN(12)])
	case batch.Binary:
		b.AppendString([]string{"", "\x00", "\x00\x00", "\x7f", "\x80", "\xff\x01", "\xfe\x01"}[r.IntN(7)])
	case batch.Struct:
		for i := range t.Fields {
			appendEdge(b.Child(i), r)
		}
		b.AppendNested()
	case batch.Array:
		for range r.IntN(3) {
			appendEdge(b.Child(0), r)
		}
		b.AppendNested()
	default:
		b.AppendInt(int64(r.IntN(5) - 2))
	}
}

// drawPairs makes rows of t, and the key bytes of a and b in each.
func (p pairsOf) drawPairs(n int) (rows *batch.Columns, a, b batch.Keys) {
	r := rand.New(rand.NewPCG(3, uint64(p.Kind)))
	i, x, y := ints(), batch.NewBuilder(batch.Type(p), n), batch.NewBuilder(batch.Type(p), n)
	for row := range n {
		i.AppendInt(int64(row))
		appendEdge(x, r)
		appendEdge(y, r)
	}
	rows = columns(p.fields(), i, x, y)
	batch.EncodeKeys(&a, &rows.Cols[1])
	batch.EncodeKeys(&b, &rows.Cols[2])
	return rows, a, b
}

var nestedTypes = []batch.Type{
	batch.StructOf(field("x", double), field("y", str)), batch.ArrayOf(double), batch.ArrayOf(batch.StructOf(field("x", batch.Of(batch.Float)))),
	batch.StructOf(field("x", batch.ArrayOf(bigint)), field("y", batch.StructOf(field("z", batch.DecimalOf(20, 2))))),
}

// orderedTypes are those that SQL puts in order.
func orderedTypes() (out []batch.Type) {
	for _, typ := range everyType {
		if !typ.IsNested() && typ.Orderable() {
			out = append(out, typ)
		}
	}
	return out
}

// D-36, A-14, A-26, A-27, A-28: comparisons of SQL agree with the bytes of keys.
func TestComparisonsAreThoseOfKeys(t *testing.T) {
	e := open(t, 1)
	for _, typ := range orderedTypes() {
		p := pairsOf(typ)
		rows, a, b := p.drawPairs(400)
		got := p.query(t, e, rows, `SELECT a < b AS lt, a <= b AS le, a = b AS eq, a > b AS gt, a <=> b AS same, a IN (b) AS isin FROM t ORDER BY i`)
		for i := range rows.Len {
			order := bytes.Compare(a.At(i), b.At(i))
			null := rows.Cols[1].IsNull(i) || rows.Cols[2].IsNull(i)
			for c, want := range []bool{order < 0, order <= 0, order == 0, order > 0, order == 0, order == 0} {
				col := &got.Cols[c]
				if name := got.Fields[c].Name; name != "same" && null {
					if !col.IsNull(i) {
						t.Errorf("%s: %s of %s and %s is not NULL", typ, name, show(&rows.Cols[1], i), show(&rows.Cols[2], i))
					}
				} else if col.IsNull(i) || (batch.Values[uint8](col)[i] != 0) != want {
					t.Errorf("%s: %s of %s and %s is not %v", typ, name, show(&rows.Cols[1], i), show(&rows.Cols[2], i), want)
				}
			}
		}
	}
}

// D-36: ORDER BY, min, max, greatest, least, GROUP BY and DISTINCT agree with the bytes of keys.
func TestOrderIsThatOfKeys(t *testing.T) {
	e := open(t, 1)
	for _, typ := range orderedTypes() {
		p := pairsOf(typ)
		rows, keys, b := p.drawPairs(400)
		encoded := func(sql string, column int) [][]byte {
			t.Helper()
			out := p.query(t, e, rows, sql)
			var k batch.Keys
			batch.EncodeKeys(&k, &out.Cols[column])
			var all [][]byte
			for i := range k.Len() {
				all = append(all, k.At(i))
			}
			return all
		}
		var sorted [][]byte
		for i := range keys.Len() {
			sorted = append(sorted, keys.At(i))
		}
		slices.SortStableFunc(sorted, bytes.Compare)
		distinct := slices.CompactFunc(slices.Clone(sorted), bytes.Equal)
		expect := func(what string, got, want [][]byte) {
			t.Helper()
			if !slices.EqualFunc(got, want, bytes.Equal) {
				t.Errorf("%s: %s: got %x, want %x", typ, what, got, want)
			}
		}
		expect("ORDER BY", encoded(`SELECT a FROM t ORDER BY a`, 0), sorted)
		expect("DISTINCT", encoded(`SELECT DISTINCT a FROM t ORDER BY a`, 0), distinct)
		expect("GROUP BY", encoded(`SELECT a, count(*) FROM t GROUP BY a ORDER BY a`, 0), distinct)
		first := slices.IndexFunc(sorted, func(k []byte) bool { return k[0] != 1 }) // the lowest that is not null
		expect("min", encoded(`SELECT min(a) FROM t`, 0), sorted[first:first+1])
		expect("max", encoded(`SELECT max(a) FROM t`, 0), sorted[len(sorted)-1:])
		slices.Reverse(sorted)
		expect("ORDER BY DESC", encoded(`SELECT a FROM t ORDER BY a DESC`, 0), sorted)
		var most, least [][]byte
		for i := range keys.Len() {
			low, high := keys.At(i), b.At(i)
			if bytes.Compare(low, high) > 0 {
				low, high = high, low
			}
			if low[0] == 1 { // greatest and least leave nulls out
				low = high
			}
			most, least = append(most, high), append(least, low)
		}
		expect("greatest", encoded(`SELECT greatest(a, b) AS v FROM t ORDER BY i`, 0), most)
		expect("least", encoded(`SELECT least(a, b) AS v FROM t ORDER BY i`, 0), least)
	}
}

// D-36: structs and arrays are compared for equality as keys are, a null inside being equal to a null, and refused where an
// order is asked for; MAP and VARIANT are refused everywhere.
func TestNestedValuesAreComparedAsKeysOrRefused(t *testing.T) {
	e := open(t, 1)
	for _, typ := range nestedTypes {
		p := pairsOf(typ)
		rows, a, b := p.drawPairs(400)
		got := p.query(t, e, rows, `SELECT a = b AS eq, a <=> b AS same FROM t ORDER BY i`)
		equal, differ := 0, 0
		for i := range rows.Len {
			want := bytes.Equal(a.At(i), b.At(i))
			null := rows.Cols[1].IsNull(i) || rows.Cols[2].IsNull(i)
			if want {
				equal++
			} else {
				differ++
			}
			for c := range got.Cols {
				col := &got.Cols[c]
				if c == 0 && null {
					if !col.IsNull(i) {
						t.Errorf("%s: %s = %s is not NULL", typ, show(&rows.Cols[1], i), show(&rows.Cols[2], i))
					}
				} else if col.IsNull(i) || (batch.Values[uint8](col)[i] != 0) != want {
					t.Errorf("%s: %s of %s and %s is not %v", typ, got.Fields[c].Name, show(&rows.Cols[1], i), show(&rows.Cols[2], i), want)
				}
			}
		}
		if equal == 0 || differ == 0 {
			t.Errorf("%s: %d pairs are equal and %d are not", typ, equal, differ)
		}
		groups := p.query(t, e, rows, `SELECT a, count(*) FROM t GROUP BY a`)
		distinct := map[string]bool{}
		for i := range a.Len() {
			distinct[string(a.At(i))] = true
		}
		if groups.Len != len(distinct) {
			t.Errorf("%s: %d groups, want %d", typ, groups.Len, len(distinct))
		}
	}
	ordering := []string{"a < b", "a >= b", "greatest(a, b)", "min(a)", "max(a)", "a BETWEEN b AND b"}
	for _, typ := range append(slices.Clone(nestedTypes), batch.Of(batch.Variant), batch.MapOf(str, bigint), batch.StructOf(field("m", batch.MapOf(str, str)))) {
		for _, expr := range ordering {
			if _, problems := pairsOf(typ).compile("SELECT " + expr + " AS v FROM t"); len(problems) == 0 {
				t.Errorf("%s is taken for %s", expr, typ)
			}
		}
		if _, problems := pairsOf(typ).compile("SELECT i FROM t ORDER BY a"); len(problems) == 0 {
			t.Errorf("ORDER BY is taken for %s", typ)
		}
		if typ.Orderable() {
			continue
		}
		for _, sql := range []string{"SELECT a = b AS v FROM t", "SELECT a <=> b AS v FROM t", "SELECT a IN (b) AS v FROM t", "SELECT DISTINCT a FROM t", "SELECT a, count(*) FROM t GROUP BY a",
			"SELECT count(DISTINCT a) FROM t", "SELECT a FROM t UNION SELECT b FROM t", "SELECT row_number() OVER (PARTITION BY a ORDER BY i) AS v FROM t",
			"SELECT collect_list(DISTINCT a) AS v FROM t", "SELECT count(DISTINCT i, a) AS v FROM t", "SELECT x.i FROM t x JOIN t y USING (a)", "SELECT i FROM t x NATURAL JOIN t y", "SELECT i FROM t WHERE a IN (SELECT b FROM t)",
			"SELECT nullif(a, b) AS v FROM t", "SELECT CASE a WHEN b THEN 1 END AS v FROM t", "SELECT array_contains(array(a), b) AS v FROM t", "SELECT a FROM t INTERSECT SELECT b FROM t", "SELECT a IS DISTINCT FROM b AS v FROM t"} {
			if _, problems := pairsOf(typ).compile(sql); len(problems) == 0 {
				t.Errorf("%s is taken for %s", sql, typ)
			}
		}
	}
}
