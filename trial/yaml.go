package trial

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml/ast"

	"sluice/fault"
	"sluice/option"
	"sluice/strictyaml"
)

// document is a test file that is being read. Numbers keep their text (D-8).
type document struct {
	strictyaml.Document
}

func newDocument(path string) document {
	c := fault.TestFileInvalid
	return document{strictyaml.Document{File: path, Kind: "test file", BareKeys: true,
		Codes: strictyaml.Codes{Syntax: c, Empty: c, NotMap: c, NotList: c, KeyNotText: c, KeyTwice: c}}}
}

func (d *document) report(at fault.Pos, format string, args ...any) *fault.Error {
	return d.Report(fault.TestFileInvalid, at, format, args...)
}

// mapping returns the entries of a map, none where n is none.
func (d *document) mapping(n ast.Node, what string) []strictyaml.Entry {
	entries, _ := d.Map(n, what)
	return entries
}

// fields returns the entries of a map that may have the given keys only.
func (d *document) fields(n ast.Node, what string, keys []string) map[string]strictyaml.Entry {
	out := map[string]strictyaml.Entry{}
	for _, e := range d.mapping(n, what) {
		if slices.Contains(keys, e.Key) {
			out[e.Key] = e
			continue
		}
		problem := d.report(e.Pos, "%s has no key %q", what, e.Key)
		if near := option.Nearest(e.Key, keys); near != "" {
			problem.WithHint("did you mean %q?", near)
		} else {
			problem.WithHint("the keys are %s", strings.Join(keys, ", "))
		}
	}
	return out
}

// text returns a text, as it is written where it is a number or a truth value.
func (d *document) text(n ast.Node, what string) string {
	if text, ok := strictyaml.Text(n); ok {
		return text
	}
	if bare, ok := strictyaml.Bare(n); ok {
		return bare
	}
	d.report(d.Pos(n), "%s is %s, not text", what, d.Describe(n))
	return ""
}

// number returns a number from 0 on.
func (d *document) number(n ast.Node, what string) int32 {
	if i, ok := n.(*ast.IntegerNode); ok {
		if v, err := strconv.ParseUint(i.GetToken().Value, 10, 16); err == nil {
			return int32(v)
		}
	}
	d.report(d.Pos(n), "%s is %s, not a number from 0 to 65535", what, d.Describe(n))
	return 0
}

// json writes a value as JSON, without blanks, members in their order.
func (d *document) json(n ast.Node) string {
	if text, ok := strictyaml.Text(n); ok {
		return quote(text)
	}
	if bare, ok := strictyaml.Bare(n); ok {
		if !json.Valid([]byte(bare)) {
			d.report(d.Pos(n), "%s is not written as in JSON", bare).WithHint("put it in quotes if it is a text")
		}
		return bare
	}
	switch n := n.(type) {
	case *ast.NullNode:
	case *ast.SequenceNode:
		items := make([]string, len(n.Values))
		for i, v := range n.Values {
			items[i] = d.json(v)
		}
		return "[" + strings.Join(items, ",") + "]"
	case *ast.MappingNode:
		var members []string
		for _, e := range d.mapping(n, "a value") {
			members = append(members, quote(e.Key)+":"+d.json(e.Value))
		}
		return "{" + strings.Join(members, ",") + "}"
	default:
		d.report(d.Pos(n), "%s cannot be a value", d.Describe(n))
	}
	return "null"
}

// quote writes a text as JSON.
func quote(s string) string {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(s) // a string always can be written
	return strings.TrimSuffix(b.String(), "\n")
}
