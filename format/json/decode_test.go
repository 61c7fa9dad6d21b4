package json

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"

	"sluice/batch"
	"sluice/fault"
	"sluice/format"
	"sluice/format/formattest"
	"sluice/option"
)

// TestDecode runs the cases of testdata/decode.txt: what each record becomes, or why it is bad.
func TestDecode(t *testing.T) {
	datadriven.RunTest(t, "testdata/decode.txt", func(t *testing.T, td *datadriven.TestData) string {
		o, fields := optionsOf(t, td)
		d, err := NewDecoder(o)
		if err != nil {
			return err.Error() + "\n"
		}
		values := records(t, td.Input)
		built := formattest.Builders(fields, 1)
		together := formattest.Decoded(t, fields, built, d.Decode(values, built), len(values))
		alone := ""
		for _, v := range values {
			built := formattest.Builders(fields, 0)
			alone += formattest.Decoded(t, fields, built, d.Decode([][]byte{v}, built), 1)
		}
		if alone != together {
			t.Errorf("%s: records decode differently alone:\n%s\nthan together:\n%s", td.Pos, alone, together)
		}
		return together
	})
}

func optionsOf(t *testing.T, td *datadriven.TestData) (Options, []batch.Field) {
	o := Options{CorruptRecord: -1}
	o.Fields, o.Quoted = formattest.Fields(t, strings.Join(td.CmdArgs[0].Vals, ", "))
	for _, a := range td.CmdArgs[1:] {
		switch a.Key {
		case "strings":
			o.NumbersAsStrings = true
		case "permissive":
			o.Mode = batch.Permissive
		case "corrupt":
			o.CorruptRecord, _ = strconv.Atoi(a.Vals[0])
		case "depth":
			o.MaxDepth, _ = strconv.Atoi(a.Vals[0])
		case "unit":
			o.TimestampUnit = format.ParseTimestampUnit(a.Vals[0])
		case "zone":
			zone, err := time.LoadLocation(a.Vals[0])
			if err != nil {
				t.Fatal(err)
			}
			o.Zone = zone
		default:
			t.Fatalf("%s: no argument %q", td.Pos, a.Key)
		}
	}
	return o, o.Fields
}

func records(t *testing.T, input string) [][]byte {
	var out [][]byte
	for _, line := range strings.Split(strings.TrimSuffix(input, "\n"), "\n") {
		if literal, ok := strings.CutPrefix(line, "="); ok {
			text, err := strconv.Unquote(literal)
			if err != nil {
				t.Fatalf("%s: %v", line, err)
			}
			line = text
		}
		out = append(out, []byte(line))
	}
	return out
}

// Spark's options for documents of several lines say what to do instead, and what they are without being given is taken.
func TestLinesAreRecords(t *testing.T) {
	for _, c := range [][2]string{{"multiLine", "false"}, {"lineSep", "\n"}, {"lineSep", "\r\n"}, {"multiLine", "true"}, {"lineSep", "|"}} {
		v, problems := ReadOptions().Parse("read_files", []option.Given{{Name: c[0], Value: c[1]}}, fault.Pos{})
		problems = append(problems, Validate(v, fault.Pos{})...)
		if refused := c[1] == "true" || c[1] == "|"; refused != fault.Of(problems.Err(), fault.InvalidOption) || refused != (len(problems) == 1) {
			t.Errorf("%v: %v", c, problems)
		}
	}
}
