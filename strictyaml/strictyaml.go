// Package strictyaml reads YAML documents that people write by hand, with the place of everything and without guessing: no key
// twice, no anchors, no tags, no merging, one document to a file. It promises that every problem of a document is found
// in one go, each with its line and column, under the codes that its owner names. It does not know what a document may say.
package strictyaml

import (
	"errors"
	"fmt"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"

	"sluice/fault"
)

// Document is a document that is being read, and what was found wrong with it so far.
type Document struct {
	File     string
	Problems fault.List
	Kind     string // "spec file", "test file": what the document is, in messages
	Codes    Codes

	// BareKeys also takes keys that look like a number or a truth value, as they are written.
	BareKeys bool
}

// Codes are the errors a document is refused with.
type Codes struct {
	Syntax, Empty, NotMap, NotList, KeyNotText, KeyTwice *fault.Code
}

// Entry is one key of a map.
type Entry struct {
	Key   string
	Pos   fault.Pos
	Value ast.Node
}

// Report adds a problem.
func (d *Document) Report(code *fault.Code, at fault.Pos, format string, args ...any) *fault.Error {
	e := fault.New(code, format, args...).At(at)
	d.Problems = append(d.Problems, e)
	return e
}

// Start is the document's first character.
func (d *Document) Start() fault.Pos { return fault.Pos{File: d.File, Line: 1, Column: 1} }

// Pos is where n begins.
func (d *Document) Pos(n ast.Node) fault.Pos {
	p := n.GetToken().Position
	return fault.Pos{File: d.File, Line: p.Line, Column: p.Column}
}

// Root returns the document's outermost value, nil when there is none. The hint says what an empty document lacks.
func (d *Document) Root(text, hint string) ast.Node {
	f, err := parser.ParseBytes([]byte(strings.TrimPrefix(text, "\ufeff")), 0, parser.AllowDuplicateMapKey())
	var syntax *yaml.SyntaxError
	switch {
	case errors.As(err, &syntax) && syntax.Token != nil:
		p := syntax.Token.Position
		d.Report(d.Codes.Syntax, fault.Pos{File: d.File, Line: p.Line, Column: p.Column}, "%s", syntax.Message)
	case err != nil:
		d.Report(d.Codes.Syntax, d.Start(), "not YAML").Because(err)
	case len(f.Docs) == 0 || f.Docs[0].Body == nil:
		d.Report(d.Codes.Empty, d.Start(), "the %s is empty", d.Kind).WithHint("%s", hint)
	case len(f.Docs) > 1:
		at := d.Start()
		if second := f.Docs[1].Body; second != nil {
			at = d.Pos(second)
		}
		d.Report(d.Codes.Syntax, at, "the %s holds more than one document", d.Kind)
	default:
		return f.Docs[0].Body
	}
	return nil
}

// Map returns the entries of a map, in order. what names the map in messages.
func (d *Document) Map(n ast.Node, what string) ([]Entry, bool) {
	m, ok := n.(*ast.MappingNode)
	if !ok {
		d.Report(d.Codes.NotMap, d.Pos(n), "%s is %s, not a map", what, d.Describe(n))
		return nil, false
	}
	var out []Entry
	seen := map[string]int{}
	for _, v := range m.Values {
		at := d.Pos(v.Key)
		key, ok := d.key(v.Key)
		if !ok {
			d.Report(d.Codes.KeyNotText, at, "a key of %s is %s, not text", what, d.Describe(v.Key))
			continue
		}
		if first, twice := seen[key]; twice {
			d.Report(d.Codes.KeyTwice, at, "%s has %q twice", what, key).WithDetail("first at line %d", first)
			continue
		}
		seen[key] = at.Line
		out = append(out, Entry{key, at, v.Value})
	}
	return out, true
}

func (d *Document) key(n ast.MapKeyNode) (string, bool) {
	switch n := n.(type) {
	case *ast.StringNode:
		return n.Value, true
	case *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode:
		return n.GetToken().Value, d.BareKeys
	}
	return "", false
}

// List returns the items of a list.
func (d *Document) List(n ast.Node, what string) []ast.Node {
	s, ok := n.(*ast.SequenceNode)
	if !ok {
		d.Report(d.Codes.NotList, d.Pos(n), "%s is %s, not a list", what, d.Describe(n))
		return nil
	}
	return s.Values
}

// Text returns what a text says, and whether n is one.
func Text(n ast.Node) (string, bool) {
	switch n := n.(type) {
	case *ast.StringNode:
		return n.Value, true
	case *ast.LiteralNode:
		return n.Value.Value, true
	}
	return "", false
}

// Bare returns a number or a truth value as it is written, and whether n is one.
func Bare(n ast.Node) (string, bool) {
	switch n.(type) {
	case *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode:
		return n.GetToken().Value, true
	}
	return "", false
}

// Describe says what a node is, for messages.
func (d *Document) Describe(n ast.Node) string {
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
		return fmt.Sprintf("an anchor or a reference to one (a %s has none)", d.Kind)
	case *ast.TagNode:
		return fmt.Sprintf("a value with a tag (a %s has none)", d.Kind)
	default:
		return n.GetToken().Value
	}
}
