package trial

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"

	"sluice/fault"
	"sluice/option"
)

// document reads a test file strictly and keeps the place of everything: no key twice, no unknown key, no anchors, no tags.
// Numbers keep their text (D-8).
type document struct {
	file     string
	problems fault.List
}

// entry is one key of a map.
type entry struct {
	key   string
	pos   fault.Pos
	value ast.Node
}

func (d *document) report(at fault.Pos, format string, args ...any) *fault.Error {
	e := fault.New(fault.TestFileInvalid, format, args...).At(at)
	d.problems = append(d.problems, e)
	return e
}

func (d *document) pos(n ast.Node) fault.Pos {
	p := n.GetToken().Position
	return fault.Pos{File: d.file, Line: p.Line, Column: p.Column}
}

// root returns the document's outermost value, nil when there is none.
func (d *document) root(text string) ast.Node {
	start := fault.Pos{File: d.file, Line: 1, Column: 1}
	f, err := parser.ParseBytes([]byte(strings.TrimPrefix(text, "\ufeff")), 0, parser.AllowDuplicateMapKey())
	var syntax *yaml.SyntaxError
	switch {
	case errors.As(err, &syntax) && syntax.Token != nil:
		p := syntax.Token.Position
		d.report(fault.Pos{File: d.file, Line: p.Line, Column: p.Column}, "%s", syntax.Message)
	case err != nil:
		d.report(start, "not YAML").Because(err)
	case len(f.Docs) == 0 || f.Docs[0].Body == nil:
		d.report(start, "the test file is empty").WithHint("it has %s", strings.Join(testKeys, ", "))
	case len(f.Docs) > 1:
		d.report(start, "the test file holds more than one document")
	default:
		return f.Docs[0].Body
	}
	return nil
}

// mapping returns the entries of a map, in order. what names the map in messages.
func (d *document) mapping(n ast.Node, what string) (out []entry) {
	m, ok := n.(*ast.MappingNode)
	if !ok {
		d.report(d.pos(n), "%s is %s, not a map", what, kind(n))
		return nil
	}
	seen := map[string]int{}
	for _, v := range m.Values {
		key, ok := keyText(v.Key)
		at := d.pos(v.Key)
		if first := seen[key]; ok && first > 0 {
			d.report(at, "%s has %q twice", what, key).WithDetail("first at line %d", first)
			continue
		}
		if !ok {
			d.report(at, "a key of %s is %s, not text", what, kind(v.Key))
			continue
		}
		seen[key] = at.Line
		out = append(out, entry{key, at, v.Value})
	}
	return out
}

// keyText is the text of a key, which may look like a number or a truth value.
func keyText(n ast.MapKeyNode) (string, bool) {
	switch n := n.(type) {
	case *ast.StringNode:
		return n.Value, true
	case *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode:
		return n.GetToken().Value, true
	}
	return "", false
}

// fields returns the entries of a map that may have the given keys only.
func (d *document) fields(n ast.Node, what string, keys []string) map[string]entry {
	out := map[string]entry{}
	for _, e := range d.mapping(n, what) {
		if slices.Contains(keys, e.key) {
			out[e.key] = e
			continue
		}
		problem := d.report(e.pos, "%s has no key %q", what, e.key)
		if near := option.Nearest(e.key, keys); near != "" {
			problem.WithHint("did you mean %q?", near)
		} else {
			problem.WithHint("the keys are %s", strings.Join(keys, ", "))
		}
	}
	return out
}

// list returns the items of a list.
func (d *document) list(n ast.Node, what string) []ast.Node {
	s, ok := n.(*ast.SequenceNode)
	if !ok {
		d.report(d.pos(n), "%s is %s, not a list", what, kind(n))
		return nil
	}
	return s.Values
}

// text returns a text, as it is written where it is a number or a truth value.
func (d *document) text(n ast.Node, what string) string {
	switch n := n.(type) {
	case *ast.StringNode:
		return n.Value
	case *ast.LiteralNode:
		return n.Value.Value
	case *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode:
		return n.GetToken().Value
	}
	d.report(d.pos(n), "%s is %s, not text", what, kind(n))
	return ""
}

// number returns a number from 0 on.
func (d *document) number(n ast.Node, what string) int32 {
	if i, ok := n.(*ast.IntegerNode); ok {
		if v, err := strconv.ParseUint(i.GetToken().Value, 10, 16); err == nil {
			return int32(v)
		}
	}
	d.report(d.pos(n), "%s is %s, not a number from 0 to 65535", what, kind(n))
	return 0
}

// json writes a value as JSON, without blanks, members in their order.
func (d *document) json(n ast.Node) string {
	switch n := n.(type) {
	case *ast.NullNode:
		return "null"
	case *ast.StringNode:
		return quote(n.Value)
	case *ast.LiteralNode:
		return quote(n.Value.Value)
	case *ast.BoolNode, *ast.IntegerNode, *ast.FloatNode:
		if text := n.GetToken().Value; json.Valid([]byte(text)) {
			return text
		}
		d.report(d.pos(n), "%s is not written as in JSON", n.GetToken().Value).WithHint("put it in quotes if it is a text")
	case *ast.SequenceNode:
		items := make([]string, len(n.Values))
		for i, v := range n.Values {
			items[i] = d.json(v)
		}
		return "[" + strings.Join(items, ",") + "]"
	case *ast.MappingNode:
		var members []string
		for _, e := range d.mapping(n, "a value") {
			members = append(members, quote(e.key)+":"+d.json(e.value))
		}
		return "{" + strings.Join(members, ",") + "}"
	default:
		d.report(d.pos(n), "%s cannot be a value", kind(n))
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

// kind says what a node is, for messages.
func kind(n ast.Node) string {
	switch n := n.(type) {
	case *ast.NullNode:
		return "empty"
	case *ast.MappingNode:
		return "a map"
	case *ast.SequenceNode:
		return "a list"
	case *ast.StringNode, *ast.LiteralNode:
		return "the text " + fmt.Sprintf("%q", n.GetToken().Value)
	case *ast.AnchorNode, *ast.AliasNode, *ast.MergeKeyNode:
		return "an anchor or a reference to one (a test file has none)"
	case *ast.TagNode:
		return "a value with a tag (a test file has none)"
	default:
		return n.GetToken().Value
	}
}
