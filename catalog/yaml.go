package catalog

import (
	"github.com/goccy/go-yaml/ast"

	"sluice/fault"
	"sluice/strictyaml"
)

// document is a spec file that is being read.
type document struct {
	strictyaml.Document
}

func newDocument(path string) document {
	return document{strictyaml.Document{File: path, Kind: "spec file", Codes: strictyaml.Codes{
		Syntax: fault.SpecSyntax, Empty: fault.SpecMissingField, NotMap: fault.SpecFieldNotDict, NotList: fault.SpecFieldNotList,
		KeyNotText: fault.SpecDictKeyNotString, KeyTwice: fault.SpecDuplicateField}}}
}

// scalar is a piece of text and where it stands. secret says that it may not be printed (D-54).
type scalar struct {
	text   string
	pos    fault.Pos
	secret bool
}

// text returns a piece of text; code is reported when n is something else.
func (d *document) text(n ast.Node, what string, code *fault.Code) (scalar, bool) {
	if text, ok := strictyaml.Text(n); ok {
		return scalar{text: text, pos: d.Pos(n)}, true
	}
	e := d.Report(code, d.Pos(n), "%s is %s, not text", what, d.Describe(n))
	if bare, ok := strictyaml.Bare(n); ok {
		e.WithHint("put it in quotes: '%s'", bare)
	}
	return scalar{}, false
}

// boolean returns true or false.
func (d *document) boolean(n ast.Node, what string) bool {
	b, ok := n.(*ast.BoolNode)
	if !ok {
		d.Report(fault.SpecFieldNotBoolean, d.Pos(n), "%s is %s", what, d.Describe(n)).WithHint("write true or false")
		return false
	}
	return b.Value
}
