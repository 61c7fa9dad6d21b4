package catalog

import (
	"errors"
	"fmt"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"

	"sluice/fault"
)

// document reads YAML strictly and keeps the place of everything: no duplicate keys, no anchors, no tags, no merging, and
// no guessing of types.
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

// scalar is a piece of text and where it stands. secret says that it may not be printed (D-54).
type scalar struct {
	text   string
	pos    fault.Pos
	secret bool
}

func (d *document) report(code *fault.Code, at fault.Pos, format string, args ...any) *fault.Error {
	e := fault.New(code, format, args...).At(at)
	d.problems = append(d.problems, e)
	return e
}

func (d *document) pos(n ast.Node) fault.Pos {
	p := n.GetToken().Position
	return fault.Pos{File: d.file, Line: p.Line, Column: p.Column}
}

// root returns the entries of the document's outermost map.
func (d *document) root(text string) ([]entry, bool) {
	start := fault.Pos{File: d.file, Line: 1, Column: 1}
	f, err := parser.ParseBytes([]byte(strings.TrimPrefix(text, "\ufeff")), 0, parser.AllowDuplicateMapKey())
	if err != nil {
		d.syntaxError(err, start)
		return nil, false
	}
	if len(f.Docs) == 0 || f.Docs[0].Body == nil {
		d.report(fault.SpecMissingField, start, "the spec file is empty").WithHint("it needs name, storage and libraries")
		return nil, false
	}
	if len(f.Docs) > 1 {
		at := start
		if body := f.Docs[1].Body; body != nil {
			at = d.pos(body)
		}
		d.report(fault.SpecSyntax, at, "the spec file holds more than one document")
		return nil, false
	}
	return d.mapping(f.Docs[0].Body, "the spec file")
}

func (d *document) syntaxError(err error, start fault.Pos) {
	var syntax *yaml.SyntaxError
	if errors.As(err, &syntax) && syntax.Token != nil {
		p := syntax.Token.Position
		d.report(fault.SpecSyntax, fault.Pos{File: d.file, Line: p.Line, Column: p.Column}, "%s", syntax.Message)
		return
	}
	d.report(fault.SpecSyntax, start, "not YAML").Because(err)
}

// mapping returns the entries of a map, in order. what names the map in messages.
func (d *document) mapping(n ast.Node, what string) ([]entry, bool) {
	m, ok := n.(*ast.MappingNode)
	if !ok {
		d.report(fault.SpecFieldNotDict, d.pos(n), "%s is %s, not a map", what, kind(n))
		return nil, false
	}
	var out []entry
	seen := map[string]fault.Pos{}
	for _, v := range m.Values {
		key, ok := v.Key.(*ast.StringNode)
		if !ok {
			d.report(fault.SpecDictKeyNotString, d.pos(v.Key), "a key of %s is %s, not text", what, kind(v.Key))
			continue
		}
		at := d.pos(key)
		if first, twice := seen[key.Value]; twice {
			d.report(fault.SpecDuplicateField, at, "%s has %q twice", what, key.Value).WithDetail("first at line %d", first.Line)
			continue
		}
		seen[key.Value] = at
		out = append(out, entry{key.Value, at, v.Value})
	}
	return out, true
}

// list returns the items of a list.
func (d *document) list(n ast.Node, what string) []ast.Node {
	s, ok := n.(*ast.SequenceNode)
	if !ok {
		d.report(fault.SpecFieldNotList, d.pos(n), "%s is %s, not a list", what, kind(n))
		return nil
	}
	return s.Values
}

// text returns a piece of text; code is reported when n is something else.
func (d *document) text(n ast.Node, what string, code *fault.Code) (scalar, bool) {
	switch n := n.(type) {
	case *ast.StringNode:
		return scalar{text: n.Value, pos: d.pos(n)}, true
	case *ast.LiteralNode:
		return scalar{text: n.Value.Value, pos: d.pos(n)}, true
	}
	e := d.report(code, d.pos(n), "%s is %s, not text", what, kind(n))
	switch n.(type) {
	case *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode:
		e.WithHint("put it in quotes: '%s'", n.GetToken().Value)
	}
	return scalar{}, false
}

// boolean returns true or false.
func (d *document) boolean(n ast.Node, what string) bool {
	b, ok := n.(*ast.BoolNode)
	if !ok {
		d.report(fault.SpecFieldNotBoolean, d.pos(n), "%s is %s", what, kind(n)).WithHint("write true or false")
		return false
	}
	return b.Value
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
		return "an anchor or a reference to one (a spec file has none)"
	case *ast.TagNode:
		return "a value with a tag (a spec file has none)"
	default:
		return n.GetToken().Value
	}
}
