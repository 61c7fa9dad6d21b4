package csv

import (
	"math"
	"strings"
	"testing"

	"sluice/batch"
	"sluice/format/formattest"
)

// TestCases has what went wrong elsewhere, as far as it concerns CSV: each record is a message of its own.
func TestCases(t *testing.T) {
	for _, c := range []struct {
		id, ddl string
		records []string
		want    string
	}{
		{"A-17 spellings of integers", "k BIGINT", []string{"1", "1.0", "1e0", `"1"`, "1.5", "9223372036854775808.0"}, `
1
1
1
1
bad: CANNOT_PARSE_CSV_FIELD: column k: "1.5" cannot be read as BIGINT (not a whole number in range)
bad: CANNOT_PARSE_CSV_FIELD: column k: "9223372036854775808.0" cannot be read as BIGINT (not a whole number in range)`},
		{"A-18 integers through floats", "id BIGINT, s BIGINT", []string{"2882429806056571124,9007199254740992", "2882429806056571125,9007199254740993"}, `
2882429806056571124 | 9007199254740992
2882429806056571125 | 9007199254740993`},
		{"A-20 one big number", "id BIGINT, extra DECIMAL(38,0)", []string{"1,327267367867168100000"}, `
1 | 327267367867168100000`},
		{"A-22 the year 9999", "t TIMESTAMP", []string{"9999-12-31T23:59:59.999999Z", "10000-01-01T00:00:00Z"}, `
9999-12-31 23:59:59.999999Z
bad: CANNOT_PARSE_CSV_FIELD: column t: "10000-01-01T00:00:00Z" cannot be read as TIMESTAMP (a timestamp is yyyy-MM-ddTHH:mm[:ss[.ffffff]] with an optional zone, from 0001 to 9999)`},
		{"A-23 numbers without a unit", "t TIMESTAMP", []string{"1700000000000"}, `
bad: CANNOT_PARSE_CSV_FIELD: column t: "1700000000000" cannot be read as TIMESTAMP (a timestamp is yyyy-MM-ddTHH:mm[:ss[.ffffff]] with an optional zone, from 0001 to 9999); hint: timestampUnit says what a number counts: seconds, milliseconds, microseconds`},
		{"A-24 one instant", "t TIMESTAMP", []string{"2026-04-01T10:00:00Z", "2026-04-01T10:00:00+00:00", "2026-04-01T19:00:00+09:00"}, `
2026-04-01 10:00:00Z
2026-04-01 10:00:00Z
2026-04-01 10:00:00Z`},
		{"A-25 microseconds", "t TIMESTAMP", []string{"2026-04-01T10:00:00.123456Z", "2026-04-01T10:00:00.123789Z"}, `
2026-04-01 10:00:00.123456Z
2026-04-01 10:00:00.123789Z`},
		{"A-26 a zero byte", "k STRING, v INT", []string{"a\x00b,1", "\"a\x00b\",2", "a,3"}, `
"a\x00b" | 1
"a\x00b" | 2
"a" | 3`},
		{"A-27, A-29 no UTF-8", "k STRING", []string{"\xff\x01", "\xfe\x01", "\xc0\x80", "\"\xed\xa0\x80\""}, `
bad: CANNOT_PARSE_CSV_FIELD: column k: "\xff\x01" cannot be read as STRING (it is not UTF-8)
bad: CANNOT_PARSE_CSV_FIELD: column k: "\xfe\x01" cannot be read as STRING (it is not UTF-8)
bad: CANNOT_PARSE_CSV_FIELD: column k: "\xc0\x80" cannot be read as STRING (it is not UTF-8)
bad: CANNOT_PARSE_CSV_FIELD: column k: "\xed\xa0\x80" cannot be read as STRING (it is not UTF-8)`},
		{"A-28 composed and decomposed", "k STRING", []string{"\xc3\xa9", "e\xcc\x81"}, "\"\u00e9\"\n\"e\u0301\""},
		{"A-33 an empty message", "k STRING", []string{"a", "", "\n", "b"}, `
"a"
bad: MALFORMED_CSV_RECORD: the record is empty
bad: MALFORMED_CSV_RECORD: the record is empty
"b"`},
		{"A-34 more than one record", "k INT, v INT", []string{"1,2\n3,4", "1,2\r\n", "1,2 garbage", "1,\"2\"3"}, `
bad: MALFORMED_CSV_RECORD: there is more than one record
1 | 2
bad: CANNOT_PARSE_CSV_FIELD: column v: "2 garbage" cannot be read as INT
bad: MALFORMED_CSV_RECORD: field 2 has a quote that is neither around the field nor escaped`},
		{"A-37 line ends inside", "k STRING, v STRING", []string{"\"a\r\nb\",\"c\n\nd\"\r\n"}, `
"a\r\nb" | "c\n\nd"`},
		{"A-39 a field that is not read", "a STRING, b INT", []string{"x,1", "y,two"}, `
"x" | 1
bad: CANNOT_PARSE_CSV_FIELD: column b: "two" cannot be read as INT`},
	} {
		t.Run(c.id, func(t *testing.T) {
			fields, _ := formattest.Fields(t, c.ddl)
			o := Options{Dialect: RFC4180, Fields: fields, Width: len(fields), CorruptRecord: -1}
			for i := range fields {
				o.Positions = append(o.Positions, i)
			}
			d, err := NewDecoder(o)
			if err != nil {
				t.Fatal(err)
			}
			var values [][]byte
			for _, r := range c.records {
				values = append(values, []byte(r))
			}
			built := formattest.Builders(fields, 1)
			if got := formattest.Decoded(t, fields, built, d.Decode(values, built), len(values)); strings.TrimSpace(got) != strings.TrimSpace(c.want) {
				t.Errorf("got\n%s\nwant\n%s", got, c.want)
			}
		})
	}
}

// every digit goes out, NaN and the infinities by name, and -0.0 keeps its sign; to_csv as well.
func TestCasesOut(t *testing.T) {
	fields, _ := formattest.Fields(t, "id BIGINT, x DOUBLE")
	built := formattest.Builders(fields, 5)
	for i, x := range []float64{math.NaN(), math.Inf(1), math.Inf(-1), math.Copysign(0, -1)} {
		batch.Append(&built[0], int64(1669859068457630240+i))
		batch.Append(&built[1], x)
	}
	rows := formattest.Columns(t, fields, built)
	e, err := NewEncoder(fields, EncodeOptions{Dialect: RFC4180})
	if err != nil {
		t.Fatal(err)
	}
	got, _, err := e.Encode(nil, nil, &rows, 0, rows.Len)
	if want := "1669859068457630240,NaN\n1669859068457630241,Infinity\n1669859068457630242,-Infinity\n1669859068457630243,-0.0\n"; string(got) != want || err != nil {
		t.Errorf("%q, want %q: %v", got, want, err)
	}
}
