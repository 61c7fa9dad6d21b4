package csv

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"sluice/batch"
	"sluice/fault"
	"sluice/format"
	"sluice/format/formattest"
)

// The goldens of eval/dialect hold the functions against Spark (D-19). Here are properties that need no reference.

func textsOf(texts ...string) *batch.Column {
	b := batch.NewBuilder(batch.Of(batch.String), len(texts))
	for _, text := range texts {
		b.AppendString(text)
	}
	c := b.Column()
	return &c
}

func fromOf(t testing.TB, ddl string, options map[string]string, corrupt int, failFast bool) *From {
	t.Helper()
	fields, err := ParseFields(options, time.UTC)
	if err != nil {
		t.Fatal(err)
	}
	columns, _ := formattest.Fields(t, ddl)
	f, err := NewFrom(FromOptions{Fields: fields, Type: batch.StructOf(columns...), CorruptRecord: corrupt, FailFast: failFast})
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// D-14: what becomes NULL is counted, a text of nothing as a document, every other as fields.
func TestFromCounts(t *testing.T) {
	f := fromOf(t, "a INT, b DATE, c STRING", map[string]string{"comment": "#"}, -1, false)
	out := batch.NewBuilder(f.o.Type, 0)
	got, err := f.Append(textsOf("", "#", "1,2026-01-02,x", "x,y,z", "1", "1,,,4", ",,"), out)
	if want := (format.Nulled{Documents: 2, Fields: 2 + 2 + 1}); err != nil || got != want || out.Len() != 7 {
		t.Errorf("%+v, want %+v: %v", got, want, err)
	}
}

// With FAILFAST, and in every mode for what exceeds a limit, the first such text is an error.
func TestFromErrors(t *testing.T) {
	for _, c := range []struct {
		options map[string]string
		fast    bool
		text    string
		code    *fault.Code
	}{
		{nil, true, "x,1", fault.MalformedRecord}, {nil, true, "1", fault.MalformedRecord}, {nil, true, "", fault.MalformedRecord},
		{map[string]string{"maxcolumns": "2"}, false, "1,2,3", fault.MalformedCSV},
		{map[string]string{"maxcharspercolumn": "3"}, false, "1,four", fault.MalformedCSV},
		{map[string]string{"unescapedquotehandling": "raise_error"}, false, `1,"a"b`, fault.MalformedCSV},
	} {
		f := fromOf(t, "a INT, b STRING", c.options, -1, c.fast)
		out := batch.NewBuilder(f.o.Type, 0)
		if _, err := f.Append(textsOf("1,x", c.text), out); err == nil || err.Code != c.code || out.Len() != 1 {
			t.Errorf("%q: %v, %d rows", c.text, err, out.Len())
		}
	}
}

func TestOptionsThatMakeNoSense(t *testing.T) {
	for name, value := range map[string]string{"maxcolumns": "0", "maxcharspercolumn": "x", "ignoreleadingwhitespace": "yes", "unescapedquotehandling": "BACK_TO_DELIMITER", "timezone": "Local",
		"dateformat": "yyyy-MM-dd HH:mm XXX", "quote": "ab", "sep": `\x`, "timestampformat": "mm", "comment": "é"} {
		if _, err := ParseFields(map[string]string{name: value}, time.UTC); err == nil {
			t.Errorf("%s is %q", name, value)
		}
	}
	for name, value := range map[string]string{"quoteall": "x", "dateformat": "yyyy-MM-dd HH", "chartoescapequoteescaping": "ab"} {
		if _, err := ParseTo(map[string]string{name: value}, time.UTC); err == nil {
			t.Errorf("%s is %q", name, value)
		}
	}
}

// FuzzFrom reads any text in any dialect: one value for each text, and nothing that is no UTF-8.
func FuzzFrom(f *testing.F) {
	f.Add("1,\"a\"b\",2024-01-05", `\`, `"`, ",", uint8(0))
	f.Add(" 'x' y||+1.5e2||2024-1-5 1:2:3.5 Europe/Berlin", "", "'", "||", uint8(7))
	f.Fuzz(func(t *testing.T, text, escape, quote, sep string, bits uint8) {
		options := map[string]string{"escape": escape, "quote": quote, "sep": sep, "nullvalue": "N", "emptyvalue": "E", "ignoreleadingwhitespace": flag(bits, 0), "ignoretrailingwhitespace": flag(bits, 1),
			"unescapedquotehandling": handlings[bits>>2&3]}
		fields, err := ParseFields(options, time.UTC)
		if err != nil {
			return
		}
		columns, _ := formattest.Fields(t, "a STRING, b TIMESTAMP, c DECIMAL(38,10), d DOUBLE, e DATE, f BIGINT, r STRING")
		from, err := NewFrom(FromOptions{Fields: fields, Type: batch.StructOf(columns...), CorruptRecord: 6})
		if err != nil {
			t.Fatal(err)
		}
		out := batch.NewBuilder(from.o.Type, 0)
		if _, err := from.Append(textsOf(text, "1"), out); err != nil {
			if !strings.Contains(err.Message, "quote") && !strings.Contains(err.Message, "more than") {
				t.Fatal(err)
			}
			return
		}
		c := out.Column()
		if out.Len() != 2 {
			t.Fatalf("%d values", out.Len())
		}
		if a := &c.Children[0]; !a.IsNull(0) && !utf8.Valid(a.Text(0)) {
			t.Fatalf("%q is not UTF-8", a.Text(0))
		}
		_, _ = Infer([]byte(text), fields)
	})
}

func flag(bits uint8, n int) string {
	if bits>>n&1 == 1 {
		return "true"
	}
	return "false"
}

// Nothing is allocated per row once the memory is there, whatever the options, for records and for functions.
func TestAllocations(t *testing.T) {
	records := [][]byte{[]byte("1,2026-01-02,2026-01-02 03:04:05,1.5,\"q \"\" x\"\n"), []byte("7,2026-01-02,2026-01-02T03:04:05Z,2.25,plain,more")}
	values := [][]byte{}
	for range 200 {
		values = append(values, records...)
	}
	fields, _ := formattest.Fields(t, "a INT, b DATE, c TIMESTAMP, d DOUBLE, e STRING, r STRING")
	for name, change := range map[string]func(*Options){
		"plain":    func(*Options) {},
		"blanks":   func(o *Options) { o.Dialect.TrimLeading, o.Dialect.TrimTrailing = true, true },
		"loose":    func(o *Options) { o.Dialect.Unescaped, o.Dialect.Escape = StopAtDelimiter, '\\' },
		"limits":   func(o *Options) { o.MaxChars, o.MaxFields, o.EmptyValue, o.NaN = 100, 100, "E", "NaN" },
		"patterns": func(o *Options) { o.Times = patterns(t, []string{"yyyy-MM-dd", "yyyy-MM-dd[' ']['T']HH:mm:ss['Z']"}) },
	} {
		o := Options{Dialect: RFC4180, Fields: fields, Positions: []int{0, 1, 2, 3, 4, 0}, Width: 5, CorruptRecord: -1, Rescue: true, RescuedData: 5}
		change(&o)
		d, err := NewDecoder(o)
		if err != nil {
			t.Fatal(err)
		}
		built := formattest.Builders(fields, 1000)
		none(t, name, func() {
			for i := range built {
				built[i].Reset()
			}
			if bad := d.Decode(values, built); len(bad) > 0 {
				t.Fatalf("%s: %v", name, bad[0].Err)
			}
		})
	}
	f := fromOf(t, "a INT, b DATE, c TIMESTAMP, d DOUBLE, e STRING, r STRING", nil, 5, false)
	b := batch.NewBuilder(batch.Of(batch.String), 0)
	for _, v := range values {
		b.AppendText(v)
	}
	texts := b.Column()
	structs := batch.NewBuilder(f.o.Type, 1000)
	none(t, "from_csv", func() {
		structs.Reset()
		if _, err := f.Append(&texts, structs); err != nil {
			t.Fatal(err)
		}
	})
	o, err := ParseTo(map[string]string{"quoteall": "true"}, time.UTC)
	if err != nil {
		t.Fatal(err)
	}
	to, err := NewTo(f.o.Type, o)
	if err != nil {
		t.Fatal(err)
	}
	column := structs.Column()
	none(t, "to_csv", func() {
		b.Reset()
		if err := to.Append(&column, b); err != nil {
			t.Fatal(err)
		}
	})
}

// none fails when work over 400 rows allocates once a row or nearly so.
func none(t *testing.T, name string, work func()) {
	t.Helper()
	work()
	if n := testing.AllocsPerRun(3, work); n > 40 {
		t.Errorf("%s allocates %v times for 400 rows", name, n)
	}
}
