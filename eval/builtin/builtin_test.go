package builtin

import (
	"bytes"
	"math"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"sluice/batch"
	"sluice/fault"
	"sluice/format"
)

// The goldens of eval/dialect hold the functions against Spark (D-19). Here are properties that need no reference.

func column(t batch.Type, rows ...func(*batch.Builder)) batch.Column {
	b := batch.NewBuilder(t, len(rows))
	for _, r := range rows {
		r(b)
	}
	return b.Column()
}

func textColumn(texts ...string) batch.Column {
	b := batch.NewBuilder(batch.Of(batch.String), len(texts))
	for _, s := range texts {
		b.AppendString(s)
	}
	return b.Column()
}

func intColumn(n ...int32) batch.Column {
	b := batch.NewBuilder(batch.Of(batch.Int), len(n))
	for _, v := range n {
		batch.Append(b, v)
	}
	return b.Column()
}

func call(t testing.TB, s Spec, args ...batch.Column) (batch.Column, *fault.Error) {
	t.Helper()
	for i := range args {
		s.Args = append(s.Args, args[i].Type)
	}
	f, err := New(s)
	if err != nil {
		t.Fatal(err)
	}
	out := batch.NewBuilder(s.Result, 0)
	failure := f(args, args[0].Len, out)
	return out.Column(), failure
}

func oneText(t testing.TB, name string, options map[string]string, args ...batch.Column) string {
	out, err := call(t, Spec{Name: name, Result: batch.Of(batch.String), Options: options}, args...)
	if err != nil {
		t.Fatal(err)
	}
	return string(out.Text(0))
}

func TestUnknownFunction(t *testing.T) {
	if _, err := New(Spec{Name: "nosuch"}); !fault.Of(err, fault.InternalError) {
		t.Error(err)
	}
}

// Every function that is NULL where an argument is keeps the rows around it.
func TestNullsStayInTheirRows(t *testing.T) {
	text := column(batch.Of(batch.String), func(b *batch.Builder) { b.AppendString("ß") }, (*batch.Builder).AppendNull, func(b *batch.Builder) { b.AppendString("x") })
	out, err := call(t, Spec{Name: "upper", Result: batch.Of(batch.String)}, text)
	if err != nil || out.Len != 3 || string(out.Text(0)) != "SS" || !out.IsNull(1) || string(out.Text(2)) != "X" {
		t.Error(out, err)
	}
}

func TestBrokenBase64(t *testing.T) {
	for _, text := range []string{"S", "SG=", "SG==SG=="} {
		if _, err := call(t, Spec{Name: "unbase64", Result: batch.Of(batch.Binary)}, textColumn(text)); err == nil || err.Code != fault.ConversionInvalid {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func TestTextProperties(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		s := rapid.String().Draw(r, "text")
		x := textColumn(s)
		if twice := oneText(t, "reverse", nil, textColumn(oneText(t, "reverse", nil, x))); twice != strings.ToValidUTF8(s, "�") && twice != s {
			t.Errorf("reverse twice of %q is %q", s, twice)
		}
		n := rapid.IntRange(-2, 40).Draw(r, "length")
		for _, name := range []string{"lpad", "rpad"} {
			if got := utf8.RuneCountInString(oneText(t, name, nil, x, intColumn(int32(n)), textColumn("ab"))); got != max(n, 0) {
				t.Errorf("%s(%q, %d) has %d characters", name, s, n, got)
			}
		}
		separator := rapid.SampledFrom([]string{",", "aa", "é"}).Draw(r, "separator")
		parts := strings.Split(s, separator)
		i := rapid.IntRange(1, len(parts)).Draw(r, "part")
		if got := oneText(t, "split_part", nil, x, textColumn(separator), intColumn(int32(i))); got != parts[i-1] {
			t.Errorf("part %d of %q is %q", i, s, got)
		}
		if got := oneText(t, "split_part", nil, x, textColumn(separator), intColumn(int32(i-len(parts)-1))); got != parts[i-1] {
			t.Errorf("part %d of %q from the end is %q", i, s, got)
		}
	})
}

func TestArrayProperties(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		values := rapid.SliceOfN(rapid.Int32Range(-20, 20), 0, 60).Draw(r, "values")
		others := rapid.SliceOfN(rapid.Int32Range(-20, 20), 0, 60).Draw(r, "others")
		a, b := arrayOf(values), arrayOf(others)
		check := func(name string, want []int32, args ...batch.Column) {
			out, err := call(t, Spec{Name: name, Result: a.Type}, args...)
			if got := batch.Values[int32](&out.Children[0]); err != nil || !slices.Equal(got, want) {
				t.Errorf("%s(%v, %v) is %v, not %v", name, values, others, got, want)
			}
		}
		sorted := slices.Clone(values)
		slices.Sort(sorted)
		check("array_sort", sorted, a)
		var distinct, both, only []int32
		for _, v := range values {
			if !slices.Contains(distinct, v) {
				distinct = append(distinct, v)
				if slices.Contains(others, v) {
					both = append(both, v)
				} else {
					only = append(only, v)
				}
			}
		}
		check("array_distinct", distinct, a)
		check("array_intersect", both, a, b)
		check("array_except", only, a, b)
		union := slices.Clone(distinct)
		for _, v := range others {
			if !slices.Contains(union, v) {
				union = append(union, v)
			}
		}
		check("array_union", union, a, b)
	})
}

func arrayOf(values []int32) batch.Column {
	b := batch.NewBuilder(batch.ArrayOf(batch.Of(batch.Int)), 1)
	for _, v := range values {
		batch.Append(b.Child(0), v)
	}
	b.AppendNested()
	return b.Column()
}

// What is written by a pattern that can be read comes back.
func TestTimesComeBack(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		at := rapid.Int64Range(-62135596800, 253402300799).Draw(r, "seconds")*microsPerSecond + rapid.Int64Range(0, 999_999).Draw(r, "micros")
		for _, text := range []string{"yyyy-MM-dd HH:mm:ss.SSSSSS", "dd MMM yyyy, hh:mm:ss.SSSSSS a", "yyyyDDDHHmmss.SSSSSS", "d. MMMM yyyy H:m:s.SSSSSS"} {
			p, err := format.ParseTimePattern(text)
			if err != nil || p.Readable() != nil {
				t.Fatal(text, err, p.Readable())
			}
			written := p.Write(nil, at, 0, nil)
			if back, ok := p.Read(written, format.NewTimeParser(nil)); !ok || back != at {
				t.Errorf("%s: %d became %s and %d", text, at, written, back)
			}
		}
	})
}

func FuzzTimePattern(f *testing.F) {
	f.Add("yyyy-MM-dd'T'HH:mm:ss[.SSS]XXX", []byte("2024-01-05T10:20:30.1+02:00"))
	f.Add("dd MMM yyyy hh a", []byte("05 jan 2024 12 PM"))
	f.Fuzz(func(t *testing.T, pattern string, text []byte) {
		p, err := format.ParseTimePattern(pattern)
		if err != nil {
			return
		}
		p.Write(nil, 1_700_000_000_123_456, 3600*microsPerSecond, nil)
		if p.Readable() == nil {
			p.Read(text, format.NewTimeParser(nil))
		}
	})
}

func FuzzReplacement(f *testing.F) {
	f.Add("$1-$10\\$", "a1b22")
	f.Fuzz(func(t *testing.T, by, text string) {
		if _, ok := ParseReplacement(by, 1); ok && utf8.ValidString(text) {
			options := map[string]string{"regex": `([0-9])?(?P<tail1>(?:\r\n|[\n\r])?)\z|[0-9]|(?:\A)x*`, "by": by, "skipped": "0"}
			oneText(t, "regexp_replace", options, textColumn(text))
		}
	})
}

func TestRoundHalfToEven(t *testing.T) {
	for text, want := range map[string]string{"0.5": "0.", "1.5": "2.", "2.5": "2.", "9.5": "10.", "99.51": "100.", "0.4": "0."} {
		if got := roundText([]byte(text), 0); !bytes.Equal(got, []byte(want)) {
			t.Errorf("%s became %s", text, got)
		}
	}
	for _, c := range []struct {
		v     int64
		power int
		want  int64
		ok    bool
	}{{25, 1, 20, true}, {35, 1, 40, true}, {-25, 1, -20, true}, {-26, 1, -30, true}, {math.MaxInt64, 1, 0, false}, {math.MinInt64, 18, -9e18, true}, {5, 19, 0, true}} {
		if got, ok := roundEven(c.v, c.power); ok != c.ok || ok && got != c.want {
			t.Errorf("%d to 10^%d is %d, %v", c.v, c.power, got, ok)
		}
	}
}
